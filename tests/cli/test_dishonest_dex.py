"""A service that lies to a command: exit 9, the rule, the money and who acts next; no signature."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from cli.desks import Desk
from patience import PATIENCE
from plain_http import PLAIN
from swapdesk.chain.calldata import erc20
from swapdesk.sandbox.tampering import ATTACKER

PAIR = ("20", "usdc.base", "weth.base")
USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"


def rpc(desk: Desk, method: str, *params: Any) -> str:
    (url,) = [one["rpc"] for one in desk.sandbox.ready["chains"] if one["shortName"] == "base"]
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return str(
        httpx2.post(url, json=body, timeout=PATIENCE, trust_env=False, verify=PLAIN).json()[
            "result"
        ]
    )


def standing(desk: Desk, account: str) -> tuple[str, ...]:
    """Transactions, coins and dollars of an account, and what an attacker may take of them."""
    calls = (erc20.BALANCE_OF.call(account), erc20.ALLOWANCE.call(account, ATTACKER))
    return (
        rpc(desk, "eth_getTransactionCount", account, "latest"),
        rpc(desk, "eth_getTransactionCount", account, "pending"),
        rpc(desk, "eth_getBalance", account, "latest"),
        *(rpc(desk, "eth_call", {"to": USDC, "data": f"0x{one.hex()}"}, "latest") for one in calls),
    )


def test_a_lie_is_refused_and_told(desk: Desk) -> None:
    # The wallet of the sandbox is made and filled by the first look at it.
    assert desk("wallet", "balance", "--json").code == 0
    listed = desk("wallet", "list", "--json").document["accounts"]
    account = next(one["address"] for one in listed if one["kind"] == "evm")
    before = standing(desk, account)
    for venue, operation, fault, rule in (
        ("fa", "dex_approve", "tamper_spender", "SPENDER_UNKNOWN"),
        ("is", "dex_chain_signatures", "tamper_recipient", "RECIPIENT_DIFFERS"),
    ):
        desk.sandbox.fault(fault, operation=operation)
        done = desk("swap", *PAIR, "--type", "dex", "--provider", venue, "--yes", "--json")
        assert done.code == 9, done.stderr
        assert done.stdout == ""
        error = done.error
        assert error["code"] == rule
        assert error["message"].startswith("Your wallet refuses to sign this")
        assert error["money"].startswith("in your wallet; nothing was swapped")
        assert error["next"] == "you: ask for new quotes"
        assert standing(desk, account) == before


@pytest.mark.parametrize("words", [("--yes",), ("--dry-run",)])
def test_an_approval_that_cannot_be_read_creates_nothing(
    desk: Desk, words: tuple[str, ...]
) -> None:
    desk.sandbox.fault("garbage", operation="dex_approve", times=20)
    done = desk("swap", *PAIR, "--type", "dex", "--provider", "fa", *words, "--json")
    assert (done.code, done.error["code"]) == (7, "ANSWER_NOT_JSON"), done.stderr
    assert done.error["message"].startswith("The answer of the service could not be used.")
    assert done.error["money"].startswith("in your wallet")
