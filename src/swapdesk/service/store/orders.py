"""Quotes, and the orders that are created from them. Every statement for a partner has
``partner_id`` in its WHERE. An order never moves backward (contract 8.7)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from swapdesk.service.store import books, calls
from swapdesk.service.store.database import (
    NO_LINE,
    ClockDiffers,
    Database,
    Row,
    Subject,
    Taken,
    Transaction,
    Values,
    insertion,
    micros,
    moment_of,
)
from swapdesk.service.store.records import (
    Counting,
    ListedOrder,
    PayoutsChanged,
    QuoteConsumed,
    QuoteGone,
    RecentPayouts,
    StoredOrder,
    StoredQuote,
)
from swapdesk.service.store.rows import (
    OF_DETAIL,
    ORDER_FIELDS,
    QUOTE_COLUMNS,
    order_of,
    quote_of,
    values_of,
)
from swapdesk.wire.choices import SortOrder
from swapdesk.wire.orders import OrderQuery, OrderSort, OrderStatusCode


class Quotes(Subject):
    """The stored quotes, kept until 15 minutes after they expire."""

    async def save(self, quotes: Sequence[StoredQuote]) -> None:
        rows = [values_of(quote) for quote in quotes]
        if rows:
            await self._database.write(lambda db: db.run_each(_INSERT_QUOTE, rows))

    async def get(self, partner_id: str, quote_id: str) -> StoredQuote | None:
        rows = await self._database.look(
            "SELECT * FROM quotes WHERE partner_id = :partner_id AND quote_id = :quote_id",
            {"partner_id": partner_id, "quote_id": quote_id},
        )
        return quote_of(rows[0]) if rows else None

    async def owner(self, quote_id: str) -> str | None:
        """Returns the id of the partner who owns a quote, even a consumed one; None if unknown."""
        return await self._value(
            str,
            "SELECT partner_id FROM quotes WHERE quote_id = :quote_id"
            " UNION ALL SELECT partner_id FROM orders WHERE quote_id = :quote_id LIMIT 1",
            quote_id=quote_id,
        )

    async def drop(self, expired_before: datetime) -> int:
        values = {"limit": micros(expired_before)}
        return await self._database.write(
            lambda db: db.run("DELETE FROM quotes WHERE expires < :limit", values)
        )


Listener = Callable[[StoredOrder, int | None], None]
"""Called with an order and its former status, which is None for a new order."""


class Orders(Subject):
    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._listeners: list[Listener] = []
        skip_leased = database.wording.skip_leased
        self._claim = _CLAIM.format(skip_leased=skip_leased)
        self._leased = _LEASED.format(skip_leased=skip_leased)
        among = database.wording.among
        self._announced = f"SELECT * FROM orders WHERE service_id {among} AND told"  # noqa: S608 - ours
        self._known = _KNOWN.format(among=among)

    def listen(self, listener: Listener) -> None:
        """Registers a function that is called for every change of an order's status that this
        process commits."""
        self._listeners.append(listener)

    def report(self, order: StoredOrder, before: int | None) -> None:
        """Calls the registered functions if an order's status differs from ``before``, which is
        None for a new order."""
        if order.status != before:
            for listener in self._listeners:
                listener(order, before)

    async def begin(
        self,
        order: StoredOrder,
        *,
        call: Counting | None = None,
        payouts: RecentPayouts | None = None,
        payment: str | None = None,
    ) -> None:
        """Consumes the quote, inserts the order and counts the call in one commit. Nothing is
        announced before ``payment`` is settled. Raises QuoteConsumed, QuoteGone, PayoutsChanged if
        ``payouts`` are out of date, and what ``call.take`` raises."""
        values = order_values(self._database, order) | {"told": payment is None}

        async def begun(db: Transaction) -> None:
            if not await db.run(_CONSUME, values):
                row = await db.row(
                    "SELECT consumed_by FROM quotes"
                    " WHERE quote_id = :quote_id AND partner_id = :partner_id",
                    values,
                )
                if row is None:
                    raise QuoteGone(order.quote_id)
                raise QuoteConsumed(row["consumed_by"])
            await admit(db, [order], payouts)
            await db.run(INSERT_ORDER, values)
            await calls.count_opened(db, order.service_id, call, payment)

        await self._database.write(begun, behind=calls.line_of(call))
        self.report(order, None)

    async def of_quote(self, partner_id: str, quote_id: str) -> StoredOrder | None:
        """Returns the order that was created from a quote, even if the call that created it is not
        paid for yet; None if there is none."""
        return await self._one(
            "SELECT * FROM orders WHERE partner_id = :partner_id AND quote_id = :quote_id",
            {"partner_id": partner_id, "quote_id": quote_id},
        )

    async def get(self, partner_id: str, service_id: str) -> StoredOrder | None:
        """Returns the partner's order; None if there is none or the call that created it is not
        paid for yet."""
        return await self._one(
            "SELECT * FROM orders"
            " WHERE partner_id = :partner_id AND service_id = :service_id AND told",
            {"partner_id": partner_id, "service_id": service_id},
        )

    async def announced(self, service_ids: Sequence[str]) -> dict[str, StoredOrder]:
        """Returns orders of any partner by id. Orders whose creating call is not paid for yet are
        left out."""
        rows = await self._database.look(self._announced, {"among": json.dumps(service_ids)})
        return {order.service_id: order for order in map(order_of, rows)}

    async def current(self, service_id: str) -> StoredOrder | None:
        """Returns an order of any partner, even if the call that created it is not paid for yet.
        Meant for code that carries orders out."""
        return await self._one(
            "SELECT * FROM orders WHERE service_id = :service_id", {"service_id": service_id}
        )

    async def of_transaction(self, chain: str, transaction: str) -> str | None:
        """Returns the id of the DEX order, of any partner, with this confirmed transaction; None if
        there is none."""
        return await self._value(
            str,
            "SELECT service_id FROM orders"
            " WHERE source_chain = :chain AND confirmed_hash = :transaction",
            chain=chain,
            transaction=transaction,
        )

    async def gave_out(self, account: str, since: datetime) -> bool:
        """Returns whether ``account`` (a kind of chain and a canonical address) is the deposit
        address of an order created at ``since`` or later."""
        given_out = await self._value(
            bool,
            "SELECT 1 FROM orders WHERE deposit_account = :account AND created >= :since LIMIT 1",
            account=account,
            since=micros(since),
        )
        return given_out is True

    async def version(self, partner_id: str, service_id: str) -> tuple[int, datetime] | None:
        """Returns the order's version and creation time, always read from the database. None if
        ``get`` would find no order."""
        rows = await self._database.look(
            "SELECT version, created FROM orders"
            " WHERE partner_id = :partner_id AND service_id = :service_id AND told",
            {"partner_id": partner_id, "service_id": service_id},
        )
        return (rows[0]["version"], moment_of(rows[0]["created"])) if rows else None

    async def known(self, partner_id: str, service_ids: Iterable[str], since: datetime) -> set[str]:
        """Returns the ids, out of ``service_ids``, for which ``get`` finds an order that was
        created at ``since`` or later."""
        among = json.dumps(list(service_ids))
        values = {"partner_id": partner_id, "since": micros(since), "among": among}
        rows = await self._database.look(self._known, values)
        return {row["service_id"] for row in rows}

    async def recent_payouts(self, partner_id: str, since: datetime, limit: int) -> RecentPayouts:
        return await self._database.read(lambda db: _recent_payouts(db, partner_id, since, limit))

    async def advance(
        self,
        order: StoredOrder,
        *,
        expected_version: int,
        before: int | None = None,
    ) -> bool:
        """Writes the order's next version and announces it. Writes nothing and returns False if the
        stored version is not ``expected_version``, the rank would fall, or another order has this
        transaction. ``before`` is the former status for listeners; None calls no listeners."""
        values = order_values(self._database, order) | {
            "expected": expected_version,
            "version": expected_version + 1,
        }

        async def advanced(db: Transaction) -> bool:
            if not await db.run(_ADVANCE, values):
                return False
            await announce(db, order.service_id)
            if order.status == OrderStatusCode.FINISHED:
                await books.count_finished(db, order)
            return True

        try:
            # The sums of a partner are a row that its other orders wait for.
            behind = None if order.status == OrderStatusCode.FINISHED else NO_LINE
            moved = await self._database.write(advanced, behind=behind)
        except Taken:
            # Another order was confirmed with this transaction a moment ago.
            return False
        if moved and before is not None:
            self.report(order, before)
        return moved

    async def postpone(
        self, service_id: str, *, owner: str, due_at: datetime | None, attempt: int
    ) -> None:
        """Ends the owner's lease of an order. The order becomes due at ``due_at``; None means
        never. ``attempt`` is how often in a row a venue did not answer."""
        values = {
            "service_id": service_id,
            "owner": owner,
            "due_at": None if due_at is None else micros(due_at),
            "attempt": attempt,
        }
        await self._database.write(
            lambda db: db.run(
                "UPDATE orders SET due_at = :due_at, attempt = :attempt,"
                " lease_owner = NULL, lease_until = NULL"
                " WHERE service_id = :service_id AND lease_owner = :owner",
                values,
            ),
            behind=NO_LINE,
        )

    async def page(
        self, partner_id: str, since: datetime, query: OrderQuery
    ) -> tuple[list[ListedOrder], int]:
        """Returns a page of the partner's orders and the number of orders on all pages. ``since``
        replaces the query's ``from_``. Orders whose creating call is not paid for yet are left
        out."""
        where, values = _where(partner_id, since, query)
        direction = "DESC" if query.sort_order is SortOrder.DESC else "ASC"
        order_by = f"{_SORT_COLUMNS[query.sort_by]} {direction}, number {direction}"
        values |= {"limit": query.page_size, "offset": (query.page - 1) * query.page_size}
        every = f"SELECT COUNT(*) AS total FROM orders WHERE {where}"  # noqa: S608 - columns are ours
        those = (
            f"SELECT * FROM orders WHERE {where}"  # noqa: S608 - columns are ours
            f" ORDER BY {order_by} LIMIT :limit OFFSET :offset"
        )

        async def found(db: Transaction) -> tuple[list[ListedOrder], int]:
            counted = await db.row(every, values)
            rows = await db.rows(those, values)
            page = [
                ListedOrder(row["service_id"], row["version"], partial(order_of, row))
                for row in rows
            ]
            return page, 0 if counted is None else int(counted["total"])

        return await self._database.snapshot(found)

    async def claim_due(
        self,
        now: datetime,
        *,
        owner: str,
        lease_until: datetime,
        limit: int,
        tolerance: timedelta | None = None,
    ) -> list[StoredOrder]:
        """Leases and returns up to ``limit`` due orders that no worker has leased. ``tolerance`` is
        the allowed difference from the database's clock; None for a single process. Raises
        ClockDiffers."""
        values = {"now": micros(now), "owner": owner, "limit": limit}

        async def claimed(db: Transaction) -> Sequence[Row]:
            at = await self._lease_clock(db, now, tolerance)
            return await db.rows(
                self._claim, {**values, "at": at, "until": at + micros(lease_until) - micros(now)}
            )

        return [order_of(row) for row in await self._database.write(claimed)]

    async def renew(
        self, owner: str, now: datetime, lease_until: datetime, tolerance: timedelta | None = None
    ) -> None:
        """Extends the owner's leases. ``tolerance`` is as in ``claim_due``; unless it is None, a
        sign of life of the worker is recorded, too. Raises ClockDiffers."""

        async def renewed(db: Transaction) -> None:
            at = await self._lease_clock(db, now, tolerance)
            if tolerance is not None:
                await db.run(_SEE, {"owner": owner, "seen": at})
                gone = micros(moment_of(at) - _SEEN_KEPT)
                await db.run("DELETE FROM workers WHERE seen < :gone", {"gone": gone})
            until = at + micros(lease_until) - micros(now)
            await db.run(
                f"UPDATE orders SET lease_until = :until WHERE {self._leased}",  # noqa: S608 - ours
                {"owner": owner, "until": until},
            )

        await self._database.write(renewed)

    async def end_leases(self, owner: str) -> None:
        await self._database.write(
            lambda db: db.run(
                "UPDATE orders SET lease_owner = NULL, lease_until = NULL"  # noqa: S608 - ours
                f" WHERE {self._leased}",
                {"owner": owner},
            )
        )

    async def _lease_clock(
        self, db: Transaction, now: datetime, tolerance: timedelta | None
    ) -> int:
        if tolerance is None:
            return micros(now)
        row = await db.row(self._database.wording.clock)
        at = micros(now) if row is None else int(row["now"])
        ahead = now - moment_of(at)
        if abs(ahead) > tolerance:
            raise ClockDiffers(ahead)
        return at

    async def worker_seen(self) -> datetime | None:
        """Returns the time of the last sign of life of any worker, by the database's clock; None if
        there is none."""
        return await self._value(moment_of, "SELECT MAX(seen) FROM workers")

    async def next_due(self) -> datetime | None:
        return await self._value(moment_of, _NEXT_DUE)

    async def hasten(self, service_ids: Sequence[str], now: datetime) -> None:
        """Makes these orders due at ``now``, unless they are due earlier. Ignores unknown orders
        and orders that are being opened or have ended."""
        values = [
            {"now": micros(now), "service_id": service_id, "opened": int(OrderStatusCode.WAITING)}
            for service_id in service_ids
        ]

        async def hastened(db: Transaction, values: Values) -> None:
            await db.run(
                "UPDATE orders SET due_at = :now WHERE service_id = :service_id"
                " AND due_at > :now AND status >= :opened",
                values,
            )

        # A transaction each: who waits for an order that somebody works on holds no other one.
        await asyncio.gather(
            *(self._database.write(partial(hastened, values=order)) for order in values)
        )

    async def _one(self, query: str, values: Values) -> StoredOrder | None:
        rows = await self._database.look(query, values)
        return order_of(rows[0]) if rows else None


# What other rooms of the store do with orders within a transaction


def order_values(database: Database, order: StoredOrder) -> dict[str, Any]:
    return values_of(order) | {"amount_key": database.sortable(order.amount_in)}


async def admit(
    db: Transaction, orders: Sequence[StoredOrder], payouts: RecentPayouts | None
) -> None:
    """Raises PayoutsChanged if ``payouts``, from which payout wallets were chosen, are no longer
    the partner's newest. None is not checked. If ``orders`` has a private order, the partner's
    other private orders wait until the commit."""
    private = next((order for order in orders if order.route == "private"), None)
    if private is not None:
        # Until the commit: two that choose by the same payouts would choose alike.
        await db.alone(f"payouts {private.partner_id}")
    if payouts is not None:
        asked = payouts.partner_id, payouts.since, payouts.limit
        if await _recent_payouts(db, *asked) != payouts:
            raise PayoutsChanged


async def announce(db: Transaction, service_id: str) -> None:
    """Adds the present state of an order to the outbox, unless the call that created the order is
    not paid for yet."""
    await db.run(
        "INSERT INTO outbox (service_id, partner_id, version, status, rank, committed)"
        " SELECT service_id, partner_id, version, status, rank, modified FROM orders"
        " WHERE service_id = :service_id AND told",
        {"service_id": service_id},
    )
    db.tell()


async def tell_opened(db: Transaction, opened: str) -> None:
    """Announces the order, or the batch's orders, with the id ``opened``, after the call that
    created them was paid for. Adds finished orders to the books."""
    rows = await db.rows(
        "UPDATE orders SET told = TRUE"
        " WHERE (service_id = :opened OR multi_id = :opened) AND NOT told RETURNING *",
        {"opened": opened},
    )
    for order in map(order_of, rows):
        await announce(db, order.service_id)
        if order.status == OrderStatusCode.FINISHED:
            await books.count_finished(db, order)


async def _recent_payouts(
    db: Transaction, partner_id: str, since: datetime, limit: int
) -> RecentPayouts:
    """Returns the payout wallets of the partner's newest private orders, up to ``limit`` and not
    older than ``since``. An order without a stored wallet counts as paid from the first wallet."""
    rows = await db.rows(
        "SELECT legs, payout_wallet FROM orders WHERE partner_id = :partner_id"
        " AND created >= :since AND route = 'private'"
        " ORDER BY created DESC, number DESC LIMIT :limit",
        {"partner_id": partner_id, "since": micros(since), "limit": limit},
    )
    wallets = ((row["legs"].rpartition(",")[2], row["payout_wallet"] or 0) for row in rows)
    return RecentPayouts(partner_id, since, limit, tuple(wallets))


# By the ids first: SQLite would walk all orders of the partner since then.
_KNOWN = (
    "WITH named AS MATERIALIZED"
    " (SELECT service_id, partner_id, created, told FROM orders WHERE service_id {among})"
    " SELECT service_id FROM named"
    " WHERE partner_id = :partner_id AND created >= :since AND told"
)
_COLUMNS = (*ORDER_FIELDS, *OF_DETAIL, "amount_key")
# What no step of an order may change: its identity, what was asked for, and whether it is told.
# SQLite would write each index anew that has one of these columns.
_FIXED = frozenset(
    {
        *("service_id", "record_id", "partner_id", "quote_id", "request_digest", "told"),
        *("route", "created", "expires", "token_in_id", "token_out_id", "fixed", "receive"),
        *("markup", "rates", "choice", "plan", "fee_usd", "multi_id"),
        *("receiver_address", "receiver_tag", "refund_address", "refund_tag"),
    }
)

_INSERT_QUOTE = insertion("quotes", QUOTE_COLUMNS)
INSERT_ORDER = insertion("orders", _COLUMNS)
_CONSUME = (
    "UPDATE quotes SET consumed_by = :service_id"
    " WHERE quote_id = :quote_id AND partner_id = :partner_id AND consumed_by IS NULL"
)
_ADVANCE = (
    "UPDATE orders SET "  # noqa: S608 - column names are ours
    + ", ".join(f"{name} = :{name}" for name in _COLUMNS if name not in _FIXED)
    + ", lease_owner = NULL, lease_until = NULL"
    + " WHERE service_id = :service_id AND version = :expected AND rank <= :rank"
)
# Free rows and leased ones apart, so that each half is a walk along the index.
_CLAIM = (
    "WITH due AS MATERIALIZED ("
    " SELECT * FROM (SELECT service_id, due_at FROM orders"
    "  WHERE lease_until IS NULL AND due_at <= :now ORDER BY due_at LIMIT :limit{skip_leased}"
    " ) AS free"
    " UNION ALL"
    " SELECT * FROM (SELECT service_id, due_at FROM orders"
    "  WHERE lease_until <= :at AND due_at <= :now ORDER BY due_at LIMIT :limit{skip_leased}"
    " ) AS abandoned)"
    " UPDATE orders SET lease_owner = :owner, lease_until = :until WHERE service_id IN"
    " (SELECT service_id FROM due ORDER BY due_at LIMIT :limit) RETURNING *"
)
# By the lease first, which few orders have. Not those whose lease somebody is ending just now:
# works that are committed together hold others meanwhile, and two that wait for each other's
# orders would stand for a second.
_LEASED = (
    "service_id IN (SELECT service_id FROM orders WHERE lease_until > 0 AND due_at IS NOT NULL"
    " AND lease_owner = :owner{skip_leased})"
)
_SEEN_KEPT = timedelta(days=1)
_SEE = (
    insertion("workers", ("owner", "seen"))
    + " ON CONFLICT (owner) DO UPDATE SET seen = excluded.seen"
)
_NEXT_DUE = (
    "SELECT MIN(due) AS next FROM ("
    " SELECT * FROM (SELECT due_at AS due FROM orders"
    "  WHERE lease_until IS NULL AND due_at IS NOT NULL ORDER BY due_at LIMIT 1) AS free"
    " UNION ALL"
    " SELECT CASE WHEN lease_until > due_at THEN lease_until ELSE due_at END AS due FROM orders"
    "  WHERE lease_until IS NOT NULL AND due_at IS NOT NULL) AS every"
)

_SORT_COLUMNS = {
    OrderSort.CREATED: "created",
    OrderSort.UPDATED: "modified",
    OrderSort.AMOUNT: "amount_key",
}


def _where(partner_id: str, since: datetime, query: OrderQuery) -> tuple[str, dict[str, Any]]:
    terms = ["partner_id = :partner_id", "told", "created >= :since"]
    values: dict[str, Any] = {"partner_id": partner_id, "since": micros(since)}
    if query.to is not None:
        terms.append("created <= :until")
        values["until"] = micros(query.to)
    if query.status:
        named = {f"status_{number}": status for number, status in enumerate(query.status)}
        terms.append(f"status IN ({', '.join(f':{name}' for name in named)})")
        values.update(named)
    if query.anonymous is not None:
        terms.append("route = 'private'" if query.anonymous else "route <> 'private'")
    for column, value in (
        ("token_in_id", query.in_token_id and query.in_token_id.lower()),
        ("token_out_id", query.out_token_id and query.out_token_id.lower()),
        ("multi_id", query.multi_id),
    ):
        if value is not None:
            terms.append(f"{column} = :{column}")
            values[column] = value
    return " AND ".join(terms), values
