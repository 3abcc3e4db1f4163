"""Withdrawals out of smart accounts, in the journal: each committed before it is signed, and its
transaction before a byte of it leaves. The wallet's own records have it by the same intent."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from swapdesk.clock import Clock
from swapdesk.flows.journal.journal_file import JournalFile
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.wire.encoding.codec import rfc3339
from swapdesk.wire.encoding.numbers import from_base_units, short


@dataclass(frozen=True)
class Taken:
    """What one payment of a withdrawal takes out; ``contract`` is None for the chain's coin.
    ``prepaid``: the EntryPoint kept it for gas."""

    symbol: str
    decimals: int
    contract: str | None
    units: int
    prepaid: bool = False

    @property
    def amount(self) -> Decimal:
        return short(from_base_units(self.units, self.decimals))


@dataclass(frozen=True)
class JournaledWithdrawal:
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
    """Writes raise JournalUnavailable; then nothing may be signed or sent."""

    def __init__(self, file: JournalFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock

    def begin(
        self, intent_id: str, account: str, sender: str, chain: str, taken: Sequence[Taken]
    ) -> None:
        """Commit what is about to be signed; what an earlier run prepared under the same intent
        and never signed gives way."""
        with self._file.write() as db:
            db.execute(
                "INSERT INTO withdrawal (intent_id, account, sender, chain, taken, state, moved)"
                " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (intent_id) DO UPDATE SET"
                " taken = excluded.taken, moved = excluded.moved WHERE state = excluded.state",
                (
                    intent_id,
                    account,
                    sender,
                    chain,
                    json.dumps([vars(one) for one in taken]),
                    StepState.PREPARED,
                    rfc3339(self._clock.now()),
                ),
            )

    def sent(self, intent_id: str, hash_: str) -> None:
        """Commit the transaction before it leaves."""
        self._move(intent_id, StepState.SENT, hash_)

    def ended(self, intent_id: str, hash_: str, *, succeeded: bool) -> None:
        """Commit how it ended, before that is shown."""
        self._move(intent_id, StepState.ACKED if succeeded else StepState.REFUSED, hash_)

    def _move(self, intent_id: str, state: StepState, hash_: str) -> None:
        with self._file.write() as db:
            db.execute(
                "UPDATE withdrawal SET state = ?, hash = ?, moved = ? WHERE intent_id = ?"
                " AND (state <> ? OR hash IS NOT ?)",
                (state, hash_, rfc3339(self._clock.now()), intent_id, state, hash_),
            )

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
