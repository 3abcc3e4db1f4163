"""The outermost layer of the sandbox's service: it breaks answers as it is told."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from swapdesk.clock import Clock
from swapdesk.sandbox.faults import (
    SIGNING_FAULTS,
    STREAM,
    ActiveFault,
    AnswerFault,
    Faults,
    target_at,
)
from swapdesk.sandbox.held_answers import (
    HalfAnswer,
    WholeAnswer,
    gone,
    misplaced_page,
    nowhere,
)
from swapdesk.sandbox.held_frames import HeldFrames
from swapdesk.sandbox.http_protocols import CUT
from swapdesk.sandbox.tampering import CREATE, endless, repeated, tampered, unfinished
from swapdesk.service.surface import PREFIX
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json
from swapdesk.wire.errors import STATUS_OF, ErrorBody, ErrorCode
from swapdesk.wire.operations import BODY_LIMIT

_READ = "get_order"
_ANSWER_LIMIT = 1 << 20
_LEAVING_SECONDS = 0.05
# What was written leaves the process before the connection is cut.
_REFUSALS = {
    AnswerFault.RATE_LIMITED: (ErrorCode.RATE_LIMIT_EXCEEDED, "Too many requests."),
    AnswerFault.HTTP_500: (ErrorCode.INTERNAL_SERVER_ERROR, "Something went wrong."),
    AnswerFault.HTTP_503: (ErrorCode.SERVICE_UNAVAILABLE, "The service is not available."),
}


class FaultLayer:
    """Pure ASGI around the service. Without an active fault nothing is touched."""

    def __init__(self, app: ASGIApp, faults: Faults, clock: Clock) -> None:
        self._app = app
        self._faults = faults
        self._clock = clock
        self._streams: set[Callable[[], None]] = set()
        self._refused_until: datetime | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._stream(scope, receive, send)
        elif scope["type"] == "http" and (self._faults.active or self._faults.lies):
            await self._request(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def drop_streams(self) -> int:
        """Cut every open stream for which a fault is active. Returns how many were cut."""
        dropped = 0
        fault = self._faults.take_drop() if self._streams else None
        if fault is not None:
            self._refuse_streams(fault)
            for cut in list(self._streams):
                cut()
                dropped += 1
        return dropped

    def open_streams(self) -> None:
        """Refuse no stream any longer."""
        self._refused_until = None

    def refusing(self) -> list[dict[str, object]]:
        """The fault that keeps streams from beginning, with the seconds it still lasts."""
        left = self._refused_for()
        if left <= 0:
            return []
        return [{"fault": AnswerFault.WS_DROP.value, "operation": STREAM, "seconds": round(left)}]

    def _refuse_streams(self, fault: ActiveFault) -> None:
        if fault.seconds > 0:
            self._refused_until = self._clock.now() + timedelta(seconds=fault.seconds)

    def _refused_for(self) -> float:
        """Seconds of sandbox time for which no stream begins."""
        if self._refused_until is None:
            return 0.0
        return (self._refused_until - self._clock.now()).total_seconds()

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope["path"]).removeprefix(PREFIX)
        target = target_at(scope["method"], path)
        operation, service_id = target.operation, target.service_id
        if self._faults.wants_quotes and scope["method"] == "POST":
            quote_id, receive = await _peeked(receive)
            target = replace(target, quote_id=quote_id)
        fault = self._faults.take(target)
        if fault is None and operation == _READ and service_id in self._faults.lies:
            await self._tell_again(service_id, scope, receive, send)
        elif fault is None:
            await self._app(scope, receive, send)
        elif fault.fault is AnswerFault.DELAY:
            await self._clock.sleep(fault.seconds)
            await self._app(scope, receive, send)
        elif fault.fault is AnswerFault.LOST_RESPONSE:
            await self._app(scope, receive, nowhere)
            scope["state"][CUT]()
            await gone(receive)
        elif fault.fault is AnswerFault.GARBAGE:
            await self._app(scope, receive, nowhere)
            await misplaced_page(send)
        elif fault.fault is AnswerFault.TRUNCATE:
            await self._app(scope, receive, HalfAnswer(send).pass_on)
            await self._clock.sleep(_LEAVING_SECONDS)
            scope["state"][CUT]()
        elif fault.fault in SIGNING_FAULTS:
            await self._tamper(fault, str(operation), scope, receive, send)
        else:
            await self._refuse(fault, send)

    async def _tamper(
        self, fault: ActiveFault, operation: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """The request is carried out; its answer says something else."""
        answer = WholeAnswer()
        await self._app(scope, receive, answer.take)
        changed = _changed(fault, operation, answer)
        if changed is None:
            self._faults.give_back(fault)
            await answer.pass_on(send)
            return
        if operation == CREATE:
            order: Any = decode_json(changed, max_bytes=_ANSWER_LIMIT)
            self._faults.lies[str(order["serviceId"])] = order["metadata"]
        await answer.pass_on(send, changed)

    async def _tell_again(
        self, service_id: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """An order with what was said of it when it was created, as texts repeat it."""
        answer = WholeAnswer()
        await self._app(scope, receive, answer.take)
        if answer.status != 200:
            await answer.pass_on(send)
            return
        order: Any = decode_json(answer.body, max_bytes=_ANSWER_LIMIT)
        order["metadata"] = encode_json(self._faults.lies[service_id]).decode()
        await answer.pass_on(send, encode_json(order))

    async def _refuse(self, fault: ActiveFault, send: Send) -> None:
        limited = fault.fault is AnswerFault.RATE_LIMITED
        code, message = _REFUSALS[fault.fault]
        request_id = str(uuid.uuid4())
        body = encode_json(ErrorBody(message=message, code=code, request_id=request_id))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"date", format_datetime(self._clock.now(), usegmt=True).encode()),
            (b"x-request-id", request_id.encode()),
        ]
        if limited:
            headers.append((b"retry-after", str(max(1, round(fault.seconds))).encode()))
        await send({"type": "http.response.start", "status": STATUS_OF[code], "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        cut: Callable[[], None] = scope["state"][CUT]
        if self._refused_for() > 0:
            cut()
            return
        held = HeldFrames(send, self._clock)

        async def watched(message: Message) -> None:
            fault = None
            if message["type"] == "websocket.send":
                fault = self._faults.take_frame(message.get("text"))
            if fault is None:
                await held.send(message)
            elif fault.fault is AnswerFault.WS_DROP:
                self._refuse_streams(fault)
                cut()
            elif fault.fault is AnswerFault.WS_DUPLICATE:
                await held.send(message)
                await held.send(message)
            else:
                await held.hold(message, fault.seconds)
            if message["type"] == "websocket.accept":
                self._streams.add(cut)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._streams.discard(cut)
            held.forget()


def _changed(fault: ActiveFault, operation: str, answer: WholeAnswer) -> bytes | None:
    """The body as the fault changes it; None where it changes nothing."""
    if fault.fault is AnswerFault.CHAIN_ENDLESS:
        if answer.status == 200:
            steps: Any = decode_json(answer.body, max_bytes=_ANSWER_LIMIT)
            fault.told = unfinished(steps)
        elif fault.told is None:
            return None
        else:
            fault.told = endless(fault.told)
        return encode_json(fault.told)
    if answer.status != 200:
        return None
    told: Any = decode_json(answer.body, max_bytes=_ANSWER_LIMIT)
    if fault.fault is AnswerFault.CHAIN_REPEAT_STEP:
        return encode_json(repeated(told))
    if fault.part is not None:
        from swapdesk.sandbox.operation_tampering import tampered_operations

        operations = tampered_operations(fault.part, told)
        return None if operations is None else encode_json(operations)
    changed = tampered(fault.fault, operation, told)
    return None if changed is None else encode_json(changed)


async def _peeked(receive: Receive) -> tuple[str | None, Receive]:
    """The ``quoteId`` of a body and a receive that delivers the same body again."""
    messages: list[Message] = []
    size, more = 0, True
    while more and size <= BODY_LIMIT:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        more = message["type"] == "http.request" and message.get("more_body", False)
    body = b"".join(message.get("body", b"") for message in messages)

    async def again() -> Message:
        return messages.pop(0) if messages else await receive()

    return _quote_id(body), again


def _quote_id(body: bytes) -> str | None:
    try:
        document: Any = decode_json(body, max_bytes=BODY_LIMIT)
    except CodecError:
        return None
    found = document.get("quoteId") if isinstance(document, dict) else None
    return found if isinstance(found, str) else None
