"""The control operations of a sandbox that a desk uses: the faucet, what the exchanges know about
an order, faults, and the time and speed of the sandbox's clock.

A payment is a writing call. If it fails, only a failure to connect proves that nothing was sent.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx2
from msgspec import Struct

from swapdesk.certificates import certificates
from swapdesk.client.credentials import is_loopback
from swapdesk.client.errors import (
    AnswerRefused,
    ApiError,
    NoAnswer,
    OutcomeUnknown,
    ServiceFailed,
    Unreachable,
    api_error,
)
from swapdesk.keepalive import CLIENT_SECONDS
from swapdesk.secret import Secret
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json
from swapdesk.wire.encoding.text import safe_text

DEADLINE = 25.0
"""Deadline in seconds. It is long because a payment may first have to start its chain."""
DEPOSITS = "deposits"
FAUCET = "faucet"
FAULTS = "faults"
_NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


_LEG_ENDS = frozenset({"FINISHED", "FALLBACK", "FAILED", "REFUNDED", "EXPIRED"})


class LegSide(Struct, frozen=True):
    """One side of a leg: the token and the amount that an exchange takes or pays out."""

    symbol: str
    chain: str
    amount: Decimal


class OrderLeg(Struct, frozen=True):
    """One swap of an order, as the exchange knows it. The amount in ``bought`` is the offered one
    until the payout, then the amount paid out."""

    venue: str
    sold: LegSide
    bought: LegSide
    deposit_address: str
    status: str
    confirmations: int | None
    confirmations_needed: int

    @property
    def over(self) -> bool:
        return self.status in _LEG_ENDS


class SandboxControl:
    """A client of the control port of one sandbox on this machine. ``url`` ends in ``/sandbox``."""

    def __init__(
        self, url: str, token: Secret, *, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        if not is_loopback(httpx2.URL(url).host):
            raise ValueError("a sandbox is controlled on this machine only")
        self._client = httpx2.AsyncClient(
            base_url=url,
            headers={"sandbox-token": token.reveal(), "accept-encoding": "identity"},
            timeout=DEADLINE,
            verify=certificates(httpx2.URL(url)),
            trust_env=False,
            limits=httpx2.Limits(
                max_connections=16, max_keepalive_connections=4, keepalive_expiry=CLIENT_SECONDS
            ),
            transport=transport,
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def deposit(
        self,
        service_id: str,
        amount: Decimal | None = None,
        memo: str | None = None,
        payer: str | None = None,
    ) -> str:
        """Pays an order's deposit and returns the transaction hash. ``amount`` None means the exact
        amount due. ``payer`` names a customer of the sandbox. After Unreachable or a 4xx nothing
        was paid; after OutcomeUnknown the payment may have been made."""
        body = {"serviceId": service_id, "amount": amount, "memo": memo, "payer": payer}
        answer = await self._pay(DEPOSITS, "deposit", body)
        return str(answer["hash"])

    async def give(
        self, chain: str, address: str, amount: Decimal, token: str | None = None
    ) -> str:
        """Pays coins, or ``token`` (contract or symbol), to an address in the sandbox; returns the
        transaction hash. Raises the errors of :meth:`deposit`."""
        body = {"chain": chain, "address": address, "amount": amount, "token": token}
        answer = await self._pay(FAUCET, "faucet", body)
        return str(answer.get("hash") or answer["signature"])

    async def legs(self, service_id: str) -> tuple[OrderLeg, ...]:
        """Returns the legs (the swaps) of an order, as the exchanges know them. Raises
        ClientError."""
        answer = await self._read("GET", "legs", query={"serviceId": service_id})
        return tuple(map(_leg, answer["legs"]))

    async def wallets(self, chain: str) -> tuple[str, ...]:
        """Returns the addresses of the wallets from which the exchanges pay on a chain. Raises
        ClientError."""
        answer = await self._read("GET", "wallets", query={"chain": chain})
        return tuple(map(str, answer["wallets"]))

    async def speed(self, speed: Decimal | None = None) -> Decimal:
        """Returns the speed of the sandbox's clock; sets it first if ``speed`` is given. Raises
        ClientError."""
        if speed is None:
            answer = await self._read("GET", "state")
        else:
            answer = await self._read("POST", "clock", {"speed": speed})
        return Decimal(str(answer["speed"]))

    async def transfer(self, transaction_hash: str) -> dict[str, Any] | None:
        """Returns a payment on a chain that is only a ledger inside the sandbox; None if the hash
        is unknown. Raises ClientError."""
        answer = await self._read("POST", "transfers", {"hash": transaction_hash})
        payment = answer.get("transfer")
        return payment if isinstance(payment, dict) else None

    async def set_fault(self, name: str, **members: Any) -> None:
        """Sets a fault. ``members`` are further members of the body of ``POST /faults``. Raises
        ApiError with the reason."""
        await self._read("POST", FAULTS, {"fault": name, **members})

    async def clear_faults(self) -> None:
        """Ends every fault, and makes the exchanges release every deposit that they hold."""
        await self._read("DELETE", FAULTS)

    async def active_faults(self) -> list[dict[str, Any]]:
        """Returns the active faults, each with name, target and remaining ``times``."""
        answer = await self._read("GET", "state")
        active = answer.get("faults")
        return (
            [fault for fault in active if isinstance(fault, dict)]
            if isinstance(active, list)
            else []
        )

    async def advance(self, seconds: int) -> str:
        """Moves the sandbox's clock forward by ``seconds``; returns its new time (RFC 3339)."""
        answer = await self._read("POST", "clock", {"advance": seconds})
        return safe_text(str(answer.get("now", "")), 64)

    async def _read(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        query: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        response = await self._send(method, path, body, query)
        answer = _object(response)
        if response.status_code == 200 and answer is not None:
            return answer
        raise _failure(response, answer or {})

    async def _pay(self, path: str, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Sends a request that makes a payment. After Unreachable or a 4xx nothing was paid; after
        OutcomeUnknown the payment may have been made."""
        given = {name: value for name, value in body.items() if value is not None}
        try:
            response = await self._send("POST", path, given)
        except NoAnswer as unanswered:
            raise OutcomeUnknown(name, unanswered) from unanswered
        answer = _object(response)
        if response.status_code == 200 and answer and (answer.get("hash") or "signature" in answer):
            return answer
        failure = _failure(response, answer or {})
        unsure = isinstance(failure, AnswerRefused | ServiceFailed)
        raise OutcomeUnknown(name, failure) if unsure else failure

    async def _send(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None,
        query: dict[str, str] | None = None,
    ) -> httpx2.Response:
        if self._client.is_closed:
            raise Unreachable("the connection to the sandbox was closed")
        try:
            return await self._client.request(
                method,
                path,
                params=query,
                content=encode_json(body) if body is not None else None,
                headers={"content-type": "application/json"},
            )
        except _NOT_SENT as error:
            raise Unreachable(f"the sandbox cannot be reached: {type(error).__name__}") from error
        except (httpx2.HTTPError, OSError, RuntimeError) as error:
            # A client that is closed meanwhile raises RuntimeError out of a call in flight.
            raise NoAnswer(f"the sandbox did not answer: {type(error).__name__}") from error


def _leg(leg: dict[str, Any]) -> OrderLeg:
    sold, bought = (_side(leg[name]) for name in ("in", "out"))
    counted = leg["confirmations"]
    return OrderLeg(
        venue=safe_text(str(leg["venue"]), 64),
        sold=sold,
        bought=bought,
        deposit_address=str(leg["depositAddress"]),
        status=str(leg["status"]),
        confirmations=None if counted is None else int(str(counted)),
        confirmations_needed=int(str(leg["confirmationsNeeded"])),
    )


def _side(side: dict[str, Any]) -> LegSide:
    symbol = safe_text(str(side["symbol"]), 32)
    return LegSide(symbol, str(side["chain"]), Decimal(str(side["amount"])))


def _object(response: httpx2.Response) -> dict[str, Any] | None:
    try:
        answer = decode_json(response.content)
    except CodecError:
        return None
    return answer if isinstance(answer, dict) else None


def _failure(response: httpx2.Response, answer: dict[str, Any]) -> ApiError | AnswerRefused:
    status = response.status_code
    if status >= 400:
        code = safe_text(str(answer["code"]), 64) if "code" in answer else None
        message = safe_text(str(answer.get("message", "")), 200)
        return api_error(status, code, message)
    return AnswerRefused("the sandbox gave an answer of no use", "wrong_shape", status)
