"""Transactions of the wallet for groups of batches, in the journal: what fills a smart account, and
on Solana what pays. Each is committed before it is signed, under the intent by which the wallet's
own records have it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from swapdesk.clock import Clock
from swapdesk.flows.journal.bundle_records import FundingNeed, Paying, WalletPayment
from swapdesk.flows.journal.call_log import begin_bundle_payments, end_bundle_payments
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.wire.encoding.codec import rfc3339


class WalletPaymentLog:
    """Writes raise JournalUnavailable; then nothing may be signed or sent."""

    def __init__(self, file: JournalFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock

    def begin(
        self,
        batch_id: str,
        group: int,
        paying: Paying,
        need: FundingNeed,
        intent_id: str,
        service_ids: Sequence[str] = (),
    ) -> WalletPayment:
        """Commit a transaction before it is signed. Raises PaidBefore when something else paid one
        of the orders, or may have."""
        with self._file.write() as db:
            begin_bundle_payments(db, service_ids, rfc3339(self._clock.now()))
            (last,) = db.execute(
                "SELECT coalesce(max(number), 0) FROM bundle_payment"
                " WHERE batch_id = ? AND group_number = ?",
                (batch_id, group),
            ).fetchone()
            number = int(last) + 1
            db.execute(
                "INSERT INTO bundle_payment (batch_id, group_number, number, paying, intent_id,"
                " service_ids, symbol, decimals, contract, units, state)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    batch_id,
                    group,
                    number,
                    paying,
                    intent_id,
                    json.dumps(list(service_ids)),
                    need.symbol,
                    need.decimals,
                    need.contract,
                    str(need.units),
                    StepState.PREPARED,
                ),
            )
        return WalletPayment(
            number,
            paying,
            intent_id,
            tuple(service_ids),
            need.symbol,
            need.decimals,
            need.contract,
            need.units,
            StepState.PREPARED,
            None,
            None,
        )

    def of(self, batch_id: str, group: int) -> list[WalletPayment]:
        """In the order in which they were begun."""
        rows = self._file.read(
            "SELECT * FROM bundle_payment WHERE batch_id = ? AND group_number = ? ORDER BY number",
            (batch_id, group),
        )
        return [_payment_of(row) for row in rows]

    def set(
        self,
        batch_id: str,
        group: int,
        payment: WalletPayment,
        state: StepState,
        *,
        hash_: str | None = None,
        code: str | None = None,
    ) -> None:
        with self._file.write() as db:
            db.execute(
                "UPDATE bundle_payment SET state = ?, hash = coalesce(?, hash), code = ?"
                " WHERE batch_id = ? AND group_number = ? AND number = ?",
                (state, hash_, code, batch_id, group, payment.number),
            )
            if state in (StepState.ACKED, StepState.REFUSED):
                end_bundle_payments(db, payment.service_ids, state)


def _payment_of(row: sqlite3.Row) -> WalletPayment:
    return WalletPayment(
        row["number"],
        Paying(row["paying"]),
        row["intent_id"],
        tuple(json.loads(row["service_ids"])),
        row["symbol"],
        row["decimals"],
        row["contract"],
        int(row["units"]),
        StepState(row["state"]),
        row["hash"],
        row["code"],
    )
