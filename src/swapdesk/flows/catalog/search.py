"""Searches tokens, tolerates typing slips, and detects tokens that copy other tokens.

Results come in this order: the exact symbol or contract, symbols that begin with the text, names
that begin with the text, all other tokens that contain it; within each class in the order of the
list. If there are fewer than eight results, symbols that differ by one typing slip are added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain as chain_of
from itertools import islice
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.display import ungrouped
from swapdesk.chain.addresses.kind import AddressProblem
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS
from swapdesk.chain.addresses.payments import EVM_CHAINS, read_payment_link
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.confusables import draws_like, is_plain, skeleton
from swapdesk.flows.catalog.token_list import CanDo, TokenList, TokenRow, Verdict, needle
from swapdesk.flows.notation import counted

if TYPE_CHECKING:
    from swapdesk.wire.tokens import Token


__all__ = [
    "CanDo",
    "SortBy",
    "TokenRow",
    "Verdict",
    "imitated_by",
    "lookalikes",
    "search",
]

SortBy = Literal["rank", "symbol", "price", "change"]
SORTS: tuple[SortBy, ...] = ("rank", "symbol", "price", "change")

_ENOUGH = 8
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_MOST_TYPED = 100
LONGEST_TYPED = 300
"""The most characters of a typed search, enough for an explorer's link."""
CONTRACT_LENGTH = 26
"""The least number of characters of a text that is taken for a contract address."""
_LINK_PARTS = re.compile(r"[/?#&=@,\s]+")

_MOST_QUOTED = 40
T = TypeVar("T")


def named_contract(text: str) -> tuple[str, frozenset[str]]:
    """Returns the contract in a text (a link, ``eth:0x…``, a grouped address) and the names of the
    chain that the text states, if any. Text without a contract is returned unchanged."""
    typed = ungrouped(text.strip())
    try:
        link = read_payment_link(typed)
    except AddressProblem:
        link = None
    parts = _LINK_PARTS.split(unquote(typed))
    chains: frozenset[str] = frozenset()
    if link is not None:
        parts = [link.contract or "", link.address]
        names = (link.chain_name, link.chain, *EVM_CHAINS.get(link.chain_id or 0, ()))
        chains = frozenset(name.lower() for name in names if name)
    shapes = [re.compile(kind.contract_shape) for kind in ADDRESS_KINDS.values()]
    for part in parts:
        if len(part) >= CONTRACT_LENGTH and any(shape.fullmatch(part) for shape in shapes):
            return part, chains
    return text, frozenset()


def search(
    rows: Sequence[TokenRow],
    text: str,
    *,
    chain: str | None = None,
    can_do: CanDo | None = None,
    sort: SortBy = "rank",
    limit: int = 200,
) -> list[TokenRow]:
    """Returns at most ``limit`` rows that contain every word of ``text``, best first. ``chain`` is
    a short name; None means no filter."""
    tokens = rows if isinstance(rows, TokenList) else TokenList.of(rows)
    kept = _filter(tokens, chain, can_do)
    if CONTRACT_LENGTH <= len(text) <= LONGEST_TYPED:
        text, chains = named_contract(text)
        kept = _also_on(tokens, chains, kept) if chains else kept
    typed = " ".join(text[:_MOST_TYPED].lower().split())
    if not typed:
        everywhere: Iterator[int] = iter(range(len(tokens)))
        if chain is not None:
            everywhere = tokens.chains.equal(chain.lower())
        places = (at for at in everywhere if kept(at))
        return _rows(tokens, places if sort == "rank" else _sorted(tokens, places, sort), limit)
    if sort != "rank":
        hits = _holding(tokens, typed, kept)
        return _rows(tokens, _sorted(tokens, hits, sort), limit)
    ranked = list(islice(_ranked(tokens, typed, kept), limit))
    if len(ranked) < _ENOUGH and " " not in typed and 3 <= len(typed) <= 10:
        seen = set(ranked)
        ranked += [at for at in _near(tokens, typed) if at not in seen and kept(at)]
    return _rows(tokens, ranked, limit)


_Kept = Callable[[int], bool]
"""A filter: returns True if the token with this number may be among the results."""


def _rows(tokens: TokenList, places: Iterable[int], limit: int) -> list[TokenRow]:
    return [tokens[at] for at in islice(places, limit)]


def _filter(tokens: TokenList, chain: str | None, can_do: CanDo | None) -> _Kept:
    wanted = None if chain is None else needle(chain.lower())

    def kept(at: int) -> bool:
        on_chain = wanted is None or tokens.chains.line(at) == wanted
        return on_chain and (can_do is None or tokens.can(at, can_do))

    return kept if chain is not None or can_do is not None else _everything


def _also_on(tokens: TokenList, chains: frozenset[str], kept: _Kept) -> _Kept:
    def on_chain(at: int) -> bool:
        row = tokens[at]
        return kept(at) and not chains.isdisjoint((row.chain.lower(), row.chain_name.lower()))

    return on_chain


def _everything(at: int) -> bool:
    return True


def _holding(tokens: TokenList, typed: str, kept: _Kept) -> Iterator[int]:
    hits = _with_words(tokens, typed.split(), kept)
    first = next(hits, None)
    if first is not None:
        return chain_of((first,), hits)
    return _with_words(tokens, _parted(typed), kept)


def _parted(typed: str) -> list[str]:
    return typed.replace(".", " ").split() if "." in typed else []


def _with_words(tokens: TokenList, words: Sequence[str], kept: _Kept) -> Iterator[int]:
    if not words:
        return iter(())
    longest, *others = sorted(words, key=len, reverse=True)
    return _also(tokens, tokens.texts.holding(longest), others, kept)


def _also(
    tokens: TokenList, places: Iterable[int], words: Sequence[str], kept: _Kept
) -> Iterator[int]:
    line, wanted = tokens.texts.line, [needle(word) for word in words]
    if not wanted:
        return (at for at in places if kept(at))
    return (at for at in places if kept(at) and all(word in line(at) for word in wanted))


def _ranked(tokens: TokenList, typed: str, kept: _Kept) -> Iterator[int]:
    words = typed.split()
    whole = _with_words(tokens, words, kept)
    best = next(whole, None)
    if best is None:
        words = _parted(typed)
        if not words:
            return
        whole = _with_words(tokens, words, kept)
    # The words whose hits are ranked; the class is told by the first one as it was typed.
    first, seen = typed.split()[0], set[int]()
    classes = (
        tokens.symbols.equal(first),
        _of_contract(tokens, typed),
        tokens.symbols.beginning(first),
        tokens.names.beginning(first),
    )
    for places in classes:
        for at in _also(tokens, places, words, kept):
            if at not in seen:
                seen.add(at)
                yield at
    begun = (best,) if best is not None else ()
    yield from (at for at in chain_of(begun, whole) if at not in seen)


def _of_contract(tokens: TokenList, typed: str) -> Iterator[int]:
    if len(typed) < CONTRACT_LENGTH:
        return iter(())
    return (at for at in tokens.texts.holding(typed) if tokens.contract_is(at, typed))


def _sorted(tokens: TokenList, places: Iterable[int], sort: SortBy) -> list[int]:
    return sorted(places, key=tokens.sequence(sort).__getitem__)


def _near(tokens: TokenList, typed: str) -> list[int]:
    """Returns the numbers of the tokens whose symbol differs from ``typed`` by one typing slip."""
    near = {needle(word) for word in _one_slip(typed)}
    half, symbols = len(typed) // 2, tokens.symbols
    head, tail = typed[:half], typed[half:]
    swapped = head[:-1] + tail[0] + head[-1] + tail[1:]
    places = {*symbols.beginning(head), *symbols.ending(tail), *symbols.equal(swapped)}
    return sorted(at for at in places if symbols.line(at) in near)


def _one_slip(typed: str) -> frozenset[str]:
    halves = [(typed[:at], typed[at:]) for at in range(len(typed) + 1)]
    near = {head + tail[1:] for head, tail in halves if tail}
    near |= {head + tail[1] + tail[0] + tail[2:] for head, tail in halves if len(tail) > 1}
    near |= {head + letter + tail[1:] for head, tail in halves if tail for letter in _LETTERS}
    near |= {head + letter + tail for head, tail in halves for letter in _LETTERS}
    return frozenset(near)


def lookalikes(row: TokenRow, rows: Iterable[TokenRow]) -> list[TokenRow]:
    """Returns the tokens that imitate the symbol or name of ``row``. The same coin on another chain
    is no imitation."""
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
    """Returns a better known token whose symbol ``row`` imitates; None if there is none."""
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
    return (
        row.unverified
        or row.verdict is Verdict.MALICIOUS
        or row.chain == original.chain
        or not row.symbol.isascii()
        or not is_plain(row.symbol)
    )


class TokenSearch(Struct, frozen=True):
    """A search for tokens: text, filters and order. ``chain`` is a short name; None means no
    filter."""

    text: str = ""
    chain: str | None = None
    can_do: CanDo | None = None
    sort: SortBy = "rank"

    @property
    def is_contract(self) -> bool:
        return len(self.text) >= CONTRACT_LENGTH

    def find(self, catalog: Catalog, limit: int) -> list[TokenRow]:
        return search(
            catalog.rows,
            self.text,
            chain=self.chain,
            can_do=self.can_do,
            sort=self.sort,
            limit=limit,
        )

    def about(self, text: str) -> TokenSearch:
        return replace(self, text=text.strip())

    def on_next_chain(self, catalog: Catalog) -> TokenSearch:
        """Returns this search on the catalogue's next chain; after the last, on all chains."""
        names = [chain.short_name for chain in catalog.chains()]
        return replace(self, chain=_after(self.chain, [None, *names]))

    def for_next_purpose(self) -> TokenSearch:
        return replace(self, can_do=_after(self.can_do, [None, *CanDo]))

    def in_next_order(self) -> TokenSearch:
        return replace(self, sort=_after(self.sort, SORTS))

    def hint(self, found: int, catalog: Catalog | None, limit: int) -> str:
        """Returns a line such as ``9 of 412 tokens · by rank · on Base``; empty without a
        catalogue."""
        if catalog is None:
            return ""
        more = "+" if found == limit else ""
        parts = [f"{found}{more} of {counted(catalog.count, 'token')}", f"by {self.sort}"]
        if catalog.skipped:
            parts.insert(1, f"{catalog.skipped} cannot be read")
        return " · ".join([*parts, *self._filters(catalog)])

    def nothing(self, catalog: Catalog | None) -> str:
        """Returns a sentence that says why the search has no result and what the user can do."""
        if catalog is None or not catalog.count:
            return "The list of tokens is not here yet."
        sentence = self._nothing_found(catalog)
        return f"{sentence} {catalog.gap}." if catalog.gap else sentence

    def _nothing_found(self, catalog: Catalog) -> str:
        filters = " · ".join(self._filters(catalog))
        if not self.text:
            return f"No token fits: {filters}. tab changes the chain, f2 the purpose."
        if self.is_contract:
            return "No listed token has this contract. f4 asks the service for it."
        called = f'No token is called "{self.text[:_MOST_QUOTED]}"'
        if filters:
            return f"{called} ({filters}). tab changes the chain, f2 the purpose."
        return f"{called}. Paste a contract address to find one that is not listed."

    def _filters(self, catalog: Catalog) -> list[str]:
        chain = catalog.chain(self.chain) if self.chain else None
        filters = [f"on {chain.name}"] if chain is not None else []
        return [*filters, *([self.can_do.value] if self.can_do is not None else [])]


def _after(value: T, places: Sequence[T]) -> T:
    at = places.index(value) if value in places else 0
    return places[(at + 1) % len(places)]


def pair_for_limits(
    token: Token, beside: Token | None, catalog: Catalog
) -> tuple[Token, Token] | None:
    """Returns the pair (sold, bought) whose limits are shown for ``token``. If ``beside`` is
    another token, ``beside`` is sold for ``token``. Otherwise ``token`` is sold for the first
    suitable token of the list; None if there is none."""
    if beside is not None and beside.id != token.id:
        return beside, token
    for row in catalog.rows:
        if row.has_cex and row.enabled and row.id != token.id.lower():
            other = catalog.token(row.id)
            return None if other is None else (token, other)
    return None
