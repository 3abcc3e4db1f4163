"""Writing calls, journaled before they leave.

A call made by hand has no intent to compare the answer with: when its outcome is unknown, nothing
is looked for by itself, and the call stands here for a person to settle. The payment of a deposit
stands here too, from the faucet, the wallet or a bundle: one for an order, unless it was refused.
One from the wallet is PREPARED while its review is shown, and SENT from before the wallet is asked
to sign it.

``CreateRequests`` finds the service's request id of the call that created an order. It reads what
the intent, the group or the call by hand has stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from swapdesk.clock import Clock
from swapdesk.flows.journal.journal_file import JournalFile, move
from swapdesk.flows.journal.journal_records import LEFT_STEP, OPEN_STEP, StepState
from swapdesk.flows.journal.order_log import OrderLog
from swapdesk.wire.encoding.codec import rfc3339
from swapdesk.wire.orders import Order

PAYMENT = "/sandbox/deposits"
"""The path of a payment from the faucet of a sandbox."""
WALLET_PAYMENT = "/wallet/deposits"
"""Stands for the path of a payment from the profile's own wallet."""
BUNDLE_PAYMENT = "/wallet/bundles"
"""Stands for the path of a payment by a bundle of the order's group (``bundle_log``)."""
PAYMENTS = (PAYMENT, WALLET_PAYMENT, BUNDLE_PAYMENT)
"""The paths that pay a deposit."""


class PaidBefore(Exception):
    """A payment of this order left before and was not refused; nothing may be paid again."""

    def __init__(self, call: OutgoingWrite) -> None:
        super().__init__(f"a payment of order {call.service_id} is {call.state}")
        self.call = call


class OutgoingWrite(Struct, frozen=True):
    """One call. ``service_id`` is the order it created, when the answer named one, or the
    order it paid; ``hash`` the newest transaction that was signed for it."""

    id: int
    method: str
    path: str
    state: StepState
    sent_at: datetime
    status: int | None
    request_id: str | None
    code: str | None
    service_id: str | None
    hash: str | None = None

    @property
    def pays(self) -> bool:
        return self.path in PAYMENTS

    @property
    def by_bundle(self) -> bool:
        """A payment of which the bundle of the group says what became of it."""
        return self.path == BUNDLE_PAYMENT

    @property
    def by_wallet(self) -> bool:
        """A payment of which the wallet's own records say what became of it."""
        return self.path == WALLET_PAYMENT

    @property
    def waits_for_signature(self) -> bool:
        """The wallet was not asked to sign it, so that nothing was signed under it."""
        return self.state is StepState.PREPARED


class OutgoingWrites:
    """Every method raises JournalUnavailable when the journal cannot be written. What moves a call
    says whether it did."""

    def __init__(self, file: JournalFile, clock: Clock, orders: OrderLog) -> None:
        self._file = file
        self._clock = clock
        self._orders = orders

    def add(self, method: str, path: str, body: bytes) -> int:
        """Commit that the call leaves now; its id in the journal."""
        with self._file.write() as db:
            row = db.execute(
                "INSERT INTO call (method, path, body, state, sent_at) VALUES (?, ?, ?, ?, ?)",
                (
                    method,
                    path,
                    body.decode("utf-8", "replace"),
                    StepState.SENT,
                    rfc3339(self._clock.now()),
                ),
            )
            assert row.lastrowid is not None  # an INSERT just happened
            return row.lastrowid

    def add_payment(self, service_id: str, body: bytes, *, path: str = PAYMENT) -> int:
        """Commit that the payment of an order leaves now, or, from the wallet, that it is shown to
        be signed; its id in the journal.

        The look and the entry are one transaction, so that of two processes one pays. Raises
        PaidBefore when an earlier payment of the order left and was not refused.
        """
        with self._file.write() as db:
            row = db.execute(_PAYMENT_OF, _payment_values(service_id)).fetchone()
            if row is not None:
                raise PaidBefore(_call_of(row))
            state = StepState.PREPARED if path == WALLET_PAYMENT else StepState.SENT
            added = db.execute(
                "INSERT INTO call (method, path, body, state, sent_at, service_id)"
                " VALUES ('POST', ?, ?, ?, ?, ?)",
                (
                    path,
                    body.decode("utf-8", "replace"),
                    state,
                    rfc3339(self._clock.now()),
                    service_id,
                ),
            )
            assert added.lastrowid is not None  # an INSERT just happened
            return added.lastrowid

    def payment_of(self, service_id: str) -> OutgoingWrite | None:
        """The payment of an order that left and was not refused, by whichever process."""
        rows = self._file.read(_PAYMENT_OF, _payment_values(service_id))
        return _call_of(rows[0]) if rows else None

    def mark_asked(self, call_id: int) -> bool:
        """Commit that the wallet is asked to sign the payment, before it is. False for a payment
        that is over."""
        with self._file.write() as db:
            return move(db, "call", "id = ?", (call_id,), StepState.SENT, OPEN_STEP)

    def mark_unsigned(self, call_id: int) -> bool:
        """Commit that the wallet signed nothing when it was asked. False where a transaction
        stands."""
        with self._file.write() as db:
            where = "id = ? AND hash IS NULL"
            return move(db, "call", where, (call_id,), StepState.PREPARED, LEFT_STEP)

    def mark_signed(self, call_id: int, hash_: str) -> bool:
        """Commit the transaction that pays, before a byte of it leaves. False for a payment that
        is over."""
        with self._file.write() as db:
            move(db, "call", "id = ?", (call_id,), StepState.SENT, (StepState.PREPARED,))
            changed = db.execute(
                "UPDATE call SET hash = ? WHERE id = ? AND state IN (?, ?)",
                (hash_, call_id, *LEFT_STEP),
            )
            return changed.rowcount == 1

    def mark_done(
        self, call_id: int, *, status: int, request_id: str | None, hash_: str | None = None
    ) -> bool:
        """Commit that the call was answered; ``hash_`` of the transaction that paid. A payment
        that was refused before and paid all the same is noted beside it, so that nobody pays
        again."""
        with self._file.write() as db:
            moved = self._move(db, call_id, StepState.ACKED, status, request_id, None, hash_)
            if not moved:
                self._note_paid_after_all(db, call_id, hash_)
            return moved

    def mark_created(
        self, call_id: int, order: Order, *, status: int, request_id: str | None
    ) -> bool:
        """Commit the order the call created together with the end of the call; the order also
        where the call was over."""
        with self._file.write() as db:
            told = {"status": status, "request_id": request_id, "service_id": order.service_id}
            names = (call_id,)
            moved = move(db, "call", "id = ?", names, StepState.ACKED, LEFT_STEP, **told)
            self._orders.put(db, order, "create")
            return moved

    def mark_refused(
        self,
        call_id: int,
        *,
        code: str,
        status: int | None = None,
        request_id: str | None = None,
        hash_: str | None = None,
    ) -> bool:
        """Commit that nothing happened; ``hash_`` of a transaction that paid nothing."""
        with self._file.write() as db:
            return self._move(db, call_id, StepState.REFUSED, status, request_id, code, hash_)

    def mark_unknown(
        self, call_id: int, *, code: str, status: int | None = None, request_id: str | None = None
    ) -> bool:
        """Commit that nobody knows whether it happened."""
        with self._file.write() as db:
            return self._move(db, call_id, StepState.UNKNOWN, status, request_id, code)

    def unresolved(self) -> list[OutgoingWrite]:
        """Calls without a known outcome, oldest first; also those a crash interrupted, and
        payments that wait for a signature. What a bundle pays is told with its batch."""
        rows = self._file.read(
            "SELECT * FROM call WHERE state IN (?, ?, ?) AND path <> ? ORDER BY id",
            (*OPEN_STEP, BUNDLE_PAYMENT),
        )
        return [_call_of(row) for row in rows]

    def _move(
        self,
        db: sqlite3.Connection,
        call_id: int,
        state: StepState,
        status: int | None,
        request_id: str | None,
        code: str | None,
        hash_: str | None = None,
    ) -> bool:
        told = {"status": status, "request_id": request_id, "code": code, "hash": hash_}
        return move(db, "call", "id = ?", (call_id,), state, OPEN_STEP, **told)

    def _note_paid_after_all(self, db: sqlite3.Connection, call_id: int, hash_: str | None) -> None:
        row = db.execute(
            "SELECT * FROM call WHERE id = ? AND state = ?", (call_id, StepState.REFUSED)
        ).fetchone()
        if row is not None and row["path"] in PAYMENTS:
            _note_paid(db, row["service_id"], row["path"], rfc3339(self._clock.now()), hash_)


_PAYMENT_OF = (
    "SELECT * FROM call WHERE path IN (?, ?, ?) AND service_id = ? AND state <> ? ORDER BY id"
)


def _payment_values(service_id: str) -> tuple[str, ...]:
    return (*PAYMENTS, service_id, StepState.REFUSED)


def begin_bundle_payments(db: sqlite3.Connection, service_ids: Sequence[str], now: str) -> None:
    """Note inside a transaction that a bundle pays these orders from now on, so that nothing else
    does. Raises PaidBefore when a payment of one of them left and was not refused; where that was
    a bundle of which it is not known, the next one may go on with it."""
    for service_id in service_ids:
        row = db.execute(_PAYMENT_OF, _payment_values(service_id)).fetchone()
        if row is None:
            _insert_payment(db, service_id, BUNDLE_PAYMENT, StepState.SENT, now, None)
        elif not move(
            db,
            "call",
            "id = ? AND path = ?",
            (row["id"], BUNDLE_PAYMENT),
            StepState.SENT,
            (StepState.UNKNOWN,),
        ):
            raise PaidBefore(_call_of(row))


def end_bundle_payments(
    db: sqlite3.Connection, service_ids: Sequence[str], state: StepState
) -> None:
    """Note inside a transaction what became of what a bundle was to pay."""
    for service_id in service_ids:
        names = (BUNDLE_PAYMENT, service_id)
        move(db, "call", "path = ? AND service_id = ?", names, state, LEFT_STEP)


def note_paid_by_bundle(
    db: sqlite3.Connection, service_ids: Sequence[str], now: str, hash_: str | None
) -> None:
    """Note inside a transaction that a bundle paid these orders."""
    for service_id in service_ids:
        names = (BUNDLE_PAYMENT, service_id)
        where = "path = ? AND service_id = ?"
        if not move(db, "call", where, names, StepState.ACKED, LEFT_STEP, hash=hash_):
            _note_paid(db, service_id, BUNDLE_PAYMENT, now, hash_)


def _note_paid(
    db: sqlite3.Connection, service_id: str, path: str, now: str, hash_: str | None
) -> None:
    """See that a payment of the order stands, whatever was decided before it was known."""
    if db.execute(_PAYMENT_OF, _payment_values(service_id)).fetchone() is None:
        _insert_payment(db, service_id, path, StepState.ACKED, now, hash_)


def _insert_payment(
    db: sqlite3.Connection,
    service_id: str,
    path: str,
    state: StepState,
    now: str,
    hash_: str | None,
) -> None:
    db.execute(
        "INSERT INTO call (method, path, body, state, sent_at, service_id, hash)"
        " VALUES ('POST', ?, '', ?, ?, ?, ?)",
        (path, state, now, service_id, hash_),
    )


def _call_of(row: sqlite3.Row) -> OutgoingWrite:
    return OutgoingWrite(
        id=row["id"],
        method=row["method"],
        path=row["path"],
        state=StepState(row["state"]),
        sent_at=datetime.fromisoformat(row["sent_at"]),
        status=row["status"],
        request_id=row["request_id"],
        code=row["code"],
        service_id=row["service_id"],
        hash=row["hash"],
    )


_OF_ORDER = """
SELECT json_extract(result, '$.request_id') AS request_id FROM operation
    WHERE subject = ?1 AND kind = 'create'
UNION ALL
SELECT json_extract(asked.result, '$.request_id') AS request_id
    FROM operation AS made JOIN operation AS asked ON asked.id = made.parent
    WHERE made.kind = 'row' AND made.subject = ?1
UNION ALL
SELECT request_id FROM call WHERE service_id = ?1 AND path NOT IN (?2, ?3, ?4)
"""


class CreateRequests:
    """Reading raises JournalUnavailable."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file

    def of(self, service_id: str) -> str | None:
        """None for an order that was not created here, or where the service told none."""
        rows = self._file.read(_OF_ORDER, (service_id, *PAYMENTS))
        return next((str(row["request_id"]) for row in rows if row["request_id"]), None)
