"""The keeper's plan: which pools, how much, and never further away than before."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from swapdesk.sandbox.evm_world.genesis import Pool, address_of, pools_of
from swapdesk.sandbox.evm_world.keeper import (
    BAND,
    MOST_STEPS,
    PoolState,
    PoolSwap,
    amount_out,
    deviation,
    market_ratio,
    plan,
)
from swapdesk.sandbox.tables import ASSETS, EVM_CHAINS
from swapdesk.sandbox.world import asset_of

PRICES = {code: asset.price for code, asset in ASSETS.items()}
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


def test_pools_at_the_market_are_left_alone() -> None:
    assert plan(map(at_genesis, POOLS), PRICES, RICH) == []


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
