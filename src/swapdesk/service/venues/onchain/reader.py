"""Reads one chain: reserves and fees once per block, everything else on request. Prices are
computed like the contracts do, by the constant-product formula on integers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

from msgspec import Struct

from swapdesk.background import SharedWork
from swapdesk.chain.calldata import erc20
from swapdesk.chain.calldata.method import Method
from swapdesk.chain.calldata.venues import AGGREGATE, RESERVES
from swapdesk.chain.deployments import MULTICALL3
from swapdesk.chain.node_http import NodeUncertain
from swapdesk.chain.rpc.evm import Call, EvmClient, Fees
from swapdesk.clock import Clock
from swapdesk.wire.encoding.numbers import ROUGH

SHARE = 10_000


class Hop(Struct, frozen=True):
    """A pool as a swap uses it: the reserves of the token sold and of the token bought, and ``fee``
    in parts of 10,000."""

    reserve_in: int
    reserve_out: int
    fee: int

    def pays(self, amount: int) -> int:
        """Returns exactly what the pool's contract pays for ``amount``."""
        kept = amount * (SHARE - self.fee)
        if kept <= 0 or self.reserve_in <= 0:
            return 0
        return kept * self.reserve_out // (self.reserve_in * SHARE + kept)


def pays_along(amount: int, hops: Iterable[Hop]) -> int:
    for hop in hops:
        amount = hop.pays(amount)
    return amount


def price_impact(amount: int, paid: int, hops: Iterable[Hop]) -> Decimal:
    """Returns the share (0 to 1) by which the price of this swap is worse than the price of a tiny
    swap. Pool fees do not count."""
    spot = Decimal(amount)
    for hop in hops:
        spot = ROUGH.divide(ROUGH.multiply(spot, Decimal(hop.reserve_out)), Decimal(hop.reserve_in))
        spot = ROUGH.divide(ROUGH.multiply(spot, Decimal(SHARE - hop.fee)), Decimal(SHARE))
    if spot <= 0:
        return Decimal(0)
    lost = ROUGH.subtract(Decimal(1), ROUGH.divide(Decimal(paid), spot))
    return max(lost, Decimal(0))


def less(units: int, percent: Decimal) -> int:
    """Returns ``units`` reduced by ``percent`` percent, rounded down."""
    return max(int(units * (1 - Fraction(percent) / 100)), 0)


class ChainPlace(Struct, frozen=True):
    """A chain that venues trade on. ``wrapped`` is the wrapped coin's contract. Transactions are
    final after ``confirmations`` blocks."""

    name: str
    chain_id: int
    rpc: str
    wrapped: str
    confirmations: int
    multicall: str = MULTICALL3


class PoolPlace(Struct, frozen=True):
    """A constant-product pool; ``fee`` is in parts of 10,000."""

    address: str
    token0: str
    token1: str
    fee: int


FRESH_SECONDS = 0.25
"""Seconds for which a block that was read counts as the newest."""

_CALLS_AT_ONCE = 60


class ChainView(Struct, frozen=True):
    """The state of a chain at one block, as quotes use it: reserves by pool address, and the price
    of gas."""

    height: int
    fees: Fees
    reserves: Mapping[str, tuple[int, int]]

    def hop(self, pool: PoolPlace, token_in: str) -> Hop | None:
        """Returns a pool as used by a swap that sells ``token_in``; None if the pool is empty or
        could not be read."""
        reserves = self.reserves.get(pool.address)
        if reserves is None or 0 in reserves:
            return None
        reserve0, reserve1 = reserves
        if token_in == pool.token0:
            return Hop(reserve0, reserve1, pool.fee)
        return Hop(reserve1, reserve0, pool.fee)


class OnchainReader:
    """Reads one chain for all venues. Methods that ask the chain's node raise NodeError if it does
    not answer."""

    def __init__(self, place: ChainPlace, client: EvmClient, clock: Clock) -> None:
        self.place = place
        self.client = client
        self._clock = clock
        self._pools: dict[str, PoolPlace] = {}
        self._view: ChainView | None = None
        self._looked = float("-inf")
        self._looking: SharedWork[ChainView] = SharedWork()

    def watch(self, pools: Iterable[PoolPlace]) -> None:
        """Adds pools whose reserves are read with every block from now on."""
        self._pools.update((pool.address, pool) for pool in pools)

    async def view(self) -> ChainView:
        """Returns the state at the newest block, which may be up to FRESH_SECONDS old. Concurrent
        callers share a read."""
        if self._view is not None and self._clock.monotonic() - self._looked < FRESH_SECONDS:
            return self._view
        return await asyncio.shield(self._looking.begin(self._look))

    async def close(self) -> None:
        await self._looking.cancel()
        await self.client.close()

    async def _look(self) -> ChainView:
        height = await self.client.height()
        view = self._view
        if view is None or view.height != height:
            view = self._view = await self._read(height)
        self._looked = self._clock.monotonic()
        return view

    async def _read(self, height: int) -> ChainView:
        addresses = list(self._pools)
        reading = asyncio.gather(
            *(
                self.aggregate(
                    [
                        (address, RESERVES, ())
                        for address in addresses[begin : begin + _CALLS_AT_ONCE]
                    ]
                )
                for begin in range(0, len(addresses), _CALLS_AT_ONCE)
            )
        )
        fees, answers = await asyncio.gather(self.client.fees(), reading)
        read = [answer for part in answers for answer in part]
        reserves = {
            address: (_number(answer, 0), _number(answer, 1))
            for address, answer in zip(addresses, read, strict=True)
            if answer is not None and len(answer) >= 64
        }
        return ChainView(height, fees, MappingProxyType(reserves))

    async def aggregate(
        self, calls: Sequence[tuple[str, Method, tuple[object, ...]]]
    ) -> list[bytes | None]:
        """Returns the answers to several contract calls, sent as one request; None for a call that
        reverts. A call is (contract, method, arguments)."""
        if not calls:
            return []
        from eth_abi.abi import decode
        from eth_abi.exceptions import DecodingError

        encoded = [(target, True, method.call(*arguments)) for target, method, arguments in calls]
        output = await self.client.call(Call(self.place.multicall, AGGREGATE.call(encoded)))
        try:
            ((results),) = decode(("(bool,bytes)[]",), output)
        except (DecodingError, ValueError, OverflowError) as error:
            raise NodeUncertain("the multicall answered another shape") from error
        if len(results) != len(calls):
            raise NodeUncertain("the multicall answered another number of calls")
        return [bytes(data) if succeeded else None for succeeded, data in results]

    async def numbers(
        self, calls: Sequence[tuple[str, Method, tuple[object, ...]]]
    ) -> list[int | None]:
        """Returns the answers to several contract calls as numbers; None for a call that reverts or
        whose answer is too short."""
        return [
            None if answer is None or len(answer) < 32 else _number(answer, 0)
            for answer in await self.aggregate(calls)
        ]

    async def allowance(self, token: str, owner: str, spender: str) -> int:
        (allowed,) = await self.numbers([(token, erc20.ALLOWANCE, (owner, spender))])
        if allowed is None:
            raise NodeUncertain("the token answers no allowance")
        return allowed


def _number(data: bytes, place: int) -> int:
    return int.from_bytes(data[32 * place : 32 * place + 32], "big")
