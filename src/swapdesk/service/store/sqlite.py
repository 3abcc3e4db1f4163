"""The embedded store: what the service asks, as statements of SQLite.

``partner_id`` stands in every WHERE that serves a partner, and the forward-only rule is the
predicate ``rank <= :rank`` beside the compare-and-set on ``version`` (contract 8.7).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from swapdesk.paths import make_directories
from swapdesk.service.access import StoredPartner
from swapdesk.service.store import books, partners
from swapdesk.service.store import rows as bundle_rows
from swapdesk.service.store.database import StoreFile, Writer, prepare
from swapdesk.service.store.records import (
    BundleState,
    Counting,
    ListedOrder,
    OrderFilter,
    OutboxRow,
    PartnerBook,
    PayoutsChanged,
    QuoteConsumed,
    QuoteGone,
    RecentPayouts,
    StoredBundle,
    StoredGroup,
    StoredOrder,
    StoredQuote,
    Usage,
)
from swapdesk.service.store.rows import (
    ADVANCE,
    ANNOUNCE,
    CLAIM,
    GAVE_OUT,
    INSERT_ORDER,
    INSERT_QUOTE,
    NEXT_DUE,
    ORDER_OF_TRANSACTION,
    ORDER_VERSION,
    RECENT_PAYOUTS,
    TELL_GROUP,
    TELL_ORDERS,
    TOLD_ORDER,
    last_sequence,
    micros,
    moment_of,
    order_of,
    page_of,
    quote_of,
    rows_after,
    values_of,
)
from swapdesk.wire.orders import OrderStatusCode


def _first(db: sqlite3.Connection, query: str, value: str) -> str | None:
    row = db.execute(query, (value,)).fetchone()
    return None if row is None else str(row[0])


_USAGE = "SELECT * FROM usage WHERE partner_id = ? AND rate_class = ?"


def count_calls(db: sqlite3.Connection, call: Counting) -> None:
    found = db.execute(_USAGE, (call.counted, call.rate_class)).fetchall()
    db.executemany(
        "INSERT OR REPLACE INTO usage (partner_id, rate_class, seconds, number, used)"
        " VALUES (?, ?, ?, ?, ?)",
        [
            (row.partner_id, row.rate_class, row.seconds, row.number, row.used)
            for row in call.take([Usage(*row) for row in found])
        ],
    )


def free_calls(db: sqlite3.Connection, unused: Sequence[Usage]) -> None:
    """Windows that ended since have no row any more, and nothing to give back to."""
    db.executemany(
        "UPDATE usage SET used = max(0, used - ?)"
        " WHERE partner_id = ? AND rate_class = ? AND seconds = ? AND number = ?",
        [(row.used, row.partner_id, row.rate_class, row.seconds, row.number) for row in unused],
    )


def recent_payouts(
    db: sqlite3.Connection, partner_id: str, since: datetime, limit: int
) -> RecentPayouts:
    """An order that names no wallet is paid from the venue's first."""
    rows = db.execute(RECENT_PAYOUTS, (partner_id, micros(since), limit))
    wallets = ((row["legs"].rpartition(",")[2], row["payout_wallet"] or 0) for row in rows)
    return RecentPayouts(partner_id, since, limit, tuple(wallets))


def begin(
    db: sqlite3.Connection,
    opened: str,
    call: Counting | None,
    payouts: RecentPayouts | None,
    payment: str | None,
) -> None:
    """What has to hold, and counts, when the order or the group ``opened`` is begun. Raises
    PayoutsChanged and what refuses the call."""
    if payouts is not None:
        asked = payouts.partner_id, payouts.since, payouts.limit
        if recent_payouts(db, *asked) != payouts:
            raise PayoutsChanged
    if call is not None:
        count_calls(db, call)
    if payment is not None:
        db.execute(_PAY_FOR, (opened, payment))


_PAY_FOR = "UPDATE payments SET opened = ? WHERE payment = ?"


def settle_payment(db: sqlite3.Connection, payment: str, transaction: str) -> None:
    """What the payment was for is told: announced, and counted where it is finished already."""
    row = db.execute(
        "UPDATE payments SET transaction_hash = ? WHERE payment = ? RETURNING opened",
        (transaction, payment),
    ).fetchone()
    if row is None or row["opened"] is None:
        return
    db.execute(TELL_GROUP, (row["opened"],))
    for told in map(order_of, db.execute(TELL_ORDERS, {"opened": row["opened"]}).fetchall()):
        db.execute(ANNOUNCE, {"service_id": told.service_id})
        if told.status == OrderStatusCode.FINISHED:
            books.count_finished(db, told)


def note_webhook(db: sqlite3.Connection, source: str, event_id: str, ends: int) -> bool:
    """A delivery that was signed anew is remembered as long as the newest signature counts."""
    values = (source, event_id, ends)
    if db.execute("INSERT OR IGNORE INTO webhooks VALUES (?, ?, ?)", values).rowcount:
        return True
    db.execute(
        "UPDATE webhooks SET ends = max(ends, ?) WHERE source = ? AND event_id = ?",
        (ends, source, event_id),
    )
    return False


class SqliteStore:
    """A Store in one file. Create it with :meth:`open`, end it with :meth:`close`."""

    def __init__(self, path: Path, writer: type[Writer] = Writer) -> None:
        self.path = path
        self._file = StoreFile(path, writer)

    @classmethod
    def open(cls, path: Path | str, writer: type[Writer] = Writer) -> SqliteStore:
        """Open or create the file, mode 0600; raises SchemaError when damaged or too new."""
        path = Path(path)
        make_directories(path.parent)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            prepare(connection)
        return cls(path, writer)

    async def close(self) -> None:
        await self._file.close()

    # Quotes

    async def save_quotes(self, quotes: Sequence[StoredQuote]) -> None:
        rows = [values_of(quote) for quote in quotes]
        if rows:
            await self._file.write(lambda db: db.executemany(INSERT_QUOTE, rows).rowcount)

    async def get_quote(self, partner_id: str, quote_id: str) -> StoredQuote | None:
        row = self._file.look(
            "SELECT * FROM quotes WHERE partner_id = ? AND quote_id = ?", (partner_id, quote_id)
        )
        return None if row is None else quote_of(row)

    async def owner_of_quote(self, quote_id: str) -> str | None:
        query = (
            "SELECT partner_id FROM quotes WHERE quote_id = ?1"
            " UNION ALL SELECT partner_id FROM orders WHERE quote_id = ?1 LIMIT 1"
        )
        return await self._file.read(lambda db: _first(db, query, quote_id))

    async def drop_quotes(self, expired_before: datetime) -> int:
        limit = micros(expired_before)
        return await self._file.write(
            lambda db: db.execute("DELETE FROM quotes WHERE expires < ?", (limit,)).rowcount
        )

    # Orders

    async def begin_order(
        self,
        order: StoredOrder,
        *,
        call: Counting | None = None,
        payouts: RecentPayouts | None = None,
        payment: str | None = None,
    ) -> None:
        values = values_of(order) | {"told": payment is None}

        def begun(db: sqlite3.Connection) -> None:
            taken = db.execute(
                "UPDATE quotes SET consumed_by = :service_id WHERE quote_id = :quote_id"
                " AND partner_id = :partner_id AND consumed_by IS NULL",
                values,
            ).rowcount
            if taken:
                begin(db, order.service_id, call, payouts, payment)
                db.execute(INSERT_ORDER, values)
                return
            row = db.execute(
                "SELECT consumed_by FROM quotes"
                " WHERE quote_id = :quote_id AND partner_id = :partner_id",
                values,
            ).fetchone()
            if row is None:
                raise QuoteGone(order.quote_id)
            raise QuoteConsumed(row["consumed_by"])

        await self._file.write(begun)

    async def begin_group(
        self,
        group: StoredGroup,
        orders: Sequence[StoredOrder],
        *,
        call: Counting | None = None,
        payouts: RecentPayouts | None = None,
        payment: str | None = None,
    ) -> None:
        rows = [values_of(order) | {"told": payment is None} for order in orders]

        def begun(db: sqlite3.Connection) -> None:
            begin(db, group.multi_id, call, payouts, payment)
            bundle_rows.insert_group(db, group, told=payment is None)
            db.executemany(INSERT_ORDER, rows)

        await self._file.write(begun)

    async def get_group(self, partner_id: str, multi_id: str) -> StoredGroup | None:
        row = self._file.look(bundle_rows.GROUP, (partner_id, multi_id))
        return None if row is None else bundle_rows.group_of(row)

    async def owner_of_group(self, multi_id: str) -> str | None:
        query = "SELECT partner_id FROM groups WHERE multi_id = ?"
        return await self._file.read(lambda db: _first(db, query, multi_id))

    async def orders_of_group(self, partner_id: str, multi_id: str) -> list[StoredOrder]:
        values = (partner_id, multi_id)
        return await self._file.read(
            lambda db: [order_of(row) for row in db.execute(bundle_rows.ORDERS_OF_GROUP, values)]
        )

    async def save_bundle(self, bundle: StoredBundle) -> None:
        await self._file.write(lambda db: bundle_rows.replace_pending(db, bundle))

    async def bundles_of_group(self, partner_id: str, multi_id: str) -> list[StoredBundle]:
        return await self._file.read(lambda db: bundle_rows.of_group(db, partner_id, multi_id))

    async def move_bundle(self, bundle: StoredBundle, *, expected: BundleState) -> bool:
        return await self._file.write(lambda db: bundle_rows.move(db, bundle, expected))

    async def bundles_under_way(self) -> list[StoredBundle]:
        return await self._file.read(bundle_rows.under_way)

    async def order_of_quote(self, partner_id: str, quote_id: str) -> StoredOrder | None:
        return self._one_order(
            "SELECT * FROM orders WHERE partner_id = ? AND quote_id = ?", partner_id, quote_id
        )

    async def get_order(self, partner_id: str, service_id: str) -> StoredOrder | None:
        return self._one_order(TOLD_ORDER, partner_id, service_id)

    async def current_order(self, service_id: str) -> StoredOrder | None:
        return self._one_order("SELECT * FROM orders WHERE service_id = ?", service_id)

    async def order_of_transaction(self, chain: str, transaction: str) -> str | None:
        row = self._file.look(ORDER_OF_TRANSACTION, (chain, transaction))
        return None if row is None else str(row["service_id"])

    async def gave_out(self, account: str, since: datetime) -> bool:
        return self._file.look(GAVE_OUT, (account, micros(since))) is not None

    async def order_version(self, partner_id: str, service_id: str) -> tuple[int, datetime] | None:
        row = self._file.look(ORDER_VERSION, (partner_id, service_id))
        return None if row is None else (row["version"], moment_of(row["created"]))

    async def recent_payouts(self, partner_id: str, since: datetime, limit: int) -> RecentPayouts:
        return await self._file.read(lambda db: recent_payouts(db, partner_id, since, limit))

    async def advance_order(self, order: StoredOrder, *, expected_version: int) -> bool:
        values = values_of(order) | {
            "expected": expected_version,
            "version": expected_version + 1,
        }

        def advance(db: sqlite3.Connection) -> bool:
            if not db.execute(ADVANCE, values).rowcount:
                return False
            db.execute(ANNOUNCE, values)
            if order.status == OrderStatusCode.FINISHED:
                books.count_finished(db, order)
            return True

        try:
            return await self._file.write(advance)
        except sqlite3.IntegrityError:
            # Another order was confirmed with this transaction a moment ago.
            return False

    async def postpone_order(
        self, service_id: str, *, owner: str, due_at: datetime | None, attempt: int
    ) -> None:
        due = None if due_at is None else micros(due_at)
        await self._file.write(
            lambda db: (
                db.execute(
                    "UPDATE orders SET due_at = ?, attempt = ?,"
                    " lease_owner = NULL, lease_until = NULL"
                    " WHERE service_id = ? AND lease_owner = ?",
                    (due, attempt, service_id, owner),
                ).rowcount
            )
        )

    async def list_orders(self, wanted: OrderFilter) -> tuple[list[ListedOrder], int]:
        return await self._file.read(lambda db: page_of(db, wanted))

    # Worker

    async def claim_due(
        self, now: datetime, *, owner: str, lease_until: datetime, limit: int
    ) -> list[StoredOrder]:
        values = {
            "now": micros(now),
            "owner": owner,
            "until": micros(lease_until),
            "limit": limit,
        }
        return await self._file.write(
            lambda db: [order_of(row) for row in db.execute(CLAIM, values).fetchall()]
        )

    async def next_due(self) -> datetime | None:
        def read(db: sqlite3.Connection) -> datetime | None:
            (due,) = db.execute(NEXT_DUE).fetchone()
            return None if due is None else moment_of(due)

        return await self._file.read(read)

    async def hasten_orders(self, service_ids: Sequence[str], now: datetime) -> None:
        values = [
            {"now": micros(now), "service_id": service_id, "opened": int(OrderStatusCode.WAITING)}
            for service_id in service_ids
        ]
        await self._file.write(
            lambda db: (
                db.executemany(
                    "UPDATE orders SET due_at = :now WHERE service_id = :service_id"
                    " AND due_at > :now AND status >= :opened",
                    values,
                ).rowcount
            )
        )

    # Webhooks

    async def note_webhook(self, source: str, event_id: str, ends: datetime) -> bool:
        return await self._file.write(lambda db: note_webhook(db, source, event_id, micros(ends)))

    async def drop_webhooks(self, now: datetime) -> int:
        limit = micros(now)
        return await self._file.write(
            lambda db: db.execute("DELETE FROM webhooks WHERE ends < ?", (limit,)).rowcount
        )

    # Payments of calls

    async def reserve_payment(self, payment: str, ends: datetime) -> bool:
        row = (payment, micros(ends))
        statement = "INSERT OR IGNORE INTO payments (payment, ends) VALUES (?, ?)"
        return await self._file.write(lambda db: db.execute(statement, row).rowcount == 1)

    async def free_payment(self, payment: str) -> None:
        statement = "DELETE FROM payments WHERE payment = ? AND transaction_hash IS NULL"
        await self._file.write(lambda db: db.execute(statement, (payment,)).rowcount)

    async def pay_for(self, payment: str, service_id: str) -> None:
        await self._file.write(lambda db: db.execute(_PAY_FOR, (service_id, payment)).rowcount)

    async def note_payment_sent(self, payment: str, transaction: str) -> None:
        statement = "UPDATE payments SET sent = ? WHERE payment = ?"
        await self._file.write(lambda db: db.execute(statement, (transaction, payment)).rowcount)

    async def payments_under_way(self, ended_after: datetime) -> list[tuple[str, str]]:
        query = (
            "SELECT payment, sent FROM payments"
            " WHERE ends > ? AND sent IS NOT NULL AND transaction_hash IS NULL"
        )
        values = (micros(ended_after),)
        return await self._file.read(
            lambda db: [(row["payment"], row["sent"]) for row in db.execute(query, values)]
        )

    async def settle_payment(self, payment: str, transaction: str) -> None:
        await self._file.write(lambda db: settle_payment(db, payment, transaction))

    async def drop_payments(self, ended_before: datetime) -> int:
        limit = micros(ended_before)
        return await self._file.write(
            lambda db: db.execute("DELETE FROM payments WHERE ends < ?", (limit,)).rowcount
        )

    # Outbox

    async def read_outbox(self, after: int, limit: int) -> list[OutboxRow]:
        return await self._file.read(lambda db: rows_after(db, after, limit))

    async def last_outbox(self) -> int:
        return await self._file.read(last_sequence)

    async def outbox_beyond(self, sequence: int) -> None:
        with self._file.growth() as grown:
            # Only after listening: a commit between the two would be missed otherwise.
            while await self._file.read(last_sequence) <= sequence:
                await grown.wait()
                grown.clear()

    async def drop_outbox(self, committed_before: datetime) -> int:
        limit = micros(committed_before)
        return await self._file.write(
            lambda db: db.execute("DELETE FROM outbox WHERE committed < ?", (limit,)).rowcount
        )

    # Counters

    async def add_requests(self, month: str, counts: dict[str, int]) -> None:
        statement = (
            "INSERT INTO requests (partner_id, month, count) VALUES (?, ?, ?)"
            " ON CONFLICT DO UPDATE SET count = count + excluded.count"
        )
        rows = [(partner_id, month, count) for partner_id, count in counts.items()]
        await self._file.write(lambda db: db.executemany(statement, rows).rowcount)

    async def requests_in_month(self, partner_id: str, month: str) -> int:
        row = self._file.look(
            "SELECT count FROM requests WHERE partner_id = ? AND month = ?", (partner_id, month)
        )
        return 0 if row is None else int(row["count"])

    async def partner_book(self, partner_id: str) -> PartnerBook:
        return await self._file.read(lambda db: books.book_of(db, partner_id))

    async def count_calls(self, call: Counting) -> None:
        await self._file.write(lambda db: count_calls(db, call))

    async def free_calls(self, unused: Sequence[Usage]) -> None:
        await self._file.write(lambda db: free_calls(db, unused))

    def usage(self, partner_id: str, rate_class: str) -> list[Usage]:
        return [Usage(*row) for row in self._file.look_all(_USAGE, (partner_id, rate_class))]

    # Partners

    def partner_changes(self) -> int:
        row = self._file.look(partners.CHANGES)
        return 0 if row is None else int(row["number"])

    async def read_partners(self) -> tuple[int, tuple[StoredPartner, ...]]:
        return await self._file.read(partners.read)

    async def add_partners(self, accounts: Sequence[StoredPartner]) -> None:
        await self._file.write(lambda db: partners.add_missing(db, accounts))

    # Verdicts

    async def claim_scan(
        self, token_id: str, now: datetime, until: datetime
    ) -> tuple[bytes | None, bool]:
        values = {"token_id": token_id, "now": micros(now), "until": micros(until)}

        def claim(db: sqlite3.Connection) -> tuple[bytes | None, bool]:
            claimed = db.execute(
                "INSERT INTO scans (token_id, claimed_until) VALUES (:token_id, :until)"
                " ON CONFLICT DO UPDATE SET claimed_until = :until"
                " WHERE expires <= :now AND claimed_until <= :now",
                values,
            ).rowcount
            found = db.execute("SELECT verdict FROM scans WHERE token_id = :token_id", values)
            return found.fetchone()["verdict"], bool(claimed)

        return await self._file.write(claim)

    async def save_scan(self, token_id: str, verdict: bytes, expires: datetime) -> None:
        values = (token_id, verdict, micros(expires))
        statement = "INSERT OR REPLACE INTO scans (token_id, verdict, expires) VALUES (?, ?, ?)"
        await self._file.write(lambda db: db.execute(statement, values).rowcount)

    async def load_scans(self) -> list[tuple[str, bytes]]:
        query = "SELECT token_id, verdict FROM scans WHERE verdict IS NOT NULL"
        return await self._file.read(
            lambda db: [(row["token_id"], row["verdict"]) for row in db.execute(query)]
        )

    # Below the surface

    def _one_order(self, query: str, *values: str) -> StoredOrder | None:
        row = self._file.look(query, values)
        return None if row is None else order_of(row)
