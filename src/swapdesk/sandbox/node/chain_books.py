"""What the embedded chains tell the exchanges' books: deposits in blocks, confirmations, and what
became of payments.

Nothing is remembered but how far a chain was read: what is read twice is booked once, what was
unwound is booked back, and a payment that no block has is handed in again, the same bytes; one
that expired in no block is signed anew.

``PaymentEnds`` and ``Crediting`` run inside one transaction of the caller and count each payment
at most once.
"""

from __future__ import annotations

import logging
import sqlite3

from msgspec import Struct

from swapdesk.sandbox.node.account_rows import AccountRows
from swapdesk.sandbox.node.chain_wallets import ChainWallets, IncomingPayment
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.ledger import FINAL_DEPTH, Ledger, LedgerPayment, LedgerTransfer
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.sandbox.world import chains_by_name, world_tokens
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


_TAKES_DEPOSITS = (LegStatus.WAITING, LegStatus.CONFIRMING)


class Crediting:
    """What a transfer to a deposit address means for its leg."""

    def __init__(self, database: Database, ledger: Ledger, rows: AccountRows) -> None:
        self._database = database
        self._ledger = ledger
        self._rows = rows

    def credit(self, transfer: LedgerTransfer, at: Moment, deposit: str | None = None) -> None:
        """A transfer reached a deposit address. Without the right tag nobody is credited.

        ``deposit`` tells several payments of one transaction apart.
        """
        row = self._rows.by_deposit(transfer.chain, transfer.receiver, transfer.tag)
        if row is None or row["token_in"] != transfer.token:
            return
        chain = chains_by_name()[transfer.chain]
        due = self._ledger.due(transfer, chain.confirmations)
        late = row["status"] not in _TAKES_DEPOSITS or (
            row["status"] == LegStatus.WAITING and row["expires"] <= at.now
        )
        self._database.connection.execute(
            "INSERT INTO deposits (id, account, units, late, due_world, due_now, chain, height)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                deposit or transfer.hash,
                row["id"],
                str(transfer.units),
                late,
                due.world if late else None,
                due.now if late else None,
                transfer.chain,
                transfer.height if transfer.chain in self._ledger.embedded else None,
            ),
        )
        if late:
            if row["deposit_hash"] is None:
                self._rows.change(row, deposit_hash=transfer.hash, included=transfer.height)
            return
        self._rows.settle(
            row,
            status=LegStatus.CONFIRMING,
            deposit_hash=row["deposit_hash"] or transfer.hash,
            included=transfer.height,
            due_world=due.world,
            due_now=due.now,
        )

    def vanished(self, row: sqlite3.Row, deposit: sqlite3.Row) -> None:
        """A deposit that did not count yet is in no block any more."""
        self._rows.drop_deposit(deposit)
        if deposit["late"]:
            if row["status"] not in _TAKES_DEPOSITS:
                self._rows.change(row, deposit_hash=None, included=None)
            return
        left = self._rows.deposits_in_time(row["id"])
        if row["status"] != LegStatus.CONFIRMING:
            return
        if left:
            self._rows.change(row, deposit_hash=left[0].partition("#")[0])
        else:
            self._rows.settle(
                row,
                status=LegStatus.WAITING,
                deposit_hash=None,
                included=None,
                due_now=row["expires"],
            )


logger = logging.getLogger(__name__)


class _Read(Struct):
    """Up to which block a chain was read, and up to which one it is noted that it was."""

    height: int
    mark: str
    noted: int


class ChainBooks:
    """The books' side of all embedded chains. ``follow`` is called before anything that is due."""

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        clock: WorldClock,
        rows: AccountRows,
        crediting: Crediting,
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._rows = rows
        self._crediting = crediting
        self._ends = PaymentEnds(rows)
        self._read: dict[str, _Read] = {}

    def resume(self) -> None:
        """Open the chains on which something waits to be read or sent."""
        for name, wallets in self._ledger.embedded.items():
            waiting = self._rows.any_on(name, open_only=True) or self._rows.unconfirmed(name)
            if wallets.touched and (waiting or self._ledger.outgoing.waiting(name)):
                wallets.wake()

    def follow(self) -> None:
        """Bring the books up to the newest block of every chain that is open."""
        for name, wallets in self._ledger.embedded.items():
            if not wallets.is_open:
                continue
            read = self._read.get(name) or self._begin(name, wallets)
            if wallets.height != read.height or wallets.mark(read.height) != read.mark:
                self._catch_up(name, wallets, read)
            self._send(name, wallets, read.height)

    def send(self) -> None:
        """Hand in what was signed since the chains were followed."""
        for name, read in self._read.items():
            wallets = self._ledger.embedded[name]
            if wallets.is_open:
                self._send(name, wallets, read.height)

    def _send(self, name: str, wallets: ChainWallets, height: int) -> None:
        for payment in self._ledger.outgoing.waiting(name):
            # What has expired is in the blocks that were read, or never will be.
            if payment.expires is not None and payment.expires < height:
                self._expired(payment, wallets)
            else:
                wallets.submit(payment.raw)

    def missing(self, row: sqlite3.Row) -> bool:
        """Whether a leg that is due needs a chain that is not open yet; it is opened then."""
        waits = row["status"] == LegStatus.WAITING
        sends = row["status"] == LegStatus.EXCHANGING
        chain = world_tokens()[row["token_out"]].row.chain if sends else row["chain"]
        wallets = self._ledger.embedded.get(chain)
        # Where there never was a block nobody can have paid.
        if wallets is None or wallets.is_open or (waits and not wallets.touched):
            return False
        wallets.wake()
        return True

    def _begin(self, name: str, wallets: ChainWallets) -> _Read:
        """Where reading went on to in an earlier run; what was before the first leg is nothing."""
        stored = self._database.get(f"read {name}")
        if stored is not None:
            last, _, mark = stored.partition(" ")
            read = _Read(int(last), mark, int(last))
        else:
            height = wallets.began if self._rows.any_on(name) else wallets.height
            read = _Read(height, wallets.mark(height), height)
        self._read[name] = read
        return read

    def _catch_up(self, name: str, wallets: ChainWallets, read: _Read) -> None:
        unwound = wallets.mark(read.height) != read.mark
        first = max(1, read.height - FINAL_DEPTH) if unwound else read.height + 1
        height = wallets.height
        while True:
            last = min(height, first + wallets.at_once - 1)
            found = [
                (row, arrival)
                for arrival in wallets.arrivals(first, last)
                if (row := self._paid(name, arrival)) is not None
            ]
            payments = self._ledger.outgoing
            looked = payments.unfinished(name) if unwound else payments.waiting(name)
            if unwound or found or looked or self._rows.unconfirmed(name):
                with self._database.transaction():
                    if unwound:
                        self._unwind(name, wallets)
                    for row, arrival in found:
                        self._credit(row, arrival)
                    self._confirm(name, last)
                    for payment in looked:
                        self._place(payment, wallets, last)
                    payments.finish(name, last - FINAL_DEPTH)
                    self._note(name, wallets, read, last)
            elif last - read.noted >= wallets.at_once:
                with self._database.transaction():
                    self._note(name, wallets, read, last)
            read.height, read.mark = last, wallets.mark(last)
            if last >= height:
                return
            first, unwound = last + 1, False

    def _note(self, name: str, wallets: ChainWallets, read: _Read, last: int) -> None:
        self._database.put(f"read {name}", f"{last} {wallets.mark(last)}")
        read.noted = last

    # Deposits

    def _paid(self, chain: str, arrival: IncomingPayment) -> sqlite3.Row | None:
        """The account whose token arrived at its address."""
        row = self._rows.by_deposit(chain, arrival.receiver, None)
        if row is None:
            return None
        contract = world_tokens()[row["token_in"]].address
        same = (
            contract == arrival.token
            if contract is None
            else (arrival.token is not None and contract.casefold() == arrival.token.casefold())
        )
        return row if same and arrival.units > 0 else None

    def _credit(self, row: sqlite3.Row, arrival: IncomingPayment) -> None:
        here = self._clock.moment()
        token = world_tokens()[row["token_in"]]
        name = _deposit_id(arrival)
        booked = self._ledger.arrive(token, row["venue"], arrival, _cause(row["chain"], name))
        if booked is not None:
            # A node that was down reads what came in time, though it reads it late.
            at = Moment(min(here.now, arrival.seconds * 1000), here.world)
            self._crediting.credit(booked, at, name)

    def _confirm(self, name: str, height: int) -> None:
        needed = chains_by_name()[name].confirmations
        here = self._clock.moment()
        accounts = set()
        for deposit in self._rows.unconfirmed(name):
            if height - deposit["height"] + 1 < needed:
                continue
            self._rows.confirm(deposit, here.world if deposit["late"] else None)
            if not deposit["late"]:
                accounts.add(deposit["account"])
        still = {each["account"] for each in self._rows.unconfirmed(name) if not each["late"]}
        for account in accounts - still:
            row = self._rows.by_id(account)
            if row is not None and row["status"] == LegStatus.CONFIRMING:
                self._rows.change(row, due_world=here.world)

    def _unwind(self, name: str, wallets: ChainWallets) -> None:
        """Book back what is in no block, or in another one, before it counted."""
        for deposit in self._rows.unconfirmed(name):
            found = wallets.mined(deposit["id"].partition("#")[0])
            if found is not None and found.height == deposit["height"]:
                continue
            row = self._rows.by_id(deposit["account"])
            if row is not None:
                self._ledger.vanish(row["venue"], _cause(name, deposit["id"]))
                self._crediting.vanished(row, deposit)

    # Payments

    def _place(self, payment: LedgerPayment, wallets: ChainWallets, height: int) -> None:
        """Note where a payment is; a payout that is in a block is paid (one confirmation).

        One that moved nothing might yet do so after a reorganisation: it is given up, and may be
        paid for again, only when its block counts.
        """
        found = wallets.mined(payment.hash)
        deep = chains_by_name()[payment.chain].confirmations
        if found is not None and not found.succeeded and height - found.height + 1 < deep:
            found = None
        self._ledger.outgoing.place(payment, found)
        if found is None or payment.height is not None:
            return
        if found.succeeded:
            self._ends.arrived(payment.cause, self._clock.moment())
            return
        logger.warning("the payment %s on %s moved nothing", payment.hash, payment.chain)
        self._bounce(payment)

    def _expired(self, payment: LedgerPayment, wallets: ChainWallets) -> None:
        """Its last height has passed: in no block it can never be executed, so that another
        signature pays once. What the chain would not execute is not asked of it again."""
        if wallets.mined(payment.hash) is not None:
            # It failed, and is given up once its block counts.
            return
        refused = wallets.refusal(payment.hash)
        with self._database.transaction():
            if refused is None:
                renewed = self._ledger.renew(payment)
                if renewed is not None:
                    self._ends.renewed(payment.cause, payment.hash, renewed)
                return
            self._ledger.outgoing.give_up(payment)
            self._bounce(payment)
        logger.warning("%s does not execute the payment %s", payment.chain, payment.hash)

    def _bounce(self, payment: LedgerPayment) -> None:
        self._ends.bounced(payment.cause)
        self._ledger.bounce(payment.cause)


def _deposit_id(arrival: IncomingPayment) -> str:
    return arrival.hash if arrival.position < 0 else f"{arrival.hash}#{arrival.position}"


def _cause(chain: str, deposit: str) -> str:
    return f"arrival:{chain}:{deposit}"
