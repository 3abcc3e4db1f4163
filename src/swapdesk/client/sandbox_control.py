"""The control operations of a sandbox that a desk uses: paying a deposit from its faucet."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import httpx

from swapdesk.client.credentials import is_loopback
from swapdesk.client.errors import AnswerRefused, Answered, Unreachable
from swapdesk.settings import Secret
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json
from swapdesk.wire.encoding.text import safe_text

DEADLINE = 15.0


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
            trust_env=False,
            transport=transport,
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def deposit(
        self, service_id: str, amount: Decimal | None = None, memo: str | None = None
    ) -> str:
        """Pay an order's deposit address; the exact amount and memo unless given.

        Returns the transaction hash. Raises Unreachable or AnswerRefused.
        """
        body: dict[str, Any] = {"serviceId": service_id}
        if amount is not None:
            body["amount"] = amount
        if memo is not None:
            body["memo"] = memo
        try:
            response = await self._client.post(
                "deposits",
                content=encode_json(body),
                headers={"content-type": "application/json"},
            )
        except httpx.HTTPError as error:
            raise Unreachable(f"the sandbox cannot be reached: {type(error).__name__}") from error
        answered = Answered(
            status=response.status_code,
            content_type=response.headers.get("content-type", ""),
            begin=safe_text(response.text[:300], 300),
        )
        try:
            answer = decode_json(response.content)
        except CodecError as error:
            raise AnswerRefused(str(error), "not_json", answered) from error
        if response.status_code != 200 or not isinstance(answer, dict):
            said = answer.get("message") if isinstance(answer, dict) else None
            text = safe_text(str(said), 200) if said else f"HTTP {response.status_code}"
            raise AnswerRefused(text, "wrong_shape", answered)
        return str(answer.get("hash", ""))
