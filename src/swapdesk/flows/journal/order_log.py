"""Every order this desk knows, its different states, and what is asked of all orders at once.

``OrderHistoryLog`` holds when, from where and what the order was then; of very many states the
first and the newest are kept. ``WrittenOrders`` remembers what this process wrote last, and is
believed while nobody else wrote the file. The index answers what is asked of all orders: reading
them takes seconds for whoever has traded for a year.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from swapdesk.clock import Clock
from swapdesk.flows.intents.intent import (
    FOREIGN,
    MAY_FOLLOW,
    RELEASED,
    DepositRelease,
    ReleaseVerdict,
    contradiction,
)
from swapdesk.flows.journal.batch_records import RowState
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.journal_migration import NAMED, OF_PAID, PAID_AT, PRESENT
from swapdesk.flows.journal.journal_records import JournaledOrder, Source
from swapdesk.flows.journal.order_merge import (
    contradicts,
    display_of,
    ended,
    merge_order,
    newly_linked_deposit,
)
from swapdesk.wire.encoding.codec import CodecError, decode, encode_twice, rfc3339
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.encoding.timestamps import parse_rfc3339
from swapdesk.wire.orders import Order


class OrderEvent(NamedTuple):
    """One state that was seen of an order; numbers rise in the order of being written."""

    number: int
    at: str
    source: str
    order: Order


class PaidRecipient(NamedTuple):
    """Whom orders of this desk paid: how often and, where the service said so, when last."""

    address: str
    times: int
    last: datetime | None


SHORTEST_PREFIX = 4
"""Characters of the beginning of an id that name its order."""

_NAMED = f"""
SELECT service_id FROM known_order INDEXED BY known_order_named
  WHERE json_valid(last) AND instr({NAMED}, ?1)
UNION SELECT service_id FROM told_deposit WHERE instr(lower(hash), ?1)
UNION SELECT service_id FROM call
  WHERE service_id > '' AND (instr(lower(hash), ?1) OR instr(lower(request_id), ?1))
UNION SELECT known_order.service_id FROM step JOIN known_order USING (intent_id)
  WHERE instr(lower(step.request_id), ?1)
  OR (json_valid(step.result) AND instr(lower(json_extract(step.result, '$.hash')), ?1))
UNION SELECT batch_row.service_id FROM batch_group JOIN batch_row
  ON batch_row.batch_id = batch_group.batch_id AND batch_row.group_number = batch_group.number
  WHERE batch_row.service_id > '' AND instr(lower(batch_group.request_id), ?1)
UNION SELECT batch_row.service_id FROM bundle JOIN batch_row USING (batch_id, group_number)
  WHERE batch_row.service_id > '' AND instr(lower(bundle.tx_hash), ?1)
UNION SELECT paid.value FROM bundle_payment, json_each(service_ids) AS paid
  WHERE instr(lower(bundle_payment.hash), ?1)
"""  # noqa: S608

_CALLED = """
SELECT service_id FROM known_order
  WHERE substr(service_id, 1, length(?1)) = ?1 AND length(?1) >= ?2
UNION SELECT service_id FROM known_order WHERE json_valid(last)
  AND ?1 IN (json_extract(last, '$.id'), json_extract(last, '$.multiId'),
    json_extract(last, '$.depositTag'), json_extract(last, '$.receiverTag'))
UNION SELECT known_order.service_id FROM known_order
  JOIN intent ON intent.id = known_order.intent_id
  WHERE json_extract(intent.frozen, '$.quote_id') = ?1
UNION SELECT batch_row.service_id FROM batch_group JOIN batch_row
  ON batch_row.batch_id = batch_group.batch_id AND batch_row.group_number = batch_group.number
  WHERE batch_row.service_id > '' AND batch_group.multi_id = ?1
"""

_OF_AMOUNT = """
SELECT service_id, last FROM known_order WHERE json_valid(last) AND (
  json_extract(last, '$.inAmount') BETWEEN ?1 AND ?2
  OR json_extract(last, '$.outAmount') BETWEEN ?1 AND ?2
  OR json_extract(last, '$.refundAmount') BETWEEN ?1 AND ?2)
"""

_RELEASED = f"""
SELECT json_extract(intent.frozen, '$.token_in.kind') AS kind,
    json_extract(known_order.last, '$.depositAddress') AS address
  FROM known_order INDEXED BY known_order_released JOIN intent ON intent.id = known_order.intent_id
  WHERE known_order.standing = '{DepositRelease.RELEASED}' AND json_valid(known_order.last)
UNION SELECT CASE json_extract(bundle.built, '$.kind') WHEN 'solana' THEN 'sol' ELSE 'evm' END,
    json_extract(deposit.value, '$.address')
  FROM bundle CROSS JOIN json_each(bundle.built, '$.items') AS item
  CROSS JOIN json_each(item.value, '$.deposits') AS deposit
  CROSS JOIN batch_row ON batch_row.batch_id = bundle.batch_id
    AND batch_row.number = json_extract(deposit.value, '$.row')
  WHERE batch_row.state = '{RowState.CREATED}'
"""  # noqa: S608


class OrderIndex:
    """Reads only."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def count_open(self) -> int:
        """How many orders were under way when they were last seen."""
        rows = self._file.read(
            f"SELECT display, count(*) AS orders FROM known_order WHERE {PRESENT}"  # noqa: S608
            " GROUP BY display",
            (),
        )
        return sum(row["orders"] for row in rows if not ended(row["display"]))

    def ids(self) -> set[str]:
        """Every order this desk knows."""
        rows = self._file.read("SELECT service_id FROM known_order", ())
        return {row["service_id"] for row in rows}

    def present(self) -> list[str]:
        """Orders of which something may still become: all but those that were completed, and of
        which nothing is left to do."""
        rows = self._file.read(
            f"SELECT service_id FROM known_order WHERE {PRESENT}",  # noqa: S608
            (),
        )
        return [row["service_id"] for row in rows]

    def unrepeated(self) -> list[str]:
        """Orders created here that the service has not repeated yet."""
        rows = self._file.read(
            f"SELECT service_id FROM known_order WHERE standing = '{DepositRelease.UNREPEATED}'"  # noqa: S608
            " AND intent_id > ''",
            (),
        )
        return [row["service_id"] for row in rows]

    def made_here(self, ids: Collection[str]) -> list[str]:
        """Which of these orders an intent of this home became."""
        rows = self._file.read(
            "SELECT service_id FROM known_order WHERE intent_id > ''"
            " AND service_id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
        return [row["service_id"] for row in rows]

    def of_others(self, intent_id: str) -> set[str]:
        """Orders that other intents became."""
        rows = self._file.read(
            "SELECT service_id FROM known_order WHERE intent_id > '' AND intent_id != ?",
            (intent_id,),
        )
        return {row["service_id"] for row in rows}

    def seen_before(self, moment: datetime) -> set[str]:
        """Orders that were first seen before ``moment``."""
        return self._before("SELECT service_id, first_seen AS at FROM known_order", moment)

    def created_before(self, moment: datetime) -> set[str]:
        """Orders that the service made before ``moment``, as far as it said when."""
        return self._before(
            "SELECT service_id, json_extract(last, '$.created') AS at FROM known_order"
            " WHERE json_valid(last)",
            moment,
        )

    def released_deposits(self) -> frozenset[tuple[str, str]]:
        """Where orders of this desk are or were to be paid, each with the kind of the chain that
        was confirmed: of orders that were released, and of those of a batch that were found as
        asked for and put into a bundle. Any other address is the service's word alone."""
        rows = self._file.read(_RELEASED, ())
        return frozenset((row["kind"], row["address"]) for row in rows if row["address"])

    def paid_recipients(self) -> list[PaidRecipient]:
        """Recipients of orders that were confirmed here, stayed so and were completed."""
        rows = self._file.read(
            "SELECT json_extract(last, '$.receiverAddress') AS address, count(*) AS times,"  # noqa: S608
            f" max({PAID_AT}) AS last FROM known_order WHERE {OF_PAID} GROUP BY 1",
            (),
        )
        return [
            PaidRecipient(
                row["address"], row["times"], parse_rfc3339(row["last"]) if row["last"] else None
            )
            for row in rows
            if row["address"]
        ]

    def named(self, part: str) -> frozenset[str]:
        """Orders with this in one of their addresses, in the hash of one of their transactions or
        in the request id of their create, in letters of either case."""
        rows = self._file.read(_NAMED, (part.lower(),))
        return frozenset(row["service_id"] for row in rows)

    def called(self, text: str) -> frozenset[str]:
        """Orders of this id or with an id that begins so, and those of this group, quote, record
        or memo."""
        rows = self._file.read(_CALLED, (text, SHORTEST_PREFIX))
        return frozenset(row["service_id"] for row in rows)

    def of_amount(self, least: Decimal, most: Decimal) -> list[tuple[str, Order]]:
        """Orders that send, pay out or gave back about as much, in tokens of any kind."""
        # The bounds are compared as floating numbers; who asks compares the amounts themselves.
        rows = self._file.read(_OF_AMOUNT, (float(least), float(most)))
        return [
            (row["service_id"], decode(Order, row["last"].encode(), side="client")) for row in rows
        ]

    def _before(self, query: str, moment: datetime) -> set[str]:
        rows = self._file.read(query, ())
        return {
            row["service_id"] for row in rows if row["at"] and parse_rfc3339(row["at"]) < moment
        }


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
            "INSERT INTO event (service_id, at, source, raw) VALUES (?, ?, ?, ?)",
            (service_id, now, source, lean),
        )
        count = self._counts.get(service_id)
        if count is None:
            (count,) = db.execute(
                "SELECT count(*) FROM event WHERE service_id = ?", (service_id,)
            ).fetchone()
        else:
            count += 1
        if count > FIRST_EVENTS + NEWEST_EVENTS + _SLACK:
            db.execute(
                "DELETE FROM event WHERE service_id = ?1"
                " AND id NOT IN (SELECT id FROM event WHERE service_id = ?1 ORDER BY id LIMIT ?2)"
                " AND id NOT IN (SELECT id FROM event WHERE service_id = ?1"
                " ORDER BY id DESC LIMIT ?3)",
                (service_id, FIRST_EVENTS, NEWEST_EVENTS),
            )
            count = FIRST_EVENTS + NEWEST_EVENTS
        self._counts[service_id] = count

    def of(self, service_id: str) -> list[tuple[datetime, str, Order]]:
        """Those of one order, oldest first."""
        return [
            (datetime.fromisoformat(row["at"]), row["source"], _order_of(row))
            for row in self._file.read(
                "SELECT at, source, raw FROM event WHERE service_id = ? ORDER BY id", (service_id,)
            )
        ]

    def latest(self, count: int) -> list[tuple[datetime, Order]]:
        """The newest of any order, newest first."""
        rows = self._file.read("SELECT at, raw FROM event ORDER BY id DESC LIMIT ?", (count,))
        return [(datetime.fromisoformat(row["at"]), _order_of(row)) for row in rows]

    def beyond(self, number: int, count: int) -> list[OrderEvent]:
        """Those of any order behind the one of this number, oldest first."""
        rows = self._file.read(
            "SELECT * FROM event WHERE id > ? ORDER BY id LIMIT ?", (number, count)
        )
        return [OrderEvent(row["id"], row["at"], row["source"], _order_of(row)) for row in rows]


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
        row = db.execute(
            "SELECT last FROM known_order WHERE service_id = ?", (service_id,)
        ).fetchone()
        if row is None:
            return None
        if order is not None and digest == hash(row["last"]):
            return order
        try:
            return decode(Order, row["last"].encode(), side="client")
        except CodecError:
            return Order(service_id=service_id)

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
                db.execute(
                    "INSERT OR REPLACE INTO accepted_output (service_id, out_amount) VALUES (?, ?)",
                    (service_id, plain(out_amount)),
                )
            return stands

    def put_away(self, service_id: str, trouble: str) -> None:
        """The owner dealt with an order that failed so; in another trouble it counts again."""
        with self._file.write() as db:
            db.execute(
                "INSERT OR REPLACE INTO put_away (service_id, trouble, at) VALUES (?, ?, ?)",
                (service_id, trouble, rfc3339(self._clock.now())),
            )

    def take_back(self, service_id: str) -> None:
        """It was not dealt with after all."""
        with self._file.write() as db:
            db.execute("DELETE FROM put_away WHERE service_id = ?", (service_id,))

    def away(self) -> dict[str, str]:
        """Orders that were put away, each with the trouble it was in."""
        rows = self._file.read("SELECT service_id, trouble FROM put_away", ())
        return {row["service_id"]: row["trouble"] for row in rows}

    def each(self) -> Iterator[JournaledOrder]:
        """Every order this desk knows, newest first, read a few at a time."""
        before = 1 << 62
        while rows := self._file.read(
            "SELECT * FROM order_row WHERE place < ? ORDER BY place DESC LIMIT ?",
            (before, _LOAD),
        ):
            before = rows[-1]["place"]
            yield from map(self._order_of, rows)

    def present(self) -> Iterator[JournaledOrder]:
        """Those of which something may still become, read a few at a time."""
        return self._named(self.index.present())

    def unrepeated(self) -> list[JournaledOrder]:
        """Those created here that the service has not repeated yet."""
        return list(self._named(self.index.unrepeated()))

    def verdict(self, service_id: str) -> ReleaseVerdict | None:
        """What stands of an order, None when the journal has none of this id."""
        rows = self._file.read(
            "SELECT standing, withheld FROM known_order WHERE service_id = ?", (service_id,)
        )
        return (
            ReleaseVerdict(DepositRelease(rows[0]["standing"]), rows[0]["withheld"])
            if rows
            else None
        )

    def get(self, service_id: str) -> JournaledOrder | None:
        rows = self._file.read("SELECT * FROM order_row WHERE service_id = ?", (service_id,))
        return self._order_of(rows[0]) if rows else None

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
        if known is None or _differs(known, order):
            self.history.add(db, order.service_id, lean, now, source)
        kept = order if known is None else merge_order(known, order) or known
        if kept == order:
            # The tracker holds this one, so that there are not two of each.
            kept = order
        else:
            raw = encode_twice(kept)[1]
        self._written.keep(kept, raw)
        if known is None:
            db.execute(
                "INSERT INTO known_order (service_id, intent_id, last, display, ended, standing,"
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
        reason = contradicts(known, order)
        if reason is not None:
            # What stands in the file is what was known before.
            self._written.forget(order.service_id)
            return self._settle(db, order.service_id, contradiction(reason))
        db.execute(
            "UPDATE known_order SET last = ?, display = ?, ended = max(ended, ?),"
            " intent_id = coalesce(intent_id, ?), seen_at = ?, source = ? WHERE service_id = ?",
            (raw, display_of(kept), int(ended), intent_id, now, source, order.service_id),
        )
        self._keep_deposit(db, known, kept)
        return None

    def _keep_deposit(self, db: sqlite3.Connection, known: Order | None, kept: Order) -> None:
        """The transaction that the service names as the deposit's: its link is the payout's
        later."""
        told = newly_linked_deposit(known, kept)
        if told is not None:
            db.execute(
                "INSERT OR REPLACE INTO told_deposit (service_id, hash) VALUES (?, ?)",
                (kept.service_id, told),
            )

    def _settle(
        self,
        db: sqlite3.Connection,
        service_id: str,
        verdict: ReleaseVerdict,
        *,
        only_from: DepositRelease | None = None,
    ) -> ReleaseVerdict:
        row = db.execute(
            "SELECT standing, withheld FROM known_order WHERE service_id = ?", (service_id,)
        ).fetchone()
        if row is None:
            return verdict
        stands = ReleaseVerdict(DepositRelease(row["standing"]), row["withheld"])
        if verdict.standing not in MAY_FOLLOW[stands.standing]:
            return stands
        if only_from is not None and stands.standing is not only_from:
            return stands
        db.execute(
            "UPDATE known_order SET standing = ?, withheld = ? WHERE service_id = ?",
            (verdict.standing, verdict.withheld, service_id),
        )
        return verdict

    def _named(self, ids: Sequence[str]) -> Iterator[JournaledOrder]:
        for at in range(0, len(ids), _LOAD):
            part = tuple(ids[at : at + _LOAD])
            marks = ", ".join("?" * len(part))
            yield from map(
                self._order_of,
                self._file.read(
                    f"SELECT * FROM order_row WHERE service_id IN ({marks})",  # noqa: S608
                    part,
                ),
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
            verdict=ReleaseVerdict(DepositRelease(row["standing"]), row["withheld"]),
            first_seen=datetime.fromisoformat(row["first_seen"]),
            seen_at=datetime.fromisoformat(row["seen_at"]),
            source=row["source"],
            accepted=None if row["accepted"] is None else Decimal(row["accepted"]),
        )


def _differs(known: Order, order: Order) -> bool:
    """Whether two sightings tell apart more than when the service last wrote."""
    news = order.__dict__
    return any(
        news[name] is not old and news[name] != old
        for name, old in known.__dict__.items()
        if name != "modified"
    )
