"""How the groups of batches are paid, in the journal: each step committed before what it does.

A group has bundles, each of them built from one answer of the service; the newest counts. On an
EVM chain a bundle is signed as a whole and then submitted once. On Solana it is a fixed
partition of the deposits, and each part is a transaction of the wallet (``wallet_payment_log``).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from swapdesk.clock import Clock
from swapdesk.flows.journal.batch_records import (
    OVER,
    UNDER_WAY,
    Built,
    BundleDeposit,
    BundleItem,
    BundleState,
    FundingNeed,
    JournaledBundle,
)
from swapdesk.flows.journal.journal_file import JournalFile, move
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.journal.outgoing_writes import (
    begin_bundle_payments,
    end_bundle_payments,
    note_paid_by_bundle,
)
from swapdesk.wire.encoding.codec import rfc3339


class BundleLog:
    """Writes raise JournalUnavailable; then nothing with a side effect may be done. What moves a
    bundle says whether it did."""

    def __init__(self, file: JournalFile, clock: Clock) -> None:
        self._file = file
        self._clock = clock

    # Bundles

    def add(self, batch_id: str, group: int, built: Built) -> JournaledBundle:
        """Commit what was built in place of what was built before and has not left.

        Raises ValueError while an earlier one is on its way.
        """
        with self._file.write() as db:
            last = _newest(db, batch_id, group)
            if last is not None and last["state"] in UNDER_WAY:
                raise ValueError(f"bundle {last['number']} of the group is on its way")
            number = 1 if last is None else int(last["number"]) + 1
            now = self._clock.now()
            among = (BundleState.BUILT, BundleState.SIGNED)
            names = (batch_id, group)
            where = "batch_id = ? AND group_number = ?"
            move(db, "bundle", where, names, BundleState.REPLACED, among)
            db.execute(
                "INSERT INTO bundle (batch_id, group_number, number, built, state, created)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    batch_id,
                    group,
                    number,
                    json.dumps(_plain(built)),
                    BundleState.BUILT,
                    rfc3339(now),
                ),
            )
        return JournaledBundle(
            batch_id, group, number, built, BundleState.BUILT, now, (), None, None, None, None, None
        )

    def newest(self, batch_id: str, group: int) -> JournaledBundle | None:
        rows = self._file.read(
            "SELECT * FROM bundle WHERE batch_id = ? AND group_number = ?"
            " ORDER BY number DESC LIMIT 1",
            (batch_id, group),
        )
        return _bundle_of(rows[0]) if rows else None

    def open(self) -> list[JournaledBundle]:
        """Those that are not over, oldest first."""
        marks = ", ".join("?" * len(OVER))
        rows = self._file.read(
            f"SELECT * FROM bundle WHERE state NOT IN ({marks}) ORDER BY rowid",  # noqa: S608
            tuple(sorted(OVER)),
        )
        return [_bundle_of(row) for row in rows]

    def payers(self) -> list[tuple[str, str]]:
        """Accounts of the wallet, each with a chain (its short name), whose smart account was to
        pay a bundle."""
        rows = self._file.read(
            "SELECT DISTINCT json_extract(built, '$.account') AS account,"
            " json_extract(built, '$.chain') AS chain FROM bundle"
            " WHERE json_extract(built, '$.kind') = 'evm' ORDER BY account, chain",
            (),
        )
        return [(row["account"], row["chain"]) for row in rows]

    def paid_from(self, account: str, chain: str) -> list[JournaledBundle]:
        """All that an account of the wallet was to pay on a chain, oldest first."""
        rows = self._file.read(
            "SELECT * FROM bundle WHERE json_extract(built, '$.account') = ?"
            " AND json_extract(built, '$.chain') = ? ORDER BY rowid",
            (account, chain),
        )
        return [_bundle_of(row) for row in rows]

    def payment_mark(self, multi_id: str) -> tuple[object, ...] | None:
        """Another one once anything moved that says how a group is paid: its bundles, the
        transactions of the wallet for them, withdrawals. None for no group of this journal."""
        rows = self._file.read(_MARK, (multi_id,))
        return tuple(rows[0]) if rows else None

    def first_after(self, batch_id: str, group: int, moment: datetime) -> int:
        """The number of the first bundle of a group that was built after ``moment``, or of the
        one that would be built next."""
        rows = self._file.read(
            "SELECT coalesce(min(CASE WHEN created > ? THEN number END), max(number) + 1) AS first"
            " FROM bundle WHERE batch_id = ? AND group_number = ?",
            (rfc3339(moment), batch_id, group),
        )
        return int(rows[0]["first"] or 1)

    def sent_since(self, moment: datetime) -> list[JournaledBundle]:
        """Those whose signatures left after ``moment``."""
        rows = self._file.read("SELECT * FROM bundle WHERE sent_at > ?", (rfc3339(moment),))
        return [_bundle_of(row) for row in rows]

    def signed(self, bundle: JournaledBundle, signatures: Sequence[str]) -> bool:
        """Commit all signatures before any of them is shown to anybody."""
        return self._move(
            bundle,
            BundleState.SIGNED,
            (BundleState.BUILT, BundleState.SIGNED),
            signatures=json.dumps(list(signatures)),
        )

    def sent(self, bundle: JournaledBundle, server_at: datetime) -> bool:
        """Commit that the signatures leave now; False where another run was first, or they left
        before: then they must not leave. Raises PaidBefore when something else paid one of the
        orders, or may have."""
        return self._move(
            bundle,
            BundleState.SENT,
            (BundleState.SIGNED,),
            sent_at=rfc3339(self._clock.now()),
            server_at=rfc3339(server_at),
        )

    def again(self, bundle: JournaledBundle) -> bool:
        """Commit that the service does not have them for certain: the same ones may leave again."""
        return self._move(bundle, BundleState.SIGNED, (BundleState.SENT, BundleState.UNKNOWN))

    def unknown(self, bundle: JournaledBundle, code: str) -> bool:
        among = (BundleState.SENT, BundleState.UNKNOWN)
        return self._move(bundle, BundleState.UNKNOWN, among, code=code)

    def submitted(self, bundle: JournaledBundle) -> bool:
        """Commit that the service has them; on Solana that every part has left."""
        return self._move(bundle, BundleState.SUBMITTED, (*UNDER_WAY, BundleState.SIGNED))

    def ended(
        self,
        bundle: JournaledBundle,
        state: BundleState,
        *,
        tx_hash: str | None = None,
        code: str | None = None,
        reason: str | None = None,
    ) -> bool:
        """Commit its outcome before it is shown."""
        among = (BundleState.BUILT, BundleState.SIGNED, *UNDER_WAY)
        return self._move(bundle, state, among, tx_hash=tx_hash, code=code, reason=reason)

    def _move(
        self,
        bundle: JournaledBundle,
        state: BundleState,
        among: Collection[BundleState],
        **values: Any,
    ) -> bool:
        names = (bundle.batch_id, bundle.group, bundle.number)
        where = "batch_id = ? AND group_number = ? AND number = ?"
        with self._file.write() as db:
            moved = move(db, "bundle", where, names, state, among, **values)
            if bundle.built.kind == "evm":
                self._note_payments(db, bundle, state, moved, values.get("tx_hash"))
            return moved

    def _note_payments(
        self,
        db: sqlite3.Connection,
        bundle: JournaledBundle,
        state: BundleState,
        moved: bool,
        hash_: str | None,
    ) -> None:
        """Of several operations one may have paid when the bundle failed: nobody else pays then.
        What was carried out paid, also where the bundle was over before."""
        ids = [one.service_id for one in bundle.built.deposits]
        if state is BundleState.CONFIRMED:
            note_paid_by_bundle(db, ids, rfc3339(self._clock.now()), hash_)
        elif not moved:
            return
        elif state is BundleState.SENT:
            begin_bundle_payments(db, ids, rfc3339(self._clock.now()))
        elif state is BundleState.FAILED and len(bundle.built.items) > 1:
            end_bundle_payments(db, ids, StepState.UNKNOWN)
        elif state not in UNDER_WAY and _left(db, bundle):
            end_bundle_payments(db, ids, StepState.REFUSED)


_MARK = """
WITH g AS (
  SELECT parent AS batch_id, json_extract(body, '$.number') AS number,
    json_extract(body, '$.chain') AS chain
  FROM operation WHERE subject = ? AND kind = 'create_group'
)
SELECT
  (SELECT max(number) FROM bundle AS b
    WHERE b.batch_id = g.batch_id AND b.group_number = g.number),
  (SELECT state FROM bundle AS b
    WHERE b.batch_id = g.batch_id AND b.group_number = g.number ORDER BY number DESC LIMIT 1),
  (SELECT group_concat(p.number || p.state) FROM bundle_payment AS p
    WHERE p.batch_id = g.batch_id AND p.group_number = g.number),
  (SELECT group_concat(w.state || w.moved) FROM withdrawal AS w WHERE w.chain = g.chain)
FROM g
"""


def _left(db: sqlite3.Connection, bundle: JournaledBundle) -> bool:
    """Whether it was to pay at all: what is noted of its orders is of an earlier one otherwise."""
    row = db.execute(
        "SELECT sent_at FROM bundle WHERE batch_id = ? AND group_number = ? AND number = ?",
        (bundle.batch_id, bundle.group, bundle.number),
    ).fetchone()
    return row is not None and row["sent_at"] is not None


def _newest(db: sqlite3.Connection, batch_id: str, group: int) -> sqlite3.Row | None:
    row: sqlite3.Row | None = db.execute(
        "SELECT * FROM bundle WHERE batch_id = ? AND group_number = ? ORDER BY number DESC LIMIT 1",
        (batch_id, group),
    ).fetchone()
    return row


def _plain(value: Any) -> Any:
    """As JSON keeps it, where whole numbers have any size; moments in RFC 3339."""
    if isinstance(value, Struct):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, datetime):
        return rfc3339(value)
    return value


def _built_of(text: str) -> Built:
    told = json.loads(text)
    items = tuple(
        BundleItem(
            **{
                **one,
                "deposits": tuple(
                    BundleDeposit(**{**each, "expires": datetime.fromisoformat(each["expires"])})
                    for each in one["deposits"]
                ),
            }
        )
        for one in told["items"]
    )
    needs = tuple(FundingNeed(**one) for one in told["needs"])
    return Built(**{**told, "items": items, "needs": needs})


def _bundle_of(row: sqlite3.Row) -> JournaledBundle:
    return JournaledBundle(
        row["batch_id"],
        row["group_number"],
        row["number"],
        _built_of(row["built"]),
        BundleState(row["state"]),
        datetime.fromisoformat(row["created"]),
        tuple(json.loads(row["signatures"])) if row["signatures"] else (),
        datetime.fromisoformat(row["sent_at"]) if row["sent_at"] else None,
        datetime.fromisoformat(row["server_at"]) if row["server_at"] else None,
        row["tx_hash"],
        row["code"],
        row["reason"],
    )
