"""Block 0 of the embedded chains: whose tokens, which pools, and that everything adds up. And their
keeper: which pools move, how much, and never further away than before.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest_asyncio
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from rows import each_row
from sandbox.evm.evm_world import KEY
from swapdesk.chain.deployments import MULTICALL3, PERMIT2, SANDBOX_VENUES
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.sandbox.contracts.artefact import artefact, entry
from swapdesk.sandbox.evm_world.genesis import (
    ARBITRAGE,
    BASALT,
    COINS,
    FATHOM,
    KEEPER,
    RELAYER,
    SOLVER,
    TREASURY,
    WRAPPED_NATIVE,
    Pool,
    TokenContractKind,
    address_of,
    contract_of,
    funded_tokens,
    octets,
    parties_of,
    pools_of,
    pools_on,
    world_contracts,
)
from swapdesk.sandbox.evm_world.keeper import (
    BAND,
    MOST_STEPS,
    Keeper,
    PoolState,
    PoolSwap,
    amount_out,
    deviation,
    market_ratio,
    plan,
)
from swapdesk.sandbox.faults import DROP_TRANSACTION, ActiveFaults
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.evm.chain import LONGEST_SLEEP
from swapdesk.sandbox.node.evm.embedding import Embedding
from swapdesk.sandbox.node.evm.genesis import Allocation, sandbox_key
from swapdesk.sandbox.node.evm.node import EvmNode
from swapdesk.sandbox.node.ledger import reserves_of
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.tables import ASSETS, EVM_CHAINS, quoted_by_maker
from swapdesk.sandbox.world import asset_of, build_chains, build_tokens, find_token, world_tokens

PARTIES = parties_of(KEY)
PRICES = {code: asset.price for code, asset in ASSETS.items()}


@lru_cache
def contracts(chain: str) -> dict[bytes, Allocation]:
    return world_contracts(chain, KEY)


def wallet_address(wallet: str) -> str:
    return "0x" + sandbox_key(KEY, wallet).address.hex()


def word(chain: str, address: str, name: str, variable: str, *keys: int | str) -> int:
    slot = entry(artefact(name).slots[variable], *keys)
    return contracts(chain)[octets(address)].storage.get(slot, 0)


@each_row("chain", EVM_CHAINS)
def test_every_enabled_token_of_the_table_has_its_contract(chain: str) -> None:
    tokens = funded_tokens(chain)
    assert len({address_of(token) for token in tokens}) == len(tokens) >= 20
    for token in tokens:
        kind = contract_of(token).kind
        held = contracts(chain)[octets(address_of(token))]
        assert held.code == artefact(kind).code
        assert word(chain, address_of(token), kind, "ledger.decimals") == token.row.decimals
    disabled = [
        token
        for token in world_tokens().values()
        if token.row.chain == chain and not token.row.enabled and token.address is not None
    ]
    assert all(octets(address_of(token)) not in contracts(chain) for token in disabled)


@each_row("chain", EVM_CHAINS)
def test_what_is_held_of_a_token_is_what_there_is(chain: str) -> None:
    holders = [pool.address for pool in pools_of(chain)]
    holders += [PARTIES[TREASURY], PARTIES[SOLVER], PARTIES[RELAYER], ARBITRAGE]
    for token in funded_tokens(chain):
        address, kind = address_of(token), contract_of(token).kind
        reserves = {wallet_address(wallet): units for wallet, units in reserves_of(token)}
        for wallet, units in reserves.items():
            assert word(chain, address, kind, "ledger.balanceOf", wallet) == units > 0
        held = sum(reserves.values()) + sum(
            word(chain, address, kind, "ledger.balanceOf", each) for each in holders
        )
        coins = contracts(chain)[octets(address)].balance
        supply = word(chain, address, kind, "ledger.totalSupply")
        assert held == (coins if kind == TokenContractKind.WRAPPED else supply) > 0
        assert word(chain, address, kind, "ledger.balanceOf", PARTIES[TREASURY]) > 0


@each_row("chain", EVM_CHAINS)
def test_pools_stand_at_the_market_and_hold_their_reserves(chain: str) -> None:
    for pool in pools_of(chain):
        reserve0, reserve1 = (
            word(chain, pool.address, "Pool", name) for name in ("reserve0", "reserve1")
        )
        assert (reserve0, reserve1) == pool.reserves
        assert deviation(reserve0, reserve1, market_ratio(pool, PRICES)) < Fraction(1, 5_000)
        assert int(pool.token0.address or "", 16) < int(pool.token1.address or "", 16)
        for token, reserve in zip(pool.tokens, pool.reserves, strict=True):
            kind = contract_of(token).kind
            held = word(chain, address_of(token), kind, "ledger.balanceOf", pool.address)
            assert held == reserve > 0


@each_row("chain", EVM_CHAINS)
def test_routers_know_the_pools_of_their_venue_and_no_others(chain: str) -> None:
    for venue, name in ((BASALT, "Router"), (FATHOM, "PermitRouter")):
        router = next(each.address for each in SANDBOX_VENUES if each.provider == venue)
        pools = pools_on(chain, venue)
        if not pools:
            assert venue == FATHOM
            assert octets(router) not in contracts(chain)
            continue
        for pool in pools:
            a, b = map(address_of, pool.tokens)
            for pair in ((a, b), (b, a)):
                found = word(chain, router, name, "routing.poolOf", *pair)
                assert found == int(pool.address, 16)
        storage = contracts(chain)[octets(router)].storage
        assert len(storage) == 1 + 2 * len(pools)
        coin = find_token(chain, WRAPPED_NATIVE[chain])
        assert word(chain, router, name, "routing.WETH") == int(address_of(coin), 16)


def test_solver_and_relayer_may_pay_what_they_hold() -> None:
    settlement, portal = (
        next(each.address for each in SANDBOX_VENUES if each.provider == code)
        for code in ("is", "me")
    )
    for chain in EVM_CHAINS:
        assert word(chain, settlement, "Settlement", "solver") == int(PARTIES[SOLVER], 16)
        assert word(chain, portal, "Portal", "relayer") == int(PARTIES[RELAYER], 16)
        assert word(chain, ARBITRAGE, "Arbitrage", "owner") == int(PARTIES[KEEPER], 16)
        for token in {token for pool in pools_of(chain) for token in pool.tokens}:
            address, kind = address_of(token), contract_of(token).kind
            for holder, spender in ((PARTIES[SOLVER], settlement), (PARTIES[RELAYER], portal)):
                assert word(chain, address, kind, "ledger.balanceOf", holder) > 0
                allowed = word(chain, address, kind, "ledger.allowance", holder, spender)
                assert allowed == (1 << 256) - 1
        for address in (PERMIT2, MULTICALL3):
            assert contracts(chain)[octets(address)].code
        for address in (PARTIES[TREASURY], PARTIES[SOLVER], PARTIES[RELAYER]):
            assert contracts(chain)[octets(address)].balance > 0


def test_a_namesake_of_a_known_token_has_a_plain_contract() -> None:
    assert contract_of(find_token("base", "USDC")).kind == TokenContractKind.DOLLAR
    false = [
        token
        for token in world_tokens().values()
        if token.row.verdict == "malicious" and token.address and token.row.chain in EVM_CHAINS
    ]
    assert len(false) > 5
    assert {contract_of(token).kind for token in false} == {TokenContractKind.TOKEN}


def test_the_catalogue_says_dex_exactly_of_what_is_traded_on_a_chain() -> None:
    now = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
    pooled = {
        token.token_id for name in EVM_CHAINS for pool in pools_of(name) for token in pool.tokens
    }
    coins = {token.token_id for token in map(coin_of, EVM_CHAINS)}
    made = {token.token_id for token in world_tokens().values() if quoted_by_maker(token.row)}
    said = {token.id for token in build_tokens(build_chains(), now) if token.has_dex}
    assert said == pooled | coins | made
    assert len(said) > 80


def coin_of(chain: str) -> Any:
    return next(
        token for token in world_tokens().values() if token.row.chain == chain and token.row.native
    )


@each_row("chain", EVM_CHAINS)
def test_exchanges_hold_in_coins_what_their_books_say_and_gas_beside_it(chain: str) -> None:
    coin = coin_of(chain)
    for wallet, units in reserves_of(coin):
        found = contracts(chain)[octets(wallet_address(wallet))]
        assert found.balance == units + COINS > COINS
    tokens = {wallet for token in funded_tokens(chain) for wallet, _ in reserves_of(token)}
    assert all(contracts(chain)[octets(wallet_address(one))].balance >= COINS for one in tokens)


POOLS = [pool for chain in EVM_CHAINS for pool in pools_of(chain)]
RICH = {address_of(token): 10**60 for pool in POOLS for token in pool.tokens}


def at_genesis(pool: Pool) -> PoolState:
    return PoolState(pool, *pool.reserves)


def moved(state: PoolState, step: PoolSwap) -> PoolState:
    """As the contract moves it."""
    pool = state.pool
    moved_pool, token_in, amount = step
    assert moved_pool == pool.address
    if token_in == address_of(pool.token0):
        paid = amount_out(amount, state.reserve0, state.reserve1, pool.fee)
        return PoolState(pool, state.reserve0 + amount, state.reserve1 - paid)
    assert token_in == address_of(pool.token1)
    paid = amount_out(amount, state.reserve1, state.reserve0, pool.fee)
    return PoolState(pool, state.reserve0 - paid, state.reserve1 + amount)


def off(state: PoolState, prices: dict[str, Decimal]) -> Fraction:
    return deviation(state.reserve0, state.reserve1, market_ratio(state.pool, prices))


def shifted(code: str, percent: str) -> dict[str, Decimal]:
    return {**PRICES, code: PRICES[code] * (1 + Decimal(percent) / 100)}


@settings(deadline=None)
@given(st.sampled_from(POOLS), st.integers(-900, 900), st.booleans())
def test_a_pool_comes_back_to_the_market(pool: Pool, points: int, first: bool) -> None:
    code = asset_of(pool.tokens[0 if first else 1]).code
    prices = shifted(code, str(Decimal(points) / 100))
    state = at_genesis(pool)
    before = off(state, prices)
    steps = plan([state], prices, RICH)
    if before <= BAND:
        assert steps == []
        return
    (step,) = steps
    after = off(moved(state, step), prices)
    assert after < before
    assert after < BAND / 10
    assert plan([moved(state, step)], prices, RICH) == []


def test_the_furthest_pools_come_first_and_one_transaction_takes_so_many() -> None:
    prices = {**shifted("ETH", "1.5"), "LINK": PRICES["LINK"] * 2}
    states = [at_genesis(pool) for pool in pools_of("ethereum")]
    steps = plan(states, prices, RICH)
    assert len(steps) == MOST_STEPS
    by_address = {state.pool.address: state for state in states}
    order = [off(by_address[step[0]], prices) for step in steps]
    assert order == sorted(order, reverse=True)
    left = [state for state in states if state.pool.address not in {each[0] for each in steps}]
    assert max(off(state, prices) for state in left) <= order[-1]


def test_what_the_keeper_does_not_have_it_does_not_spend() -> None:
    prices = shifted("ETH", "2")
    states = [at_genesis(pool) for pool in pools_of("base")]
    wanted = plan(states, prices, RICH)
    assert len(wanted) > 3
    token = wanted[0][1]
    needed = sum(amount for _, paid, amount in wanted if paid == token)
    held = {**RICH, token: needed // 2}
    steps = plan(states, prices, held)
    assert 0 < sum(amount for _, paid, amount in steps if paid == token) <= needed // 2
    assert plan(states, prices, {}) == []
    states_by_address = {state.pool.address: state for state in states}
    for step in steps:
        state = states_by_address[step[0]]
        assert off(moved(state, step), prices) < off(state, prices)


def test_a_pool_that_is_too_small_for_a_step_is_left_alone() -> None:
    for pool in POOLS[:20]:
        for reserves in ((3, 1), (1, 3), (1, 1)):
            state = PoolState(pool, *reserves)
            for step in plan([state], PRICES, RICH):
                after = moved(state, step)
                assert off(after, PRICES) < off(state, PRICES)
        assert plan([PoolState(pool, 0, 5)], PRICES, RICH) == []


NEAR = BAND * 6 / 5
"""What was just within the band when it was looked at may be just outside a moment later."""
CHAIN = "base"
MOMENT = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)


class World(Struct):
    embedding: Embedding
    node: EvmNode
    faults: ActiveFaults
    clock: Any
    market: Market

    @property
    def keeper(self) -> Keeper:
        return Keeper(self.node, self.market, self.clock)

    def furthest(self) -> Fraction:
        """How far the pool of the chain that is furthest off is from the market."""
        return self.furthest_on(CHAIN)

    def furthest_on(self, chain: str) -> Fraction:
        return max(self.off(pool) for pool in pools_of(chain))

    def off(self, pool: Pool) -> Fraction:
        at = self.clock.now()
        prices = {
            asset_of(each).code: self.market.price(asset_of(each).code, at) for each in pool.tokens
        }
        accounts = self.node.chains[pool.chain].accounts
        slots = artefact("Pool").slots
        reserves = [
            accounts.get_storage(octets(pool.address), slots[name])
            for name in ("reserve0", "reserve1")
        ]
        return deviation(reserves[0], reserves[1], market_ratio(pool, prices))

    async def mined(self, sent: bytes | None) -> dict[str, Any]:
        return dict(await self.node.confirmed(CHAIN, sent))


class Patient(SystemClock):
    """The time of a machine that is never too busy: no patience ends."""

    async def sleep(self, seconds: float) -> None:
        if seconds > LONGEST_SLEEP:
            await asyncio.Event().wait()
        await super().sleep(seconds)


@asynccontextmanager
async def opened(
    directory: Path,
    market: Market | None = None,
    *,
    speed: Decimal = Decimal(10_000),
    clock: SystemClock | None = None,
) -> AsyncIterator[World]:
    clock, faults = clock or SystemClock(), ActiveFaults()
    embedding = Embedding(
        directory,
        KEY,
        ids="sandbox",
        world=WorldClock(clock, None, speed),
        clock=clock,
        faults=faults,
        market=market,
    )
    try:
        node = embedding.open()
        yield World(embedding, node, faults, ManualClock(MOMENT), Market(7))
    finally:
        await embedding.close()


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with opened(tmp_path) as made:
        yield made


async def test_pools_follow_the_market_by_one_transaction(world: World) -> None:
    keeper = world.keeper
    assert world.furthest() > BAND
    receipt = await world.mined(await keeper.step(CHAIN))
    assert receipt["status"] == "0x1"
    assert world.furthest() <= BAND
    assert await keeper.step(CHAIN) is None
    # Nobody waits for its confirmations: no empty blocks follow.
    assert world.node.chains[CHAIN].head.awaited == 0
    world.clock.advance(1_800)
    assert world.furthest() > BAND
    assert (await world.mined(await keeper.step(CHAIN)))["status"] == "0x1"
    assert world.furthest() <= BAND


async def test_a_fault_that_was_asked_for_waits_for_somebody_else(world: World) -> None:
    world.faults.set("drop_transaction", "chain", CHAIN, times=1)
    sent = await world.keeper.step(CHAIN)
    assert (await world.mined(sent))["status"] == "0x1"
    assert world.faults.meets(CHAIN, DROP_TRANSACTION)


async def test_a_chain_that_was_left_alone_answers_when_its_pools_are_at_the_market(
    world: World,
) -> None:
    keeper = world.keeper
    world.clock.advance(3_600)
    assert world.furthest() > BAND
    await asyncio.gather(keeper.attend(CHAIN), keeper.attend(CHAIN))
    assert world.furthest() <= BAND
    assert world.node.account(CHAIN, KEEPER).next_nonce() == 1
    # What was just looked at is not looked at again, and another chain is not moved.
    await asyncio.gather(keeper.attend(CHAIN), keeper.attend("bsc"))
    assert world.node.account(CHAIN, KEEPER).next_nonce() == 1
    # However far the market goes, pools rest that nobody asks for.
    world.clock.advance(3_600)
    await keeper.attend("bsc")
    assert world.furthest() > BAND
    await keeper.attend(CHAIN)
    assert world.furthest() <= BAND


async def test_a_new_chain_waits_for_no_beat_and_nobody_for_a_block_that_is_far_ahead(
    tmp_path: Path,
) -> None:
    # Blocks of this chain are 200 s apart, and nobody moves the clock that ends the patience.
    async with opened(tmp_path, speed=Decimal("0.01")) as world:
        keeper = world.keeper
        assert world.furthest() > BAND
        await keeper.attend(CHAIN)
        assert world.furthest() <= BAND
        assert world.node.chains[CHAIN].head.number == 1
        assert world.node.chains["bsc"].head.number == 0, "nobody asked it"
        world.clock.advance(3_600)
        await keeper.attend(CHAIN)
        assert world.furthest() > BAND
        assert world.node.chains[CHAIN].head.number == 1
        assert world.node.account(CHAIN, KEEPER).next_nonce() == 2


async def height(world: World, chain: str) -> int:
    """As the node answers whoever asks."""
    return int(await world.embedding.call(chain, "eth_blockNumber", []), 16)


async def test_chains_that_are_asked_at_once_answer_with_their_pools_at_the_market(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, Market(7), clock=Patient()) as world:
        now = replace(world, clock=SystemClock())

        async def asked(chain: str) -> None:
            assert await height(world, chain) >= 1
            assert now.furthest_on(chain) <= NEAR

        assert all(now.furthest_on(chain) > NEAR for chain in world.node.chains)
        await asyncio.gather(*(asked(chain) for chain in world.node.chains))
