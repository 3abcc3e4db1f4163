"""``fund``: the deposit of an order out of the profile's own wallet, by a real transfer, once."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.desks import Desk, account_of, rpc_of
from harness import Sandbox
from plain_http import PLAIN
from sandbox.chain_money import Chain
from sandbox.running import until
from swapdesk.sandbox.world import WorldToken, find_token

TESTS = Path(__file__).parents[1]
BITCOIN = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
USDC, ETH = find_token("base", "USDC"), find_token("base", "ETH")


def chain_of(desk: Desk, name: str = "base") -> Chain:
    return Chain(rpc_of(desk.sandbox, name))


def order_of(desk: Desk, *words: str) -> dict[str, Any]:
    return desk.made("swap", *words, "--yes")


@pytest.fixture(scope="module")
def account(sandbox: Sandbox) -> str:
    return account_of(sandbox, "evm", Chain(rpc_of(sandbox)), USDC, ETH)


def transfers(chain: Chain, token: WorldToken, to: str) -> list[dict[str, Any]]:
    """Logs of the token that name an address as the receiver."""
    wanted = [
        "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
        None,
        "0x" + to[2:].lower().rjust(64, "0"),
    ]
    asked = {"fromBlock": "0x0", "address": token.address, "topics": wanted}
    return chain("eth_getLogs", asked)


def test_a_deposit_of_a_token_is_paid_from_the_wallet_once(desk: Desk, account: str) -> None:
    chain = chain_of(desk)
    order = order_of(desk, "60", "usdc.base", "btc.bitcoin", "--to", BITCOIN)
    held = chain.balance(USDC, account)
    desk.refused(130, "NOT_CONFIRMED", "fund", order["serviceId"])
    assert chain.balance(USDC, account) == held
    paid = desk.made("fund", order["serviceId"], "--yes")
    told, place = paid, order["deposit"]["address"]
    assert (told["account"], told["depositAddress"], told["amount"]) == (account, place, 60)
    (log,) = transfers(chain, USDC, place)
    assert (log["transactionHash"], int(log["data"], 16)) == (told["hash"], 60 * 10**6)
    assert held - chain.balance(USDC, account) == 60 * 10**6
    desk.made("orders", "watch", order["serviceId"])
    again = desk.refused(9, "PAID_BEFORE", "fund", order["serviceId"], "--yes")
    assert told["hash"] in again["message"]
    # That it is paid needs no key: another desk may have them.
    with (desk.home / "profiles" / "sandbox" / "keys" / "lock").open("rb") as keys:
        fcntl.flock(keys, fcntl.LOCK_EX)
        again = desk("fund", order["serviceId"], "--yes", "--json")
    assert (again.code, again.error["code"]) == (9, "PAID_BEFORE")
    assert len(transfers(chain, USDC, place)) == 1
    # The link of the order is the payout's by now.
    shown = desk("orders", "show", order["serviceId"], "--json").document
    assert shown["depositHash"] == told["hash"]
    assert shown["transactions"][0] == {
        "for": "deposit", "hash": told["hash"], "state": "confirmed", "by": "wallet",
    }  # fmt: skip
    assert (shown["deposit"], shown["paidTo"]["address"]) == (None, place)
    words = desk("orders", "show", order["serviceId"]).stdout
    assert "Was paid to" in words
    assert told["hash"] in words
    exported = desk("orders", "export", "--format", "json").document["orders"]
    (row,) = [one for one in exported if one["serviceId"] == order["serviceId"]]
    assert row["depositHash"] == told["hash"]


def test_what_is_not_to_be_paid_is_not(desk: Desk, account: str) -> None:
    chain = chain_of(desk)
    nonce = chain("eth_getTransactionCount", account, "latest")

    def refused(service_id: str, code: str, end: int = 9, *words: str) -> None:
        desk.refused(end, code, "fund", service_id, "--yes", *words)
        assert chain("eth_getTransactionCount", account, "latest") == nonce

    refused("doesnotexist0000000000", "NOT_FOUND", 5)
    rich = order_of(desk, "20000", "usdc.base", "btc.bitcoin", "--to", BITCOIN)
    refused(rich["serviceId"], "WRONG_CHAIN", 2, "--wallet", "solana")
    refused(rich["serviceId"], "GATE")
    late = rich["serviceId"]
    desk.sandbox.control("POST", "/faults", {"serviceId": late, "fault": "expire"})
    until(lambda: status_of(desk, late) == "EXPIRED", "expired")
    refused(late, "NOT_PAYABLE")
    faucet = order_of(desk, "62", "usdc.base", "btc.bitcoin", "--to", BITCOIN, "--fund")
    refused(faucet["serviceId"], "PAID_BEFORE")


def status_of(desk: Desk, service_id: str) -> str:
    keys = desk.sandbox.partner()
    found: dict[str, Any] = httpx2.get(
        f"{desk.sandbox.ready['url']}/orders/{service_id}",
        headers={"Authorization": f"{keys['apiKey']}:{keys['apiSecret']}"},
        trust_env=False,
        verify=PLAIN,
    ).json()
    return str(found["displayStatus"])


KILLED = ("wallet.sign.after.1", "calls.add_payment.after.1", "wallet.broadcast.after.1")


@pytest.mark.parametrize(
    "boundary", [KILLED[0], *(pytest.param(one, marks=pytest.mark.long) for one in KILLED[1:])]
)
def test_a_killed_payment_is_gone_on_with_and_made_once(
    desk: Desk, account: str, boundary: str
) -> None:
    chain = chain_of(desk)
    order = order_of(
        desk, str(70 + KILLED.index(boundary)), "usdc.base", "btc.bitcoin", "--to", BITCOIN
    )
    nonce = int(chain("eth_getTransactionCount", account, "latest"), 16)
    service_id, place = order["serviceId"], order["deposit"]["address"]
    desk.killed(boundary, "fund", service_id, "--yes", "--json")
    ended = until(lambda: _again(desk, service_id))
    assert ended["hash"]
    (log,) = transfers(chain, USDC, place)
    assert log["transactionHash"] == ended["hash"]
    assert int(log["data"], 16) == int(order["deposit"]["amount"] * 10**6)
    assert int(chain("eth_getTransactionCount", account, "latest"), 16) == nonce + 1


def _again(desk: Desk, service_id: str) -> dict[str, Any] | None:
    """The end of the same command; None while the killed one's agent still has the wallet."""
    said = desk("fund", service_id, "--yes", "--json")
    if said.code == 9 and said.error["code"] == "READ_ONLY":
        return None
    assert said.code == 0, said.stderr
    return said.document
