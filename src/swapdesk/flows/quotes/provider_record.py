"""What became of this desk's own orders at each provider, as the journal knows them.

Standard orders only: a private order names no provider. Nothing is asked of the service, and
nothing is said of orders of other desks.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from statistics import median

from msgspec import Struct

from swapdesk.flows.journal.order_merge import display_of
from swapdesk.flows.notation import duration, expected, percent
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import DisplayStatus

_WIDE = Context(prec=80)
_ENDS = frozenset({DisplayStatus.SWAP_COMPLETED, DisplayStatus.REFUNDED, DisplayStatus.FAILED})


class ProviderRecord(Struct, frozen=True):
    """Ends of orders that a provider received a deposit for.

    ``minutes`` is the median from creation to payout of the completed ones, ``said`` of what
    the provider had estimated for them; ``to_quote`` the median, in percent, of what arrived
    above or below the quoted payout. None where no order tells.
    """

    completed: int
    refunded: int
    failed: int
    minutes: Decimal | None
    said: Decimal | None
    to_quote: Decimal | None

    @property
    def ended(self) -> int:
        return self.completed + self.refunded + self.failed


def provider_records(orders: Iterable[TrackedOrder]) -> dict[str, ProviderRecord]:
    """The record of every provider that ended an order of this desk, by its short code."""
    by_code: dict[str, list[TrackedOrder]] = {}
    for one in orders:
        code = one.order.in_
        if one.intent is None or code is None or one.not_signed:
            continue
        if display_of(one.order) in _ENDS:
            by_code.setdefault(code, []).append(one)
    return {code: _record(ended) for code, ended in by_code.items()}


def _record(ended: list[TrackedOrder]) -> ProviderRecord:
    displays = [display_of(one.order) for one in ended]
    done = [one for one in ended if display_of(one.order) == DisplayStatus.SWAP_COMPLETED]
    return ProviderRecord(
        completed=len(done),
        refunded=displays.count(DisplayStatus.REFUNDED),
        failed=displays.count(DisplayStatus.FAILED),
        minutes=_median(_minutes(one) for one in done),
        said=_median(_said(one) for one in done),
        to_quote=_median(_to_quote(one) for one in done),
    )


def _minutes(one: TrackedOrder) -> Decimal | None:
    begun, finished = one.begun, one.order.order_finished_received
    if begun is None or finished is None or finished < begun:
        return None
    return Decimal(int((finished - begun).total_seconds())) / 60


def _said(one: TrackedOrder) -> Decimal | None:
    """Minutes that the service expected, from the deposit on (contract 8.17)."""
    eta, created, begun = one.order.eta, one.order.created, one.begun
    if eta is None or created is None or begun is None:
        return eta
    left = _WIDE.subtract(eta, Decimal(int((begun - created).total_seconds())) / 60)
    return left if left > 0 else eta


def _to_quote(one: TrackedOrder) -> Decimal | None:
    paid, quoted = one.order.out_amount, one.intent.amount_out if one.intent else None
    if paid is None or not quoted:
        return None
    return _WIDE.divide(_WIDE.subtract(paid, quoted) * 100, quoted)


def _median(values: Iterable[Decimal | None]) -> Decimal | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def record_lines(record: ProviderRecord | None) -> list[tuple[str, str]]:
    """The record in words, as labels and values."""
    if record is None:
        return [("Your orders there", "none has ended yet")]
    lines = [
        ("Your orders there", f"{record.completed} of {record.ended} completed"),
        *((word.capitalize(), str(count)) for word, count in _mishaps(record) if count),
    ]
    if record.minutes is not None:
        said = f", said {expected(_seconds(record.said))}" if record.said is not None else ""
        lines.append(("Took, median", f"{duration(_seconds(record.minutes))}{said}"))
    if record.to_quote is not None:
        lines.append(("Paid to the quote", percent(record.to_quote)))
    return lines


def _mishaps(record: ProviderRecord) -> tuple[tuple[str, int], ...]:
    return (("refunded", record.refunded), ("failed", record.failed))


def _seconds(minutes: Decimal) -> float:
    return float(minutes) * 60
