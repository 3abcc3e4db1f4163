"""Every order this desk knows, and its different states.

``OrderHistoryLog`` holds when, from where and what the order was then; of very many states the
first and the newest are kept. ``WrittenOrders`` remembers what this process wrote last, and is
believed while nobody else wrote the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

import msgspec

from swapdesk.clock import Clock
from swapdesk.flows.intents.intent import (
    FOREIGN,
    MAY_FOLLOW,
    RELEASED,
    DepositRelease,
    ReleaseVerdict,
    contradiction,
)
from swapdesk.flows.journal.journal_file import JournalFile, JournalUnavailable
from swapdesk.flows.journal.journal_records import JournaledOrder
from swapdesk.flows.journal.order_index import OrderIndex
from swapdesk.flows.orders.order_merge import (
    PROGRESS,
    contradicts,
    display_of,
    merge_order,
    newly_linked_deposit,
)
from swapdesk.flows.orders.order_transactions import PaidOnChain, Source, folded_hash
from swapdesk.wire.encoding.codec import CodecError, decode, encode_twice, rfc3339
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.encoding.timestamps import parse_rfc3339
from swapdesk.wire.orders import DisplayStatus, Order


class OrderEvent(NamedTuple):
    """One state that was seen of an order; numbers rise in the order of being written."""

    number: int
    at: str
    source: str
    order: Order


FIRST_EVENTS = 20
NEWEST_EVENTS = 180
"""States kept of one order; those between the first and the newest go."""
_SLACK = 20


class OrderHistoryLog:
    def __init__(self, file: JournalFile) -> None:
        self._file = file
        self._counts: dict[str, int] = {}

    def add(
        self, db: sqlite3.Connection, service_id: str, lean: str, now: str, source: Source
    ) -> None:
        """Write one more inside a transaction of the caller; ``lean``: the order as JSON, without
        its tokens."""
        db.execute(
            "INSERT INTO events (service_id, at, source, raw) VALUES (?, ?, ?, ?)",
            (service_id, now, source, lean),
        )
        count = self._counts.get(service_id)
        if count is None:
            (count,) = db.execute(
                "SELECT count(*) FROM events WHERE service_id = ?", (service_id,)
            ).fetchone()
        else:
            count += 1
        if count > FIRST_EVENTS + NEWEST_EVENTS + _SLACK:
            db.execute(
                "DELETE FROM events WHERE service_id = ?1"
                " AND number NOT IN"
                " (SELECT number FROM events WHERE service_id = ?1 ORDER BY number LIMIT ?2)"
                " AND number NOT IN"
                " (SELECT number FROM events WHERE service_id = ?1 ORDER BY number DESC LIMIT ?3)",
                (service_id, FIRST_EVENTS, NEWEST_EVENTS),
            )
            count = FIRST_EVENTS + NEWEST_EVENTS
        self._counts[service_id] = count

    def of(self, service_id: str) -> list[tuple[datetime, str, Order]]:
        """Those of one order, oldest first."""
        return [
            (datetime.fromisoformat(row["at"]), row["source"], _order_of(row))
            for row in self._file.read(
                "SELECT at, source, raw FROM events WHERE service_id = ? ORDER BY number",
                (service_id,),
            )
        ]

    def deposit_seen(self, service_id: str) -> datetime | None:
        """When the deposit of an order came, by the first state that tells of it: as the service
        says of that state, else when it was seen. None where an earlier one was passed unseen."""
        rows = self._file.read(_DEPOSIT_SEEN, (service_id,))
        if not rows:
            return None
        row, at = rows[0], datetime.fromisoformat(rows[0]["at"])
        if row["is_first"] and row["display"] != DisplayStatus.DEPOSIT_DETECTED:
            return None
        told = parse_rfc3339(row["modified"]) if row["modified"] else at
        created = parse_rfc3339(row["created"]) if row["created"] else None
        return min(told, at) if created is None or told > created else at

    def latest(self, count: int) -> list[tuple[datetime, Order]]:
        """The newest of any order, newest first."""
        rows = self._file.read("SELECT at, raw FROM events ORDER BY number DESC LIMIT ?", (count,))
        return [(datetime.fromisoformat(row["at"]), _order_of(row)) for row in rows]

    def newest(self) -> int:
        """The number of the newest of any order; 0 where there is none."""
        [row] = self._file.read("SELECT coalesce(max(number), 0) AS newest FROM events", ())
        return int(row["newest"])

    def beyond(self, number: int, count: int) -> list[OrderEvent]:
        """Those of any order behind the one of this number, oldest first."""
        rows = self._file.read(
            "SELECT * FROM events WHERE number > ? ORDER BY number LIMIT ?", (number, count)
        )
        return [OrderEvent(row["number"], row["at"], row["source"], _order_of(row)) for row in rows]


_DEPOSIT_SEEN = f"""
SELECT at, json_extract(raw, '$.modified') AS modified, json_extract(raw, '$.created') AS created,
    json_extract(raw, '$.displayStatus') AS display,
    number = (SELECT min(number) FROM events WHERE service_id = ?1) AS is_first
  FROM events WHERE service_id = ?1
    AND display IN ({", ".join(f"'{state}'" for state in PROGRESS[1:])})
  ORDER BY number LIMIT 1
"""  # noqa: S608


def _order_of(row: sqlite3.Row) -> Order:
    return decode(Order, row["raw"].encode(), side="client")


class WrittenOrders:
    """Call :meth:`begin` in a transaction, then :meth:`end` or :meth:`taken_back` after it."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file
        self._orders: dict[str, tuple[int, Order]] = {}
        """By the digest of what was written."""
        self._certain: set[str] = set()
        """Those that stand in the file for sure: nobody wrote since."""
        self._version = -1
        self._stood = (-1, -1)

    def begin(self, db: sqlite3.Connection) -> None:
        """A transaction began. Another connection changes the version, another writer over this
        connection the number of its transactions."""
        (self._version,) = db.execute("PRAGMA data_version").fetchone()
        if self._stood != (self._file.writes - 1, self._version):
            self._certain.clear()

    def end(self) -> None:
        """It was committed."""
        self._stood = (self._file.writes, self._version)

    def taken_back(self) -> None:
        """It was not."""
        self._certain.clear()

    def last(self, db: sqlite3.Connection, service_id: str) -> Order | None:
        """The order as it stands in the file, None when it is not there."""
        digest, order = self._orders.get(service_id, (None, None))
        if order is not None and service_id in self._certain:
            return order
        row = db.execute("SELECT last FROM orders WHERE service_id = ?", (service_id,)).fetchone()
        if row is None:
            return None
        if order is not None and digest == hash(row["last"]):
            return order
        return _last_of(row["last"], service_id)

    def keep(self, order: Order, raw: str) -> None:
        """Written as ``raw``."""
        self._orders[order.service_id] = (hash(raw), order)

    def trust(self, service_id: str) -> None:
        """It was written in a transaction of :meth:`begin`."""
        if service_id in self._orders:
            self._certain.add(service_id)

    def forget(self, service_id: str) -> None:
        self._orders.pop(service_id, None)
        self._certain.discard(service_id)


_LOAD = 100


class OrderLog:
    """Orders as last known, and the states each was seen in."""

    def __init__(self, file: JournalFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._written = WrittenOrders(file)
        self.history = OrderHistoryLog(file)
        self.index = OrderIndex(file)

    def record(self, orders: Iterable[tuple[Order, Source, bool]]) -> None:
        """Commit newest states, each with whether its end was confirmed, in one transaction."""
        try:
            with self._file.write() as db:
                self._written.begin(db)
                for order, source, ended in orders:
                    self._take(db, order, source, ended=ended)
                    self._written.trust(order.service_id)
        except BaseException:
            self._written.taken_back()
            raise
        self._written.end()

    def settle(self, service_id: str, verdict: ReleaseVerdict) -> ReleaseVerdict:
        """Move an order to another standing, where that is allowed; what stands afterwards."""
        with self._file.write() as db:
            return self._settle(db, service_id, verdict)

    def accept_output(self, service_id: str, out_amount: Decimal) -> ReleaseVerdict:
        """The user takes ``out_amount`` (of the token received) for what was confirmed; what
        stands afterwards. Only a lower output is released by that."""
        with self._file.write() as db:
            stands = self._settle(db, service_id, RELEASED, only_from=DepositRelease.LOWER)
            if stands.payable:
                self._tell(db, service_id, "accepted", plain(out_amount))
            return stands

    def put_away(self, service_id: str, trouble: str) -> None:
        """The owner dealt with an order that failed so; in another trouble it counts again."""
        with self._file.write() as db:
            self._tell(db, service_id, "put_away", trouble)

    def take_back(self, service_id: str) -> None:
        """It was not dealt with after all."""
        with self._file.write() as db:
            self._tell(db, service_id, "put_away", None)

    def away(self) -> dict[str, str]:
        """Orders that were put away, each with the trouble it was in."""
        rows = self._file.read(
            "SELECT service_id, put_away FROM orders WHERE put_away IS NOT NULL", ()
        )
        return {row["service_id"]: row["put_away"] for row in rows}

    def keep_payment(self, service_id: str, payment: PaidOnChain) -> None:
        """What a chain shows of the deposit of an order. A node that is behind takes no payment out
        of its block again."""
        with self._file.write() as db:
            rows = db.execute("SELECT payments FROM orders WHERE service_id = ?", (service_id,))
            payments = _payments(row["payments"] if (row := rows.fetchone()) else None)
            name = f"{folded_hash(payment.hash)} {payment.token_id or ''}"
            before = payments.get(name)
            if before is None or before.confirmations is None or payment.confirmations is not None:
                payments[name] = payment
            self._tell(db, service_id, "payments", msgspec.json.encode(payments).decode())

    def payments(self) -> dict[str, tuple[PaidOnChain, ...]]:
        """What chains showed of the deposits of orders, by their ids."""
        rows = self._file.read(
            "SELECT service_id, payments FROM orders WHERE payments IS NOT NULL", ()
        )
        return {row["service_id"]: tuple(_payments(row["payments"]).values()) for row in rows}

    def each(self) -> Iterator[JournaledOrder]:
        """Every order this desk knows, newest first, read a few at a time."""
        before = 1 << 62
        while rows := self._file.read(
            "SELECT * FROM orders WHERE number < ? ORDER BY number DESC LIMIT ?",
            (before, _LOAD),
        ):
            before = rows[-1]["number"]
            yield from map(_journaled, rows)

    def present(self) -> Iterator[JournaledOrder]:
        """Those of which something may still become, read a few at a time."""
        return self._named(self.index.present())

    def unrepeated(self) -> list[JournaledOrder]:
        """Those created here that the service has not repeated yet."""
        return list(self._named(self.index.unrepeated()))

    def verdict(self, service_id: str) -> ReleaseVerdict | None:
        """What stands of an order, None when the journal has none of this id."""
        rows = self._file.read(
            "SELECT standing, withheld FROM orders WHERE service_id = ?", (service_id,)
        )
        return _verdict_of(rows[0]) if rows else None

    def get(self, service_id: str) -> JournaledOrder | None:
        rows = self._file.read("SELECT * FROM orders WHERE service_id = ?", (service_id,))
        return _journaled(rows[0]) if rows else None

    def events(self, service_id: str) -> list[tuple[datetime, str, Order]]:
        """Every different state seen of an order: when, from where, and the order then."""
        return self.history.of(service_id)

    def put(
        self,
        db: sqlite3.Connection,
        order: Order,
        source: Source,
        *,
        verdict: ReleaseVerdict = FOREIGN,
        intent_id: str | None = None,
        ended: bool = False,
    ) -> ReleaseVerdict:
        """Write the newest state inside a transaction of the caller; what stands afterwards.

        What is to be paid, and to whom it goes, is written once: a state that names something
        else is kept among the events and hides the address for good. One that says less, or
        comes from a desk that is behind, is folded into what is known.
        """
        decided = self._take(db, order, source, verdict, intent_id, ended=ended)
        return decided or self._settle(db, order.service_id, verdict)

    def _take(
        self,
        db: sqlite3.Connection,
        order: Order,
        source: Source,
        verdict: ReleaseVerdict = FOREIGN,
        intent_id: str | None = None,
        *,
        ended: bool,
    ) -> ReleaseVerdict | None:
        """As :meth:`put`; None when the standing of a known order is where it was."""
        # The tokens of an order never change, so its events do without them.
        lean, raw = encode_twice(order)
        now = rfc3339(self._clock.now())
        known = self._written.last(db, order.service_id)
        merged = order if known is None else merge_order(known, order)
        reason = None if known is None else contradicts(known, order)
        # What a desk that is behind saw is no event any more: whoever reads them in their order,
        # as a receiver of webhooks does, would take it for the newest.
        tells = merged is not None or reason is not None
        if known is None or (tells and _differs(known, order)):
            self.history.add(db, order.service_id, lean, now, source)
        kept = merged or known or order
        if kept == order:
            # The tracker holds this one, so that there are not two of each.
            kept = order
        else:
            raw = encode_twice(kept)[1]
        self._written.keep(kept, raw)
        if known is None:
            db.execute(
                "INSERT INTO orders (service_id, operation, last, display, ended, standing,"
                " withheld, first_seen, seen_at, source) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    order.service_id,
                    intent_id,
                    raw,
                    display_of(order),
                    int(ended),
                    verdict.standing,
                    verdict.withheld,
                    now,
                    now,
                    source,
                ),
            )
            self._keep_deposit(db, None, kept)
            return verdict
        if reason is not None:
            # What stands in the file is what was known before.
            self._written.forget(order.service_id)
            return self._settle(db, order.service_id, contradiction(reason))
        db.execute(
            "UPDATE orders SET last = ?, display = ?, ended = max(ended, ?),"
            " operation = coalesce(operation, ?), seen_at = ?, source = ? WHERE service_id = ?",
            (raw, display_of(kept), int(ended), intent_id, now, source, order.service_id),
        )
        self._keep_deposit(db, known, kept)
        return None

    def _keep_deposit(self, db: sqlite3.Connection, known: Order | None, kept: Order) -> None:
        """The transaction that the service names as the deposit's: its link is the payout's
        later."""
        deposit = newly_linked_deposit(known, kept)
        if deposit is not None:
            self._tell(db, kept.service_id, "deposit", deposit)

    def _tell(self, db: sqlite3.Connection, service_id: str, column: str, value: object) -> None:
        """Raises JournalUnavailable where the order was not written yet."""
        told = db.execute(
            f"UPDATE orders SET {column} = ? WHERE service_id = ?",  # noqa: S608
            (value, service_id),
        )
        if not told.rowcount:
            raise JournalUnavailable(f"the journal has no order {service_id} yet")

    def _settle(
        self,
        db: sqlite3.Connection,
        service_id: str,
        verdict: ReleaseVerdict,
        *,
        only_from: DepositRelease | None = None,
    ) -> ReleaseVerdict:
        row = db.execute(
            "SELECT standing, withheld FROM orders WHERE service_id = ?", (service_id,)
        ).fetchone()
        if row is None:
            return verdict
        stands = _verdict_of(row)
        if verdict.standing not in MAY_FOLLOW[stands.standing]:
            return stands
        if only_from is not None and stands.standing is not only_from:
            return stands
        db.execute(
            "UPDATE orders SET standing = ?, withheld = ? WHERE service_id = ?",
            (verdict.standing, verdict.withheld, service_id),
        )
        return verdict

    def _named(self, ids: Sequence[str]) -> Iterator[JournaledOrder]:
        for at in range(0, len(ids), _LOAD):
            part = tuple(ids[at : at + _LOAD])
            marks = ", ".join("?" * len(part))
            yield from map(
                _journaled,
                self._file.read(
                    f"SELECT * FROM orders WHERE service_id IN ({marks})",  # noqa: S608
                    part,
                ),
            )


def _journaled(row: sqlite3.Row) -> JournaledOrder:
    return JournaledOrder(
        order=_last_of(row["last"], row["service_id"]),
        intent_id=row["operation"],
        ended=bool(row["ended"]),
        verdict=_verdict_of(row),
        first_seen=datetime.fromisoformat(row["first_seen"]),
        seen_at=datetime.fromisoformat(row["seen_at"]),
        source=row["source"],
        accepted=None if row["accepted"] is None else Decimal(row["accepted"]),
    )


def _last_of(raw: str, service_id: str) -> Order:
    try:
        return decode(Order, raw.encode(), side="client")
    except CodecError:
        return Order(service_id=service_id)


def _verdict_of(row: sqlite3.Row) -> ReleaseVerdict:
    return ReleaseVerdict(DepositRelease(row["standing"]), row["withheld"])


def _payments(text: str | None) -> dict[str, PaidOnChain]:
    """By hash and token, as they were first shown."""
    return msgspec.json.decode(text or "{}", type=dict[str, PaidOnChain])


def _differs(known: Order, order: Order) -> bool:
    """Whether two sightings tell apart more than when the service last wrote."""
    news = order.__dict__
    return any(
        news[name] is not old and news[name] != old
        for name, old in known.__dict__.items()
        if name != "modified"
    )
