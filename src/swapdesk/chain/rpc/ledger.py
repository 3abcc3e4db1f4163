"""Client of a ledger node: chains without a virtual machine and the venues that use them.

One long-lived client; every call has a deadline. Failures say what is known: nothing was
sent, the outcome is unknown, or the node refused.
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpx

from swapdesk.chain.rpc.methods import TOKEN_HEADER, Method, RpcCode
from swapdesk.chain.rpc.node_http import ANSWER_LIMIT, NodeHttp
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json

OPENING_SECONDS = 20.0
"""What a payment may take: it opens the chain it is made on, when nobody has."""
_OPENS = frozenset({Method.FAUCET_PAY, Method.EVM_FUND, Method.SOLANA_FUND})


class LedgerError(Exception):
    """A call to the node failed."""


class LedgerUnreachable(LedgerError):
    """No connection, or a chain's own node is down: nothing happened."""


class LedgerUncertain(LedgerError):
    """The request left and no usable answer came back."""


class LedgerRefused(LedgerError):
    """The node answered with an error; nothing happened there. ``code`` is an RpcCode."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class LedgerClient(NodeHttp):
    """Calls a node at ``url`` with its ``token``. ``deadline`` bounds a whole call, in seconds."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        deadline: float = 5.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, deadline=deadline, headers={TOKEN_HEADER: token}, transport=transport)

    async def call(self, method: Method, **params: object) -> Any:
        """The result as plain JSON values; numbers are WireNumber. Raises LedgerError."""
        body = encode_json(
            {"jsonrpc": "2.0", "id": next(self._ids), "method": method.value, "params": params}
        )
        opening = OPENING_SECONDS if method in _OPENS else 0.0
        deadline = max(self._deadline, opening)
        try:
            async with asyncio.timeout(deadline):
                answer = await self._http.post(
                    self._url,
                    content=body,
                    timeout=deadline,
                )
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise LedgerUnreachable(f"the node cannot be reached: {error!r}") from error
        except (httpx.HTTPError, TimeoutError) as error:
            raise LedgerUncertain(f"no answer to {method}: {error!r}") from error
        if answer.status_code != 200:
            raise LedgerUncertain(f"{method} was answered with status {answer.status_code}")
        try:
            document = decode_json(answer.content, max_bytes=ANSWER_LIMIT)
        except CodecError as error:
            raise LedgerUncertain(f"{method} was answered with no JSON: {error}") from error
        if not isinstance(document, dict):
            raise LedgerUncertain(f"{method} was answered with another shape")
        refusal = document.get("error")
        if isinstance(refusal, dict):
            code, message = int(refusal["code"]), str(refusal["message"])
            if code == RpcCode.DOWN:
                raise LedgerUnreachable(message)
            raise LedgerRefused(code, message)
        if "result" not in document:
            raise LedgerUncertain(f"{method} was answered without a result")
        return document["result"]
