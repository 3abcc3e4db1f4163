"""Recorded conversations: what clients asked a service and what it told them, in one file, and the
service that tells the same again.

A file is JSON lines: a head, then entries in the order in which requests came in. Credentials are
never written: who asks is a number, in the order of appearance, and any text that repeats a secret
has it struck out. Bodies are kept as they were sent, so that numbers stay exact.

Told again, a request is known by its caller, method, path, parameters and body; neither the order
of parameters of different names nor that of members of a body counts. Equal ones get their answers
in turn, and the last of these from then on. What a stream told is told once every POST that came
before it in the recording came again. Nothing else is answered: what was never recorded is 404.
"""

from __future__ import annotations

import asyncio
import os
import re
import uuid
from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json
from swapdesk.wire.errors import ErrorBody, ErrorCode
from swapdesk.wire.operations import BODY_LIMIT

VERSION = 1
REDACTED = "«redacted»"
MOST_BYTES = 64 << 20
"""Of a file that is told again."""
MOST_ENTRIES = 100_000
LEAST_SECRET = 8
"""Shorter texts are no secrets of this API, and would strike out too much."""
_KEPT_HEADERS = ("content-type", "date", "retry-after", "x-request-id", "payment-required")
_KEPT_PREFIX = "ratelimit-"
_OF_VENUES = "/v2/webhooks/"
"""Asked by no client."""


class ConversationHead(Struct, frozen=True):
    """The first line."""

    conversation: int
    service: str


class RecordedExchange(Struct, frozen=True, tag="request", omit_defaults=True):
    """One request and its answer. ``number`` counts what came in; ``caller`` is None without
    credentials; ``target`` is path and query as sent."""

    number: int
    caller: int | None
    method: str
    target: str
    status: int
    headers: dict[str, str]
    answer: str = ""
    body: str = ""


class RecordedFrame(Struct, frozen=True, tag="frame", omit_defaults=True):
    """One thing that happened on a stream: ``text`` of either side, or the ``code`` it was closed
    with. ``stream`` is the number of its handshake."""

    number: int
    caller: int | None
    stream: int
    side: Literal["client", "service"]
    text: str = ""
    code: int | None = None


Entry = RecordedExchange | RecordedFrame


class ConversationRefused(Exception):
    """The file is no recorded conversation; the text says why."""


class Callers:
    """Credentials as numbers, and what of them is secret."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._secrets: set[str] = set()

    def number(self, headers: Iterable[tuple[bytes, bytes]]) -> int | None:
        sent = [
            f"{name.decode('latin-1')}: {value.decode('latin-1')}"
            for name, value in headers
            if name in (b"authorization", b"partner-id")
        ]
        if not sent:
            return None
        for line in sent:
            name, _, value = line.partition(": ")
            if name == "authorization":
                parts = (value, *value.split(":"))
                self._secrets.update(part for part in parts if len(part) >= LEAST_SECRET)
        return self._numbers.setdefault("\n".join(sorted(sent)), len(self._numbers) + 1)

    def without_secrets(self, text: str) -> str:
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, REDACTED)
        return text


class Recorder:
    """Pure ASGI around a service: writes down what passes, into a file of its own. Raises OSError,
    also FileExistsError: numbers of requests and callers begin with the process."""

    def __init__(self, app: ASGIApp, file: Path, service: str) -> None:
        self._app = app
        self._callers = Callers()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        self._file = os.fdopen(os.open(file, flags, 0o600), "wb", buffering=0)
        self._count = 0
        self._write(ConversationHead(VERSION, service))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not scope["path"].startswith(_OF_VENUES):
            await self._request(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._stream(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        number, caller = self._next(), self._callers.number(scope["headers"])
        sent, told = bytearray(), bytearray()
        begin: dict[str, Any] = {}

        async def taken() -> Message:
            message = await receive()
            if len(sent) <= BODY_LIMIT:
                sent.extend(message.get("body", b""))
            return message

        async def passed(message: Message) -> None:
            if message["type"] == "http.response.start":
                begin.update(message)
            else:
                told.extend(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, taken, passed)
        finally:
            # A body above the limit was refused, and an answer that never began is none.
            if begin and len(sent) <= BODY_LIMIT:
                self._write(
                    RecordedExchange(
                        number,
                        caller,
                        scope["method"],
                        self._plain(_target(scope)),
                        begin["status"],
                        _kept(begin.get("headers", ())),
                        self._plain(told.decode("utf-8", "replace")),
                        self._plain(sent.decode("utf-8", "replace")),
                    )
                )

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        number, caller = self._next(), self._callers.number(scope["headers"])

        async def taken() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                self._frame(caller, number, "client", message.get("text") or "")
            return message

        async def passed(message: Message) -> None:
            if message["type"] == "websocket.send":
                self._frame(caller, number, "service", message.get("text") or "")
            elif message["type"] == "websocket.close":
                self._frame(caller, number, "service", code=message.get("code", 1000))
            await send(message)

        await self._app(scope, taken, passed)

    def _frame(
        self,
        caller: int | None,
        stream: int,
        side: Literal["client", "service"],
        text: str = "",
        code: int | None = None,
    ) -> None:
        self._write(RecordedFrame(self._next(), caller, stream, side, self._plain(text), code))

    def _plain(self, text: str) -> str:
        return self._callers.without_secrets(text)

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _write(self, entry: ConversationHead | Entry) -> None:
        self._file.write(msgspec.json.encode(entry) + b"\n")


_KEY_PARAMETER = re.compile(r"(?<=[?&]apiKey=)[^&]*")


def _target(scope: Scope) -> str:
    path = scope.get("raw_path") or str(scope["path"]).encode()
    query = scope["query_string"]
    target = (path + (b"?" + query if query else b"")).decode("latin-1")
    return _KEY_PARAMETER.sub(REDACTED, target)


def _kept(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    named = ((name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers)
    return {
        name: value
        for name, value in named
        if name in _KEPT_HEADERS or name.startswith(_KEPT_PREFIX)
    }


# Telling it again


def read_conversation(file: Path) -> list[Entry]:
    """The entries, by number. Raises ConversationRefused and OSError."""
    with file.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ConversationRefused(f"{file} exceeds {MOST_BYTES >> 20} MiB")
    first, *lines = content.split(b"\n")
    try:
        head = msgspec.json.decode(first, type=ConversationHead)
    except (msgspec.DecodeError, RecursionError):
        raise ConversationRefused(f"{file}:1: is no recorded conversation") from None
    if head.conversation != VERSION:
        raise ConversationRefused(f"{file}: version {head.conversation} is not known here")
    if len(lines) > MOST_ENTRIES:
        raise ConversationRefused(f"{file} holds more than {MOST_ENTRIES} entries")
    decoder = msgspec.json.Decoder(Entry)
    entries: list[Entry] = []
    for place, line in enumerate(lines, 2):
        # The last line of a recorder that was killed may be cut.
        if line and not (place == len(lines) + 1 and not content.endswith(b"\n")):
            try:
                entries.append(decoder.decode(line))
            except (msgspec.DecodeError, RecursionError) as error:
                raise ConversationRefused(f"{file}:{place}: {error}") from None
    return sorted(entries, key=lambda entry: entry.number)


Parameters = tuple[tuple[str, str], ...]
Key = tuple[int | None, str, str, Parameters, str]


class Replay:
    """The application that tells a conversation again."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._callers = Callers()
        self._answers: dict[Key, list[RecordedExchange]] = defaultdict(list)
        self._streams: dict[int | None, list[list[tuple[int, RecordedFrame]]]] = defaultdict(list)
        self._posted = 0
        self._moved = asyncio.Event()
        posts, by_number = 0, dict[int, list[tuple[int, RecordedFrame]]]()
        for entry in entries:
            if isinstance(entry, RecordedExchange):
                posts += entry.method == "POST"
                key = _key(entry.caller, entry.method, entry.target, entry.body)
                self._answers[key].append(entry)
            else:
                if entry.stream not in by_number:
                    by_number[entry.stream] = []
                    self._streams[entry.caller].append(by_number[entry.stream])
                by_number[entry.stream].append((posts, entry))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._request(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._stream(WebSocket(scope, receive, send))

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()
        async for chunk in Request(scope, receive).stream():
            body += chunk
            if len(body) > BODY_LIMIT:
                break
        caller, target = self._callers.number(scope["headers"]), _target(scope)
        sent = body.decode("utf-8", "replace")
        known = self._answers.get(_key(caller, scope["method"], target, sent))
        if known is None:
            await self._unknown(f"{scope['method']} {target}")(scope, receive, send)
            return
        told = known.pop(0) if len(known) > 1 else known[0]
        await Response(told.answer, told.status, told.headers)(scope, receive, send)
        if scope["method"] == "POST":
            self._posted += 1
            moved, self._moved = self._moved, asyncio.Event()
            moved.set()

    def _unknown(self, asked: str) -> Response:
        said = f"This conversation has no such request of this caller: {asked[:200]}"
        request_id = str(uuid.uuid4())
        body = ErrorBody(message=said, code=ErrorCode.NOT_FOUND, request_id=request_id)
        headers = {"x-request-id": request_id}
        return Response(encode_json(body), 404, headers, "application/json")

    async def _stream(self, socket: WebSocket) -> None:
        recorded = self._streams[self._callers.number(socket.scope["headers"])]
        if not recorded:
            await socket.send_denial_response(self._unknown("WS /ws"))
            return
        frames = recorded.pop(0) if len(recorded) > 1 else recorded[0]
        await socket.accept()
        try:
            for posts, frame in frames:
                if frame.side == "client":
                    await socket.receive_text()
                    continue
                while self._posted < posts:
                    await self._moved.wait()
                if frame.code is not None:
                    await socket.close(frame.code)
                    return
                await socket.send_text(frame.text)
            while True:
                await socket.receive_text()
        except (WebSocketDisconnect, KeyError):
            return


def _key(caller: int | None, method: str, target: str, body: str) -> Key:
    """What a request is known by; values under one name keep their order."""
    path, _, query = target.partition("?")
    # Latin-1 keeps every byte apart, whatever a caller meant by it.
    pairs = parse_qsl(query, keep_blank_values=True, encoding="latin-1")
    return caller, method, path, tuple(sorted(pairs, key=itemgetter(0))), _same(body)


def _same(body: str) -> str:
    """Equal for bodies that say the same, however they are laid out."""
    try:
        value = decode_json(body.encode(), max_bytes=BODY_LIMIT)
    except CodecError:
        return body
    return encode_json(_sorted(value)).decode()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value
