"""What pools pay, worked out without asking them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from swapdesk.chain.rpc.evm import Fees
from swapdesk.sandbox.evm_world.keeper import amount_out
from swapdesk.service.venues.onchain.pool_venue import Paths
from swapdesk.service.venues.onchain.reader import (
    ChainView,
    Hop,
    PoolPlace,
    less,
    pays_along,
    price_impact,
)

UNITS = st.integers(1, 10**30)
FEES = st.integers(0, 1_000)


@given(UNITS, UNITS, UNITS, FEES)
def test_a_hop_pays_what_the_contract_pays(amount: int, one: int, other: int, fee: int) -> None:
    """The sandbox holds its own formula against the contract."""
    assert Hop(one, other, fee).pays(amount) == amount_out(amount, one, other, fee) < other


@given(UNITS, UNITS, UNITS, FEES)
def test_impact_is_a_share_that_grows(amount: int, one: int, other: int, fee: int) -> None:
    hops = [Hop(one, other, fee)]
    small = price_impact(amount, pays_along(amount, hops), hops)
    large = price_impact(10 * amount, pays_along(10 * amount, hops), hops)
    assert 0 <= small <= 1
    assert 0 <= large <= 1
    if pays_along(amount, hops) > 10**6:
        assert large >= small - Decimal("0.00001")


@given(UNITS, st.decimals(0, 100, places=2))
def test_slippage_rounds_down(units: int, percent: Decimal) -> None:
    least = less(units, percent)
    assert 0 <= least <= units
    assert least <= units * (1 - Fraction(percent) / 100) < least + 1


A, B, C, D = ("0x" + letter * 40 for letter in "abcd")


def place(number: int, one: str, other: str) -> PoolPlace:
    return PoolPlace(f"0x{number:040x}", one, other, 30)


def view(**reserves: tuple[int, int]) -> ChainView:
    return ChainView(1, Fees(1, 1), {f"0x{int(n[1:]):040x}": r for n, r in reserves.items()})


def test_the_path_that_pays_most() -> None:
    paths = Paths([place(1, A, B), place(2, A, C), place(3, C, B), place(4, B, D)])
    deep, thin = (10**24, 10**24), (10**20, 10**20)
    best = paths.best(view(p1=thin, p2=deep, p3=deep), A, B, 10**20)
    assert best.tokens == (A, C, B)
    best = paths.best(view(p1=deep, p2=deep, p3=deep), A, B, 10**20)
    assert best.tokens == (A, B)
    assert best.paid == Hop(*deep, 30).pays(10**20)


def test_paths_that_lead_nowhere() -> None:
    paths = Paths([place(1, A, B), place(2, C, D)])
    deep = (10**24, 10**24)
    assert not paths.connects(A, C)
    assert not paths.connects(A, A)
    assert paths.best(view(p1=deep, p2=deep), A, C, 10**18) is None
    assert paths.best(view(), A, B, 10**18) is None, "reserves that could not be read"
    assert paths.best(view(p1=(0, 10**18)), A, B, 10**18) is None
    assert paths.best(view(p1=deep), A, B, 0) is None
    long = Paths([place(1, A, B), place(2, B, C), place(3, C, D), place(4, D, "0x" + "e" * 40)])
    assert long.connects(A, D)
    assert not long.connects(A, "0x" + "e" * 40)
