"""Sends order updates as signed POSTs in the form of Standard Webhooks (standardwebhooks.com).

Every state of an order in the journal becomes one delivery to one receiver, with an id derived from
the journal alone. States of one order are sent in their order, each repeated until a status of 200
to 299, so a receiver may get a delivery twice, and recognizes it by its id. ``webhooks.db`` beside
the journal records the last accepted states. The query of a receiver's address may be secret, so
messages show only what :func:`shown` returns.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import httpx2
from msgspec import Struct

from swapdesk.certificates import certificates
from swapdesk.client.credentials import is_loopback
from swapdesk.clock import Clock
from swapdesk.database_writing import durable
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.order_log import OrderEvent
from swapdesk.flows.orders.order_fields import shown_order
from swapdesk.flows.orders.order_history import happened
from swapdesk.flows.orders.order_merge import display_of, ended
from swapdesk.paths import read_private, write_private
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.timestamps import LONGEST_HOLD, retry_after
from swapdesk.wire.webhook_signature import SECRET_PREFIX, secret_of, signature

SCHEMA_VERSION = 1
DEADLINE = 15.0
"""Seconds that a receiver has from connecting to the end of its response headers."""
GONE = 410
WAITS = (1.0, 5.0, 30.0, 60.0, 300.0)
"""Seconds to wait after each try of a delivery. The last value repeats."""
LOOK_SECONDS = 0.5
"""Seconds between two reads of the journal, which other desks also write."""
_AT_ONCE = 200
_SECRET_BYTES = 32
_LEAST_BYTES, _MOST_BYTES = 24, 64
"""Smallest and largest length of a secret in bytes, by Standard Webhooks."""


class WebhookRefused(Exception):
    """Raised if the address, the secret or a delivery's id cannot be used, or if the receiver wants
    no more deliveries. The message gives the reason."""


def receiver(url: str) -> str:
    """Returns the URL for deliveries. Raises WebhookRefused unless it uses https or is on this
    machine, because deliveries contain amounts and addresses."""
    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError) as error:
        raise WebhookRefused(f"{shown(url)} is no address: {error}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise WebhookRefused(f"{shown(url)} is no http or https address")
    if parsed.userinfo:
        raise WebhookRefused("an address holds no password; the signature proves who sends")
    if parsed.scheme == "http" and not is_loopback(parsed.host):
        raise WebhookRefused(f"{parsed.host} is another machine: use https")
    return str(parsed)


def shown(url: str) -> str:
    """Returns a URL without its query and fragment, to be shown, because either may hold a
    token."""
    address = re.split(r"[?#]", url, maxsplit=1)[0]
    return address if address == url else f"{address}?..."


def signing_secret(file: Path) -> str:
    """Returns the secret that signs deliveries, and creates its file (mode 0600) if necessary.
    Raises WebhookRefused if the file holds no valid secret, and UnsafePlace if others may read
    it."""
    try:
        made = secret_of(os.urandom(_SECRET_BYTES))
        write_private(file, made.encode() + b"\n")
        return made
    except FileExistsError:
        kept = read_private(file).decode("utf-8", "replace").strip()
    try:
        key = base64.b64decode(kept.removeprefix(SECRET_PREFIX), validate=True)
    except ValueError:
        key = b""
    if not _LEAST_BYTES <= len(key) <= _MOST_BYTES:
        raise WebhookRefused(
            f"{file} holds no secret: {SECRET_PREFIX} and {_LEAST_BYTES} to {_MOST_BYTES} bytes in"
            " base64. Without the file a new one is made"
        )
    return kept


def webhook_id(event: OrderEvent) -> str:
    """Returns the id of the delivery of an event. The id is always the same for the same state in
    the same journal."""
    text = f"{event.number}\0{event.order.service_id}\0{event.at}"
    return "msg_" + hashlib.sha256(text.encode()).hexdigest()[:32]


def document(event: OrderEvent, *, withheld: str | None) -> bytes:
    """Returns the body of a delivery as JSON. ``withheld`` is the reason why the order must not be
    paid, or None. With a reason, the deposit address is left out."""
    order, seen = event.order, datetime.fromisoformat(event.at)
    display, began = display_of(order), happened(event.order, seen)
    return encode_json(
        {
            "type": "order.updated",
            # Both by the service's clock; whoever checks a time by another has the header.
            "timestamp": began,
            "schemaVersion": SCHEMA_VERSION,
            "data": {
                "serviceId": order.service_id,
                "displayStatus": display,
                "status": order.status,
                "ended": ended(display),
                "seenBy": event.source,
                "seenAt": max(seen, began),
                "withheld": withheld,
                "order": shown_order(order, withheld=withheld),
            },
        }
    )


def gone(url: str) -> str:
    return f"{shown(url)} answers 410: this receiver wants no deliveries any more"


class AttemptDocument(Struct, frozen=True):
    """One try of a delivery. ``status`` is the HTTP status of the answer. Without an answer,
    ``status`` is None and ``problem`` says why. ``ms`` is the duration in milliseconds."""

    PRINTED: ClassVar = {
        "id": "id", "serviceId": "service_id", "displayStatus": "display", "attempt": "number",
        "status": "status", "problem": "problem", "ms": "ms", "taken": "taken",
    }  # fmt: skip

    id: str
    service_id: str
    display: str | None
    number: int
    """The number of the try, beginning at 1."""
    ms: int
    status: int | None = None
    problem: str | None = None

    @property
    def taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


_SCHEMA = """
CREATE TABLE IF NOT EXISTS receiver (url TEXT PRIMARY KEY, begins INTEGER NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS taken (
    url        TEXT NOT NULL,
    service_id TEXT NOT NULL,
    number     INTEGER NOT NULL,
    PRIMARY KEY (url, service_id)
) STRICT;
"""


class TakenLog:
    """A record of the deliveries that one receiver accepted, in a database of its own. Methods may
    raise sqlite3.Error."""

    def __init__(self, file: Path, url: str) -> None:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        self._db = sqlite3.connect(file, isolation_level=None, timeout=DEADLINE)
        self._url = url
        durable(self._db)
        with closing(self._db.executescript(_SCHEMA)):
            pass

    def begins(self, newest: int) -> int:
        """Returns the number of the journal event after which this receiver's deliveries begin. For
        a new receiver this is ``newest``, the last event."""
        self._db.execute("INSERT OR IGNORE INTO receiver VALUES (?, ?)", (self._url, newest))
        row = self._db.execute("SELECT begins FROM receiver WHERE url = ?", (self._url,))
        return int(row.fetchone()[0])

    def begin_behind(self, number: int) -> None:
        self._db.execute("UPDATE receiver SET begins = ? WHERE url = ?", (number, self._url))

    def all(self) -> dict[str, int]:
        rows = self._db.execute("SELECT service_id, number FROM taken WHERE url = ?", (self._url,))
        return dict(rows.fetchall())

    def took(self, service_id: str, number: int) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO taken VALUES (?, ?, ?)", (self._url, service_id, number)
        )

    def close(self) -> None:
        self._db.close()


class OrderWebhooks:
    """Sends the states of orders in the journal to one receiver. ``clock`` must be this machine's
    clock, because receivers check the time in signatures."""

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        *,
        url: str,
        secret: str,
        taken: TakenLog,
        only: Collection[str] | None,
        told: Callable[[AttemptDocument], None],
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._url = url
        self._secret = secret
        self._log = taken
        self._only = only
        self._told = told
        self._taken = taken.all()
        self._begins = 0
        self._read = 0
        self._waiting: dict[str, list[OrderEvent]] = {}
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._held_until = 0.0
        self._http = httpx2.AsyncClient(
            timeout=None,
            verify=certificates(httpx2.URL(url)),
            trust_env=False,
            transport=transport,
        )

    async def run(self) -> None:
        """Sends new states until cancelled. Raises WebhookRefused after the answer 410, and
        JournalUnavailable or sqlite3.Error if a file cannot be used."""
        self._begins = self._log.begins(self._journal.orders.history.newest())
        self._read = self._begins
        try:
            while True:
                self._look()
                for task in [sending for sending in self._sending.values() if sending.done()]:
                    task.result()
                await self._clock.sleep(LOOK_SECONDS)
        finally:
            for task in self._sending.values():
                task.cancel()
            await asyncio.gather(*self._sending.values(), return_exceptions=True)

    async def replay(self, wanted: str) -> AttemptDocument:
        """Sends the delivery with the id ``wanted`` once more. Raises WebhookRefused if the journal
        has no such delivery."""
        number = 0
        while events := self._journal.orders.history.beyond(number, _AT_ONCE):
            for event in events:
                if webhook_id(event) == wanted:
                    return await self._send(event, 1)
            number = events[-1].number
        raise WebhookRefused(f"the journal has no state with the id {wanted}")

    async def close(self) -> None:
        await self._http.aclose()
        self._log.close()

    def _look(self) -> None:
        if self._only is None and not self._waiting and self._read > self._begins:
            # All of it was taken: nobody has to read it again after a restart.
            self._begins = self._read
            self._log.begin_behind(self._begins)
        while events := self._journal.orders.history.beyond(self._read, _AT_ONCE):
            for event in events:
                name = event.order.service_id
                wanted = self._only is None or name in self._only
                if wanted and event.number > self._taken.get(name, 0):
                    self._waiting.setdefault(name, []).append(event)
            self._read = events[-1].number
        for name in self._waiting:
            if name not in self._sending:
                self._sending[name] = asyncio.create_task(self._drain(name))

    async def _drain(self, name: str) -> None:
        while waiting := self._waiting.get(name):
            event = waiting[0]
            number = 1
            while not (made := await self._allowed(event, number)).taken:
                if made.status == GONE:
                    raise WebhookRefused(gone(self._url))
                await self._clock.sleep(WAITS[min(number, len(WAITS)) - 1])
                number += 1
            self._taken[name] = event.number
            self._log.took(name, event.number)
            waiting.pop(0)
        del self._waiting[name], self._sending[name]

    async def _allowed(self, event: OrderEvent, number: int) -> AttemptDocument:
        while (left := self._held_until - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        return await self._send(event, number)

    async def _send(self, event: OrderEvent, number: int) -> AttemptDocument:
        verdict = self._journal.orders.verdict(event.order.service_id)
        body = document(event, withheld=None if verdict is None else verdict.withheld)
        name, now = webhook_id(event), int(self._clock.now().timestamp())
        headers: dict[str, Any] = {
            "content-type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": str(now),
            "webhook-signature": signature(self._secret, name, now, body),
        }
        begin = self._clock.monotonic()
        status, problem, held = None, None, 0.0
        try:
            # Of the answer its head counts alone; the body of a stranger is not read.
            async with (
                asyncio.timeout(DEADLINE),
                self._http.stream("POST", self._url, content=body, headers=headers) as answer,
            ):
                status = answer.status_code
                pause = answer.headers.get("retry-after")
                wait = retry_after(pause, self._clock.now(), answer.headers.get("date"))
                held = min(wait or 0.0, LONGEST_HOLD)
        except httpx2.HTTPError as error:
            problem = str(error) or type(error).__name__
        except TimeoutError:
            problem = f"no answer within {DEADLINE:g} s" if status is None else None
        if held and not 200 <= (status or 0) < 300:
            self._held_until = max(self._held_until, self._clock.monotonic() + held)
        made = AttemptDocument(
            name,
            event.order.service_id,
            display_of(event.order),
            number,
            round((self._clock.monotonic() - begin) * 1000),
            status,
            problem,
        )
        self._told(made)
        return made
