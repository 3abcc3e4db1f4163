"""Which token a person means: ``eth``, ``usdc.base``, an id, or ``0x….base``.

A symbol is never resolved silently when it could be another token: the candidates are
always part of the answer.
"""

from __future__ import annotations

import re
from decimal import Decimal

from msgspec import Struct

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.token_row import TokenRow, Verdict
from swapdesk.wire.tokens import Token

_ID = re.compile(r"[0-9a-f]{24}")
_CONTRACT_LENGTH = 26
_LONGEST = 300
_LAST = Decimal("Infinity")
MOST_CHAINS = 4
"""Chains of a token that are listed for one that there is not."""


class Resolution(Struct, frozen=True):
    """``token`` is the one chosen, None with a ``problem``. ``candidates`` begin with the best.

    ``candidates`` are the enabled tokens the text may mean, the chosen one among them.
    ``disabled``: it names tokens, and the service swaps none of them at present.
    """

    token: Token | None
    candidates: tuple[TokenRow, ...]
    problem: str | None
    disabled: bool = False

    @property
    def ambiguous(self) -> bool:
        """Several enabled tokens fit: a command refuses, the line shows the chosen one."""
        return len(self.candidates) > 1

    @property
    def specs(self) -> tuple[str, ...]:
        """The candidates as they can be written: ``USDC.base``, or the id where that is two."""
        named = [f"{row.symbol}.{row.chain}" for row in self.candidates]
        return tuple(
            name if named.count(name) == 1 and _writable(row) else row.id
            for name, row in zip(named, self.candidates, strict=True)
        )


def resolve(spec: str, catalog: Catalog) -> Resolution:
    """The token that ``spec`` names, compared without case.

    The first candidate is chosen: enabled, verified, lowest priority, then rank. Where a service
    states no priorities a coin comes before its copies, then the more important chain: "btc" is
    Bitcoin's.
    """
    wanted = spec.strip()
    if not wanted or len(wanted) > _LONGEST:
        return Resolution(None, (), "Type a token.")
    rows = _matching(wanted, catalog)
    usable = [row for row in rows if row.enabled]
    if not usable:
        return Resolution(None, (), _problem(wanted, rows, catalog), bool(rows))
    ordered = _trusted(usable)
    if all(row.priority is None for row in ordered):
        ordered = sorted(ordered, key=lambda row: _without_priority(row, catalog))
    token = catalog.token(ordered[0].id)
    if token is None:
        return Resolution(None, (), f'"{wanted}" is no longer in the list.')
    return Resolution(token, tuple(ordered), None)


def _matching(wanted: str, catalog: Catalog) -> list[TokenRow]:
    if _ID.fullmatch(wanted.lower()):
        row = catalog.row(wanted)
        if row is not None:
            return [row]
    whole = catalog.rows_of_symbol(wanted)
    if whole:
        return whole
    head, dot, tail = wanted.rpartition(".")
    chain = catalog.chain(tail) if dot and head else None
    if chain is not None:
        name = chain.short_name.lower()
        found = catalog.rows_of_symbol(head) or catalog.rows_of_contract(head)
        return [row for row in found if row.chain.lower() == name]
    return catalog.rows_of_contract(wanted)


def _trusted(rows: list[TokenRow]) -> list[TokenRow]:
    """A symbol means verified tokens that are not malicious, as long as there are any: a copy
    must not make the real one hard to name. It can still be named by its id or contract."""
    good = [row for row in rows if not row.unverified and row.verdict is not Verdict.MALICIOUS]
    return good or rows


def _without_priority(row: TokenRow, catalog: Catalog) -> tuple[Decimal, bool, Decimal]:
    chain = catalog.chain(row.chain)
    rank = _LAST if row.rank is None else row.rank
    return rank, row.contract is not None, _LAST if chain is None else chain.priority


def _problem(wanted: str, disabled: list[TokenRow], catalog: Catalog) -> str:
    if disabled:
        row = disabled[0]
        return f"{row.symbol} on {row.chain_name} is disabled at the service."
    head, dot, tail = wanted.rpartition(".")
    chain = catalog.chain(tail) if dot and head else None
    if chain is not None and catalog.rows_of_symbol(head):
        return f"{head.upper()} is not on {chain.name}."
    there = catalog.rows_of_symbol(head) or catalog.rows_of_contract(head) if dot else []
    if there and chain is None:
        names = list(dict.fromkeys(row.chain for row in _trusted(there) if row.enabled))
        more = f" and {len(names) - MOST_CHAINS} more" if len(names) > MOST_CHAINS else ""
        listed = ", ".join(names[:MOST_CHAINS])
        on = f" {there[0].symbol} is on {listed}{more}." if names else ""
        return f'No chain is called "{tail}".{on}'
    if len(wanted) >= _CONTRACT_LENGTH:
        return "No listed token has this contract."
    return (
        f'No token is called "{wanted}". Paste a contract address to find one that is not listed.'
    )


def _writable(row: TokenRow) -> bool:
    return not any(character.isspace() for character in row.symbol)
