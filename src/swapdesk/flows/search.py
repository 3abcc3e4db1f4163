"""Finding a token: ranked, forgiving, and honest about copies.

Best first: the exact contract or symbol, symbols that begin so, names that begin so, the
rest; inside each the order of the list. Fewer than eight hits bring in symbols one slip of
the fingers away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from heapq import nsmallest
from itertools import islice
from typing import Literal

from swapdesk.flows.confusables import draws_like, is_plain, skeleton
from swapdesk.flows.token_row import CanDo, TokenRow, Verdict, row_of, verdict_of

__all__ = [
    "CanDo",
    "SortBy",
    "TokenRow",
    "Verdict",
    "imitated_by",
    "lookalikes",
    "row_of",
    "search",
    "verdict_of",
]

SortBy = Literal["rank", "symbol", "price", "change"]
SORTS: tuple[SortBy, ...] = ("rank", "symbol", "price", "change")

_ENOUGH = 8
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_MOST_TYPED = 100
_CONTRACT_LENGTH = 26


def search(
    rows: Sequence[TokenRow],
    text: str,
    *,
    chain: str | None = None,
    can_do: CanDo | None = None,
    sort: SortBy = "rank",
    limit: int = 200,
) -> list[TokenRow]:
    """At most ``limit`` rows, best first. ``rows`` come in the order of the list.

    ``chain`` is a short name, compared without case. Every word of ``text`` must occur.
    """
    found = _filtered(rows, chain, can_do)
    typed = " ".join(text[:_MOST_TYPED].lower().split())
    if not typed:
        return list(islice(found, limit)) if sort == "rank" else _sorted(found, sort, limit)
    hits = _containing(found, typed)
    if not hits and "." in typed:
        hits = _containing(found, typed.replace(".", " "))
    if sort != "rank":
        return _sorted(hits, sort, limit)
    ranked = _ranked(hits, typed, limit)
    if len(ranked) < _ENOUGH and " " not in typed and 3 <= len(typed) <= 10:
        near = _one_slip(typed)
        known = {row.id for row in ranked}
        ranked += [r for r in found if r.symbol_key in near and r.id not in known]
    return ranked[:limit]


def _filtered(
    rows: Sequence[TokenRow], chain: str | None, can_do: CanDo | None
) -> Sequence[TokenRow]:
    if chain is not None:
        wanted = chain.lower()
        rows = [row for row in rows if row.chain.lower() == wanted]
    if can_do is not None:
        rows = [row for row in rows if row.can(can_do)]
    return rows


def _containing(rows: Iterable[TokenRow], typed: str) -> list[TokenRow]:
    first, *others = sorted(typed.split(), key=len, reverse=True)
    hits = [row for row in rows if first in row.text_key]
    for word in others:
        hits = [row for row in hits if word in row.text_key]
    return hits


def _ranked(hits: list[TokenRow], typed: str, limit: int) -> list[TokenRow]:
    """Each class is one pass, and only as long as rows are missing: a letter hits them all."""
    first = typed.split()[0]
    exact = [row for row in hits if row.symbol_key == first]
    if len(typed) >= _CONTRACT_LENGTH:
        exact += [row for row in hits if row.contract is not None and row.contract.lower() == typed]
    begins = [row for row in hits if row.symbol_key.startswith(first)]
    ranked = exact + [row for row in begins if row.symbol_key != first]
    if len(ranked) >= limit:
        return ranked[:limit]
    known = {row.id for row in ranked}
    others = [row for row in hits if row.id not in known]
    named = [row for row in others if row.name.lower().startswith(first)]
    ranked += named
    known.update(row.id for row in named)
    rest = (row for row in others if row.id not in known)
    return (ranked + list(islice(rest, limit)))[:limit]


def _sorted(rows: Iterable[TokenRow], sort: SortBy, limit: int) -> list[TokenRow]:
    return nsmallest(limit, rows, key=_KEYS[sort])


_NOTHING = Decimal(0)
_KEYS: dict[SortBy, Callable[[TokenRow], tuple[object, ...]]] = {
    "rank": lambda row: row.order,
    "symbol": lambda row: (row.symbol_key, row.chain),
    # Largest first; a price that is not known is no price of zero.
    "price": lambda row: (row.price is None, -(row.price or _NOTHING)),
    "change": lambda row: (row.change is None, -(row.change or _NOTHING)),
}


def _one_slip(typed: str) -> frozenset[str]:
    """Every text one missing, extra, wrong or swapped character away."""
    halves = [(typed[:at], typed[at:]) for at in range(len(typed) + 1)]
    near = {head + tail[1:] for head, tail in halves if tail}
    near |= {head + tail[1] + tail[0] + tail[2:] for head, tail in halves if len(tail) > 1}
    near |= {head + letter + tail[1:] for head, tail in halves if tail for letter in _LETTERS}
    near |= {head + letter + tail for head, tail in halves for letter in _LETTERS}
    return frozenset(near)


def lookalikes(row: TokenRow, rows: Iterable[TokenRow]) -> list[TokenRow]:
    """Tokens that copy the symbol or the name of ``row`` without being it elsewhere.

    A copy stands lower in the list and is unverified, found malicious, oddly spelled, or on
    the same chain. The same coin on another chain is none.
    """
    symbols, names = skeleton(row.symbol), skeleton(row.name)
    return [
        other
        for other in rows
        if _pretends(other, row)
        and other.id != row.id
        and not (
            symbols.isdisjoint(skeleton(other.symbol)) and names.isdisjoint(skeleton(other.name))
        )
        and other.order > row.order
    ]


def imitated_by(row: TokenRow, rows: Iterable[TokenRow]) -> TokenRow | None:
    """The better known token that ``row`` is drawn like and is not, or None.

    The screen says ``LOOKS LIKE USDC, IS NOT`` and shows the whole contract.
    """
    for other in rows:
        if (
            other.enabled
            and not other.unverified
            and _pretends(row, other)
            and other.id != row.id
            and draws_like(row.symbol, other.symbol)
            and other.order < row.order
        ):
            return other
    return None


def _pretends(row: TokenRow, original: TokenRow) -> bool:
    """Whether ``row`` could be passed off as ``original``; the cheap half of the question."""
    return (
        row.unverified
        or row.verdict is Verdict.MALICIOUS
        or row.chain == original.chain
        or not row.symbol.isascii()
        or not is_plain(row.symbol)
    )
