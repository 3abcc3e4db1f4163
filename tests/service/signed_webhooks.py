"""Events as their sources sign them."""

from __future__ import annotations

from service.http_calls import JSON
from service.world import WEBHOOK_SECRETS
from swapdesk.wire.webhook_signature import signature


def signed_headers(
    body: bytes, at: int, *, source: str = "aa", event_id: str = "evt_1"
) -> dict[str, str]:
    """The headers of a source's delivery, signed at this second; without the kind of the body."""
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(at),
        "webhook-signature": signature(WEBHOOK_SECRETS[source], event_id, at, body),
    }


def delivery(body: bytes, at: int, **more: str) -> dict[str, str]:
    """All headers of one."""
    return {**JSON, **signed_headers(body, at, **more)}
