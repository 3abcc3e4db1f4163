"""Faults of the events that exchanges and the bundler send to the service (contract 15): on their
way they are lost, come twice, or carry a signature that is not theirs.

Without ``venue`` they meet every event, that of the bundler too. They stay until they are cleared
where no ``times`` are given; each try of a sender counts. An event that is late is ``delay`` on
``receive_webhook``, one whose answer is lost ``lost_response``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from msgspec.structs import replace
from starlette.types import Message

from swapdesk.sandbox.answer_faults import AnswerFault, BrokenRequest
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.operations import BODY_LIMIT
from swapdesk.wire.webhooks import WebhookAcknowledgement

RECEIVE = "receive_webhook"
_SIGNATURE = b"webhook-signature"
_FORGED = b"v1," + b"A" * 43 + b"="
"""In form a signature, and of nobody."""


@dataclass(frozen=True, eq=False)
class WebhookFault(AnswerFault):
    SHOWN: ClassVar[tuple[str, ...]] = ("venue",)

    _: KW_ONLY
    selectors: tuple[str, ...] = ("venue",)
    unselected: bool = True
    operations: frozenset[str] | None = frozenset({RECEIVE})


async def _lost(request: BrokenRequest) -> None:
    """Taken on the way: its sender has no reason to send it again."""
    body = encode_json(WebhookAcknowledgement(received=True))
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await request.send({"type": "http.response.start", "status": 200, "headers": headers})
    await request.send({"type": "http.response.body", "body": body})


async def _replayed(request: BrokenRequest) -> None:
    """Byte for byte; the sender gets the answer to the second."""
    body, more = b"", True
    while more and len(body) <= BODY_LIMIT:
        message = await request.receive()
        body += message.get("body", b"")
        more = message["type"] == "http.request" and message.get("more_body", False)

    def again() -> BrokenRequest:
        parts = iter([{"type": "http.request", "body": body, "more_body": False}])
        return replace(request, receive=lambda: _next(parts, request))

    await again().whole_answer()
    await again().carry_out()


async def _next(parts: Iterator[Message], request: BrokenRequest) -> Message:
    part = next(parts, None)
    return await request.receive() if part is None else part


async def _forged(request: BrokenRequest) -> None:
    headers = [
        (name, _FORGED if name == _SIGNATURE else value) for name, value in request.scope["headers"]
    ]
    await replace(request, scope={**request.scope, "headers": headers}).carry_out()


WEBHOOK_FAULTS = {
    kind.name: kind
    for kind in (
        WebhookFault(
            "webhook_lost", "An event is lost on its way; its sender is told that it came.", _lost
        ),
        WebhookFault("webhook_replayed", "An event comes twice, byte for byte.", _replayed),
        WebhookFault(
            "webhook_signature",
            "An event comes with a signature that is not its sender's.",
            _forged,
        ),
    )
}
