"""Pools, routers and the keeper's contract on an EVM of other hands."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from sandbox.contracts.contract_world import (
    ALICE,
    BOB,
    CAROL,
    KEEPER,
    Bench,
    permit_document,
    place,
    signed,
)
from swapdesk.sandbox.evm_world.genesis import (
    TokenContract,
    TokenContractKind,
    addresses_storage,
    pool_storage,
    router_storage,
)
from swapdesk.sandbox.evm_world.keeper import MOST_STEPS, amount_out, amount_to

UNLIMITED = (1 << 256) - 1
COIN, DOLLAR, TETHER, LINK = (place(number) for number in range(4))
COIN_DOLLAR, COIN_TETHER, LINK_COIN = (place(number) for number in range(10, 13))
ROUTER, PERMIT_ROUTER, ARBITRAGE = (place(number) for number in range(20, 23))
USDC = TokenContract(TokenContractKind.DOLLAR, "USD Coin", "2")
TOKENS = {
    COIN: (TokenContract(TokenContractKind.WRAPPED, "Wrapped Ether"), "WETH", 18),
    DOLLAR: (USDC, "USDC", 6),
    TETHER: (TokenContract(TokenContractKind.TETHER, "Tether USD"), "USDT", 6),
    LINK: (TokenContract(TokenContractKind.TOKEN, "Chainlink"), "LINK", 18),
}
ETHER, DOLLARS = 10**18, 10**6
POOLS = {
    COIN_DOLLAR: (COIN, DOLLAR, 1_000 * ETHER, 3_300_000 * DOLLARS, 30),
    COIN_TETHER: (TETHER, COIN, 1_650_000 * DOLLARS, 500 * ETHER, 30),
    LINK_COIN: (LINK, COIN, 120_000 * ETHER, 500 * ETHER, 25),
}
BASALT = [(COIN, DOLLAR, COIN_DOLLAR), (TETHER, COIN, COIN_TETHER), (LINK, COIN, LINK_COIN)]
FATHOM = [(COIN, DOLLAR, COIN_DOLLAR), (LINK, COIN, LINK_COIN)]


@pytest.fixture(scope="module")
def opened() -> Bench:
    bench = Bench()
    for address, (contract, symbol, decimals) in TOKENS.items():
        units = dict.fromkeys((ALICE.address, ARBITRAGE), 10**6 * 10**decimals)
        for pool, (token0, token1, reserve0, reserve1, _) in POOLS.items():
            for token, reserve in ((token0, reserve0), (token1, reserve1)):
                if token == address:
                    units[pool] = reserve
        allowed = {} if address == DOLLAR else {(ALICE.address, ROUTER): UNLIMITED}
        bench.put_token(address, contract, symbol, decimals, units, allowed)
    for pool, words in POOLS.items():
        bench.put(pool, "Pool", pool_storage(*words))
    bench.put(ROUTER, "Router", router_storage("Router", COIN, BASALT))
    bench.put(PERMIT_ROUTER, "PermitRouter", router_storage("PermitRouter", COIN, FATHOM))
    bench.put(ARBITRAGE, "Arbitrage", addresses_storage("Arbitrage", {"owner": KEEPER.address}))
    return bench.open()


def reserves(bench: Bench, pool: str) -> tuple[int, int]:
    found = bench.at(pool).functions.getReserves().call()
    return found[0], found[1]


# The formula


def test_the_formula_is_the_contract_s(bench: Bench) -> None:
    for pool, (token0, token1, reserve0, reserve1, fee) in POOLS.items():
        quote = bench.at(pool).functions.getAmountOut
        for amount in (1, 17, DOLLARS + 1, ETHER, 3 * ETHER + 7, 10**33):
            for token, held, other in ((token0, reserve0, reserve1), (token1, reserve1, reserve0)):
                paid = bench.ask(quote(amount, token))
                assert paid == amount_out(amount, held, other, fee) < other


# The pool itself


def test_a_pool_swaps_what_was_sent_to_it(bench: Bench) -> None:
    pool, coin = bench.at(COIN_DOLLAR), bench.at(COIN)
    before = reserves(bench, COIN_DOLLAR)
    quoted = pool.functions.getAmountOut(ETHER, COIN).call()
    assert quoted == amount_out(ETHER, *before, 30)
    bench.send(coin.functions.transfer(COIN_DOLLAR, ETHER))
    for token, least, words in (
        (COIN, quoted + 1, "slippage"),
        (DOLLAR, 0, "slippage"),
        (LINK, 0, "not in this pool"),
    ):
        bench.refused(pool.functions.swap(token, least, BOB.address), words, BOB)
    receipt = bench.send(pool.functions.swap(COIN, quoted, BOB.address), BOB)
    assert bench.balance(DOLLAR, BOB.address) == quoted
    after = reserves(bench, COIN_DOLLAR)
    assert after == (before[0] + ETHER, before[1] - quoted)
    assert after == (bench.balance(COIN, COIN_DOLLAR), bench.balance(DOLLAR, COIN_DOLLAR))
    synced = {"reserve0": after[0], "reserve1": after[1]}
    assert bench.events(COIN_DOLLAR, "Sync", receipt) == [synced]
    bench.refused(pool.functions.getAmountOut(1, LINK), "not in this pool")


# Basalt: by approval


def later(bench: Bench) -> int:
    return bench.now + 600


def along(bench: Bench, amount: int, path: list[str]) -> list[int]:
    amounts: list[int] = bench.at(ROUTER).functions.getAmountsOut(amount, path).call()
    return amounts


def test_a_router_swaps_along_a_path_for_who_approved_it(bench: Bench) -> None:
    router = bench.at(ROUTER)
    path = [TETHER, COIN, LINK]
    amounts = along(bench, 1_000 * DOLLARS, path)
    expected = amount_out(1_000 * DOLLARS, *reserves(bench, COIN_TETHER), 30)
    assert amounts[:2] == [1_000 * DOLLARS, expected]
    assert amounts[2] == amount_out(expected, *reserves(bench, LINK_COIN)[::-1], 25)
    swap = router.functions.swapExactTokensForTokens
    end = later(bench)
    for least, along_, until, words, by in (
        (amounts[2] + 1, path, end, "slippage", ALICE),
        (amounts[2], path, bench.now - 1, "expired", ALICE),
        (1, path[:1], end, "invalid path", ALICE),
        (1, [TETHER, LINK], end, "no pool", ALICE),
        (1, path, end, "allowance", CAROL),
    ):
        bench.refused(swap(amounts[0], least, along_, BOB.address, until), words, by)
    bench.send(swap(amounts[0], amounts[2], path, BOB.address, end))
    assert bench.balance(LINK, BOB.address) == amounts[2]
    assert bench.balance(TETHER, ALICE.address) == (10**6 - 1_000) * DOLLARS
    assert bench.balance(COIN, ROUTER) == 0


def test_a_router_takes_and_pays_the_coin_itself(bench: Bench) -> None:
    router, end = bench.at(ROUTER).functions, later(bench)
    take, pay = router.swapExactETHForTokens, router.swapExactTokensForETH
    bought, paid = (
        along(bench, ETHER, [COIN, DOLLAR]),
        along(bench, 3_300 * DOLLARS, [TETHER, COIN]),
    )
    for call, words, value in (
        (take(1, [DOLLAR, COIN], BOB.address, end), "invalid path", ETHER),
        (take(bought[1] + 1, [COIN, DOLLAR], BOB.address, end), "slippage", ETHER),
        (take(1, [COIN, DOLLAR], BOB.address, bench.now - 1), "expired", ETHER),
        (pay(paid[0], 1, [TETHER, COIN, LINK], BOB.address, end), "invalid path", 0),
        (pay(paid[0], paid[1] + 1, [TETHER, COIN], BOB.address, end), "slippage", 0),
    ):
        bench.refused(call, words, value=value)
    before = bench.coins(BOB.address)
    bench.send(take(bought[1], [COIN, DOLLAR], BOB.address, end), value=ETHER)
    bench.send(pay(*paid, [TETHER, COIN], BOB.address, end))
    assert bench.balance(DOLLAR, BOB.address) == bought[1]
    assert bench.coins(BOB.address) == before + paid[1]
    assert bench.coins(COIN) == bench.at(COIN).functions.totalSupply().call()
    assert bench.coins(ROUTER) == 0
    # Nobody else's coins stay in it.
    data = {"from": ALICE.address, "to": ROUTER, "value": 1}
    with pytest.raises(Exception, match="only the wrapped native coin"):
        bench.web3.eth.call(data)


# Fathom: by permit


def with_permit(
    bench: Bench, amount: int, least: int, path: list[str], *, signer: Any = ALICE
) -> Any:
    end = later(bench)
    document = permit_document(bench, DOLLAR, USDC, ALICE.address, PERMIT_ROUTER, amount, 0, end)
    return bench.at(PERMIT_ROUTER).functions.swapWithPermit(
        amount, least, path, BOB.address, end, end, *signed(document, signer)
    )


def test_a_permit_and_its_swap_are_one_transaction(bench: Bench) -> None:
    path = [DOLLAR, COIN, LINK]
    amount = 5_000 * DOLLARS
    quoted = bench.at(PERMIT_ROUTER).functions.getAmountsOut(amount, path).call()
    for swap, words, by in (
        (with_permit(bench, amount, quoted[2] + 1, path), "slippage", ALICE),
        (with_permit(bench, amount, 1, path, signer=BOB), "insufficient allowance", ALICE),
        (with_permit(bench, amount, 1, path), "insufficient allowance", CAROL),
        (with_permit(bench, amount, 1, [DOLLAR]), "invalid path", ALICE),
    ):
        bench.refused(swap, words, by)
    bench.send(with_permit(bench, amount, quoted[2], path))
    assert bench.balance(LINK, BOB.address) == quoted[2]
    dollar = bench.at(DOLLAR).functions
    assert dollar.allowance(ALICE.address, PERMIT_ROUTER).call() == 0
    assert dollar.nonces(ALICE.address).call() == 1
    # The permit is used up, and the allowance with it.
    bench.refused(with_permit(bench, amount, 1, path), "insufficient allowance")


def test_a_permit_that_somebody_handed_in_before_still_swaps(bench: Bench) -> None:
    path = [DOLLAR, COIN]
    amount = 700 * DOLLARS
    swap = with_permit(bench, amount, 1, path)
    *_, end, v, r, s = swap.args
    permit = bench.at(DOLLAR).functions.permit
    bench.send(permit(ALICE.address, PERMIT_ROUTER, amount, end, v, r, s), CAROL)
    quoted = bench.at(PERMIT_ROUTER).functions.getAmountsOut(amount, path).call()
    bench.send(swap)
    assert bench.balance(COIN, BOB.address) == quoted[1]


# The keeper's contract


def test_the_keeper_moves_many_pools_at_once(bench: Bench) -> None:
    sync = bench.at(ARBITRAGE).functions.sync
    steps = []
    for pool, token, fee in ((COIN_DOLLAR, COIN, 30), (COIN_TETHER, TETHER, 30)):
        x, y = reserves(bench, pool)
        ratio = Fraction(x, y) * Fraction(101, 100)
        steps.append((pool, token, amount_to(ratio, x, y, fee)))
    wanted = [Fraction(*reserves(bench, pool)) * Fraction(101, 100) for pool, *_ in steps]
    bench.refused(sync(steps), "only the market maker", ALICE)
    longest = [(COIN_DOLLAR, COIN, ETHER)] * MOST_STEPS
    bench.ask(sync(longest), KEEPER)
    bench.refused(sync([*longest, longest[0]]), "", KEEPER)
    bench.send(sync(steps), KEEPER)
    for (pool, *_), ratio in zip(steps, wanted, strict=True):
        assert abs(Fraction(*reserves(bench, pool)) / ratio - 1) < Fraction(1, 10**9)
