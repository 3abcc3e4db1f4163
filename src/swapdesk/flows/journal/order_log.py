"""Every order that this desk knows, and a history of each: the states in which the order was seen,
with time, source and the order as it was then."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
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
    Intent,
    ReleaseVerdict,
    contradiction,
)
from swapdesk.flows.journal.journal_file import JournalFile, JournalUnavailable
from swapdesk.flows.journal.journal_migration import NAMED, OF_PAID, PAID_AT, PRESENT
from swapdesk.flows.journal.ledger import EXECUTED_IN_VAIN, read_json
from swapdesk.flows.orders.order_merge import (
    PROGRESS,
    contradicts,
    display_of,
    ended,
    merge_order,
    newly_linked_deposit,
)
from swapdesk.flows.orders.order_transactions import (
    OrderTransaction,
    PaidOnChain,
    Source,
    folded_hash,
)
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.codec import CodecError, decode, encode_twice, rfc3339
from swapdesk.wire.encoding.numbers import plain
from swapdesk.wire.encoding.timestamps import parse_rfc3339
from swapdesk.wire.orders import DisplayStatus, Order


class OrderEvent(NamedTuple):
    """A state in which an order was seen. A state written later has a higher ``number``."""

    number: int
    at: str
    source: str
    order: Order


FIRST_EVENTS = 20
NEWEST_EVENTS = 180
"""How many of an order's newest states are kept, beside the ``FIRST_EVENTS`` oldest."""
_SLACK = 20
"""How many surplus states a history may have before they are deleted."""


class OrderHistoryLog:
    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def add(
        self, db: sqlite3.Connection, service_id: str, lean: str, now: str, source: Source
    ) -> None:
        """Adds a state to an order's history, in the caller's transaction. ``lean`` is the order's
        JSON without its tokens."""
        db.execute(
            "INSERT INTO events (service_id, at, source, raw) VALUES (?, ?, ?, ?)",
            (service_id, now, source, lean),
        )
        (count,) = db.execute(
            "SELECT count(*) FROM events WHERE service_id = ?", (service_id,)
        ).fetchone()
        if count > FIRST_EVENTS + NEWEST_EVENTS + _SLACK:
            db.execute(
                "DELETE FROM events WHERE service_id = ?1"
                " AND number NOT IN"
                " (SELECT number FROM events WHERE service_id = ?1 ORDER BY number LIMIT ?2)"
                " AND number NOT IN"
                " (SELECT number FROM events WHERE service_id = ?1 ORDER BY number DESC LIMIT ?3)",
                (service_id, FIRST_EVENTS, NEWEST_EVENTS),
            )

    def of(self, service_id: str) -> list[tuple[datetime, str, Order]]:
        """Returns an order's history, oldest first: when each state was seen, its source, and the
        order."""
        return [
            (datetime.fromisoformat(row["at"]), row["source"], _order_of(row))
            for row in self._file.read(
                "SELECT at, source, raw FROM events WHERE service_id = ? ORDER BY number",
                (service_id,),
            )
        ]

    def deposit_seen(self, service_id: str) -> datetime | None:
        """Returns when the service, or else this desk, detected an order's deposit. None if no
        deposit was detected, or if this desk first saw the order after that."""
        rows = self._file.read(_DEPOSIT_SEEN, (service_id,))
        if not rows:
            return None
        row, at = rows[0], datetime.fromisoformat(rows[0]["at"])
        if row["is_first"] and row["display"] != DisplayStatus.DEPOSIT_DETECTED:
            return None
        seen = parse_rfc3339(row["modified"]) if row["modified"] else at
        created = parse_rfc3339(row["created"]) if row["created"] else None
        return min(seen, at) if created is None or seen > created else at

    def latest(self, count: int) -> list[tuple[datetime, Order]]:
        """Returns the ``count`` newest states of all orders, with the time when each was seen."""
        rows = self._file.read("SELECT at, raw FROM events ORDER BY number DESC LIMIT ?", (count,))
        return [(datetime.fromisoformat(row["at"]), _order_of(row)) for row in rows]

    def newest(self) -> int:
        """Returns the number of the newest state of any order; 0 if there is none."""
        [row] = self._file.read("SELECT coalesce(max(number), 0) AS newest FROM events", ())
        return int(row["newest"])

    def beyond(self, number: int, count: int) -> list[OrderEvent]:
        """Returns at most ``count`` states, of any orders, whose number is above ``number``, oldest
        first."""
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


SHORTEST_PREFIX = 4
"""The fewest first characters of an id by which :meth:`OrderLog.called` finds an order."""


class PaidRecipient(NamedTuple):
    """A recipient that orders of this desk paid, with the number of payments and the time of the
    last one. ``last`` is None if that time is unknown."""

    address: str
    times: int
    last: datetime | None


class OrderLog:
    """The newest known state of every order. The earlier states of the orders are in
    ``history``."""

    def __init__(self, file: JournalFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._written: dict[str, tuple[int, Order]] = {}
        """A hash of each order's last written text, with the decoded order, so that an unchanged
        text is not decoded again."""
        self.history = OrderHistoryLog(file)

    def record(self, orders: Iterable[tuple[Order, Source, bool]]) -> None:
        """Commits new states of orders. Each element is an order, its source, and whether the
        service confirmed that the order has ended."""
        with self._file.write() as db:
            for order, source, ended in orders:
                self.put(db, order, source, ended=ended)

    def settle(self, service_id: str, verdict: ReleaseVerdict) -> ReleaseVerdict:
        """Changes whether an order's deposit address may be shown, if ``MAY_FOLLOW`` allows the
        change. Returns the verdict that holds afterwards."""
        with self._file.write() as db:
            return self._settle(db, service_id, verdict)

    def accept_output(self, service_id: str, out_amount: Decimal) -> ReleaseVerdict:
        """Releases a deposit address that was hidden because of a lower output, and records that
        the user accepts ``out_amount`` of the token bought. Returns the verdict that holds
        afterwards."""
        with self._file.write() as db:
            stands = self._settle(db, service_id, RELEASED, only_from=DepositRelease.LOWER)
            if stands.payable:
                self._tell(db, service_id, "accepted", plain(out_amount))
            return stands

    def put_away(self, service_id: str, trouble: str | None) -> None:
        """Marks an order as dealt with. ``trouble`` is the code of its failure; a different failure
        ends the mark. If ``trouble`` is None, the mark is removed."""
        with self._file.write() as db:
            self._tell(db, service_id, "put_away", trouble)

    def away(self) -> dict[str, str]:
        """Returns the orders marked as dealt with: each order's id, and the code of its failure
        when it was marked."""
        rows = self._file.read(
            "SELECT service_id, put_away FROM orders WHERE put_away IS NOT NULL", ()
        )
        return {row["service_id"]: row["put_away"] for row in rows}

    def keep_payment(self, service_id: str, payment: PaidOnChain) -> None:
        """Records a payment to an order's deposit address, read from a chain. A recorded payment
        that is in a block is not replaced by one without a block."""
        with self._file.write() as db:
            rows = db.execute("SELECT payments FROM orders WHERE service_id = ?", (service_id,))
            payments = _payments(row["payments"] if (row := rows.fetchone()) else None)
            name = f"{folded_hash(payment.hash)} {payment.token_id or ''}"
            before = payments.get(name)
            if before is None or before.confirmations is None or payment.confirmations is not None:
                payments[name] = payment
            self._tell(db, service_id, "payments", msgspec.json.encode(payments).decode())

    def payments(self) -> dict[str, tuple[PaidOnChain, ...]]:
        """Returns the payments to deposit addresses that were read from chains, by order id."""
        rows = self._file.read(
            "SELECT service_id, payments FROM orders WHERE payments IS NOT NULL", ()
        )
        return {row["service_id"]: tuple(_payments(row["payments"]).values()) for row in rows}

    def each(self, among: str = "") -> Iterator[TrackedOrder]:
        """Yields the known orders, newest first. ``among`` is an SQL query for the numbers of the
        orders to include; empty means all."""
        before, those = 1 << 62, f"AND orders.number IN ({among})" if among else ""
        while rows := self._file.read(
            f"{_ORDERS} WHERE orders.number < ? {those} ORDER BY orders.number DESC LIMIT ?",
            (before, _LOAD),
        ):
            before = rows[-1]["number"]
            yield from map(_tracked, rows)

    def present(self) -> Iterator[TrackedOrder]:
        """Yields the orders that may still change, newest first."""
        return self.each(f"SELECT number FROM orders WHERE {PRESENT}")  # noqa: S608

    def unrepeated(self) -> Iterator[TrackedOrder]:
        """Yields the orders created here that the service has not yet returned a second time."""
        return self.each(
            f"SELECT number FROM orders WHERE standing = '{DepositRelease.UNREPEATED}'"  # noqa: S608
            " AND operation > ''"
        )

    def verdict(self, service_id: str) -> ReleaseVerdict | None:
        """Returns whether an order's deposit address may be shown; None if the journal does not
        contain the order."""
        rows = self._file.read(
            "SELECT standing, withheld FROM orders WHERE service_id = ?", (service_id,)
        )
        return _verdict_of(rows[0]) if rows else None

    def get(self, service_id: str) -> TrackedOrder | None:
        rows = self._file.read(f"{_ORDERS} WHERE service_id = ?", (service_id,))
        return _tracked(rows[0]) if rows else None

    # Questions about all of them: reading each takes seconds for whoever has traded for a year.

    def count_open(self) -> int:
        """Returns the number of orders that had not ended when they were last seen."""
        rows = self._file.read(
            f"SELECT display, count(*) AS orders FROM orders WHERE {PRESENT}"  # noqa: S608
            " GROUP BY display",
            (),
        )
        return sum(row["orders"] for row in rows if not ended(row["display"]))

    def ids(self) -> set[str]:
        """Returns the ids of all orders that this desk knows."""
        return self._ids("SELECT service_id FROM orders")

    def begun(self, words: Collection[str]) -> dict[str, str]:
        """Returns the complete order id for each word that is the beginning of exactly one id."""
        rows = self._file.read(_BEGUN, (json.dumps(list(words)),))
        return {row["word"]: row["service_id"] for row in rows}

    def made_here(self, ids: Collection[str]) -> set[str]:
        """Returns those of ``ids`` that are orders created from an intent in this journal."""
        return self._ids(
            "SELECT service_id FROM orders WHERE operation > ''"
            " AND service_id IN (SELECT value FROM json_each(?))",
            json.dumps(list(ids)),
        )

    def of_others(self, intent_id: str) -> set[str]:
        """Returns the ids of the orders that were created from any intent except ``intent_id``."""
        return self._ids(
            "SELECT service_id FROM orders WHERE operation > '' AND operation != ?", intent_id
        )

    def seen_before(self, moment: datetime) -> set[str]:
        """Returns the ids of orders that this desk first saw before ``moment``."""
        return self._before("SELECT service_id, first_seen AS at FROM orders", moment)

    def created_before(self, moment: datetime) -> set[str]:
        """Returns the ids of orders created before ``moment``, by the service's time."""
        return self._before(
            "SELECT service_id, json_extract(last, '$.created') AS at FROM orders"
            " WHERE json_valid(last)",
            moment,
        )

    def released_deposits(self) -> frozenset[tuple[str, str]]:
        """Returns the deposit addresses that this desk has verified, as (kind of chain,
        address)."""
        rows = self._file.read(_RELEASED, ())
        return frozenset((row["kind"], row["address"]) for row in rows if row["address"])

    def paid_recipients(self) -> list[PaidRecipient]:
        """Returns the recipients of completed orders. An order counts only if it was confirmed at
        this desk and paid the confirmed recipient."""
        rows = self._file.read(_PAID, ())
        return [
            PaidRecipient(
                row["address"], row["times"], parse_rfc3339(row["last"]) if row["last"] else None
            )
            for row in rows
            if row["address"]
        ]

    def named(self, part: str) -> set[str]:
        """Returns the ids of orders with ``part`` in an address, hash or request id, ignoring
        case."""
        return self._ids(_NAMED, part.lower())

    def called(self, text: str) -> set[str]:
        """Returns the ids of orders whose id begins with ``text``, or whose group id, quote id,
        record id or memo equals it."""
        return self._ids(_CALLED, text, SHORTEST_PREFIX)

    def of_amount(self, least: Decimal, most: Decimal) -> list[tuple[str, Order]]:
        """Returns the orders with an amount between ``least`` and ``most``, in any token. The
        bounds are compared as floats, so the caller must check the exact amounts."""
        # The bounds are compared as floating numbers; who asks compares the amounts themselves.
        rows = self._file.read(_OF_AMOUNT, (float(least), float(most)))
        return [
            (row["service_id"], decode(Order, row["last"].encode(), side="client")) for row in rows
        ]

    # What was sent for them

    def transactions_of(self, service_id: str) -> tuple[OrderTransaction, ...]:
        """Returns an order's transactions: first approvals and the swap, then bundles, then
        deposits, each group with the oldest first."""
        return self._transactions(_ALL, "= ?1", service_id).get(service_id, ())

    def transactions(self) -> dict[str, tuple[OrderTransaction, ...]]:
        """Returns the transactions of all orders, by order id."""
        return self._transactions(_ALL, "IS NOT NULL")

    def own_deposits(self, service_ids: Collection[str]) -> dict[str, tuple[OrderTransaction, ...]]:
        """Returns, by order id, the transactions with which this desk paid the deposit of a single
        order. Bundles are left out."""
        those = "IN (SELECT value FROM json_each(?1))"
        return self._transactions(_DEPOSITS, those, json.dumps(list(service_ids)))

    # Writing

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
        """Writes a state of an order in the caller's transaction; returns whether its deposit
        address may be shown. If the amount or address has changed, the state only enters the
        history, and the deposit address is hidden for good."""
        # The tokens of an order never change, so its events do without them.
        lean, raw = encode_twice(order)
        now = rfc3339(self._clock.now())
        last = self._last(db, order.service_id)
        merged = order if last is None else merge_order(last, order)
        reason = None if last is None else contradicts(last, order)
        # What a desk that is behind saw is no event any more: whoever reads them in their order,
        # as a receiver of webhooks does, would take it for the newest.
        tells = merged is not None or reason is not None
        if last is None or (tells and _differs(last, order)):
            self.history.add(db, order.service_id, lean, now, source)
        if reason is not None:
            return self._settle(db, order.service_id, contradiction(reason))
        kept = merged or last or order
        if kept == order:
            # The tracker holds this one, so that there are not two of each.
            kept = order
        else:
            raw = encode_twice(kept)[1]
        self._written[order.service_id] = (hash(raw), kept)
        db.execute(
            "INSERT INTO orders (service_id, operation, last, display, ended, standing, withheld,"
            " first_seen, seen_at, source) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9)"
            " ON CONFLICT DO UPDATE SET last = ?3, display = ?4, ended = max(ended, ?5),"
            " operation = coalesce(operation, ?2), seen_at = ?8, source = ?9",
            (
                order.service_id,
                intent_id,
                raw,
                display_of(kept),
                int(ended),
                verdict.standing,
                verdict.withheld,
                now,
                source,
            ),
        )
        deposit = newly_linked_deposit(last, kept)
        if deposit is not None:
            # The order's link is the payout's later.
            self._tell(db, kept.service_id, "deposit", deposit)
        return self._settle(db, order.service_id, verdict)

    def _ids(self, query: str, *values: object) -> set[str]:
        return {service_id for (service_id,) in self._file.read(query, values)}

    def _before(self, query: str, moment: datetime) -> set[str]:
        rows = self._file.read(query, ())
        return {
            row["service_id"] for row in rows if row["at"] and parse_rfc3339(row["at"]) < moment
        }

    def _transactions(
        self, query: str, those: str, *values: str
    ) -> dict[str, tuple[OrderTransaction, ...]]:
        transactions: dict[str, tuple[OrderTransaction, ...]] = {}
        query = f"{query.format(those=those)} ORDER BY place, number"
        for service_id, _, _, hash_, fate, role, by, address in self._file.read(query, values):
            if hash_ and fate:
                transaction = OrderTransaction(role, hash_, fate, by, address)
                transactions[service_id] = (*transactions.get(service_id, ()), transaction)
        return transactions

    def _last(self, db: sqlite3.Connection, service_id: str) -> Order | None:
        row = db.execute("SELECT last FROM orders WHERE service_id = ?", (service_id,)).fetchone()
        if row is None:
            return None
        digest, order = self._written.get(service_id, (None, None))
        if order is not None and digest == hash(row["last"]):
            return order
        return _last_of(row["last"], service_id)

    def _tell(self, db: sqlite3.Connection, service_id: str, column: str, value: object) -> None:
        changed = db.execute(
            f"UPDATE orders SET {column} = ? WHERE service_id = ?",  # noqa: S608
            (value, service_id),
        )
        if not changed.rowcount:
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


_LOAD = 100
_ORDERS = """SELECT orders.*, body FROM orders
  LEFT JOIN operation ON operation.id = orders.operation"""


def _tracked(row: sqlite3.Row) -> TrackedOrder:
    return TrackedOrder(
        order=_last_of(row["last"], row["service_id"]),
        intent=Intent.from_json(read_json(row["body"])["intent"]) if row["body"] else None,
        withheld=row["withheld"],
        ended=bool(row["ended"]),
        seen_at=datetime.fromisoformat(row["seen_at"]),
        source="journal",
        standing=DepositRelease(row["standing"]),
        accepted=None if row["accepted"] is None else Decimal(row["accepted"]),
        away=row["put_away"],
        payments=tuple(_payments(row["payments"]).values()),
    )


def _last_of(raw: str, service_id: str) -> Order:
    try:
        return decode(Order, raw.encode(), side="client")
    except CodecError:
        return Order(service_id=service_id)


def _verdict_of(row: sqlite3.Row) -> ReleaseVerdict:
    return ReleaseVerdict(DepositRelease(row["standing"]), row["withheld"])


def _payments(text: str | None) -> dict[str, PaidOnChain]:
    return msgspec.json.decode(text or "{}", type=dict[str, PaidOnChain])


def _differs(known: Order, order: Order) -> bool:
    news = order.__dict__
    return any(
        news[name] is not old and news[name] != old
        for name, old in known.__dict__.items()
        if name != "modified"
    )


_NAMED = f"""
SELECT service_id FROM orders INDEXED BY orders_named
  WHERE json_valid(last) AND instr({NAMED}, ?1)
UNION SELECT service_id FROM orders CROSS JOIN json_each(payments) AS shown
  WHERE payments IS NOT NULL AND instr(lower(json_extract(shown.value, '$.hash')), ?1)
UNION SELECT subject FROM operation
  WHERE kind IN ('create', 'call', 'deposit') AND subject > '' AND parent IS NULL
  AND (instr(lower(json_extract(result, '$.hash')), ?1)
    OR instr(lower(json_extract(result, '$.request_id')), ?1))
UNION SELECT made.subject FROM operation AS part JOIN operation AS made ON made.id = part.parent
  WHERE made.kind = 'create' AND made.subject > ''
    AND instr(lower(json_extract(part.result, '$.hash')), ?1)
UNION SELECT made.subject FROM operation AS asked CROSS JOIN operation AS made
  ON made.parent = asked.id AND made.kind = 'row'
  WHERE asked.kind = 'create_group' AND made.subject > ''
  AND instr(lower(json_extract(asked.result, '$.request_id')), ?1)
UNION SELECT made.subject FROM operation AS bundle CROSS JOIN operation AS made
  ON made.parent = bundle.parent AND made.kind = 'row'
  WHERE bundle.kind = 'bundle' AND made.subject > ''
  AND instr(lower(json_extract(bundle.result, '$.hash')), ?1)
UNION SELECT paid.value
  FROM operation AS part CROSS JOIN json_each(part.body, '$.service_ids') AS paid
  WHERE part.kind = 'part' AND instr(lower(json_extract(part.result, '$.hash')), ?1)
"""  # noqa: S608

_CALLED = """
SELECT service_id FROM orders
  WHERE substr(service_id, 1, length(?1)) = ?1 AND length(?1) >= ?2
UNION SELECT service_id FROM orders WHERE json_valid(last)
  AND ?1 IN (json_extract(last, '$.id'), json_extract(last, '$.multiId'),
    json_extract(last, '$.depositTag'), json_extract(last, '$.receiverTag'))
UNION SELECT subject FROM operation
  WHERE kind = 'create' AND subject > '' AND json_extract(body, '$.intent.quote_id') = ?1
UNION SELECT made.subject FROM operation AS asked CROSS JOIN operation AS made
  ON made.parent = asked.id AND made.kind = 'row'
  WHERE asked.subject = ?1 AND asked.kind = 'create_group' AND made.subject > ''
"""

_BEGUN = """
SELECT begun.value AS word, min(service_id) AS service_id
  FROM json_each(?) AS begun JOIN orders
  ON service_id >= begun.value AND service_id < begun.value || '~'
  GROUP BY begun.value HAVING count(*) = 1
"""
"""Finds for each word the id of the only order that begins with it. Ids contain no tilde, which
ends the range."""

_OF_AMOUNT = """
SELECT service_id, last FROM orders WHERE json_valid(last) AND (
  json_extract(last, '$.inAmount') BETWEEN ?1 AND ?2
  OR json_extract(last, '$.outAmount') BETWEEN ?1 AND ?2
  OR json_extract(last, '$.refundAmount') BETWEEN ?1 AND ?2)
"""

_CREATED = "made.state = 'done' AND made.code IS NULL"
"""SQL condition on a row of a batch file: it became an order that matches it."""

_RELEASED = f"""
SELECT json_extract(operation.body, '$.intent.token_in.kind') AS kind,
    json_extract(orders.last, '$.depositAddress') AS address
  FROM orders INDEXED BY orders_released
  JOIN operation ON operation.id = orders.operation
  WHERE orders.standing = '{DepositRelease.RELEASED}' AND json_valid(orders.last)
UNION SELECT CASE json_extract(bundle.body, '$.kind') WHEN 'solana' THEN 'sol' ELSE 'evm' END,
    json_extract(deposit.value, '$.address')
  FROM operation AS bundle CROSS JOIN json_each(bundle.body, '$.items') AS item
  CROSS JOIN json_each(item.value, '$.deposits') AS deposit
  CROSS JOIN operation AS made ON made.subject = json_extract(deposit.value, '$.service_id')
  WHERE bundle.kind = 'bundle' AND made.kind = 'row' AND {_CREATED}
"""  # noqa: S608


_PAID = f"""
WITH asked AS MATERIALIZED (
  SELECT id, json_extract(body, '$.body') AS request FROM operation
  WHERE kind = 'create_group' AND json_valid(json_extract(body, '$.body'))
)
SELECT address, count(*) AS times, max(at) AS last FROM (
  SELECT json_extract(last, '$.receiverAddress') AS address, {PAID_AT} AS at
    FROM orders INDEXED BY orders_paid WHERE {OF_PAID}
  UNION ALL SELECT confirmed, {PAID_AT} FROM (
      SELECT made.subject AS service_id, json_extract(request,
        '$.orders[' || json_extract(made.body, '$.place') || '].addressTo') AS confirmed
      FROM asked CROSS JOIN operation AS made ON made.parent = asked.id
      WHERE made.kind = 'row' AND made.subject > '' AND {_CREATED}
    ) CROSS JOIN orders USING (service_id)
    WHERE coalesce(operation, '') = '' AND display = 'SWAP_COMPLETED' AND json_valid(last)
      AND (confirmed = json_extract(last, '$.receiverAddress') OR confirmed LIKE '0x%'
        AND lower(confirmed) = lower(json_extract(last, '$.receiverAddress')))
) GROUP BY address
"""  # noqa: S608
"""Finds the recipients of completed orders. For an order of a batch, the confirmed recipient is in
the request."""

_HASH_AND_FATE = f"""json_extract(result, '$.hash') AS hash, CASE WHEN state = 'done'
  THEN 'confirmed' WHEN state <> 'refused' THEN 'sent'
  WHEN code = '{EXECUTED_IN_VAIN}' THEN 'failed' END AS fate"""
_DEPOSITS = f"""
SELECT service_id, 4 AS place, number, hash,
  -- A faucet answers when it has sent, and nobody here looks at the chain after it.
  iif(payer = 'faucet' AND fate IS NOT NULL, 'sent', fate), 'deposit', payer, NULL
FROM (SELECT subject AS service_id, number, {_HASH_AND_FATE}, json_extract(body, '$.by') AS payer
  FROM operation WHERE kind = 'deposit' AND subject {{those}})
WHERE payer <> 'bundle'
"""  # noqa: S608
_GROUP = "SELECT parent FROM operation WHERE kind = 'row' AND subject {those}"
"""The groups of the selected orders, whose bundles alone need to be searched."""
_ALL = f"""
SELECT orders.service_id, 1 AS place, operation.number, {_HASH_AND_FATE}, kind, 'wallet', NULL
FROM orders JOIN operation ON operation.parent = orders.operation
WHERE kind IN ('approve', 'reset', 'swap') AND service_id {{those}}
UNION ALL
SELECT json_extract(deposit.value, '$.service_id') AS paid, 2, number,
  json_extract(result, '$.hash'), iif(state = 'done', 'confirmed', 'failed'), 'bundle', 'batch',
  json_extract(deposit.value, '$.address')
FROM operation, json_each(body, '$.items') AS item, json_each(item.value, '$.deposits') AS deposit
WHERE kind = 'bundle' AND json_extract(body, '$.kind') = 'evm' AND operation.parent IN ({_GROUP})
  AND paid {{those}}
UNION ALL
SELECT paid.value, 3, number, {_HASH_AND_FATE}, 'deposit', 'batch', NULL
FROM operation, json_each(body, '$.service_ids') AS paid
WHERE kind = 'part' AND operation.parent IN ({_GROUP}) AND paid.value {{those}}
UNION ALL {_DEPOSITS}
UNION ALL
SELECT service_id, 5, number, deposit, 'seen', 'deposit', 'service', NULL
FROM orders WHERE deposit IS NOT NULL AND service_id {{those}}
"""  # noqa: S608
