"""Counts of calls: by partner and rate-limit window, and by partner and month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from swapdesk.service.store.database import Subject, Transaction, write_tallies
from swapdesk.service.store.records import Counting, Usage

_USAGE = (
    "SELECT partner_id, rate_class, seconds, number, used FROM usage"
    " WHERE partner_id = :partner_id AND rate_class = :rate_class"
)


class Calls(Subject):
    async def count(self, call: Counting) -> None:
        """Counts a call: replaces the stored counts by the result of ``call.take``. No other call
        is counted in between. Raises what ``call.take`` raises."""
        await self._database.write(lambda db: _count(db, call), behind=line_of(call))

    async def free(self, unused: Sequence[Usage]) -> None:
        """Subtracts calls that were counted in advance but never made, in windows that are still
        current."""
        rows = [asdict(row) for row in unused]
        # In one order everywhere, so that two who give back do not wait for each other.
        counts = sorted({(row.partner_id, row.rate_class) for row in unused})

        async def freed(db: Transaction) -> None:
            for count in counts:
                await db.alone(_line(*count))
            await write_tallies(db)
            await db.run_each(
                "UPDATE usage SET used = CASE WHEN used > :used THEN used - :used ELSE 0 END"
                " WHERE partner_id = :partner_id AND rate_class = :rate_class"
                " AND seconds = :seconds AND number = :number",
                rows,
            )

        await self._database.write(freed)

    async def usage(self, partner_id: str, rate_class: str) -> list[Usage]:
        values = {"partner_id": partner_id, "rate_class": rate_class}
        return [Usage(*row) for row in await self._database.look(_USAGE, values)]

    async def add_to_month(self, month: str, counts: Mapping[str, int]) -> None:
        """Adds ``counts``, the numbers of requests by partner id, to the counters of a month
        (``YYYY-MM``)."""
        rows = [
            {"partner_id": partner_id, "month": month, "count": count}
            for partner_id, count in sorted(counts.items())
        ]
        await self._database.write(
            lambda db: db.run_each(
                "INSERT INTO requests (partner_id, month, count)"
                " VALUES (:partner_id, :month, :count)"
                " ON CONFLICT (partner_id, month)"
                " DO UPDATE SET count = requests.count + excluded.count",
                rows,
            )
        )

    async def in_month(self, partner_id: str, month: str) -> int:
        count = await self._value(
            int,
            "SELECT count FROM requests WHERE partner_id = :partner_id AND month = :month",
            partner_id=partner_id,
            month=month,
        )
        return count or 0


PAY_FOR = "UPDATE payments SET opened = :opened WHERE payment = :payment"


async def count_opened(
    db: Transaction, opened: str, call: Counting | None, payment: str | None
) -> None:
    """Counts the call that creates an order or batch, whose id is ``opened``, and records the
    payment. Ignores ``call`` or ``payment`` if None. The transaction must hold the lock from
    ``line_of``. Raises what ``call.take`` raises."""
    if payment is not None:
        await db.run(PAY_FOR, {"opened": opened, "payment": payment})
    if call is not None:
        await _count(db, call)


class _Counts(Struct, frozen=True):
    """The counts of one partner and rate class during a transaction, read once and written once.
    The transaction holds their lock."""

    used: list[Usage]

    async def write(self, db: Transaction) -> None:
        await db.run_each(
            "INSERT INTO usage (partner_id, rate_class, seconds, number, used)"
            " VALUES (:partner_id, :rate_class, :seconds, :number, :used)"
            " ON CONFLICT (partner_id, rate_class, seconds)"
            " DO UPDATE SET number = excluded.number, used = excluded.used",
            [asdict(row) for row in self.used],
        )


async def _count(db: Transaction, call: Counting) -> None:
    line = _line(call.counted, call.rate_class)
    counts = db.tallies.get(line)
    if isinstance(counts, _Counts):
        usage = counts.used
    else:
        values = {"partner_id": call.counted, "rate_class": call.rate_class}
        usage = [Usage(*row) for row in await db.rows(_USAGE, values)]
    db.tallies[line] = _Counts(call.take(usage))


def line_of(call: Counting | None) -> str | None:
    """Returns the name of the lock for a call's counts; None without a call. To avoid deadlock,
    transactions take this lock before any other."""
    return None if call is None else _line(call.counted, call.rate_class)


def _line(partner_id: str, rate_class: str) -> str:
    return f"calls {partner_id} {rate_class}"
