"""Brings the pools of the embedded chains to market prices, and gives tokens away. It leaves a
chain alone while nobody uses it, so that an idle sandbox does not grow."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from math import isqrt

from msgspec import Struct, field

from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.calldata.venues import SYNC
from swapdesk.clock import Clock
from swapdesk.sandbox.contracts.artefact import artefact
from swapdesk.sandbox.evm_world.genesis import (
    ARBITRAGE,
    KEEPER,
    TREASURY,
    Pool,
    address_of,
    balance_slot,
    octets,
    pools_of,
)
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.evm.node import EvmNode, LiveChain
from swapdesk.sandbox.node.evm.state import AccountsAt
from swapdesk.sandbox.world import WorldToken, asset_of

logger = logging.getLogger(__name__)

PARTS = 10_000


def amount_out(amount_in: int, reserve_in: int, reserve_out: int, fee: int) -> int:
    """Returns how much a pool pays out for ``amount_in``, rounded down as the contract does.
    ``fee`` is in parts of 10,000; amounts are in smallest units."""
    kept = amount_in * (PARTS - fee)
    return kept * reserve_out // (reserve_in * PARTS + kept)


def amount_to(ratio: Fraction, reserve_in: int, reserve_out: int, fee: int) -> int:
    """Returns the amount to sell to a pool, fee included, that raises the ratio ``reserve_in /
    reserve_out`` to ``ratio``. The amount is rounded down; it is 0 if the ratio is already high
    enough."""
    x, y, kept = reserve_in, reserve_out, PARTS - fee
    missing = PARTS * x * (ratio.numerator * y - ratio.denominator * x)
    if missing <= 0:
        return 0
    b = (PARTS + kept) * x * ratio.denominator
    root = isqrt(b * b + 4 * kept * missing * ratio.denominator)
    return (root - b) // (2 * kept * ratio.denominator)


BAND = Fraction(15, 10_000)
"""Largest relative deviation from the market's ratio at which a pool is left alone."""
MOST_STEPS = 32
"""Most steps in one transaction of ``contracts/sources/Arbitrage.vy``."""


class PoolState(Struct, frozen=True):
    pool: Pool
    reserve0: int
    reserve1: int


PoolSwap = tuple[str, str, int]
"""A swap in a pool: the pool's address, the contract of the token that is swapped in, and its
units."""


def market_ratio(pool: Pool, prices: Mapping[str, Decimal]) -> Fraction:
    """Returns the ratio of ``reserve0`` to ``reserve1`` that matches the market's prices, which are
    dollars by asset."""
    return Fraction(_unit_price(pool.token1, prices)) / _unit_price(pool.token0, prices)


def deviation(reserve0: int, reserve1: int, ratio: Fraction) -> Fraction:
    """Returns how far a pool is from the market: the relative difference of its reserves' ratio
    from ``ratio``."""
    return abs(Fraction(reserve0, reserve1) / ratio - 1)


def plan(
    states: Iterable[PoolState], prices: Mapping[str, Decimal], held: Mapping[str, int]
) -> list[PoolSwap]:
    """Returns the swaps that bring deviating pools back to the market price, the furthest first.
    ``prices`` are dollars by asset. ``held`` are the keeper's token balances, which limit the
    swaps."""
    left = dict(held)
    off = [
        (deviation(state.reserve0, state.reserve1, ratio), state, ratio)
        for state in states
        if state.reserve0 and state.reserve1
        for ratio in (market_ratio(state.pool, prices),)
    ]
    off = [pool for pool in off if pool[0] > BAND]
    off.sort(key=lambda pool: (-pool[0], pool[1].pool.address))
    steps: list[PoolSwap] = []
    for distance, state, ratio in off:
        if len(steps) == MOST_STEPS:
            break
        step = _step(state, ratio, distance, left)
        if step is not None:
            left[step[1]] -= step[2]
            steps.append(step)
    return steps


def _step(
    state: PoolState, ratio: Fraction, distance: Fraction, left: Mapping[str, int]
) -> PoolSwap | None:
    pool, fee = state.pool, state.pool.fee
    forward = Fraction(state.reserve0, state.reserve1) < ratio
    reserves = (state.reserve0, state.reserve1)
    x, y = reserves if forward else reserves[::-1]
    token = address_of(pool.token0 if forward else pool.token1)
    amount = min(amount_to(ratio if forward else 1 / ratio, x, y, fee), left.get(token, 0))
    paid = amount_out(amount, x, y, fee)
    if paid == 0:
        return None
    after = (x + amount, y - paid) if forward else (y - paid, x + amount)
    if deviation(*after, ratio) >= distance:
        return None
    return pool.address, token, amount


def _unit_price(token: WorldToken, prices: Mapping[str, Decimal]) -> Fraction:
    return Fraction(prices[asset_of(token).code]) / Fraction(10**token.row.decimals)


EVERY_SECONDS = 5.0
"""Seconds between two checks of a chain's pools."""
STALE_SECONDS = 15.0
"""Age in seconds at which pool prices are too old to quote. A request then waits until the keeper
has brought them to the market."""
BEAT_SECONDS = 3.0
"""A request does not wait for the keeper's changes to pools if the next block is more seconds away
than this."""
WAKING_SECONDS = 10.0
"""Longest time in seconds that a request waits for the keeper. Then it is answered from the current
prices of the pools."""
_GAS, _STEP_GAS = 100_000, 160_000
"""Gas limit of one transaction without its steps, and of each step; unused gas is not paid."""


class _Watched(Struct):
    """The keeper's record of one chain: when its pools were last checked, the last transaction, and
    until when requests wait."""

    live: LiveChain
    pools: tuple[Pool, ...]
    places: Mapping[str, int]
    looked: float = float("-inf")
    sent: bytes = b""
    stepping: asyncio.Lock = field(default_factory=asyncio.Lock)
    moving: asyncio.Task[None] | None = None
    patient_until: float = float("-inf")


class Keeper:
    """Keeps the pools of a node at market prices, on the chains that are in use."""

    def __init__(self, node: EvmNode, market: Market, clock: Clock) -> None:
        self._node = node
        self._market = market
        self._clock = clock
        self._chains = {name: _watched(name, live) for name, live in node.chains.items()}

    async def attend(self, chain: str) -> None:
        """Records that a chain is in use, and starts a check of its pool prices unless there was
        one recently. If the last check is at least STALE_SECONDS old, waits until the prices are
        corrected, but at most WAKING_SECONDS."""
        watched = self._chains[chain]
        now = self._clock.monotonic()
        age = now - watched.looked
        if watched.moving is None and age >= EVERY_SECONDS:
            watched.looked = now
            watched.patient_until = now + (WAKING_SECONDS if age >= STALE_SECONDS else 0)
            watched.moving = asyncio.create_task(self._move(chain))
        moving, left = watched.moving, watched.patient_until - now
        if moving is None or left <= 0:
            return
        late = asyncio.ensure_future(self._clock.sleep(left))
        await asyncio.wait((moving, late), return_when=asyncio.FIRST_COMPLETED)
        late.cancel()

    def close(self) -> None:
        for watched in self._chains.values():
            if watched.moving is not None:
                watched.moving.cancel()

    async def _move(self, chain: str) -> None:
        watched = self._chains[chain]
        live = watched.live
        try:
            while await self.step(chain) is not None or _waits(watched):
                while _waits(watched):
                    if live.rest_seconds > BEAT_SECONDS:
                        return
                    await live.changed.wait()
        except Exception:
            # The boundary of a look: the pools stay where they are until the next.
            logger.exception("the pools of %s were not moved", chain)
        finally:
            watched.moving = None

    async def step(self, chain: str) -> bytes | None:
        """Corrects the pools of a chain that deviate from the market price; returns the
        transaction's hash. Returns None if nothing has to be done or the previous transaction is
        still pending. Raises Problem."""
        watched = self._chains[chain]
        async with watched.stepping:
            if _waits(watched):
                return None
            steps = await asyncio.to_thread(_planned, watched, self._prices(watched))
            if not steps:
                return None
            watched.sent = await self._node.account(chain, KEEPER).send(
                bytes.fromhex(ARBITRAGE[2:]),
                payload=SYNC.call(steps),
                gas=_GAS + _STEP_GAS * len(steps),
                awaited=False,
            )
            return watched.sent

    def _prices(self, watched: _Watched) -> dict[str, Decimal]:
        at = self._clock.now()
        codes = {asset_of(token).code for pool in watched.pools for token in pool.tokens}
        return {code: self._market.price(code, at) for code in codes}


def _waits(watched: _Watched) -> bool:
    return bool(watched.sent) and watched.live.pool.get(watched.sent) is not None


def _watched(chain: str, live: LiveChain) -> _Watched:
    pools = pools_of(chain)
    tokens = {address_of(token): token for pool in pools for token in pool.tokens}
    return _Watched(
        live, pools, {address: balance_slot(token, ARBITRAGE) for address, token in tokens.items()}
    )


def _planned(watched: _Watched, prices: Mapping[str, Decimal]) -> list[PoolSwap]:
    accounts = watched.live.accounts
    states = [_state(accounts, pool) for pool in watched.pools]
    held = {
        address: accounts.get_storage(octets(address), slot)
        for address, slot in watched.places.items()
    }
    return plan(states, prices, held)


def _state(accounts: AccountsAt, pool: Pool) -> PoolState:
    slots = artefact("Pool").slots
    reserve0, reserve1 = (
        accounts.get_storage(octets(pool.address), slots[name]) for name in ("reserve0", "reserve1")
    )
    return PoolState(pool, reserve0, reserve1)


async def give(node: EvmNode, chain: str, token: str, address: str, units: int) -> bytes:
    """Sends units of a token from the treasury and returns the transaction's hash at once. May
    raise Problem, for example if the treasury holds too little."""
    return await node.account(chain, TREASURY).send(
        bytes.fromhex(token[2:]), payload=TRANSFER.call(address, units)
    )
