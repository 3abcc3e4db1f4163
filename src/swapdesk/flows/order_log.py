"""Every order this desk knows and every different state it was seen in."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from swapdesk.clock import Clock
from swapdesk.flows.journal_file import JournalFile
from swapdesk.flows.journal_records import JournaledOrder, Source
from swapdesk.wire.encoding.codec import CodecError, decode, encode_json, rfc3339
from swapdesk.wire.orders import Order


class OrderLog:
    def __init__(self, file: JournalFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock

    def record(self, orders: Iterable[tuple[Order, Source, bool]]) -> None:
        """Commit newest states, each with whether its end was confirmed, in one transaction."""
        with self._file.write() as db:
            for order, source, ended in orders:
                self.put(db, order, source, ended=ended)

    def release(self, service_id: str) -> None:
        """The user accepted what differed: the deposit address may be shown."""
        with self._file.write() as db:
            db.execute("UPDATE known_order SET withheld = NULL WHERE service_id = ?", (service_id,))

    def withhold(self, service_id: str, reason: str) -> None:
        with self._file.write() as db:
            db.execute(
                "UPDATE known_order SET withheld = ? WHERE service_id = ?", (reason, service_id)
            )

    def all(self) -> list[JournaledOrder]:
        """Every order this desk knows, newest first."""
        return [
            self._order_of(row)
            for row in self._file.read("SELECT * FROM known_order ORDER BY first_seen DESC", ())
        ]

    def get(self, service_id: str) -> JournaledOrder | None:
        rows = self._file.read("SELECT * FROM known_order WHERE service_id = ?", (service_id,))
        return self._order_of(rows[0]) if rows else None

    def events(self, service_id: str) -> list[tuple[datetime, str, Order]]:
        """Every different state seen of an order: when, from where, and the order then."""
        return [
            (
                datetime.fromisoformat(row["at"]),
                row["source"],
                decode(Order, row["raw"].encode(), side="client"),
            )
            for row in self._file.read(
                "SELECT at, source, raw FROM event WHERE service_id = ? ORDER BY id", (service_id,)
            )
        ]

    def put(
        self,
        db: sqlite3.Connection,
        order: Order,
        source: Source,
        *,
        intent_id: str | None = None,
        ended: bool = False,
    ) -> None:
        """Write the newest state inside a transaction of the caller."""
        raw = encode_json(order).decode()
        now = rfc3339(self._clock.now())
        before = db.execute(
            "SELECT last FROM known_order WHERE service_id = ?", (order.service_id,)
        ).fetchone()
        db.execute(
            "INSERT INTO known_order (service_id, intent_id, last, display, ended, first_seen,"
            " seen_at, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (service_id) DO UPDATE SET last = excluded.last,"
            " display = excluded.display, ended = max(ended, excluded.ended),"
            " intent_id = coalesce(known_order.intent_id, excluded.intent_id),"
            " seen_at = excluded.seen_at, source = excluded.source",
            (
                order.service_id,
                intent_id,
                raw,
                order.display_status,
                int(ended),
                now,
                now,
                source,
            ),
        )
        if before is None or before["last"] != raw:
            db.execute(
                "INSERT INTO event (service_id, at, source, raw) VALUES (?, ?, ?, ?)",
                (order.service_id, now, source, raw),
            )

    def _order_of(self, row: sqlite3.Row) -> JournaledOrder:
        try:
            order = decode(Order, row["last"].encode(), side="client")
        except CodecError:
            order = Order(service_id=row["service_id"])
        return JournaledOrder(
            order=order,
            intent_id=row["intent_id"],
            ended=bool(row["ended"]),
            withheld=row["withheld"],
            first_seen=datetime.fromisoformat(row["first_seen"]),
            seen_at=datetime.fromisoformat(row["seen_at"]),
            source=row["source"],
        )
