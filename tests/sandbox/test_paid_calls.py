"""Calls that are paid on the sandbox's Base, by another implementation of the protocol."""

from __future__ import annotations

import base64
import contextlib
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import httpx2
import pytest
from eth_account import Account
from eth_account.signers.local import LocalAccount
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from x402.mechanisms.evm.exact.client import ExactEvmScheme
from x402.schemas.payments import PaymentPayload, PaymentRequired

from harness import wait_for
from patience import PATIENCE
from plain_http import PLAIN
from sandbox.chain_money import Chain, chain_of
from sandbox.running import Running
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.sandbox.world import find_token

USDC = find_token("base", "USDC")
_ADDRESSES = count(2)


def give(running: Running, address: str, amount: float, token: str | None = None) -> None:
    """Have the faucet pay units of a token, or of the coin."""
    body = {"chain": "base", "address": address, "amount": amount}
    if token is not None:
        body["token"] = token
    with running.control() as control:
        assert control.post("/faucet", json=body, timeout=PATIENCE).status_code == 200


class Payer:
    """An account with dollars, at an address of the loopback network of its own."""

    def __init__(
        self, running: Running | None, seed: bytes, dollars: float, url: str | None = None
    ) -> None:
        """Of the service at ``url``, or that of the sandbox, which alone gives dollars."""
        self.account: LocalAccount = Account.from_key(seed)
        self._scheme = ExactEvmScheme(self.account)
        transport = httpx2.HTTPTransport(local_address=f"127.0.0.{next(_ADDRESSES)}", verify=PLAIN)
        self.http = httpx2.Client(
            base_url=url or (running.ready.url if running else ""),
            transport=transport,
            trust_env=False,
            timeout=PATIENCE,
        )
        if running and dollars:
            give(running, self.account.address, dollars, USDC.address)

    def payment(self, answer: httpx2.Response) -> str:
        """The header that pays what a 402 asked for."""
        asked = PaymentRequired.model_validate_json(
            base64.b64decode(answer.headers["payment-required"])
        )
        [way] = asked.accepts
        payload = PaymentPayload(
            payload=self._scheme.create_payment_payload(way), accepted=way, resource=asked.resource
        )
        return base64.b64encode(payload.model_dump_json(by_alias=True).encode()).decode()

    def call(self, method: str, path: str, **more: Any) -> httpx2.Response:
        answer = self.http.request(method, path, **more)
        assert answer.status_code == 402, answer.text
        header = {"payment-signature": self.payment(answer)}
        return self.http.request(method, path, headers=header, **more)

    def balance(self, chain: Chain) -> int:
        return chain.balance(USDC, self.account.address)


def told(answer: httpx2.Response, header: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.b64decode(answer.headers[header]))
    return found


ETH, SOL = "6689b73ec90e45f3b3e51566", "6689b73ec90e45f3b3e51577"
QUOTE = {"amount": "0.5", "from": ETH, "to": SOL, "types": "standard"}


@pytest.fixture
def base(running: Running) -> Chain:
    return chain_of(running, "base")


def test_an_unpaid_client_pays_gets_its_quote_and_follows_its_order(
    running: Running, base: Chain
) -> None:
    payer = Payer(running, b"p" * 32, 1)
    wait_for(lambda: payer.balance(base) == 10**6, "the dollars")
    quotes = payer.call("GET", "/quotes", params=QUOTE)
    assert quotes.status_code == 200, told(quotes, "payment-required")
    settled = told(quotes, "payment-response")
    receipt = base.receipt(settled["transaction"])
    assert receipt["status"] == "0x1"
    assert payer.balance(base) == 10**6 - 1_000
    quote = next(one["quoteId"] for one in quotes.json()["quotes"] if not one.get("error"))
    body = {"quoteId": quote, "addressTo": derive_address("sol", b"8" * 32)}
    order = payer.call("POST", "/exchanges", json=body).json()
    assert (order["isX402"], order["x402PayerAddress"]) == (True, payer.account.address)
    assert payer.balance(base) == 10**6 - 11_000
    assert payer.call("GET", f"/orders/{order['serviceId']}").json() == order
    # The control of the sandbox knows it as it knows the orders of those who have a key.
    by_id = {"serviceId": order["serviceId"]}
    with running.control() as control:
        assert control.post("/faults", json={"fault": "hold", **by_id}).status_code == 200
        assert control.post("/deposits", json=by_id, timeout=PATIENCE).status_code == 200
        [leg] = control.get("/legs", params=by_id).json()["legs"]
        assert leg["depositAddress"] == order["depositAddress"]
        fault = {"fault": "http_503", "quoteId": quote}
        assert control.post("/faults", json=fault).status_code != 404
        assert control.delete("/faults").status_code == 200
    # Each was written down before the chain heard of it, by the name that the chain knows it by.
    with contextlib.closing(sqlite3.connect(running.data / "service.db")) as db:
        query = "SELECT sent, transaction_hash FROM payments WHERE sent IS NOT NULL"
        sent = dict(db.execute(query))
    assert settled["transaction"] in sent
    assert all(noted == made for noted, made in sent.items())

    url = running.ready.url.replace("http", "ws", 1) + "/ws"
    with pytest.raises(InvalidStatus) as refused:
        connect(url, proxy=None)
    unpaid = refused.value.response
    assert unpaid.status_code == 402
    answer = httpx2.Response(402, headers=dict(unpaid.headers))
    header = {"payment-signature": payer.payment(answer)}
    with connect(url, additional_headers=header, proxy=None) as socket:
        assert told(httpx2.Response(101, headers=dict(socket.response.headers)), "payment-response")
        assert json.loads(socket.recv(PATIENCE))["partnerId"] == (
            f"x402:{payer.account.address.lower()}"
        )
        socket.send(json.dumps({"type": "subscribe", "serviceIds": [order["serviceId"]]}))
        assert json.loads(socket.recv(PATIENCE))["type"] == "subscribed"
    with pytest.raises(InvalidStatus) as replayed:
        connect(url, additional_headers=header, proxy=None)
    assert replayed.value.response.status_code == 402


def test_replays_are_refused_and_of_two_at_once_one_is_served(
    running: Running, base: Chain
) -> None:
    payer = Payer(running, b"r" * 32, 0.01)
    wait_for(lambda: payer.balance(base) == 10_000, "the dollars")
    header = {"payment-signature": payer.payment(payer.http.get("/tokens"))}
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(payer.http.get, "/tokens", headers=header) for _ in range(4)]
        answers = [one.result() for one in asked]
    assert sorted(one.status_code for one in answers) == [200, 402, 402, 402]
    assert payer.balance(base) == 10_000 - 100
    again = payer.http.get("/tokens", headers=header)
    assert told(again, "payment-required")["error"] == "invalid_exact_evm_nonce_already_used"


def test_what_the_chain_would_not_take_is_not_served(running: Running, base: Chain) -> None:
    poor = Payer(running, b"q" * 32, 0)
    answer = poor.call("GET", "/tokens")
    assert told(answer, "payment-required")["error"] == "invalid_exact_evm_insufficient_balance"
    rich = Payer(running, b"s" * 32, 0.0001)
    wait_for(lambda: rich.balance(base) == 100, "the dollars")
    payment = json.loads(base64.b64decode(rich.payment(rich.http.get("/tokens"))))
    forged = json.loads(base64.b64decode(poor.payment(poor.http.get("/tokens"))))
    payment["payload"]["signature"] = forged["payload"]["signature"]
    header = base64.b64encode(json.dumps(payment).encode()).decode()
    refused = rich.http.get("/tokens", headers={"payment-signature": header})
    assert told(refused, "payment-required")["error"] == "invalid_exact_evm_payload_signature"
    # Two payments out of money for one: whichever comes second is refused or withheld.
    headers = [{"payment-signature": rich.payment(rich.http.get("/tokens"))} for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(rich.http.get, "/tokens", headers=one) for one in headers]
        assert sorted(one.result().status_code for one in asked) == [200, 402]
    assert rich.balance(base) == 0
