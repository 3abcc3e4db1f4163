"""A network between desk and service that loses what a real one loses."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import httpx2

from swapdesk.wire.encoding.codec import decode_json, encode_json

After = Callable[[httpx2.Request, httpx2.Response], httpx2.Response]
"""What becomes of an answer on its way."""


@dataclass
class FaultyNetwork(httpx2.AsyncBaseTransport):
    """``before`` and ``after`` act on requests the service has not seen, or has carried out.

    ``gate``: a request sets the first event and waits for the second. Beside the service there is
    nobody: no control answers.
    """

    inner: httpx2.AsyncBaseTransport
    before: Callable[[httpx2.Request], None] | None = None
    after: After | None = None
    seen: list[str] = field(default_factory=list)
    gate: tuple[asyncio.Event, asyncio.Event] | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path.startswith("/sandbox/"):
            raise httpx2.ConnectError("nobody is there", request=request)
        if self.gate is not None:
            asked, go = self.gate
            asked.set()
            await go.wait()
        if self.before is not None:
            self.before(request)
        self.seen.append(f"{request.method} {request.url.path}")
        response = await self.inner.handle_async_request(request)
        return self.after(request, response) if self.after is not None else response

    def posts(self) -> int:
        return sum(line.startswith("POST") for line in self.seen)


def refuse_connection(request: httpx2.Request) -> None:
    if request.method == "POST":
        raise httpx2.ConnectError("connection refused", request=request)


def nobody_there(request: httpx2.Request) -> None:
    raise httpx2.ConnectError("connection refused", request=request)


def lose_answer(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    if request.method == "POST":
        raise httpx2.RemoteProtocolError("server disconnected", request=request)
    return response


def never_arrives(request: httpx2.Request) -> None:
    if request.method == "POST":
        raise httpx2.ReadTimeout("no answer", request=request)


def on(asked: str, do: Callable[[httpx2.Request, httpx2.Response], object]) -> After:
    """Let ``do`` see the answer to each request that begins so (``POST /v2/exchanges``), and give
    another one or none."""

    def after(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if not f"{request.method} {request.url.path}".startswith(asked):
            return response
        given = do(request, response)
        return given if isinstance(given, httpx2.Response) else response

    return after


def another_address(address: str) -> After:
    """The second reading of an order names another deposit address than the first answer."""

    def swapped(body: bytes) -> bytes:
        named = re.search(rb'"depositAddress":"([^"]+)"', body)
        return body.replace(named.group(1), address.encode())

    return read_as(swapped)


def another_output(amount: Decimal) -> After:
    """Every reading of an order gives this estimate of what is received."""
    given = b'"outAmount":%s' % f"{amount:f}".encode()
    return read_as(lambda body: re.sub(rb'"outAmount":[0-9.eE-]+', given, body))


def read_as(
    change: Callable[[bytes], bytes],
) -> After:
    """Orders that are read one by one arrive changed."""

    return on("GET /v2/orders/", lambda _, response: changed(response, change))


def changed(response: httpx2.Response, change: Callable[[bytes], bytes]) -> httpx2.Response:
    """The answer with another body."""
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)

    class Swapped(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield change(b"".join([part async for part in stream]))

    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    return httpx2.Response(response.status_code, headers=headers, stream=Swapped())


class DishonestService:
    """Answers 200 at ``path`` say what ``change`` makes of the member at ``where``
    (``signatures.0.data``; nothing: of the whole). What the service keeps stays as it was, so that
    only the desk and its wallet stand between a lie and a signature; but a lie about the
    transaction of an order is told again when the order is read."""

    def __init__(self, path: str, where: str, change: Callable[[Any], Any]) -> None:
        self._path = path
        self._where = where
        self._change = change
        self._metadata: dict[str, Any] = {}
        self.lies = 0

    def __call__(self, request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if response.status_code != 200:
            return response
        service_id = request.url.path.rpartition("/")[2]
        if request.url.path.endswith(self._path):
            return changed(response, self._lie)
        if request.method == "GET" and service_id in self._metadata:
            return changed(response, lambda body: self._repeated(service_id, body))
        return response

    def _lie(self, body: bytes) -> bytes:
        self.lies += 1
        told = _changed_at(decode_json(body), self._where, self._change)
        if self._where.startswith("metadata"):
            self._metadata[told["serviceId"]] = told["metadata"]
        return encode_json(told)

    def _repeated(self, service_id: str, body: bytes) -> bytes:
        order: Any = decode_json(body)
        return encode_json({**order, "metadata": encode_json(self._metadata[service_id]).decode()})


def _changed_at(told: Any, where: str, change: Callable[[Any], Any]) -> Any:
    if not where:
        return change(told)
    name, _, rest = where.partition(".")
    if isinstance(told, list):
        told[int(name)] = _changed_at(told[int(name)], rest, change)
    else:
        told[name] = _changed_at(told.get(name), rest, change)
    return told


def with_date(date: str) -> After:
    """Every answer carries this ``Date``."""
    return on("", lambda _, response: response.headers.update({"date": date}))


fail_answer = on(
    "POST",
    lambda request, _: httpx2.Response(502, content=b"<html>bad gateway</html>", request=request),
)
listed_on_two_pages = on(
    "GET /v2/orders",
    lambda _, response: changed(
        response, lambda body: body.replace(b'"totalPages":1', b'"totalPages":2')
    ),
)
"""The list of orders moves on while it is read: what its first page had is on the second."""
