"""Amounts are counted as the token's own contract does, whatever a list says and whatever is paid.

Through a real agent and chain the rule is met in ``tests/wallet``."""

from __future__ import annotations

import asyncio

from msgspec.structs import replace

from agent import honest_solana
from agent.gate_world import ALICE, BOB, CHAIN_ID, ETH, GENESIS, USDC, WETH, codes
from agent.honest import HONEST, Honest
from agent.node import Answer, Contract, Node, chains, octets_of, text_word, token, word
from corpus import Case, load
from rows import each_row
from swapdesk.agent.gate.case import read_of
from swapdesk.agent.gate.verdict import WEIGHT_PHRASE
from swapdesk.agent.process.chain_handlers import evm_balances, payment_fee
from swapdesk.chain.calldata import erc20
from swapdesk.chain.calldata.erc20 import read_symbol
from swapdesk.chain.deployments import CALL_ASSETS, call_asset, coin_symbols
from swapdesk.sandbox.tables import CHAIN_ROWS, HONEST_ROWS
from swapdesk.wallet.accounts import Kind
from swapdesk.wallet.promise import Purpose

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


def counted(honest: Honest, contract: str, answer: bytes) -> Honest:
    """Its contract says ``answer`` of its decimals."""
    told = {read_of(contract, erc20.DECIMALS): answer}
    return replace(honest, read=lambda facts: replace(facts, answers=facts.answers | told))


@each_row("name", PAYING)
def test_no_payload_is_signed_by_decimals_of_a_list(name: str) -> None:
    honest = PAYING[name]
    assert CODE not in honest.codes()
    for decimals in (0, 5, 8, 24, 255):
        assert CODE in honest.selling(decimals=decimals).codes()
    # The coin's decimals follow from the kind of chain, and nobody is asked.
    contract = honest.promise.sell.contract
    for name, answer in DECIMALS_TOLD.items() if contract is not None else ():
        assert CODE in counted(honest, contract, answer).codes(), name


@each_row("name", BUYING)
def test_the_least_that_arrives_is_counted_as_its_contract_does(name: str) -> None:
    honest = HONEST[name]
    decimals = honest.promise.buy.decimals
    # The other chain says what is true, whatever was promised.
    lied = honest.buying(decimals=decimals - 2).facts(bought_decimals=decimals)
    assert CODE in lied.codes()
    if honest.promise.chain_out != honest.promise.chain:
        # Nobody read the chain that it arrives on.
        assert CODE in honest.facts(bought_decimals=None).codes()


@each_row("name", [n for n in HONEST if n not in PAYING])
def test_an_allowance_ends_whatever_its_token_says(name: str) -> None:
    assert CODE not in HONEST[name].selling(decimals=77).codes()


@each_row("name", honest_solana.HONEST)
def test_a_coin_of_solana_has_nine_decimals(name: str) -> None:
    honest = honest_solana.HONEST[name]
    if honest.payload.purpose is Purpose.REVOKE:
        return
    if honest.promise.sell.contract is None:
        assert CODE in honest.selling(decimals=18).codes()
    if honest.promise.buy.contract is None:
        paid = honest.payload.purpose is Purpose.SWAP
        assert (CODE in honest.buying(decimals=18).codes()) is paid


def test_what_calls_are_paid_in_is_known_here() -> None:
    """Also where the contract itself, or the node, agrees with the list."""
    [(known, *_)] = [[one for one in CALL_ASSETS if one.chain_id > 10**9]]
    assert call_asset(known.chain_id, known.contract.lower()) is known
    assert call_asset(known.chain_id, WETH.contract) is None
    assert call_asset(1, known.contract) is None
    lied = HONEST["transfer"].selling(contract=known.contract, decimals=24)
    lied = lied.promised(chain_id=known.chain_id)
    assert CODE in counted(lied, known.contract, word(24)).codes()


@each_row("name", PAYING)
def test_a_token_of_another_name_is_signed_by_a_phrase_alone(name: str) -> None:
    """Behind PEPE the list has the contract of the dollar, or no contract, which is the coin."""
    verdict = PAYING[name].verdict()
    assert verdict.phrase is None or "TOKEN_SYMBOL" not in codes(verdict)
    named = [PAYING[name].selling(symbol="PEPE")]
    if name in BUYING:
        named.append(PAYING[name].buying(symbol="PEPE").facts(bought_symbol="WETH"))
    for one in named:
        verdict = one.verdict()
        assert "TOKEN_SYMBOL" in codes(verdict)
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


UNITS = 3_000_000_000
NONE = replace(USDC, contract=BOB)


def node(decimals: Answer | int) -> Node:
    odd = token(decimals, balance=UNITS)
    return Node(CHAIN_ID, GENESIS, {str(USDC.contract): odd, str(WETH.contract): token(18)})


def told(read: Node, *assets):
    nodes = chains(eth=read)
    return asyncio.run(evm_balances(nodes, nodes.link("eth", Kind.EVM), ALICE, assets))[0]


def test_a_list_that_says_otherwise_changes_no_amount() -> None:
    wrong = [replace(one, decimals=one.decimals + 2) for one in (USDC, ETH)]
    found = told(node(6), *wrong)
    assert [(one.units, one.asset.decimals) for one in found] == [(UNITS, 6), (10**19, 18)]


SILENT = [one for one in load("decimals", name="token_answers") if one.expect["told"] is None]


@each_row("case", SILENT, ids=lambda one: one.id)
def test_a_token_that_does_not_say_has_no_amount(case: Case) -> None:
    read = node(None if case.input is None else octets_of(case.input))
    assert [one.units for one in told(read, USDC, ETH)] == [None, 10**19]


def test_nobody_is_asked_for_the_decimals_of_nothing() -> None:
    asked: list[int] = []

    def decimals(_: bytes) -> bytes:
        asked.append(1)
        return word(18)

    read = node(6)
    read.contracts[str(WETH.contract)] = Contract({erc20.DECIMALS.selector: decimals})
    found = told(read, WETH, USDC, NONE)
    assert [one.units for one in found] == [0, UNITS, None]
    assert asked == []


def test_what_a_payment_in_the_coin_takes_is_told_by_the_node() -> None:
    """Twice a transfer at the price that the wallet would bid: 2 x 21,000 gas at 3 Gwei."""
    assert asyncio.run(payment_fee(node(6))) == 2 * 21_000 * 3 * 10**9
