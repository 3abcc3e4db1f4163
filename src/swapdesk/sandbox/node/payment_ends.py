"""What became of the payments of legs on embedded chains, as their blocks tell it.

Every method runs inside one transaction of the caller.
"""

from __future__ import annotations

import sqlite3

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

    def renewed(self, cause: str, before: str, after: str) -> None:
        """A payment was signed anew: it has another hash."""
        row = self._of(cause)
        if row is None:
            return
        for column in ("payout_hash", "refund_hash"):
            if row[column] == before:
                self._rows.change(row, **{column: after})

    def bounced(self, cause: str) -> None:
        """A payment moved nothing: the venue holds what it was to pay, and somebody decides."""
        row, kind = self._of(cause), cause.partition(":")[0]
        if row is None:
            return
        if kind == "payout":
            self._rows.settle(row, status=LegStatus.FAILED, declined=1, payout_hash=None)
        elif kind == "excess":
            self._rows.change(row, refund_hash=None, refunded=None)
        elif row["status"] == LegStatus.REFUNDED:
            held = LegStatus.EXPIRED if kind == "late" else LegStatus.FAILED
            self._rows.settle(row, status=held, refund_hash=None, refunded=None)

    def _of(self, cause: str) -> sqlite3.Row | None:
        """The leg that a payment was made for; None for one that was made for nobody's."""
        kind, _, name = cause.partition(":")
        if kind == "late":
            return self._rows.of_deposit(name)
        if kind in ("payout", "refund", "send on", "excess"):
            return self._rows.by_id(int(name))
        return None
