"""What the node tells the service by itself: that an exchange's order or an operation has news.

Each event is a signed POST (contract 15), tried a few times and then given up: the service asks by
itself as well. News wait in a queue of bounded length, where what is about the same order waits
once. The node's work never waits for any of it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING

from swapdesk.clock import Clock
from swapdesk.sandbox.partner_keys import webhook_secret
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.webhook_signature import signature

if TYPE_CHECKING:
    import httpx2

MOST_WAITING = 1_000
"""Of more the oldest are forgotten."""
WAITS = (0.2, 0.5, 1.0, 2.0)
"""Seconds between two tries; after the last one more."""
DEADLINE = 5.0
"""Seconds that the service has for one event."""
_TYPES = {"orderId": "order.updated", "userOpHash": "operation.included"}

logger = logging.getLogger(__name__)

_News = tuple[str, str, str]
"""Source, and name and value of what has news."""


class EventSender:
    """``url`` is that of the service, with ``/v2``; ``key`` the sandbox's; ``rng`` draws ids."""

    def __init__(
        self,
        url: str,
        key: bytes,
        clock: Clock,
        rng: random.Random,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._transport = transport
        self._url = url
        self._key = key
        self._clock = clock
        self._rng = rng
        self._waiting: dict[_News, None] = {}
        self._told = asyncio.Event()

    def tell(self, source: str, name: str, value: str) -> None:
        """Have the service told; returns at once."""
        self._waiting.setdefault((source, name, value))
        if len(self._waiting) > MOST_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._told.set()

    async def run(self) -> None:
        """Send until cancelled, one event after the other."""
        # On use: a node that tells nobody needs no client.
        import httpx2

        from swapdesk.certificates import certificates

        async with httpx2.AsyncClient(
            timeout=DEADLINE,
            verify=certificates(httpx2.URL(self._url)),
            trust_env=False,
            follow_redirects=False,
            transport=self._transport,
        ) as http:
            while True:
                await self._told.wait()
                self._told.clear()
                while self._waiting:
                    news = next(iter(self._waiting))
                    del self._waiting[news]
                    await self._deliver(http, news)

    async def _deliver(self, http: httpx2.AsyncClient, news: _News) -> None:
        import httpx2

        source, name, value = news
        event_id = f"evt_{self._rng.getrandbits(128):032x}"
        body = encode_json(
            {
                "id": event_id,
                "type": _TYPES[name],
                "timestamp": self._clock.now(),
                "data": {name: value},
            }
        )
        for wait in (*WAITS, None):
            try:
                # Signed anew for every try, so that none is too old.
                now = int(self._clock.now().timestamp())
                secret = webhook_secret(self._key, source)
                headers = {
                    "content-type": "application/json",
                    "webhook-id": event_id,
                    "webhook-timestamp": str(now),
                    "webhook-signature": signature(secret, event_id, now, body),
                }
                url = f"{self._url}/webhooks/{source}"
                answer = await http.post(url, content=body, headers=headers)
                if answer.is_success:
                    return
            except httpx2.HTTPError:
                logger.debug("event %s: the service does not answer", event_id)
            if wait is not None:
                await self._clock.sleep(wait)
        logger.info("event %s of %s was not taken", event_id, source)
