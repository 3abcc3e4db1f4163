"""The tokens a private route may pass through, and the venues on either side of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from swapdesk.service.catalog import Catalog
from swapdesk.service.quoting.eligibility import Eligible
from swapdesk.service.venues.registry import Venues
from swapdesk.service.venues.wrappers import GuardedVenue
from swapdesk.wire.tokens import Token

_XMR = "xmr"


class Intermediaries:
    """``token_ids`` names the rotating set, best of which is chosen per venue pair."""

    def __init__(self, catalog: Catalog, venues: Venues, token_ids: Iterable[str]) -> None:
        self._catalog = catalog
        self._venues = venues
        self._token_ids = tuple(token_ids)

    def between(
        self, token_in: Token, token_out: Token, eligible: Eligible, *, only_xmr: bool = False
    ) -> Iterator[tuple[Token, list[GuardedVenue], list[GuardedVenue]]]:
        """Each usable intermediary with the venues of the first and of the second leg."""
        for token_id in self._token_ids:
            middle = self._catalog.token(token_id)
            if middle is None or middle.id in (token_in.id, token_out.id):
                continue
            if not self._catalog.routable(middle) or (only_xmr and not is_xmr(middle)):
                continue
            firsts = eligible.firsts(self._venues.trading(token_in, middle))
            seconds = eligible.seconds(self._venues.trading(middle, token_out))
            if firsts and seconds:
                yield middle, firsts, seconds


def is_xmr(token: Token) -> bool:
    """Whether the token is the coin of the Monero chain, not a copy of it elsewhere."""
    return token.mainnet and token.chain_data.kind.casefold() == _XMR
