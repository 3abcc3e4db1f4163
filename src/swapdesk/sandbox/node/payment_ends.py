"""What became of the payments of legs on embedded chains, as their blocks tell it.

Every method runs inside one transaction of the caller.
"""

from __future__ import annotations

from swapdesk.sandbox.node.account_rows import AccountRows
from swapdesk.sandbox.node.world_clock import Moment
from swapdesk.wire.orders import LegStatus


class PaymentEnds:
    """``cause`` is what a payment was booked for: ``payout:12``."""

    def __init__(self, rows: AccountRows) -> None:
        self._rows = rows

    def arrived(self, cause: str, at: Moment) -> None:
        """A payment is in a block: a payout is done."""
        kind, _, name = cause.partition(":")
        row = self._rows.by_id(int(name)) if kind == "payout" else None
        if row is not None and row["status"] == LegStatus.SENDING:
            self._rows.change(row, due_world=at.world)

    def bounced(self, cause: str) -> None:
        """A payment moved nothing: the venue holds what it was to pay, and somebody decides."""
        kind, _, name = cause.partition(":")
        if kind == "late":
            row = self._rows.of_deposit(name)
        elif kind in ("payout", "refund", "send on", "excess"):
            row = self._rows.by_id(int(name))
        else:
            return
        if row is None:
            return
        if kind == "payout":
            self._rows.settle(row, status=LegStatus.FAILED, declined=1, payout_hash=None)
        elif kind == "excess":
            self._rows.change(row, refund_hash=None, refunded=None)
        elif row["status"] == LegStatus.REFUNDED:
            held = LegStatus.EXPIRED if kind == "late" else LegStatus.FAILED
            self._rows.settle(row, status=held, refund_hash=None, refunded=None)
