"""What becomes of an answer that does not leave as it was given: held back, cut, lost, replaced."""

from __future__ import annotations

from starlette.types import Message, Receive, Send

_PAGE = b"<!doctype html><title>Welcome</title><h1>It works!</h1>"


class WholeAnswer:
    """An answer that is held back until it is known whole."""

    def __init__(self) -> None:
        self._start: Message = {}
        self.body = b""

    @property
    def status(self) -> int:
        return int(self._start["status"])

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
        else:
            self.body += bytes(message.get("body", b""))

    async def pass_on(self, send: Send, body: bytes | None = None) -> None:
        """Send it on, with another body and as a success when there is one."""
        if body is not None:
            headers = [each for each in self._start["headers"] if each[0] != b"content-length"]
            headers.append((b"content-length", str(len(body)).encode()))
            self._start = {**self._start, "headers": headers, "status": 200}
            self.body = body
        await send(self._start)
        await send({"type": "http.response.body", "body": self.body})


class HalfAnswer:
    """Passes on the head of an answer and the first half of its body."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def pass_on(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            body = bytes(message.get("body", b""))
            message = {**message, "body": body[: len(body) // 2], "more_body": True}
        await self._send(message)


async def misplaced_page(send: Send) -> None:
    """What a gateway answers that has lost its way."""
    headers = [(b"content-type", b"text/html"), (b"content-length", str(len(_PAGE)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": _PAGE})


async def nowhere(message: Message) -> None:
    """An answer that never leaves."""


async def gone(receive: Receive) -> None:
    """Wait until the server has seen that the connection is broken."""
    while (await receive())["type"] != "http.disconnect":
        continue
