"""What is known of one attempt of a call while it is under way."""

from __future__ import annotations

from collections.abc import Mapping

from swapdesk.wire.operation import Operation


class AttemptProgress:
    """How far one attempt came."""

    def __init__(self, operation: Operation, *, sent: bool) -> None:
        self.operation = operation
        self.sent = sent
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.body = b""

    async def trace(self, event: str, info: Mapping[str, object]) -> None:
        if event.endswith("send_request_headers.started"):
            self.sent = True
