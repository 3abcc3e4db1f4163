"""A node that is killed with a bundle in its hands goes on with it: one payment of every order."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount

from sandbox.chain_money import chain_of, paid_once, sums
from sandbox.running import Running, ended, until
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_CHAIN_IDS
from swapdesk.chain.smart_account import account_address
from swapdesk.chain.user_operation import read_operation, user_operation_hash
from swapdesk.sandbox.world import find_token

USDC, ETH_BASE = find_token("base", "USDC"), find_token("base", "ETH")
USDC_ARBITRUM = find_token("arbitrum", "USDC")


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[httpx2.Client]:
    with running.api() as client:
        yield client


@pytest.fixture(scope="module")
def control(running: Running) -> Iterator[httpx2.Client]:
    with running.control() as client:
        yield client


def person(number: int) -> LocalAccount:
    account: LocalAccount = Account.from_key((0xB0D0 + number).to_bytes(32, "big"))
    return account


def group(api: httpx2.Client, rows: list[tuple[Any, float]], receivers: list[str]) -> str:
    orders = [
        {"from": token.token_id, "to": USDC_ARBITRUM.token_id, "amount": amount, "addressTo": to}
        for (token, amount), to in zip(rows, receivers, strict=True)
    ]
    answer = api.post("/exchanges/multi", json={"orders": orders})
    assert answer.status_code == 200, answer.text
    assert all("order" in each for each in answer.json()["orders"]), answer.text
    return str(answer.json()["multiId"])


def built(api: httpx2.Client, multi_id: str, sender: str) -> dict[str, Any]:
    answer = api.post(f"/exchanges/multi/{multi_id}/tx/build", json={"sender": sender})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def gift(control: httpx2.Client, address: str, **asked: Any) -> None:
    answer = control.post("/faucet", json={"chain": "base", "address": address, **asked})
    assert answer.status_code == 200, answer.text


def signatures(told: dict[str, Any], owner: LocalAccount) -> list[str]:
    """Over hashes that are computed out of the operations, as a careful wallet does."""
    made = []
    for each in told["transactions"]:
        data = each["txData"]
        operation = read_operation(data["userOperation"], signed=False)
        hash_ = user_operation_hash(operation, ENTRY_POINT, SANDBOX_CHAIN_IDS + 8453)
        assert data["userOpHash"] == "0x" + hash_.hex()
        assert operation.sender == account_address(owner.address)
        made.append("0x" + owner.sign_message(encode_defunct(hash_)).signature.hex())
    return made


def status(api: httpx2.Client, multi_id: str) -> dict[str, Any]:
    answer = api.get(f"/exchanges/multi/{multi_id}")
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def confirmed(api: httpx2.Client, multi_id: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        told = status(api, multi_id)
        assert told.get("bundleStatus") not in ("failed", "withdrawn"), told
        return told if told.get("bundleStatus") == "confirmed" else None

    found = until(look, "the bundle is confirmed")
    assert found is not None
    return found


def test_a_killed_node_pays_a_group_once_and_every_order_is_paid_out(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    owner = person(1)
    receivers = [person(100 + number).address for number in range(3)]
    rows = [(USDC, 60), (ETH_BASE, 0.03), (USDC, 75)]
    multi_id = group(api, rows, receivers)
    told = built(api, multi_id, owner.address)
    assert told["chain"] == "evm"
    assert [len(each["serviceIds"]) for each in told["transactions"]] == [2, 1]
    assert int(told["depositNeeded"]) > 3 * 10**16
    account = account_address(owner.address)
    gift(control, account, amount=1)
    gift(control, account, token="USDC", amount=135)
    base = chain_of(running, "base")
    until(lambda: base.balance(USDC, account) and base.balance(ETH_BASE, account))
    assert built(api, multi_id, owner.address)["depositNeeded"] == "0"
    signed = signatures(built(api, multi_id, owner.address), owner)
    answer = api.post(f"/exchanges/multi/{multi_id}/tx", json={"signatures": signed})
    assert answer.status_code == 200, answer.text
    os.kill(running.child("swapdesk.sandbox.node"), signal.SIGKILL)
    found = confirmed(api, multi_id)
    assert base.receipt(found["txHash"])["status"] == "0x1"
    again = api.post(f"/exchanges/multi/{multi_id}/tx", json={"signatures": signed})
    assert (again.status_code, again.json()["code"]) == (404, "NOT_FOUND")
    arbitrum = chain_of(running, "arbitrum")
    for order, receiver in zip(found["orders"], receivers, strict=True):
        end = ended(api, order["serviceId"])
        assert end["status"] == 4, end
        assert end["inAmount"] == order["inAmount"]
        assert arbitrum.balance(USDC_ARBITRUM, receiver) > 0
    assert base.balance(USDC, account) == 0
    paid_once(running)
    assert all(each.booked == each.on_chain for each in sums(running))
