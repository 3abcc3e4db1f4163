"""Paths from one token to another along pools, and which of them pays most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from swapdesk.service.venues.onchain.formula import Hop, pays_along, price_impact
from swapdesk.service.venues.onchain.reader import ChainView, PoolPlace

MOST_HOPS = 3
"""As many pools as the routers' contracts go through."""


@dataclass(frozen=True)
class PricedPath:
    """Tokens by contract, and what the pools between them pay in units of the last one."""

    tokens: tuple[str, ...]
    paid: int
    impact: Decimal

    @property
    def hops(self) -> int:
        return len(self.tokens) - 1


class Paths:
    """The pools of one venue on one chain."""

    def __init__(self, pools: Iterable[PoolPlace]) -> None:
        self._beside: dict[str, dict[str, PoolPlace]] = {}
        for pool in pools:
            self._beside.setdefault(pool.token0, {})[pool.token1] = pool
            self._beside.setdefault(pool.token1, {})[pool.token0] = pool

    def between(self, start: str, end: str) -> Iterator[tuple[str, ...]]:
        """Every path of at most ``MOST_HOPS`` pools that comes by no token twice."""
        if start == end or start not in self._beside or end not in self._beside:
            return
        waiting: list[tuple[str, ...]] = [(start,)]
        while waiting:
            path = waiting.pop()
            for token in self._beside[path[-1]]:
                if token == end:
                    yield (*path, token)
                elif token not in path and len(path) < MOST_HOPS:
                    waiting.append((*path, token))

    def connects(self, start: str, end: str) -> bool:
        return next(self.between(start, end), None) is not None

    def best(self, view: ChainView, start: str, end: str, amount: int) -> PricedPath | None:
        """The path that pays most now; the shorter of equal ones. None when none pays."""
        found: PricedPath | None = None
        for tokens in self.between(start, end):
            hops = self._hops(view, tokens)
            if hops is None:
                continue
            paid = pays_along(amount, hops)
            if found is None or (paid, -len(tokens)) > (found.paid, -len(found.tokens)):
                found = PricedPath(tokens, paid, price_impact(amount, paid, hops))
        return found if found is not None and found.paid > 0 else None

    def _hops(self, view: ChainView, tokens: tuple[str, ...]) -> list[Hop] | None:
        hops = []
        for token_in, token_out in pairwise(tokens):
            hop = view.hop(self._beside[token_in][token_out], token_in)
            if hop is None:
                return None
            hops.append(hop)
        return hops
