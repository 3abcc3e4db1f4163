"""A review of many payments, one row each: who is paid how much, and what is alike in all.

Only what agrees with the promise is drawn together. A payment of which one field differs, or
weighs and is in no promise, keeps a row for every field.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from swapdesk.flows.signing.review_words import SAME, MatchRow
from swapdesk.wallet.review import Match

FEWEST = 2
"""Payments from which they are drawn together."""
_NUMBERED = re.compile(r"^(.+?) (?:\((\d+)\)|(\d+))$")
_AMOUNTS = ("Amount", "You pay")
_PAYEE = "Paid to"
_OPENED = "Account for"
_OF_ORDER = "of "
PAID_BELOW = "who is paid below"


@dataclass(frozen=True)
class PaymentRow:
    """``amount`` with its symbol, ``payee`` in groups, ``promised`` whose deposit it is."""

    amount: str
    payee: str
    promised: str


@dataclass(frozen=True)
class Folded:
    """``rows`` are all that is no payment; what is alike several times stands there once."""

    rows: tuple[MatchRow, ...]
    payments: tuple[PaymentRow, ...] = ()


def folded(rows: Sequence[MatchRow]) -> Folded:
    """The rows as they are where there are fewer than :data:`FEWEST` payments."""
    blocks = _blocks(rows)
    found = {number: made for number, block in blocks.items() if (made := _payment(block))}
    if len(found) < FEWEST:
        return Folded(tuple(rows))
    payees = frozenset(one.payee for one in found.values())
    rest: list[MatchRow] = []
    for row in rows:
        name, number = _split(row)
        if number in found and (name == _PAYEE or name in _AMOUNTS):
            continue
        rest.append(_shortened(row, payees))
    return Folded(_once(rest), tuple(found.values()))


def _shortened(row: MatchRow, payees: frozenset[str]) -> MatchRow:
    """An account that is opened for somebody who is paid names him below, where he is paid."""
    if _split(row)[0] == _OPENED and row.match is Match.EQUAL and row.signed in payees:
        return replace(row, signed=PAID_BELOW)
    return row


def _split(row: MatchRow) -> tuple[str, str]:
    """The field without its number, and the number; empty where it has none."""
    numbered = _NUMBERED.match(row.field)
    return (row.field, "") if numbered is None else (numbered[1], numbered[2] or numbered[3])


def _blocks(rows: Sequence[MatchRow]) -> dict[str, dict[str, MatchRow]]:
    blocks: dict[str, dict[str, MatchRow]] = {}
    for row in rows:
        name, number = _split(row)
        if number:
            blocks.setdefault(number, {})[name] = row
    return blocks


def _payment(block: dict[str, MatchRow]) -> PaymentRow | None:
    payee = block.get(_PAYEE)
    amount = next((block[name] for name in _AMOUNTS if name in block), None)
    if payee is None or amount is None:
        return None
    if payee.match is not Match.EQUAL or amount.match is not Match.EQUAL:
        return None
    if amount.promised != SAME or any(_objects(row) for row in block.values()):
        return None
    promised = payee.promised.replace(payee.signed, "").strip()
    return PaymentRow(amount.signed, payee.signed, promised.removeprefix(_OF_ORDER))


def _objects(row: MatchRow) -> bool:
    """Whether the trader has to see this field by itself."""
    return row.match is Match.DIFFERS or (row.match is Match.UNMATCHED and row.weight)


def _once(rows: Sequence[MatchRow]) -> tuple[MatchRow, ...]:
    """Numbered fields that say the same and were promised the same stand once, with how often."""
    counts: dict[tuple[object, ...], list[MatchRow]] = {}
    for row in rows:
        counts.setdefault(_alike(row), []).append(row)
    kept: list[MatchRow] = []
    for alike in counts.values():
        name, number = _split(alike[0])
        if len(alike) == 1 or not number:
            kept += alike
            continue
        kept.append(replace(alike[0], field=f"{name}, {len(alike)} times"))
    return tuple(kept)


def _alike(row: MatchRow) -> tuple[object, ...]:
    name, number = _split(row)
    return (name if number else row.field, row.signed, row.match, row.promised, row.weight)
