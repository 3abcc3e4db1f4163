"""Smallest and largest amounts of on-chain routes (contract 6.1).

A pool states no bounds: what bounds an amount is that somebody pays for it and that its row can be
used. The ends are looked for outward from a usual amount, to about a hundredth, and each of them
was priced before it is told.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from swapdesk.clock import Clock
from swapdesk.service.dex.quoting import DexQuoting
from swapdesk.service.venues.onchain.adapter import DexQuestion
from swapdesk.wire.encoding.numbers import ROUGH, from_base_units, short
from swapdesk.wire.pair_limits import Limits
from swapdesk.wire.tokens import Token

KEPT_SECONDS = 30.0
"""For so long limits are told again without asking the venues."""
USUAL_USD = Decimal(100)
"""Where the search begins, and one token where it has no price."""

_STARTS = ((1, 1), (1, 16), (16, 1), (1, 256), (256, 1))
"""By what the usual amount is multiplied and divided while nobody pays for it."""
_STEP = 4
_MOST_STEPS = 40
_HALVINGS = 6


class DexLimits:
    """Looks for both ends of a pair."""

    def __init__(self, quoting: DexQuoting, clock: Clock) -> None:
        self._quoting = quoting
        self._clock = clock
        self._kept: dict[tuple[str, str], tuple[float, Limits | None]] = {}

    async def find(self, token_in: Token, token_out: Token) -> Limits | None:
        """The limits of a pair now; None where no on-chain route takes any amount."""
        if not (token_in.has_dex and token_out.has_dex):
            return None
        pair = (token_in.id, token_out.id)
        until, known = self._kept.get(pair, (0.0, None))
        if self._clock.monotonic() < until:
            return known
        found = await _Search(self._quoting, token_in, token_out).limits()
        self._kept = {
            each: kept for each, kept in self._kept.items() if kept[0] > self._clock.monotonic()
        }
        self._kept[pair] = (self._clock.monotonic() + KEPT_SECONDS, found)
        return found


class _Search:
    """One look at one pair; what was priced is remembered."""

    def __init__(self, quoting: DexQuoting, token_in: Token, token_out: Token) -> None:
        self._quoting = quoting
        self._in = token_in
        self._out = token_out
        self._paid: dict[int, int | None] = {}

    async def limits(self) -> Limits | None:
        start = await self._start()
        if start is None:
            return None
        least = await self._end(start, lambda units: units // _STEP)
        most = await self._end(start, lambda units: units * _STEP)
        return Limits(
            min=self._amount(self._in, least),
            max=self._amount(self._in, most),
            min_out=self._amount(self._out, self._paid[least] or 0),
            max_out=self._amount(self._out, self._paid[most] or 0),
        )

    async def _start(self) -> int | None:
        """An amount that can be swapped, near a usual one."""
        price = self._in.price
        tokens = ROUGH.divide(USUAL_USD, price) if price is not None and price > 0 else Decimal(1)
        usual = int(tokens.scaleb(self._in.decimals, ROUGH))
        for times, parts in _STARTS:
            units = usual * times // parts
            if units > 0 and await self._pays(units):
                return units
        return None

    async def _end(self, start: int, outward: Callable[[int], int]) -> int:
        """The last amount outward that can be swapped, and hardly any beyond it."""
        good, bad = start, outward(start)
        for _ in range(_MOST_STEPS):
            if not await self._pays(bad):
                break
            good, bad = bad, outward(bad)
        else:
            return good
        for _ in range(_HALVINGS):
            middle = (good + bad) // 2
            if middle in (good, bad):
                break
            if await self._pays(middle):
                good = middle
            else:
                bad = middle
        return good

    async def _pays(self, units: int) -> bool:
        if units <= 0:
            return False
        if units not in self._paid:
            question = DexQuestion(self._in, self._out, units)
            self._paid[units] = await self._quoting.pays(question)
        return bool(self._paid[units])

    @staticmethod
    def _amount(token: Token, units: int) -> Decimal:
        return short(from_base_units(units, token.decimals))
