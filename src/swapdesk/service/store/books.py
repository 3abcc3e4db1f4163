"""The books of partners: sums by UTC day, and the entries of their commissions.

A sum moves in the transaction that finishes the order (contract 12.6). Entries are only added:
what an order earned, a reversal and a payout, the last two below 0. All of it follows from the
orders and the other entries, so it can be counted anew and compared.

Dollars are exact decimal text; two functions of ours let SQLite add them.
"""

from __future__ import annotations

import sqlite3
from datetime import date, datetime, timedelta
from decimal import Context, Decimal

from msgspec import Struct

from swapdesk.service.store.records import DaySum, PartnerBook, StoredOrder
from swapdesk.service.store.rows import micros, transaction
from swapdesk.wire.encoding.timestamps import parse_rfc3339

_EXACT = Context(prec=400)
"""More digits than any sum of amounts within the bounds of the wire has."""

PENDING = timedelta(days=30)
"""From the entry to when it may be paid out (contract 12.8)."""


def _plus(one: str, other: str) -> str:
    return format(_EXACT.add(Decimal(one), Decimal(other)), "f")


class _ExactSum:
    def __init__(self) -> None:
        self._sum = Decimal(0)

    def step(self, amount: str | None) -> None:
        if amount is not None:
            self._sum = _EXACT.add(self._sum, Decimal(amount))

    def finalize(self) -> str:
        return format(self._sum, "f")


def add_functions(connection: sqlite3.Connection) -> None:
    """``exact_plus`` and ``exact_sum``: additions of decimal text."""
    connection.create_function("exact_plus", 2, _plus, deterministic=True)
    connection.create_aggregate("exact_sum", 1, _ExactSum)  # type: ignore[arg-type]


_FINISHED = "json_extract(detail, '$.finished')"
_BOOKED_ON = "strftime('%Y-%m-%d', booked / 1000000, 'unixepoch')"


def _counted(of_orders: str = "", of_reversals: str = "") -> str:
    """The sums as they follow from the orders and the reversals."""
    return (
        "SELECT partner_id, day, SUM(orders) AS orders, SUM(private) AS private,"  # noqa: S608
        " exact_sum(volume) AS volume, exact_sum(commission) AS commission,"
        " SUM(commission GLOB '[0-9]*' AND commission GLOB '*[1-9]*') AS entries FROM ("
        f" SELECT partner_id, substr({_FINISHED}, 1, 10) AS day, 1 AS orders,"
        " route = 'private' AS private, COALESCE(amount_in_usd, '0') AS volume,"
        f" COALESCE(commission, '0') AS commission FROM orders WHERE status = 4{of_orders}"
        f" UNION ALL SELECT partner_id, {_BOOKED_ON}, 0, 0, '0', amount"
        f" FROM commissions WHERE kind = 'reversal'{of_reversals}"
        ") GROUP BY partner_id, day"
    )


_COLUMNS = "partner_id, day, orders, private, volume, commission, entries"

FILL = f"INSERT INTO day_sums ({_COLUMNS}) {_counted()};"
"""Every sum of a file that has none."""

_TOLD = " AND told"
"""Of an order whose create is not paid the books tell nothing either."""

ENTER_MISSING = (
    "INSERT INTO commissions (partner_id, kind, month, booked, amount, service_id)"  # noqa: S608 - our own names
    f" SELECT partner_id, 'earned', substr({_FINISHED}, 1, 7),"
    f" CAST(strftime('%s', {_FINISHED}) AS INTEGER) * 1000000"
    f" + CAST(substr({_FINISHED}, 21, 3) AS INTEGER) * 1000,"
    " COALESCE(commission, '0'), service_id FROM orders AS ended WHERE status = 4"
    " AND NOT EXISTS (SELECT 1 FROM commissions"
    "  WHERE commissions.service_id = ended.service_id AND kind = 'earned');"
)
"""The entry of every finished order that has none, of a file that is older than paid creates."""
_ENTER_MISSING = f"{ENTER_MISSING.removesuffix(';')}{_TOLD}"

_ADD = (
    f"INSERT INTO day_sums ({_COLUMNS})"  # noqa: S608 - our own names
    " VALUES (:partner_id, :day, :orders, :private, :volume, :commission, :entries)"
    " ON CONFLICT DO UPDATE SET orders = orders + excluded.orders,"
    " private = private + excluded.private, entries = entries + excluded.entries,"
    " volume = exact_plus(volume, excluded.volume),"
    " commission = exact_plus(commission, excluded.commission)"
)
_ENTER = (
    "INSERT INTO commissions (partner_id, kind, month, booked, amount, service_id)"
    " VALUES (:partner_id, :kind, :month, :booked, :amount, :service_id)"
)


def count_finished(db: sqlite3.Connection, order: StoredOrder) -> None:
    """Count an order that is finished, once however often it is written as finished, and not
    before it is told."""
    counts = db.execute(
        "SELECT 1 FROM orders WHERE service_id = :service_id AND told AND NOT EXISTS"
        " (SELECT 1 FROM commissions WHERE service_id = :service_id AND kind = 'earned')",
        {"service_id": order.service_id},
    ).fetchone()
    if counts is None:
        return
    finished = str(order.detail["finished"])
    commission = order.commission or Decimal(0)
    values = {
        "partner_id": order.partner_id,
        "kind": "earned",
        "day": finished[:10],
        "month": finished[:7],
        "booked": micros(parse_rfc3339(finished)),
        "amount": format(commission, "f"),
        "service_id": order.service_id,
        "orders": 1,
        "private": int(order.route == "private"),
        "volume": format(order.amount_in_usd or Decimal(0), "f"),
        "commission": format(commission, "f"),
        "entries": int(commission > 0),
    }
    db.execute(_ENTER, values)
    db.execute(_ADD, values)


def book_of(db: sqlite3.Connection, partner_id: str) -> PartnerBook:
    """From one snapshot."""
    with transaction(db, "DEFERRED"):
        days = db.execute(
            "SELECT * FROM day_sums WHERE partner_id = ? ORDER BY day", (partner_id,)
        ).fetchall()
        payouts = db.execute(
            "SELECT month, exact_sum(amount) AS amount FROM commissions"
            " WHERE partner_id = ? AND kind = 'payout' GROUP BY month",
            (partner_id,),
        ).fetchall()
    return PartnerBook(
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


# What the operator does, over a connection that writes


class NothingDue(Exception):
    """There is nothing to pay out or to reverse; the message says why."""


def pay_out(db: sqlite3.Connection, partner_id: str, month: str, now: datetime) -> Decimal:
    """Book the payout of what a month (``YYYY-MM``) earned and is no longer pending, and return
    it, in dollars. Raises NothingDue.

    A reversal counts at once, together with what it reverses, and that of another month too where
    more was paid than earned. What was paid before is not paid again.
    """
    with transaction(db):
        of_month, in_all = (
            Decimal(text or 0)  # no rows have no sum
            for text in db.execute(
                "SELECT exact_sum(iif(month = ?, amount, '0')), exact_sum(amount) FROM commissions"
                " WHERE partner_id = ? AND (booked <= ? OR kind <> 'earned' OR service_id IN ("
                "  SELECT service_id FROM commissions WHERE partner_id = ? AND kind = 'reversal'))",
                (month, partner_id, micros(now - PENDING), partner_id),
            ).fetchone()
        )
        due = min(of_month, in_all)
        if due <= 0:
            raise NothingDue(
                f"Nothing of {month} is due: a commission is pending for {PENDING.days} days,"
                " nothing is paid out twice, and what was reversed after its payout is made up"
                " for first."
            )
        db.execute(_ENTER, _entry(partner_id, "payout", month, now, -due, None))
    return due


def reverse(db: sqlite3.Connection, service_id: str, now: datetime) -> Decimal:
    """Book that an order earned nothing after all, in the month of ``now``, and return what it
    had earned, in dollars. Raises NothingDue."""
    with transaction(db):
        found = db.execute(
            "SELECT partner_id, kind, amount FROM commissions WHERE service_id = ?", (service_id,)
        ).fetchall()
        earned = sum((Decimal(row["amount"]) for row in found), Decimal(0))
        if earned <= 0:
            raise NothingDue(f"The order {service_id} has no commission that could be reversed.")
        entry = _entry(found[0]["partner_id"], "reversal", f"{now:%Y-%m}", now, -earned, service_id)
        db.execute(_ENTER, entry)
        none = {"orders": 0, "private": 0, "volume": "0", "entries": 0}
        db.execute(_ADD, {**none, **entry, "day": f"{now:%Y-%m-%d}", "commission": entry["amount"]})
    return earned


def _entry(
    partner_id: str, kind: str, month: str, now: datetime, amount: Decimal, service_id: str | None
) -> dict[str, str | int | None]:
    return {
        "partner_id": partner_id,
        "kind": kind,
        "month": month,
        "booked": micros(now),
        "amount": format(amount, "f"),
        "service_id": service_id,
    }


class Recount(Struct, frozen=True):
    """How the books stand to the orders: days that differ, by partner and day, and finished
    orders without an entry."""

    sums: int
    differing: tuple[tuple[str, str], ...]
    unentered: int

    @property
    def agrees(self) -> bool:
        return not self.differing and not self.unentered


def recount(db: sqlite3.Connection) -> Recount:
    """Count everything anew and compare; writes nothing, and waits for nobody."""
    with transaction(db, "DEFERRED"):
        counted = _by_day(db.execute(_counted(_TOLD)).fetchall())
        stored = _by_day(db.execute("SELECT * FROM day_sums").fetchall())
        (unentered,) = db.execute(
            f"SELECT COUNT(*) FROM orders AS ended WHERE status = 4{_TOLD}"  # noqa: S608 - ours
            " AND NOT EXISTS (SELECT 1 FROM commissions"
            "  WHERE commissions.service_id = ended.service_id AND kind = 'earned')"
        ).fetchone()
    days = sorted(counted.keys() | stored.keys())
    differing = tuple(key for key in days if counted.get(key) != stored.get(key))
    return Recount(len(days), differing, unentered)


def rebuild(db: sqlite3.Connection, found: Recount) -> None:
    """Write anew what a recount found to differ, a day a transaction, so that a service that runs
    waits for none of it."""
    if found.unentered:
        db.execute(_ENTER_MISSING)
    of_orders = (
        f"{_TOLD} AND partner_id = :partner_id AND {_FINISHED} > :day AND {_FINISHED} < :day || 'U'"
    )
    of_reversals = f" AND partner_id = :partner_id AND {_BOOKED_ON} = :day"
    for partner_id, day in found.differing:
        values = {"partner_id": partner_id, "day": day}
        with transaction(db):
            db.execute("DELETE FROM day_sums WHERE partner_id = :partner_id AND day = :day", values)
            db.execute(
                f"INSERT INTO day_sums ({_COLUMNS}) {_counted(of_orders, of_reversals)}",
                values,
            )


def _by_day(rows: list[sqlite3.Row]) -> dict[tuple[str, str], tuple[object, ...]]:
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
