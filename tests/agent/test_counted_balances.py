"""Amounts of an account are told by the decimals of the chain, or not at all."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from agent.gate_world import ALICE, BOB, CHAIN_ID, ETH, GENESIS, USDC, WETH
from agent.node import Answer, Contract, Node, chains, octets_of, token, word
from corpus import Case, load
from swapdesk.agent.process.chain_handlers import evm_balances, payment_fee
from swapdesk.chain.calldata import erc20
from swapdesk.wallet.accounts import Kind

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


@pytest.mark.parametrize("case", SILENT, ids=lambda one: one.id)
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
