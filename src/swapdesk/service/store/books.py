"""The books of partners: sums by UTC day (contract 12.6), and entries of earnings, reversals and
payouts. Entries are never changed. Dollars are exact."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from msgspec import Struct

from swapdesk.service.store.database import (
    Row,
    StoreUnavailable,
    Subject,
    Transaction,
    insertion,
    micros,
)
from swapdesk.service.store.partners import Act, note_act
from swapdesk.service.store.records import DaySum, StoredOrder
from swapdesk.service.store.rows import order_of
from swapdesk.wire.encoding.timestamps import parse_rfc3339

PENDING = timedelta(days=30)
"""Time from the entry of an earning until it may be paid out (contract 12.8)."""


class NothingDue(Exception):
    """Raised if there is nothing to pay out or to reverse; the message gives the reason."""


class Recount(Struct, frozen=True):
    """The result of comparing the books with the orders. ``sums`` is the number of daily sums
    compared, ``differing`` the wrong sums as (partner id, day), ``unentered`` the number of
    finished orders without an entry."""

    sums: int
    differing: tuple[tuple[str, str], ...]
    unentered: int

    @property
    def agrees(self) -> bool:
        return not self.differing and not self.unentered


class Books(Subject):
    """The commissions of partners: reads them for partners, and books payouts and reversals for the
    operator."""

    async def of(self, partner_id: str) -> tuple[tuple[DaySum, ...], dict[str, Decimal]]:
        """Returns a partner's daily sums, oldest first, and the dollars paid out, by the month in
        which they were earned (``YYYY-MM``)."""
        values = {"partner_id": partner_id}

        async def read(db: Transaction) -> tuple[tuple[DaySum, ...], dict[str, Decimal]]:
            days = await db.rows(
                "SELECT * FROM day_sums WHERE partner_id = :partner_id ORDER BY day", values
            )
            payouts = await db.rows(
                "SELECT month, exact_sum(amount) AS amount FROM commissions"
                " WHERE partner_id = :partner_id AND kind = 'payout' GROUP BY month",
                values,
            )
            return (
                tuple(
                    DaySum(
                        day=date.fromisoformat(row["day"]),
                        orders=row["orders"],
                        private=row["private"],
                        volume=Decimal(row["volume"]),
                        commission=Decimal(row["commission"]),
                        entries=row["entries"],
                    )
                    for row in days
                ),
                {row["month"]: -Decimal(row["amount"]) for row in payouts},
            )

        return await self._database.snapshot(read)

    async def pay_out(self, partner_id: str, month: str, act: Act) -> Decimal:
        """Books a payout of a month's earnings (``YYYY-MM``) and returns its amount in dollars.
        Reversals, earlier payouts and overpayments of other months are deducted. Raises
        NothingDue."""
        values = {"partner_id": partner_id, "month": month, "booked": micros(act.at - PENDING)}

        async def paid(db: Transaction) -> Decimal:
            await db.alone(_line(partner_id))
            row = await db.row(_DUE, values)
            # No rows have no sum.
            sums = (None, None) if row is None else (row["of_month"], row["in_all"])
            due = min(Decimal(amount or 0) for amount in sums)
            if due <= 0:
                raise NothingDue(
                    f"Nothing of {month} is due: a commission is pending for {PENDING.days} days,"
                    " nothing is paid out twice, and what was reversed after its payout is made up"
                    " for first."
                )
            await db.run(_ENTER, _entry(partner_id, "payout", month, act.at, -due, None))
            await note_act(db, act, f"payout {month}", partner_id)
            return due

        return await self._database.write(paid)

    async def reverse(self, service_id: str, act: Act) -> Decimal:
        """Books the reversal of an order's commission in the month of ``act``; returns the amount
        in dollars. Raises NothingDue if there is nothing to reverse."""

        async def reversed_(db: Transaction) -> Decimal:
            entries = await db.rows(_OF_ORDER, {"service_id": service_id})
            if entries:
                # Only now it is known whose it is.
                await db.alone(_line(entries[0]["partner_id"]))
                entries = await db.rows(_OF_ORDER, {"service_id": service_id})
            earned = sum((Decimal(row["amount"]) for row in entries), Decimal(0))
            if earned <= 0:
                raise NothingDue(
                    f"The order {service_id} has no commission that could be reversed."
                )
            partner_id, month = entries[0]["partner_id"], f"{act.at:%Y-%m}"
            entry = _entry(partner_id, "reversal", month, act.at, -earned, service_id)
            await db.run(_ENTER, entry)
            none: dict[str, Any] = {"orders": 0, "private": 0, "volume": Decimal(0), "entries": 0}
            await db.run(_ADD, {**none, **entry, "commission": entry["amount"]})
            await note_act(db, act, f"reverse {service_id}", partner_id)
            return earned

        return await self._database.write(reversed_)

    async def recount(self) -> Recount:
        """Computes all daily sums again from the orders and compares them with the books. Changes
        nothing."""

        async def counted(db: Transaction) -> Recount:
            await db.take_time()
            anew = _by_day(await db.rows(_counted(_TOLD)))
            stored = _by_day(await db.rows("SELECT * FROM day_sums"))
            unentered = len(await db.rows(_UNENTERED))
            days = sorted(anew.keys() | stored.keys())
            differing = tuple(key for key in days if anew.get(key) != stored.get(key))
            return Recount(len(days), differing, unentered)

        return await self._database.snapshot(counted)

    async def rebuild(self, recount: Recount) -> None:
        """Corrects the wrong daily sums and adds missing entries, day by day. If StoreUnavailable
        is raised, some days may be corrected already."""

        async def entered(db: Transaction) -> None:
            await db.take_time()
            for order in map(order_of, await db.rows(_UNENTERED)):
                await db.run(_ENTER, _earned(order))

        async def summed(db: Transaction, values: dict[str, str]) -> None:
            await db.alone(_line(values["partner_id"]))
            await db.run(
                "DELETE FROM day_sums WHERE partner_id = :partner_id AND day = :day", values
            )
            await db.run(
                f"INSERT INTO day_sums ({_COLUMNS})"
                + _counted(
                    f"{_TOLD} AND partner_id = :partner_id AND finished_day = :day",
                    " AND partner_id = :partner_id AND day = :day",
                ),
                values,
            )

        try:
            if recount.unentered:
                await self._database.write(entered)
            for partner_id, day in recount.differing:
                values = {"partner_id": partner_id, "day": day}
                await self._database.write(partial(summed, values=values))
        except StoreUnavailable as unavailable:
            # Some of them may have been committed before.
            unavailable.in_doubt = True
            raise


async def count_finished(db: Transaction, order: StoredOrder) -> None:
    """Adds a finished order to the books, unless it is in them already. Does nothing while the call
    that created the order awaits payment."""
    counts = await db.row(
        "SELECT 1 FROM orders WHERE service_id = :service_id AND told AND NOT EXISTS"
        " (SELECT 1 FROM commissions WHERE service_id = :service_id AND kind = 'earned')",
        {"service_id": order.service_id},
    )
    if counts is None:
        return
    entry = _earned(order)
    await db.run(_ENTER, entry)
    sums = {
        "orders": 1,
        "private": int(order.route == "private"),
        "volume": order.amount_in_usd or Decimal(0),
        "commission": entry["amount"],
        "entries": int(entry["amount"] > 0),
    }
    await db.run(_ADD, {**entry, **sums})


def _earned(order: StoredOrder) -> dict[str, Any]:
    finished = parse_rfc3339(str(order.detail["finished"]))
    commission = order.commission or Decimal(0)
    month = f"{finished:%Y-%m}"
    return _entry(order.partner_id, "earned", month, finished, commission, order.service_id)


def _entry(
    partner_id: str, kind: str, month: str, now: datetime, amount: Decimal, service_id: str | None
) -> dict[str, Any]:
    return {
        "partner_id": partner_id,
        "kind": kind,
        "month": month,
        "day": f"{now:%Y-%m-%d}",
        "booked": micros(now),
        "amount": amount,
        "service_id": service_id,
    }


def _line(partner_id: str) -> str:
    return f"books {partner_id}"


def _counted(of_orders: str = "", of_reversals: str = "") -> str:
    """Returns the SELECT for daily sums. ``of_orders`` and ``of_reversals`` are further SQL
    conditions. Commissions are compared as text, because the embedded Solana machine can make
    SQLite's floating point wrong."""
    return (
        " SELECT partner_id, day, CAST(SUM(orders) AS BIGINT) AS orders,"  # noqa: S608 - ours
        " CAST(SUM(private) AS BIGINT) AS private,"
        " exact_sum(volume) AS volume, exact_sum(commission) AS commission,"
        " CAST(SUM(entries) AS BIGINT) AS entries FROM ("
        " SELECT partner_id, finished_day AS day, 1 AS orders,"
        " CASE WHEN route = 'private' THEN 1 ELSE 0 END AS private,"
        " COALESCE(amount_in_usd, '0') AS volume, COALESCE(commission, '0') AS commission,"
        " CASE WHEN TRIM(CAST(commission AS TEXT), '0.') <> '' THEN 1 ELSE 0 END AS entries"
        f" FROM orders WHERE status = 4{of_orders}"
        " UNION ALL SELECT partner_id, day, 0, 0, '0', amount, 0"
        f" FROM commissions WHERE kind = 'reversal'{of_reversals}"
        ") AS every GROUP BY partner_id, day"
    )


_TOLD = " AND told"
"""Condition that excludes orders whose creating call is not paid for yet."""

_COLUMNS = "partner_id, day, orders, private, volume, commission, entries"
_UNENTERED = (
    f"SELECT * FROM orders AS ended WHERE status = 4{_TOLD} AND NOT EXISTS"  # noqa: S608 - ours
    " (SELECT 1 FROM commissions"
    "  WHERE commissions.service_id = ended.service_id AND kind = 'earned')"
)
_ENTER = insertion(
    "commissions", ("partner_id", "kind", "month", "day", "booked", "amount", "service_id")
)
_ADD = (
    insertion("day_sums", _COLUMNS.split(", "))
    + " ON CONFLICT (partner_id, day) DO UPDATE SET orders = day_sums.orders + excluded.orders,"
    " private = day_sums.private + excluded.private,"
    " entries = day_sums.entries + excluded.entries,"
    " volume = exact_plus(day_sums.volume, excluded.volume),"
    " commission = exact_plus(day_sums.commission, excluded.commission)"
)
_OF_ORDER = "SELECT partner_id, kind, amount FROM commissions WHERE service_id = :service_id"
_DUE = (
    "SELECT exact_sum(CASE WHEN month = :month THEN amount ELSE '0' END) AS of_month,"
    " exact_sum(amount) AS in_all FROM commissions"
    " WHERE partner_id = :partner_id AND (booked <= :booked OR kind <> 'earned' OR service_id IN ("
    "  SELECT service_id FROM commissions WHERE partner_id = :partner_id AND kind = 'reversal'))"
)


def _by_day(rows: Sequence[Row]) -> dict[tuple[str, str], tuple[object, ...]]:
    return {
        (row["partner_id"], row["day"]): (
            row["orders"],
            row["private"],
            Decimal(row["volume"]),
            Decimal(row["commission"]),
            row["entries"],
        )
        for row in rows
    }
