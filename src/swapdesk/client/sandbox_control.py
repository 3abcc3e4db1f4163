"""The control operation of a sandbox that a desk uses: paying a deposit from its faucet.

A payment is a writing call: only a connection that was never made means that nothing left.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx

from swapdesk.client.certificates import certificates
from swapdesk.client.credentials import is_loopback
from swapdesk.client.errors import (
    Answered,
    AnswerRefused,
    ClientError,
    NoAnswer,
    OutcomeUnknown,
    Refusal,
    Unreachable,
    api_error,
)
from swapdesk.secret import Secret
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json
from swapdesk.wire.encoding.text import safe_text

DEADLINE = 15.0
DEPOSITS = "deposits"
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


class SandboxControl:
    """Speaks to the control port of one sandbox on this machine. ``url`` ends in ``/sandbox``."""

    def __init__(
        self, url: str, token: Secret, *, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        if not is_loopback(httpx.URL(url).host):
            raise ValueError("a sandbox is controlled on this machine only")
        self._client = httpx.AsyncClient(
            base_url=url,
            headers={"sandbox-token": token.reveal(), "accept-encoding": "identity"},
            timeout=DEADLINE,
            verify=certificates(httpx.URL(url)),
            trust_env=False,
            transport=transport,
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def deposit(
        self, service_id: str, amount: Decimal | None = None, memo: str | None = None
    ) -> str:
        """Pay an order's deposit address; the exact amount and memo unless given.

        Returns the transaction hash. The sandbox pays an order once, unless an amount or a
        memo is given. Raises Unreachable (nothing left), a definite ApiError (4xx: nothing was
        paid) or OutcomeUnknown (no answer, 5xx, an answer of no use: it may have been paid).
        """
        body: dict[str, Any] = {"serviceId": service_id}
        if amount is not None:
            body["amount"] = amount
        if memo is not None:
            body["memo"] = memo
        if self._client.is_closed:
            raise Unreachable("the connection to the sandbox was closed")
        try:
            response = await self._client.post(
                DEPOSITS,
                content=encode_json(body),
                headers={"content-type": "application/json"},
            )
        except _NOT_SENT as error:
            raise Unreachable(f"the sandbox cannot be reached: {type(error).__name__}") from error
        except (httpx.HTTPError, OSError, RuntimeError) as error:
            # A client that is closed meanwhile raises RuntimeError out of a call in flight.
            unanswered = NoAnswer(f"the sandbox did not answer: {type(error).__name__}")
            raise OutcomeUnknown("deposit", unanswered) from error
        answer = _object(response)
        if response.status_code == 200 and answer is not None and answer.get("hash"):
            return str(answer["hash"])
        raise _failure(response, answer or {})


def _object(response: httpx.Response) -> dict[str, Any] | None:
    try:
        answer = decode_json(response.content)
    except CodecError:
        return None
    return answer if isinstance(answer, dict) else None


def _failure(response: httpx.Response, answer: dict[str, Any]) -> ClientError:
    """A refusal of 4xx is definite; after any other answer the payment may have been made."""
    status = response.status_code
    if status >= 400:
        code = safe_text(str(answer["code"]), 64) if "code" in answer else None
        said = safe_text(str(answer.get("message", "")), 200)
        refused = api_error(Refusal(status=status, code=code, message=said))
        return OutcomeUnknown("deposit", refused) if status >= 500 else refused
    answered = Answered(
        status=status,
        content_type=response.headers.get("content-type", ""),
        begin=safe_text(response.text[:300], 300),
    )
    unusable = AnswerRefused("the sandbox gave an answer of no use", "wrong_shape", answered)
    return OutcomeUnknown("deposit", unusable)
