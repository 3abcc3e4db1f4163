"""Transactions of the wallet beside deposits: payments for groups, and withdrawals.

A payment fills a smart account, or on Solana pays the group. A withdrawal empties a smart account.
Each is committed before it is signed, and its transaction before it is sent, under the intent by
which the wallet's own records have it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import asdict

from swapdesk.clock import Clock
from swapdesk.flows.journal.batch_records import FundingNeed, Paying, WalletPayment
from swapdesk.flows.journal.journal_file import JournalFile, move
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.journal.outgoing_writes import (
    begin_bundle_payments,
    end_bundle_payments,
    note_paid_by_bundle,
)
from swapdesk.wire.encoding.codec import rfc3339
from swapdesk.wire.encoding.numbers import from_base_units, short


class WalletPaymentLog:
    """Writes raise JournalUnavailable; then nothing may be signed or sent. What moves a payment
    says whether it did."""

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
    ) -> bool:
        """Commit how it stands. What was executed paid its orders, also where the payment was
        refused before."""
        among = (StepState.PREPARED, StepState.SENT)
        names = (batch_id, group, payment.number)
        where = "batch_id = ? AND group_number = ? AND number = ?"
        with self._file.write() as db:
            moved = move(db, "bundle_payment", where, names, state, among, hash=hash_, code=code)
            if state is StepState.ACKED:
                now = rfc3339(self._clock.now())
                note_paid_by_bundle(db, payment.service_ids, now, hash_)
            elif moved and state is StepState.REFUSED:
                end_bundle_payments(db, payment.service_ids, state)
            return moved


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


class Taken(Struct, frozen=True):
    """What one payment of a withdrawal takes out; ``contract`` is None for the chain's coin.
    ``prepaid``: the EntryPoint kept it for gas."""

    PRINTED: ClassVar = {
        "symbol": "symbol", "contract": "contract", "amount": "amount", "prepaid": "prepaid",
    }  # fmt: skip

    symbol: str
    decimals: int
    contract: str | None
    units: int
    prepaid: bool = False

    @property
    def amount(self) -> Decimal:
        return short(from_base_units(self.units, self.decimals))


class JournaledWithdrawal(Struct, frozen=True):
    """``account`` is the owner on ``chain`` (its short name), ``sender`` the smart account.

    PREPARED before it is signed, SENT with its hash before a byte leaves, then ACKED once it
    counts, or REFUSED when nothing can come of it. ``moved`` is when it last did."""

    intent_id: str
    account: str
    sender: str
    chain: str
    taken: tuple[Taken, ...]
    state: StepState
    hash: str | None
    moved: datetime


class WithdrawalLog:
    """Writes raise JournalUnavailable; then nothing may be signed or sent. What moves a withdrawal
    says whether it did."""

    def __init__(self, file: JournalFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock

    def begin(
        self, intent_id: str, account: str, sender: str, chain: str, taken: Sequence[Taken]
    ) -> bool:
        """Commit what is about to be signed; what an earlier run prepared under the same intent
        and never signed gives way. False where it was signed: then nothing is signed for it."""
        with self._file.write() as db:
            begun = db.execute(
                "INSERT INTO withdrawal (intent_id, account, sender, chain, taken, state, moved)"
                " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (intent_id) DO UPDATE SET"
                " taken = excluded.taken, moved = excluded.moved WHERE state = excluded.state",
                (
                    intent_id,
                    account,
                    sender,
                    chain,
                    json.dumps([asdict(one) for one in taken]),
                    StepState.PREPARED,
                    rfc3339(self._clock.now()),
                ),
            )
            return begun.rowcount == 1

    def sent(self, intent_id: str, hash_: str) -> bool:
        """Commit the transaction before it leaves; also another one, of a higher fee."""
        return self._move(intent_id, StepState.SENT, hash_)

    def ended(self, intent_id: str, hash_: str, *, succeeded: bool) -> bool:
        """Commit how it ended, before that is shown."""
        return self._move(intent_id, StepState.ACKED if succeeded else StepState.REFUSED, hash_)

    def _move(self, intent_id: str, state: StepState, hash_: str) -> bool:
        """What stands so already has not moved: whoever follows it says so again."""
        among = (StepState.PREPARED, StepState.SENT)
        where = "intent_id = ? AND (state <> ? OR hash IS NOT ?)"
        names = (intent_id, state, hash_)
        now = rfc3339(self._clock.now())
        with self._file.write() as db:
            return move(db, "withdrawal", where, names, state, among, hash=hash_, moved=now)

    def get(self, intent_id: str) -> JournaledWithdrawal | None:
        found = self._file.read("SELECT * FROM withdrawal WHERE intent_id = ?", (intent_id,))
        return _withdrawal_of(found[0]) if found else None

    def open(self, account: str, chain: str) -> list[JournaledWithdrawal]:
        """Those whose end is not known here, oldest first."""
        return self._read(account, chain, (StepState.PREPARED, StepState.SENT))

    def counted(self, account: str, chain: str) -> list[JournaledWithdrawal]:
        """Those that count on the chain, oldest first."""
        return self._read(account, chain, (StepState.ACKED,))

    def since(self, account: str, chain: str, moment: datetime) -> list[JournaledWithdrawal]:
        """Those that left, or counted, after ``moment``, oldest first."""
        found = self._read(account, chain, (StepState.SENT, StepState.ACKED))
        return [one for one in found if one.moved > moment]

    def _read(
        self, account: str, chain: str, states: Sequence[StepState]
    ) -> list[JournaledWithdrawal]:
        marks = ", ".join("?" * len(states))
        rows = self._file.read(
            "SELECT * FROM withdrawal WHERE account = ? AND chain = ?"  # noqa: S608
            f" AND state IN ({marks}) ORDER BY rowid",
            (account, chain, *states),
        )
        return [_withdrawal_of(row) for row in rows]


def _withdrawal_of(row: sqlite3.Row) -> JournaledWithdrawal:
    return JournaledWithdrawal(
        row["intent_id"],
        row["account"],
        row["sender"],
        row["chain"],
        tuple(Taken(**one) for one in json.loads(row["taken"])),
        StepState(row["state"]),
        row["hash"],
        datetime.fromisoformat(row["moved"]),
    )
