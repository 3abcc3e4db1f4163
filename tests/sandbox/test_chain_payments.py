"""Deposits, payouts and refunds of the exchanges on embedded chains, looked at over JSON-RPC."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from eth_account import Account

from sandbox.chain_money import chain_of, paid_once, sums, wallet
from sandbox.running import Running, create_order, ended, until
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.deployments import PERMIT2
from swapdesk.sandbox.node.issued_world import PAYER, hot_wallet_name
from swapdesk.sandbox.venue_rows import PAYOUT_WALLETS, VENUE_ROWS
from swapdesk.sandbox.world import WorldToken, find_token

STRANGER = Account.from_key((0xDEC0DE).to_bytes(32, "big"))
ALICE, BOB = (checksummed("0x" + Account.from_key(bytes([n]) * 32).address[2:]) for n in (7, 8))
BTC, XMR = find_token("bitcoin", "BTC"), find_token("monero", "XMR")
USDC, ETH_BASE = find_token("base", "USDC"), find_token("base", "ETH")
ETH_ARBITRUM, USDC_POLYGON = find_token("arbitrum", "ETH"), find_token("polygon", "USDC")
OVER_ETHER = ((BTC, "0.05"), (XMR, "5"), (find_token("litecoin", "LTC"), "20"))
"""What is sold; the exchanges decide over what, and one of them is over Ether."""


@pytest.fixture(scope="module")
def control(running: Running) -> Iterator[httpx2.Client]:
    with running.control() as client:
        yield client


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[httpx2.Client]:
    with running.api() as client:
        yield client


def order_of(
    api: httpx2.Client, sell: WorldToken, buy: WorldToken, amount: str, to: str, **more: str
) -> dict[str, Any]:
    return create_order(api, sell.token_id, buy.token_id, amount, to, **more)


def pay(control: httpx2.Client, order: dict[str, Any]) -> str:
    answer = control.post("/deposits", json={"serviceId": order["serviceId"]})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["hash"])


def hot_wallets(running: Running) -> set[str]:
    names = [hot_wallet_name(v.code, n) for v in VENUE_ROWS for n in range(PAYOUT_WALLETS)]
    return {wallet(running, name) for name in names}


def legs_of(running: Running, order: dict[str, Any]) -> dict[str, sqlite3.Row]:
    query = (
        "SELECT *, (SELECT hash FROM payments WHERE account = accounts.id) AS deposit_hash,"
        " (SELECT hash FROM payments WHERE cause = 'payout:' || accounts.id) AS payout_hash"
        " FROM accounts WHERE key LIKE ?"
    )
    with sqlite3.connect(running.data / "node.db") as file:
        file.row_factory = sqlite3.Row
        rows = file.execute(query, (order["serviceId"] + "%",)).fetchall()
    file.close()
    return {row["key"].partition(":")[2]: row for row in rows}


def equal(running: Running) -> None:
    """Books and chains say the same, and every wallet has paid what it signed, once."""
    paid_once(running)
    found = list(sums(running))
    assert found
    assert all(each.booked == each.on_chain for each in found), found


def test_a_transfer_by_anybody_is_a_deposit_and_the_payout_is_one_too(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    base, arbitrum = chain_of(running, "base"), chain_of(running, "arbitrum")
    for gift in ({"amount": 1}, {"token": "USDC", "amount": 500}):
        asked = {"chain": "base", "address": STRANGER.address, **gift}
        assert control.post("/faucet", json=asked).status_code == 200
    until(lambda: base.balance(USDC, STRANGER.address) and base.balance(ETH_BASE, STRANGER.address))
    order = order_of(api, USDC, ETH_ARBITRUM, "60", ALICE)
    raw = STRANGER.sign_transaction(
        {
            "chainId": int(base("eth_chainId"), 16),
            "nonce": 0,
            "to": USDC.address,
            "value": 0,
            "data": TRANSFER.call(order["depositAddress"], 60 * 10**6),
            "gas": 100_000,
            "maxFeePerGas": 10**10,
            "maxPriorityFeePerGas": 10**9,
        }
    ).raw_transaction
    paid = base("eth_sendRawTransaction", "0x" + raw.hex())
    end = ended(api, order["serviceId"])
    assert end["status"] == 4, end
    receipt = arbitrum.receipt(end["inTransactionOutHash"])
    transaction = arbitrum("eth_getTransactionByHash", end["inTransactionOutHash"])
    assert (receipt["status"], receipt["to"]) == ("0x1", ALICE)
    assert receipt["from"] in hot_wallets(running)
    assert Decimal(int(transaction["value"], 16)).scaleb(-18) == Decimal(str(end["outAmount"]))
    assert arbitrum.balance(ETH_ARBITRUM, ALICE) == int(transaction["value"], 16)
    assert base.balance(USDC, order["depositAddress"]) == 60 * 10**6
    with sqlite3.connect(running.data / "node.db") as file:
        ((found,),) = file.execute(
            "SELECT hash FROM payments WHERE receiver = ? AND account IS NOT NULL",
            (order["depositAddress"],),
        )
    file.close()
    assert found == paid
    equal(running)


def test_a_token_is_refunded_by_a_transfer_on_its_chain(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    base = chain_of(running, "base")
    order = order_of(api, USDC, BTC, "80", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
                     refundAddress=BOB)  # fmt: skip
    asked = {"serviceId": order["serviceId"], "fault": "refund"}
    assert control.post("/faults", json=asked).status_code == 200
    before = base.balance(USDC, BOB)
    paid = pay(control, order)
    assert pay(control, order) == paid, "a deposit is paid once, however often it is asked for"
    end = ended(api, order["serviceId"])
    assert (end["status"], end["refundChain"]) == (7, "base")
    receipt = until(lambda: base.receipt(end["refundHash"]))
    assert receipt["from"] in hot_wallets(running)
    back = base.balance(USDC, BOB) - before
    assert 79 * 10**6 < back <= 80 * 10**6
    assert base("eth_getTransactionByHash", paid)["from"] == wallet(running, PAYER)
    equal(running)


def test_the_middle_of_a_private_order_is_a_transfer_between_exchanges(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    ether = find_token("ethereum", "ETH").token_id
    # Which route is best changes with the market: another hour, another middle.
    for sell, amount in OVER_ETHER * 16:
        order = order_of(api, sell, USDC, amount, ALICE, types="private")
        if legs_of(running, order)["in"]["token_out"] == ether:
            break
        control.post("/clock", json={"advance": 1200})
    else:
        raise AssertionError("no private order went over Ether")
    pay(control, order)
    assert ended(api, order["serviceId"])["status"] == 4
    legs = legs_of(running, order)
    paid, place = legs["in"]["payout_hash"], legs["out"]["address"]
    assert paid == legs["out"]["deposit_hash"]
    receipt = chain_of(running, "ethereum").receipt(paid)
    assert (receipt["status"], receipt["to"]) == ("0x1", place)
    equal(running)


def test_a_payout_that_its_receiver_refuses_stays_with_the_exchange(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    base = chain_of(running, "base")
    order = order_of(api, BTC, ETH_BASE, "0.01", PERMIT2)
    pay(control, order)

    def failed() -> bool:
        with sqlite3.connect(running.data / "node.db") as file:
            rows = file.execute("SELECT cause FROM payments WHERE cause LIKE 'bounced %'")
            found = rows.fetchall()
        file.close()
        return bool(found)

    until(failed, what="bounced")
    assert base.balance(ETH_BASE, PERMIT2) == 0
    end = ended(api, order["serviceId"])
    assert end["status"] != 4
    assert end["actionRequired"] is True
    equal(running)
