"""Turns a review into what a screen shows: each field beside the value that was promised for it,
and a count of the fields that agree. The wallet agent has judged the fields already; here a
promised value that only repeats its field is shortened.

A review of many payments has one row for each payment, and states a field that several payments
share only once. A payment is shortened to one row only if none of its fields differs from the
promise and no important field is missing in the promise. Otherwise it keeps a row for every field.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.flows.notation import counted, grouped_address
from swapdesk.wallet.answers import BalanceChange, Match, Review, ReviewLine
from swapdesk.wire.encoding.numbers import from_base_units, short

_AGREED = re.compile(r"^\S+, id \d+, (?=node and key agree$)")
"""Matches the name and id of a chain at the start of a promised text, where they only repeat the
signed value beside it."""
_ADDRESS = re.compile(r"^(0x|\S{4})( \S{1,4}){7,}$")
"""Matches an address that is written in groups of characters."""
_AT_MOST = "at most "
SAME = "the same"
AGENTS_COIN = "of the chain's coin"
"""The agent's words for the native coin of a chain. The agent does not know the coin's symbol."""
NOTHING_SIGNED = "Nothing of this was signed."


class Moved(Struct, frozen=True):
    """What one holder gains or loses in a simulation, as (amount, symbol) pairs, negative for a
    loss. ``yours`` is True for the signing account."""

    holder: str
    yours: bool
    amounts: tuple[tuple[Decimal, str], ...]


class Names(Struct, frozen=True):
    """The names that the screen shows in place of the agent's codes. If a name is empty or None,
    the screen shows the code."""

    wallet: str = ""
    venue: str | None = None
    venue_name: str | None = None
    coin: str = ""
    chain: str = ""
    coin_decimals: int = 18


def match_rows(review: Review, names: Names) -> tuple[ReviewLine, ...]:
    """Returns the fields of a review as screen rows. A confirmed value that only repeats the signed
    value is shortened."""
    own = grouped_address(review.account)
    rows: list[ReviewLine] = []
    for line in review.lines:
        row = replace(
            line,
            signed=_signed(line, names),
            promised=_named(_promised(line, own, names.wallet), names),
        )
        before = rows[-1] if rows else row
        named = before.field == "Signed for" and row.field == "Version"
        if named and before.match is row.match is Match.EQUAL:
            rows[-1] = replace(before, signed=f"{before.signed}, version {row.signed}")
        else:
            rows.append(row)
    return _one_permit(rows)


_PERMIT = "Permit"
_PERMIT_PARTS = re.compile(r"^Permit signature [vrs]$")
_PERMIT_UNTIL = "Permit until"


def _one_permit(rows: Sequence[ReviewLine]) -> tuple[ReviewLine, ...]:
    parts = [row for row in rows if _PERMIT_PARTS.match(row.field)]
    if not parts or any(part.match is not Match.EQUAL for part in parts):
        return tuple(rows)
    signed, _, promised = parts[0].promised.partition(": ")
    if not promised:
        signed, promised = "the one you signed for this swap", ""
    until = next((row for row in rows if row.field == _PERMIT_UNTIL), None)
    if until is not None and until.match is Match.EQUAL and not promised:
        signed, promised = f"{signed}, until {until.signed.partition(', ')[0]}", until.promised
        parts.append(until)
    at = rows.index(parts[0])
    permit = ReviewLine(_PERMIT, signed, promised, Match.EQUAL)
    return (*(row for row in rows[:at] if row not in parts), permit,
            *(row for row in rows[at:] if row not in parts))  # fmt: skip


def _signed(line: ReviewLine, names: Names) -> str:
    if names.chain and line.match is Match.EQUAL and _AGREED.match(line.promised):
        return f"{names.chain}, {line.signed}"
    return _named(line.signed, names)


def _promised(line: ReviewLine, own: str, wallet: str) -> str:
    if line.match is not Match.EQUAL or not line.signed:
        return line.promised
    if line.signed == own and own in line.promised:
        return f"wallet {wallet}" if wallet else "your account"
    if line.promised == line.signed:
        return SAME
    if _ADDRESS.match(line.signed):
        promise = line.promised.replace(line.signed, "").strip() or SAME
        return promise.replace(own, wallet) if wallet else promise
    if line.signed.startswith(_AT_MOST):
        return line.promised.removesuffix(" at most")
    return _AGREED.sub("", line.promised)


def _named(text: str, names: Names) -> str:
    if names.coin:
        text = text.replace(AGENTS_COIN, names.coin)
    if names.venue and names.venue_name:
        text = text.replace(f'the provider "{names.venue}"', names.venue_name)
    return text


def match_count(review: Review, promise: str = "quote") -> str:
    """Returns how many fields agree, in words: ``10 of 11 fields agree, 1 is not in the quote: App
    data. None contradicts it.`` ``promise`` is the word for what was confirmed, such as
    ``quote``."""
    rows = match_rows(review, Names())
    total = len(rows)
    equal = sum(row.match is Match.EQUAL for row in rows)
    missing = sum(row.match is Match.UNMATCHED for row in rows)
    against = [row.field for row in rows if row.match is Match.DIFFERS]
    count = f"{equal} of {counted(total, 'field')} agree{'s' if total == 1 else ''}"
    if missing:
        names = ", ".join(_counted(unmatched(review)))
        count += f", {missing} {'is' if missing == 1 else 'are'} not in the {promise}: {names}"
    if against:
        verb = "contradicts" if len(against) == 1 else "contradict"
        return f"{count}. {', '.join(against)} {verb} {'it' if missing else f'the {promise}'}."
    return f"{count}. None contradicts {'it' if missing else f'the {promise}'}."


_NUMBERED = re.compile(r"^(.+?) \(\d+\)$")


def _counted(names: Sequence[str]) -> list[str]:
    counts: dict[str, list[str]] = {}
    for name in names:
        numbered = _NUMBERED.match(name)
        counts.setdefault(numbered[1] if numbered else name, []).append(name)
    return [
        count[0] if len(count) == 1 else f"{name} ({len(count)} times)"
        for name, count in counts.items()
    ]


def unmatched(review: Review) -> tuple[str, ...]:
    """Returns the names of the fields that have no confirmed value to compare. Fields with
    ``weight`` come first."""
    lines = [line for line in review.lines if line.match is Match.UNMATCHED]
    return tuple(one.field for one in sorted(lines, key=lambda line: not line.weight))


def moved(review: Review, names: Names) -> tuple[Moved, ...]:
    """Returns what each holder gains or loses in the simulation, the signing account first; empty
    without a simulation."""
    if review.simulation is None:
        return ()
    by_holder: dict[str, list[BalanceChange]] = {}
    for change in review.simulation.changes:
        by_holder.setdefault(change.holder, []).append(change)
    found = [
        Moved(
            holder,
            holder.lower() == review.account.lower(),
            tuple(_amount(change, names) for change in changes),
        )
        for holder, changes in by_holder.items()
    ]
    return tuple(sorted(found, key=lambda one: not one.yours))


def _amount(change: BalanceChange, names: Names) -> tuple[Decimal, str]:
    coin = change.contract is None and change.decimals is None and names.coin
    decimals = names.coin_decimals if coin else change.decimals
    if decimals is None:
        return Decimal(change.units), f"units of {change.symbol}"
    amount = short(from_base_units(change.units, decimals))
    return amount, names.coin if coin else change.symbol


def digest_groups(digest: str) -> tuple[str, ...]:
    """Returns the two halves of a digest in groups of four hexadecimal digits; the first begins
    with ``0x``."""
    body = digest.removeprefix("0x")
    groups = [body[at : at + 4] for at in range(0, len(body), 4)]
    half = (len(groups) + 1) // 2
    return (" ".join(["0x", *groups[:half]]), " ".join(groups[half:]))


FEWEST = 2
"""The fewest payments in a review that are shown as one row each."""
_NUMBERED_FIELD = re.compile(r"^(.+?) (?:\((\d+)\)|(\d+))$")
_AMOUNTS = ("Amount", "You pay")
_PAYEE = "Paid to"
_OPENED = "Account for"
_OF_ORDER = "of "
PAID_BELOW = "who is paid below"


class PaymentRow(Struct, frozen=True):
    """One payment of a review, shown in one row. ``promised`` says whose deposit the payment is."""

    amount: str
    payee: str
    promised: str


def folded(
    rows: Sequence[ReviewLine],
) -> tuple[tuple[ReviewLine, ...], tuple[PaymentRow, ...]]:
    """Separates the rows of a review into field rows and payment rows, one payment row for each
    payment. With fewer than :data:`FEWEST` payments, all rows stay field rows."""
    blocks = _blocks(rows)
    payments = {number: made for number, block in blocks.items() if (made := _payment(block))}
    if len(payments) < FEWEST:
        return tuple(rows), ()
    payees = frozenset(payment.payee for payment in payments.values())
    rest: list[ReviewLine] = []
    for row in rows:
        name, number = _split(row)
        if number in payments and (name == _PAYEE or name in _AMOUNTS):
            continue
        if name == _OPENED and row.match is Match.EQUAL and row.signed in payees:
            # An account that is opened for somebody who is paid names him where he is paid.
            row = replace(row, signed=PAID_BELOW)
        rest.append(row)
    return _once(rest), tuple(payments.values())


def _split(row: ReviewLine) -> tuple[str, str]:
    numbered = _NUMBERED_FIELD.match(row.field)
    return (row.field, "") if numbered is None else (numbered[1], numbered[2] or numbered[3])


def _blocks(rows: Sequence[ReviewLine]) -> dict[str, dict[str, ReviewLine]]:
    blocks: dict[str, dict[str, ReviewLine]] = {}
    for row in rows:
        name, number = _split(row)
        if number:
            blocks.setdefault(number, {})[name] = row
    return blocks


def _payment(block: dict[str, ReviewLine]) -> PaymentRow | None:
    payee = block.get(_PAYEE)
    amount = next((block[name] for name in _AMOUNTS if name in block), None)
    if payee is None or amount is None:
        return None
    if payee.match is not Match.EQUAL or amount.match is not Match.EQUAL:
        return None
    if amount.promised != SAME:
        return None
    weighs = [row.match is Match.UNMATCHED and row.weight for row in block.values()]
    if any(weighs) or any(row.match is Match.DIFFERS for row in block.values()):
        # The trader has to see this field by itself.
        return None
    promised = payee.promised.replace(payee.signed, "").strip()
    return PaymentRow(amount.signed, payee.signed, promised.removeprefix(_OF_ORDER))


def _once(rows: Sequence[ReviewLine]) -> tuple[ReviewLine, ...]:
    counts: dict[tuple[object, ...], list[ReviewLine]] = {}
    for row in rows:
        name, number = _split(row)
        alike = (name if number else row.field, row.signed, row.match, row.promised, row.weight)
        counts.setdefault(alike, []).append(row)
    kept: list[ReviewLine] = []
    for same in counts.values():
        name, number = _split(same[0])
        if len(same) == 1 or not number:
            kept += same
            continue
        kept.append(replace(same[0], field=f"{name}, {len(same)} times"))
    return tuple(kept)
