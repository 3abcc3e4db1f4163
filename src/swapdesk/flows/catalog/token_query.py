"""What a token search asks for (words, a chain, a purpose, an order), what it says of itself, and
the pair whose limits say how much of a token can be swapped (contract 6.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.search import (
    CONTRACT_LENGTH,
    SORTS,
    CanDo,
    SortBy,
    TokenRow,
    search,
)
from swapdesk.flows.notation import counted

if TYPE_CHECKING:
    from swapdesk.wire.tokens import Token


_MOST_QUOTED = 40

T = TypeVar("T")


class TokenSearch(Struct, frozen=True):
    """``chain`` is a short name; None for any chain and any purpose."""

    text: str = ""
    chain: str | None = None
    can_do: CanDo | None = None
    sort: SortBy = "rank"

    @property
    def is_contract(self) -> bool:
        return len(self.text) >= CONTRACT_LENGTH

    def find(self, catalog: Catalog, limit: int) -> list[TokenRow]:
        """At most ``limit`` rows, best first."""
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
        """The next chain of the catalogue; after the last one all again."""
        names = [chain.short_name for chain in catalog.chains()]
        return replace(self, chain=_after(self.chain, [None, *names]))

    def for_next_purpose(self) -> TokenSearch:
        return replace(self, can_do=_after(self.can_do, [None, *CanDo]))

    def in_next_order(self) -> TokenSearch:
        return replace(self, sort=_after(self.sort, SORTS))

    def hint(self, found: int, catalog: Catalog | None, limit: int) -> str:
        """``9 of 412 tokens · by rank · on Base · dex``; nothing where no catalogue is open."""
        if catalog is None:
            return ""
        more = "+" if found == limit else ""
        said = [f"{found}{more} of {counted(catalog.count, 'token')}", f"by {self.sort}"]
        if catalog.skipped:
            said.insert(1, f"{catalog.skipped} cannot be read")
        return " · ".join([*said, *self._filters(catalog)])

    def nothing(self, catalog: Catalog | None) -> str:
        """Why no row is there, and what to do about it."""
        if catalog is None or not catalog.count:
            return "The list of tokens is not here yet."
        said = self._nothing_found(catalog)
        return said if catalog.gap is None else f"{said} {catalog.gap}."

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
        said = [f"on {chain.name}"] if chain is not None else []
        return [*said, *([self.can_do.value] if self.can_do is not None else [])]


def _after(value: T, places: Sequence[T]) -> T:
    at = places.index(value) if value in places else 0
    return places[(at + 1) % len(places)]


def pair_for_limits(
    token: Token, beside: Token | None, catalog: Catalog
) -> tuple[Token, Token] | None:
    """The token sold and the token bought.

    ``beside`` is sold for ``token`` where one is being written. Else ``token`` is sold for the
    first token of the list that exchanges trade. None for a token that has no counterpart.
    """
    if beside is not None and beside.id != token.id:
        return beside, token
    for row in catalog.rows:
        if row.has_cex and row.enabled and row.id != token.id.lower():
            other = catalog.token(row.id)
            return None if other is None else (token, other)
    return None
