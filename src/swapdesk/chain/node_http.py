"""HTTP to a JSON-RPC node. All requests to nodes go through this module, each sent once.

The process with the signing keys uses nodes that anybody may run. So answers are limited in bytes,
time and nesting, never decompressed, and redirects are not followed. ``Retry-After`` is obeyed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from itertools import count
from math import ceil
from typing import Any, Self

import httpx2

from swapdesk.certificates import certificates
from swapdesk.clock import SystemClock
from swapdesk.keepalive import CLIENT_SECONDS
from swapdesk.wire.encoding.codec import refuse_deep
from swapdesk.wire.encoding.timestamps import LONGEST_HOLD, retry_after

ANSWER_LIMIT = 8 << 20
"""Largest number of bytes of an answer that are read."""
_held_until: dict[str, float] = {}
"""Event-loop times until which nodes must not be called, by URL, kept for the whole process."""


WORDS_LIMIT = 200
"""Largest number of characters of a node's message that are kept."""


class NodeError(Exception):
    """Raised if a request to a node failed. The subclasses say what is known about the effect of
    the request."""


class NodeUnreachable(NodeError):
    """Raised if nothing was sent: there was no connection, or the node had asked callers to wait.
    Nothing was executed."""


class NodeUncertain(NodeError):
    """Raised if the request was sent but no usable answer came back. The node may have accepted a
    transaction."""


class NodeRefused(NodeError):
    """Raised if the node answered with an error; nothing happened on the chain. ``words`` is the
    node's message in printable ASCII, shortened. ``reason`` is Solana's JSON for the failure."""

    def __init__(self, code: int, message: str, reason: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.words = plain_words(message)
        self.reason = reason


def plain_words(text: str) -> str:
    kept = text[:WORDS_LIMIT]
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in kept)


class NodeHttp:
    """A client of a JSON-RPC node. ``deadline`` limits every call, in seconds; ``headers`` are sent
    with every call."""

    def __init__(
        self,
        url: str,
        *,
        deadline: float = 5.0,
        headers: dict[str, str] | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._url = url
        self._deadline = deadline
        self._ids: Iterator[int | str] = count(1)
        self._http = httpx2.AsyncClient(
            headers={
                "accept-encoding": "identity",
                "content-type": "application/json",
                **(headers or {}),
            },
            timeout=deadline,
            verify=certificates(httpx2.URL(url)),
            trust_env=False,
            follow_redirects=False,
            limits=httpx2.Limits(
                max_connections=64, max_keepalive_connections=16, keepalive_expiry=CLIENT_SECONDS
            ),
            transport=transport,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(self, method: str, *params: Any) -> Any:
        """Calls a method of the node and returns its result as JSON values. Raises NodeError or the
        exception that ``_refusal`` returns."""
        return await self._ask(method, params)

    async def _ask(self, method: str, params: object, deadline: float | None = None) -> Any:
        number = next(self._ids)
        body = self._encoded(_request(number, method, params))
        document = self._document(await self._post(body, deadline))
        if not isinstance(document, dict) or document.get("id") != number:
            raise NodeUncertain(f"{method} was answered with another shape")
        result = self._result(document)
        if isinstance(result, Exception):
            raise result
        return result

    async def _ask_all(self, requests: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Sends several reads in one request and returns the results in order. For a refused read,
        the list has an exception in place of a result."""
        bodies = [_request(next(self._ids), method, params) for method, params in requests]
        document = self._document(await self._post(self._encoded(bodies)))
        if isinstance(document, dict) and document.get("error") is not None:
            raise self._refusal(document["error"])
        if not isinstance(document, list) or len(document) != len(bodies):
            raise NodeUncertain("the node answered another number of requests")
        # By text: 1, 1.0 and true are the same key.
        by_id = {
            json.dumps(answer.get("id")): answer for answer in document if isinstance(answer, dict)
        }
        try:
            return [self._result(by_id[str(body["id"])]) for body in bodies]
        except KeyError:
            raise NodeUncertain("the node answered other requests") from None

    def _result(self, document: dict[str, Any]) -> Any:
        error = document.get("error")
        if error is not None:
            refusal = self._refusal(error)
            if isinstance(refusal, NodeUncertain):
                raise refusal
            return refusal
        if "result" not in document:
            raise NodeUncertain("the node answered without a result")
        return document["result"]

    def _refusal(self, error: Any) -> Exception:
        """Returns the exception for the error object in a node's answer. Here this is
        NodeUncertain; subclasses return more exact exceptions."""
        return NodeUncertain("the node refused the question")

    async def _post(self, body: bytes, deadline: float | None = None) -> bytes:
        deadline = deadline or self._deadline
        loop = asyncio.get_running_loop()
        if (left := _held_until.get(self._url, 0.0) - loop.time()) > 0:
            raise NodeUnreachable(f"the node asks to be left alone for {ceil(left)} s more")
        try:
            async with (
                asyncio.timeout(deadline),
                self._http.stream("POST", self._url, content=body, timeout=deadline) as answer,
            ):
                if answer.status_code != 200:
                    stated, date = (answer.headers.get(name) for name in ("retry-after", "date"))
                    if wait := retry_after(stated, SystemClock().now(), date):
                        _held_until[self._url] = loop.time() + min(wait, LONGEST_HOLD)
                    raise NodeUncertain(f"the node answered with status {answer.status_code}")
                content = bytearray()
                async for chunk in answer.aiter_raw():
                    content += chunk
                    if len(content) > ANSWER_LIMIT:
                        raise NodeUncertain(f"the answer has more than {ANSWER_LIMIT} bytes")
                return bytes(content)
        # The words of these errors may be the node's, so only their kind is told.
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            raise NodeUnreachable(f"the node cannot be reached: {type(error).__name__}") from error
        except (httpx2.HTTPError, OSError) as error:  # TimeoutError is one
            raise NodeUncertain(f"the node gave no answer: {type(error).__name__}") from error

    def _document(self, content: bytes) -> Any:
        try:
            # UTF-8 alone: the reader below takes UTF-16 too, whose bytes hide brackets.
            text = content.decode("utf-8")
            refuse_deep(content)
            return self._read(text)
        except ValueError as error:
            raise NodeUncertain("the node answered no JSON") from error

    def _read(self, text: str) -> Any:
        return json.loads(text)

    def _encoded(self, body: object) -> bytes:
        return json.dumps(body).encode()


def _request(number: int | str, method: str, params: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
