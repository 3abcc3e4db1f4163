"""Groups of orders in a real sandbox: one bundle on an EVM chain pays every deposit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx2
import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount

from patience import PATIENCE
from sandbox.running import Running, until
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.smart_account import account_address
from swapdesk.sandbox.world import find_token

ETH = find_token("ethereum", "ETH").token_id
USDC = find_token("ethereum", "USDC").token_id
BTC = find_token("bitcoin", "BTC").token_id


@pytest.fixture(scope="module")
def running(everyones: Running) -> Running:
    return everyones


@pytest.fixture(scope="module")
def api(running: Running) -> Iterator[httpx2.Client]:
    with running.api() as client:
        yield client


@pytest.fixture
def control(running: Running) -> Iterator[httpx2.Client]:
    with running.control() as client:
        yield client
        client.delete("/faults")


def owner(number: int) -> LocalAccount:
    found: LocalAccount = Account.from_key(bytes([number]) * 32)
    return found


def row(place: int, amount: float, token: str = ETH) -> dict[str, Any]:
    address = derive_address("bitcoin", bytes([place, 1]) * 16)
    return {"from": token, "to": BTC, "amount": amount, "addressTo": address}


def created(api: httpx2.Client, *rows: dict[str, Any]) -> str:
    answer = api.post("/exchanges/multi", json={"orders": list(rows)}, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    assert all("order" in each for each in answer.json()["orders"]), answer.text
    found: str = answer.json()["multiId"]
    return found


def status(api: httpx2.Client, multi_id: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"/exchanges/multi/{multi_id}").json()
    return found


def built(api: httpx2.Client, multi_id: str, by: LocalAccount) -> dict[str, Any]:
    path = f"/exchanges/multi/{multi_id}/tx/build"
    answer = api.post(path, json={"sender": by.address}, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def funded(control: httpx2.Client, by: LocalAccount, build: dict[str, Any]) -> None:
    """Give the smart account what the build says it lacks."""
    account = account_address(by.address)
    gifts: list[dict[str, Any]] = []
    for each in build["transactions"]:
        units = int(each["txData"].get("tokenAmount", "0"))
        if units:
            gifts.append({"token": each["txData"]["to"], "amount": units / 10**6})
    # Last, so that a block with the coins has the tokens too.
    if build["depositNeeded"] != "0":
        # A little more: what gas costs changes between two builds.
        gifts.append({"amount": -(-int(build["depositNeeded"]) // 10**12) / 10**6 + 0.02})
    for gift in gifts:
        body = {"chain": "ethereum", "address": account, **gift}
        answer = control.post("/faucet", json=body, timeout=PATIENCE)
        assert answer.status_code == 200, answer.text


def payable(api: httpx2.Client, multi_id: str, by: LocalAccount) -> dict[str, Any] | None:
    """The build anew once the gifts of the faucet are in a block."""
    build = built(api, multi_id, by)
    return build if build["depositNeeded"] == "0" else None


def signed(build: dict[str, Any], by: LocalAccount) -> list[str]:
    hashes = [each["txData"]["userOpHash"] for each in build["transactions"]]
    made = [by.sign_message(encode_defunct(hexstr=each)).signature.hex() for each in hashes]
    return ["0x" + each.removeprefix("0x") for each in made]


def submitted(api: httpx2.Client, multi_id: str, signatures: list[str]) -> httpx2.Response:
    return api.post(f"/exchanges/multi/{multi_id}/tx", json={"signatures": signatures})


def ended(api: httpx2.Client, multi_id: str) -> dict[str, Any] | None:
    told = status(api, multi_id)
    return told if told["bundleStatus"] not in ("pending", "submitted") else None


def bundler_events(running: Running) -> set[str]:
    """Ids of the events of the bundler that the service took: signed by it, and known to nobody
    before."""
    with closing(sqlite3.connect(running.data / "service.db")) as db:
        rows = db.execute("SELECT event_id FROM webhooks WHERE source = 'bundler'")
        return {row[0] for row in rows}


def test_one_bundle_pays_coins_and_tokens_and_every_order_is_paid_out(
    running: Running, api: httpx2.Client, control: httpx2.Client
) -> None:
    by, told_before = owner(11), bundler_events(running)
    multi_id = created(api, row(1, 0.2), row(2, 900, USDC), row(3, 0.3), row(4, 1000, USDC))
    build = built(api, multi_id, by)
    assert [len(each["serviceIds"]) for each in build["transactions"]] == [2, 2]
    funded(control, by, build)
    again = until(lambda: payable(api, multi_id, by), "a block with the deposit")
    assert submitted(api, multi_id, signed(again, by)).status_code == 200
    told = until(lambda: ended(api, multi_id), "an outcome of the bundle")
    assert told["bundleStatus"] == "confirmed", told
    assert told["txHash"].startswith("0x")
    # Of each of its two operations, from the node, which is a process of its own.
    until(lambda: len(bundler_events(running) - told_before) >= 2, "the events of the bundler")
    assert submitted(api, multi_id, signed(again, by)).status_code == 404

    def finished() -> list[dict[str, Any]] | None:
        orders: list[dict[str, Any]] = status(api, multi_id)["orders"]
        return orders if all(each["status"] == 4 for each in orders) else None

    orders = until(finished, "every payout")
    assert len({each["inTransactionOutHash"] for each in orders}) == 4


def test_ends_of_bundles_that_were_asked_for(api: httpx2.Client, control: httpx2.Client) -> None:
    by = owner(12)
    for fault, ends in (("bundle_fail", "failed"), ("bundle_withdraw", "withdrawn")):
        multi_id = created(api, row(5, 0.2))
        build = built(api, multi_id, by)
        asked = {"multiId": multi_id, "fault": fault}
        assert control.post("/faults", json=asked).status_code == 200
        assert submitted(api, multi_id, signed(build, by)).status_code == 200
        told = until(lambda: ended(api, multi_id), ends)  # noqa: B023
        assert told["bundleStatus"] == ends
        assert ("failureReason" in told) == (ends == "failed")
        assert told["orders"][0]["status"] == 0, "nothing was paid"
