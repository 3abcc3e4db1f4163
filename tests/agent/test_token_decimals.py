"""Amounts are counted as the token's own contract does, whatever a list says and whatever is paid.

Through a real agent and chain the rule is met in ``tests/wallet``."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agent import honest_solana
from agent.gate_world import PROMISE, USDC, WETH, changed, codes, judged, word
from agent.honest import HONEST, Honest
from agent.node import octets_of, text_word
from corpus import load
from swapdesk.agent.gate.case import Facts, decimals_read
from swapdesk.agent.gate.verdict import WEIGHT_PHRASE
from swapdesk.chain.calldata.erc20 import read_symbol
from swapdesk.chain.deployments import CALL_ASSETS, call_asset, coin_symbols
from swapdesk.sandbox.tables import CHAIN_ROWS, HONEST_ROWS
from swapdesk.wallet.promise import Promise, Purpose

CODE = "TOKEN_DECIMALS"
PAYING = {
    name: one
    for name, one in HONEST.items()
    if one.payload.purpose not in (Purpose.REVOKE, Purpose.CANCEL, Purpose.DEPLOY)
}
"""Every payload by which an amount leaves or may be taken."""
BUYING = [n for n, one in HONEST.items() if one.payload.purpose in (Purpose.ORDER, Purpose.SWAP)]
DECIMALS_TOLD = {one.id: octets_of(one.input) for one in load("decimals", name="token_answers")}
"""What a contract says instead of its decimals; nothing is one that has none, or reverts."""


def found(honest: Honest, promise: Promise, facts=None) -> set[str]:
    return codes(judged(honest.payload, promise, world=honest.world, facts=facts))


@pytest.mark.parametrize("name", PAYING)
@pytest.mark.parametrize("decimals", [0, 5, 8, 24, 255])
def test_no_payload_is_signed_by_decimals_of_a_list(name: str, decimals: int) -> None:
    honest = PAYING[name]
    assert CODE not in found(honest, honest.promise)
    promise = honest.promise
    assert CODE in found(honest, replace(promise, sell=replace(promise.sell, decimals=decimals)))


@pytest.mark.parametrize("name", PAYING)
@pytest.mark.parametrize("answer", DECIMALS_TOLD)
def test_no_payload_is_signed_by_a_contract_that_does_not_say(name: str, answer: str) -> None:
    honest = PAYING[name]
    contract = honest.promise.sell.contract
    if contract is None:
        return  # The coin's decimals follow from the kind of chain, and nobody is asked.

    def told(facts: Facts) -> Facts:
        return replace(
            facts, answers={**facts.answers, decimals_read(contract): DECIMALS_TOLD[answer]}
        )

    assert CODE in found(honest, honest.promise, told)


@pytest.mark.parametrize("name", BUYING)
def test_the_least_that_arrives_is_counted_as_its_contract_does(name: str) -> None:
    honest = HONEST[name]
    buy = honest.promise.buy
    promise = changed(honest.promise, buy=replace(buy, decimals=buy.decimals - 2))
    assert CODE not in found(honest, honest.promise)
    assert CODE in found(honest, promise, lambda facts: _counted(facts, buy.decimals))
    if honest.promise.chain_out != honest.promise.chain:
        # Nobody read the chain that it arrives on.
        unread = lambda facts: replace(facts, bought_decimals=None)  # noqa: E731
        assert CODE in found(honest, honest.promise, unread)


def _counted(facts: Facts, decimals: int) -> Facts:
    """The other chain says what is true, whatever was promised."""
    return replace(facts, bought_decimals=decimals)


@pytest.mark.parametrize("name", [n for n in HONEST if n not in PAYING])
def test_an_allowance_ends_whatever_its_token_says(name: str) -> None:
    honest = HONEST[name]
    promise = replace(honest.promise, sell=replace(honest.promise.sell, decimals=77))
    assert CODE not in found(honest, promise)


@pytest.mark.parametrize("name", honest_solana.HONEST)
def test_a_coin_of_solana_has_nine_decimals(name: str) -> None:
    honest = honest_solana.HONEST[name]
    promise = honest.promise
    for side in ("sell", "buy"):
        asset = getattr(promise, side)
        if asset.contract is None and honest.payload.purpose is not Purpose.REVOKE:
            other = replace(promise, **{side: replace(asset, decimals=18)})
            verdict = judged(honest.payload, other, honest_solana.POLICY, honest.world)
            paid = side == "sell" or honest.payload.purpose is Purpose.SWAP
            assert (CODE in codes(verdict)) is paid


def test_what_calls_are_paid_in_is_known_here() -> None:
    """Also where the contract itself, or the node, agrees with the list."""
    [(known, *_)] = [[one for one in CALL_ASSETS if one.chain_id > 10**9]]
    assert call_asset(known.chain_id, known.contract.lower()) is known
    assert call_asset(known.chain_id, WETH.contract) is None
    assert call_asset(1, known.contract) is None
    lied = replace(USDC, contract=known.contract, decimals=24)
    promise = changed(PROMISE, sell=lied, chain_id=known.chain_id)
    honest = HONEST["transfer"]
    agreeing = {decimals_read(known.contract): word(24)}
    facts = lambda read: replace(read, answers={**read.answers, **agreeing})  # noqa: E731
    assert CODE in found(honest, promise, facts)


@pytest.mark.parametrize("name", PAYING)
def test_a_token_of_another_name_is_signed_by_a_phrase_alone(name: str) -> None:
    """Behind PEPE the list has the contract of the dollar, or no contract, which is the coin."""
    honest = PAYING[name]
    verdict = judged(honest.payload, honest.promise, world=honest.world)
    assert verdict.phrase is None or "TOKEN_SYMBOL" not in codes(verdict)
    promise = replace(honest.promise, sell=replace(honest.promise.sell, symbol="PEPE"))
    verdict = judged(honest.payload, promise, world=honest.world)
    assert "TOKEN_SYMBOL" in codes(verdict)
    assert verdict.phrase == WEIGHT_PHRASE


@pytest.mark.parametrize("name", BUYING)
def test_what_is_bought_under_another_name_is_too(name: str) -> None:
    honest = HONEST[name]
    promise = changed(honest.promise, buy=replace(honest.promise.buy, symbol="PEPE"))
    crossing = lambda facts: replace(facts, bought_symbol="WETH")  # noqa: E731
    verdict = judged(honest.payload, promise, world=honest.world, facts=crossing)
    assert verdict.phrase == WEIGHT_PHRASE


def test_names_are_read_as_contracts_write_them() -> None:
    assert read_symbol(text_word("USDC")) == "USDC"
    assert read_symbol(b"MKR".ljust(32, b"\0")) == "MKR"
    for one in load("symbol", name="token_answers"):
        assert read_symbol(octets_of(one.input)) is None, one.id


def test_coins_are_called_by_their_chain() -> None:
    assert coin_symbols(1) == coin_symbols(1_337_000_001) == {"ETH"}
    assert coin_symbols(None) == {"SOL"}
    assert coin_symbols(999_999) == frozenset()
    for row in HONEST_ROWS:
        chain = next(one for one in CHAIN_ROWS if one.short_name == row.chain)
        if row.native and chain.chain_id is not None:
            assert row.symbol.upper() in coin_symbols(chain.chain_id), row
