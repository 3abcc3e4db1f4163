"""Events that venues and bundlers send to the service (contract 15), authenticated by a signature
(:mod:`~swapdesk.wire.webhook_signature`).

An event is only a hint to ask the venue. A forged, repeated or late one changes neither money nor a
state, and a lost one costs only time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from starlette.datastructures import Headers

from swapdesk.clock import Clock
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.multi.bundles import BundleWatch
from swapdesk.service.orders.lifecycle import Worker
from swapdesk.service.store.store import Store
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.webhook_signature import (
    WINDOW_SECONDS,
    is_signed,
    is_webhook_id,
    read_timestamp,
)
from swapdesk.wire.webhooks import WebhookAcknowledgement

BUNDLER = "bundler"
"""The source of events about bundles; every other source is a venue, with events about orders."""

_LEG = re.compile(r"([0-9A-Za-z]{1,64}):", re.ASCII)
"""Pattern of a leg's key at a venue: the order's id, a colon, and the leg's name."""


class Delivery(Struct, frozen=True):
    source: str
    event_id: str
    timestamp: int
    signatures: str

    @property
    def ends(self) -> datetime:
        return datetime.fromtimestamp(self.timestamp + WINDOW_SECONDS, UTC)


class Webhooks:
    """Checks webhook events, and wakes the part that handles them: ``bundles`` for events from the
    bundler, ``worker`` for all others. ``secrets`` are signing secrets by source."""

    def __init__(
        self,
        secrets: Mapping[str, str],
        store: Store,
        clock: Clock,
        worker: Worker,
        bundles: BundleWatch,
    ) -> None:
        self._secrets = secrets
        self._store = store
        self._clock = clock
        self._worker = worker
        self._bundles = bundles

    def claimed(self, source: str, headers: Headers) -> Delivery:
        """Returns the delivery that the headers describe, not yet verified. Raises NOT_FOUND for an
        unknown source, INVALID_API_CREDENTIALS for wrong headers or a timestamp too far from
        now."""
        now = self._clock.now().timestamp()
        if source not in self._secrets:
            raise ServiceError(ErrorCode.NOT_FOUND, "There is nothing at this path.")
        headers_sent = [
            headers.getlist(f"webhook-{name}") for name in ("id", "timestamp", "signature")
        ]
        if any(len(values) != 1 for values in headers_sent):
            raise _unsigned()
        ((event_id,), (time,), (signatures,)) = headers_sent
        timestamp = read_timestamp(time)
        if (
            timestamp is None
            or abs(now - timestamp) > WINDOW_SECONDS
            or not is_webhook_id(event_id)
        ):
            raise _unsigned()
        return Delivery(source, event_id, timestamp, signatures)

    def verified(self, claimed: Delivery, body: bytes) -> Delivery:
        """Returns ``claimed`` if the source's secret signed it. Raises INVALID_API_CREDENTIALS if
        not."""
        secret = self._secrets[claimed.source]
        if not is_signed(secret, claimed.event_id, claimed.timestamp, body, claimed.signatures):
            raise _unsigned()
        return claimed

    async def take(self, delivery: Delivery, event: Mapping[str, object]) -> WebhookAcknowledgement:
        """Wakes the part that handles the event: the BundleWatch for an event from the bundler, the
        worker for any other. Ignores a repeated event. Raises VALIDATION_ERROR if body and header
        state different ids."""
        if event.get("id", delivery.event_id) != delivery.event_id:
            raise invalid("id", "is not the webhook-id that was signed")
        ends = delivery.ends + timedelta(seconds=1)
        if await self._store.webhooks.note(delivery.source, delivery.event_id, ends):
            await self._wake(delivery.source, event.get("data"))
        return WebhookAcknowledgement(received=True)

    async def _wake(self, source: str, data: object) -> None:
        if not isinstance(data, dict):
            return
        if source == BUNDLER:
            bundles = await self._store.groups.bundles_under_way()
            included = data.get("userOpHash")
            if any(batch.hash == included for bundle in bundles for batch in bundle.batches):
                self._bundles.wake()
        elif isinstance(key := data.get("orderId"), str) and (named := _LEG.match(key)):
            self._worker.hint(named[1])


def _unsigned() -> ServiceError:
    return ServiceError(
        ErrorCode.INVALID_API_CREDENTIALS,
        "The signature of this event is missing, wrong, too old or too early.",
    )
