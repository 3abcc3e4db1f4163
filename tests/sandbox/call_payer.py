"""Whoever pays for calls by another implementation of the protocol, on the sandbox's Base."""

from __future__ import annotations

import base64
import json
from itertools import count
from typing import Any

import httpx2
from eth_account import Account
from eth_account.signers.local import LocalAccount
from x402.mechanisms.evm.exact.client import ExactEvmScheme
from x402.schemas.payments import PaymentPayload, PaymentRequired

from patience import PATIENCE
from plain_http import PLAIN
from sandbox.chain_money import Chain
from sandbox.running import Running
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
