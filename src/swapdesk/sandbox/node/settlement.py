"""The money of a leg: credited, swapped, paid out, refunded or forwarded.

Every method of ``Settlement`` runs inside its caller's transaction and moves each sum at most once.
``ChainBooks`` reads deposits and outcomes from the embedded chains. Blocks are final.
"""

from __future__ import annotations

import logging
import sqlite3
from decimal import ROUND_DOWN

from swapdesk.sandbox.market import PAYOUT_CONFIRMATIONS
from swapdesk.sandbox.node.database import AccountRows, Database
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.ledger import (
    ChainWallets,
    IncomingPayment,
    Ledger,
    Payment,
)
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.sandbox.tables import PAYOUT_WALLETS, VENUE_ROWS
from swapdesk.sandbox.world import WorldToken, chains_by_name, world_tokens
from swapdesk.wire.orders import LegStatus

logger = logging.getLogger(__name__)


_VENUES = {row.code: row for row in VENUE_ROWS}
_TAKES_DEPOSITS = (LegStatus.WAITING, LegStatus.CONFIRMING)


class Settlement:
    """Moves the money of a leg, step by step, from the leg's deposit to its end."""

    def __init__(self, ledger: Ledger, rows: AccountRows, clock: WorldClock) -> None:
        self._ledger = ledger
        self._rows = rows
        self._clock = clock

    # Deposits

    def credit(self, payment: Payment, at: Moment) -> None:
        """Credits a payment to the leg that received it. The payment counts as late if the leg no
        longer takes deposits. A payment with a wrong tag or token is ignored."""
        row = self._rows.by_deposit(payment.chain, payment.receiver, payment.tag)
        if row is None or row["token_in"] != payment.token:
            return
        late = row["status"] not in _TAKES_DEPOSITS or (
            row["status"] == LegStatus.WAITING and row["expires"] <= at.now
        )
        due = self._due(payment, chains_by_name()[payment.chain].confirmations)
        self._ledger.change(payment, account=row["id"], late=late, due_world=due)
        if late:
            self._rows.tell(row)
        else:
            self._rows.settle(row, status=LegStatus.CONFIRMING)

    def _due(self, payment: Payment, confirmations: int) -> int | None:
        if payment.chain in self._ledger.embedded or payment.height is None:
            return None
        chain = chains_by_name()[payment.chain]
        return self._clock.confirmed(chain, payment.height, confirmations)

    # Steps that time makes

    def advance(self, row: sqlite3.Row, at: Moment, *, skipped_wallets: int = 0) -> None:
        """Takes the next step of a leg that is due: expiry, payout or completion. The first
        ``skipped_wallets`` hot wallets do not make the payout."""
        status = LegStatus(row["status"])
        if status is LegStatus.WAITING:
            self._rows.settle(row, status=LegStatus.EXPIRED)
        elif status is LegStatus.EXCHANGING:
            self._pay_out(row, at, skipped_wallets)
        else:
            paid = LegStatus.FALLBACK if row["fell_back"] else LegStatus.FINISHED
            self._rows.settle(row, status=paid)

    def accept(self, row: sqlite3.Row, arrived: int, at: Moment, *, verified: bool = True) -> None:
        """Handles the leg's confirmed deposit of ``arrived`` units: it is swapped, refunded if too
        small, or held if not ``verified``."""
        if arrived < int(row["minimum"]) or _swapped(row, arrived)[1] == 0:
            self.give_back(row, arrived, at)
        elif verified:
            self.exchange(row, arrived, at)
        else:
            self._rows.settle(row, status=LegStatus.VERIFYING, arrived=str(arrived))

    def exchange(self, row: sqlite3.Row, arrived: int, at: Moment) -> None:
        """Swaps the deposit of ``arrived`` units. A leg with a fixed rate swaps its agreed amount
        and refunds the rest."""
        swapped, paying = _swapped(row, arrived)
        excess = arrived - swapped
        refund = None
        if excess and row["refund_address"] is not None:
            refund = self._refund(
                row, self._paid_to(row), _way_back(row), excess, f"excess:{row['id']}", at
            )
        self._sweep(row, arrived if refund is None else swapped, at)
        self._rows.settle(
            row,
            status=LegStatus.EXCHANGING,
            arrived=str(arrived),
            paying=str(paying),
            due_world=at.world + row["exchange_ms"],
        )

    # Ends other than a payout

    def fail(self, row: sqlite3.Row, arrived: int, *, declined: bool = False) -> None:
        """Ends a leg as failed; the venue keeps the deposit. ``declined`` means that the service
        may then call ``send_on`` to have the deposit forwarded."""
        status = LegStatus.FAILED
        self._rows.settle(row, status=status, declined=int(declined), arrived=str(arrived))

    def give_back(self, row: sqlite3.Row, arrived: int, at: Moment) -> None:
        """Refunds a deposit of ``arrived`` units minus the venue's fee. If there is no refund
        address or the fee takes everything, the venue keeps the deposit."""
        refund = None
        if row["refund_address"] is not None:
            source, held = self._holder(row), self._held(row, arrived)
            refund = self._refund(row, source, _way_back(row), held, f"refund:{row['id']}", at)
        status = LegStatus.FAILED if refund is None else LegStatus.REFUNDED
        self._rows.settle(row, status=status, arrived=str(arrived))

    def send_on(self, row: sqlite3.Row, address: str, tag: str | None, at: Moment) -> Payment:
        """Forwards the held deposit of a failed leg. A repeated call returns the first payment.
        Raises Problem if no deposit is held, or if it is too small or was forwarded to another
        address."""
        cause = f"send on:{row['id']}"
        done = self._ledger.paid(cause)
        if done is not None:
            if (done.receiver, done.tag) != (address, tag):
                raise Problem("what arrived was sent elsewhere")
            return done
        if row["status"] != LegStatus.FAILED or row["arrived"] is None:
            raise Problem("the exchange holds no deposit of this leg to send on")
        source, held = self._holder(row), self._held(row, int(row["arrived"]))
        sent = self._refund(row, source, (address, tag), held, cause, at)
        if sent is None:
            raise Problem("what arrived is too little to be sent on")
        self._rows.settle(row, status=LegStatus.REFUNDED)
        return sent

    def _refund(
        self,
        row: sqlite3.Row,
        source: str,
        to: tuple[str, str | None],
        units: int,
        cause: str,
        at: Moment,
    ) -> Payment | None:
        percent = _VENUES[row["venue"]].refund_fee
        fee = int((units * percent / 100).to_integral_value(ROUND_DOWN))
        if units <= fee:
            return None
        token = world_tokens()[row["token_in"]]
        wallet = self._ledger.hot_wallet(row["venue"], token.chain)
        if fee and source != wallet:
            self._ledger.pay(token, source, wallet, None, fee, cause=f"fee of {cause}", at=at)
        return self._ledger.pay(token, source, *to, units - fee, cause=cause, at=at)

    def _holder(self, row: sqlite3.Row) -> str:
        if self._ledger.paid(f"sweep:{row['id']}") is None:
            return self._paid_to(row)
        return self._ledger.hot_wallet(row["venue"], chains_by_name()[row["chain"]])

    def _paid_to(self, row: sqlite3.Row) -> str:
        if row["chain"] in self._ledger.embedded:
            return self._ledger.hot_wallet(row["venue"], chains_by_name()[row["chain"]])
        return str(row["address"])

    def _held(self, row: sqlite3.Row, arrived: int) -> int:
        if self._ledger.paid(f"excess:{row['id']}") is None:
            return arrived
        return _swapped(row, arrived)[0]

    # Payout

    def _sweep(self, row: sqlite3.Row, units: int, at: Moment) -> None:
        token = world_tokens()[row["token_in"]]
        wallet = self._ledger.hot_wallet(row["venue"], token.chain)
        source = self._paid_to(row)
        if wallet != source:
            self._ledger.pay(token, source, wallet, None, units, cause=f"sweep:{row['id']}", at=at)

    def _pay_out(self, row: sqlite3.Row, at: Moment, skipped: int) -> None:
        token = world_tokens()[row["token_out"]]
        units = int(row["paying"])
        wallet = self._paying_wallet(row, token, units, skipped)
        if wallet is None:
            self.fail(row, int(row["arrived"]), declined=True)
            return
        payout = self._ledger.pay(
            token,
            wallet[1],
            row["payout_address"],
            row["payout_tag"],
            units,
            cause=f"payout:{row['id']}",
            at=at,
        )
        self._rows.settle(
            row,
            status=LegStatus.SENDING,
            fell_back=int(wallet[0] != row["payout_wallet"]),
            due_world=self._due(payout, PAYOUT_CONFIRMATIONS),
        )

    def _paying_wallet(
        self, row: sqlite3.Row, token: WorldToken, units: int, skipped: int
    ) -> tuple[int, str] | None:
        first = int(row["payout_wallet"])
        for step in range(skipped, PAYOUT_WALLETS):
            number = (first + step) % PAYOUT_WALLETS
            wallet = self._ledger.hot_wallet(row["venue"], token.chain, number)
            if self._ledger.balance(token.token_id, wallet) >= units:
                return number, wallet
        return None

    # Deposits after the deadline

    def return_late(self, row: sqlite3.Row, deposit: sqlite3.Row, at: Moment) -> None:
        """Refunds a deposit that arrived after the deadline. If there is no refund address or the
        fee takes everything, the venue keeps the deposit."""
        refund = None
        if row["refund_address"] is not None:
            units, cause = int(deposit["units"]), f"late:{deposit['id']}"
            refund = self._refund(row, self._paid_to(row), _way_back(row), units, cause, at)
        if refund is not None and row["status"] == LegStatus.EXPIRED:
            self._rows.settle(row, status=LegStatus.REFUNDED, arrived=deposit["units"])
        else:
            self._rows.tell(row)

    # What became of payments

    def refunds(self, row: sqlite3.Row) -> list[Payment]:
        """Returns the payments by which a leg's deposit, or part of it, was refunded or
        forwarded."""
        causes = [f"{kind}:{row['id']}" for kind in ("excess", "refund", "send on")]
        returned = [payment for cause in causes if (payment := self._ledger.paid(cause))]
        if returned or row["status"] != LegStatus.REFUNDED:
            return returned
        late = [
            self._ledger.paid(f"late:{deposit.id}") for deposit in self._ledger.deposits(row["id"])
        ]
        return [payment for payment in late if payment is not None][:1]

    def included(self, payment: Payment) -> None:
        row = self._rows.of_cause(payment.cause)
        if row is not None and row["status"] == LegStatus.SENDING:
            self.advance(row, self._clock.moment())

    def renewed(self, payment: Payment) -> None:
        """Reports that a leg's state changed: one of its payments was signed again and has a new
        hash."""
        row = self._rows.of_cause(payment.cause)
        if row is not None:
            self._rows.tell(row)

    def bounced(self, payment: Payment) -> None:
        """Updates the leg whose payment failed on its chain. The venue holds the money again, and
        the leg is not completed."""
        row, kind = self._rows.of_cause(payment.cause), payment.cause.partition(":")[0]
        if row is None:
            return
        if kind == "payout":
            self._rows.settle(row, status=LegStatus.FAILED, declined=1)
        elif kind != "excess" and payment in self.refunds(row):
            held = LegStatus.EXPIRED if kind == "late" else LegStatus.FAILED
            self._rows.settle(row, status=held)
        else:
            self._rows.tell(row)


def _swapped(row: sqlite3.Row, arrived: int) -> tuple[int, int]:
    asked = int(row["asked_in"])
    swapped = min(arrived, asked) if row["fixed"] else arrived
    return swapped, int(row["asked_out"]) * swapped // asked


def _way_back(row: sqlite3.Row) -> tuple[str, str | None]:
    return row["refund_address"], row["refund_tag"]


class ChainBooks:
    """Updates the exchanges' books from the embedded chains' blocks. Call ``follow`` before doing
    anything that is due."""

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        clock: WorldClock,
        rows: AccountRows,
        settlement: Settlement,
    ) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._rows = rows
        self._settlement = settlement
        self._read: dict[str, int] = {}
        """Number of the last block read, by chain."""

    def follow(self) -> None:
        """Reads every open chain up to its newest block, and submits signed payments that are in no
        block."""
        for name, wallets in self._ledger.embedded.items():
            if wallets.is_open:
                self._read_blocks(name, wallets)
                self._send(name, wallets)

    def _read_blocks(self, name: str, wallets: ChainWallets) -> None:
        if name not in self._read:
            self._read[name] = self._begin(name, wallets)
        height = wallets.height
        if self._read[name] >= height:
            return
        while self._read[name] < height:
            first = self._read[name] + 1
            last = min(height, first + wallets.at_once - 1)
            arrivals = [
                (row, arrival)
                for arrival in wallets.arrivals(first, last)
                if (row := self._paid(name, arrival)) is not None
            ]
            # Of a chain on which nothing happens it is noted now and then how far it was read.
            if arrivals or last // wallets.at_once > self._read[name] // wallets.at_once:
                with self._database.transaction():
                    for row, arrival in arrivals:
                        self._credit(row, arrival)
                    self._database.put(f"read {name}", str(last))
            self._read[name] = last
        self._ledger.count(name, height, self._clock.moment())

    def _begin(self, name: str, wallets: ChainWallets) -> int:
        stored = self._database.get(f"read {name}")
        if stored is not None:
            return int(stored)
        return wallets.began if self._rows.any_on(name) else wallets.height

    def _paid(self, chain: str, arrival: IncomingPayment) -> sqlite3.Row | None:
        row = self._rows.by_deposit(chain, arrival.receiver, None)
        if row is None or arrival.units <= 0:
            return None
        contract = world_tokens()[row["token_in"]].address or ""
        return row if contract.casefold() == (arrival.token or "").casefold() else None

    def _credit(self, row: sqlite3.Row, arrival: IncomingPayment) -> None:
        here = self._clock.moment()
        # A node that was down reads what came in time, though it reads it late.
        at = Moment(min(here.now, arrival.seconds * 1000), here.world)
        self._ledger.arrive(world_tokens()[row["token_in"]], row["venue"], arrival, at)

    def _send(self, name: str, wallets: ChainWallets) -> None:
        # Before it is looked where payments are: a block up to here gets no more of them.
        height = wallets.height
        for payment in self._ledger.waiting(name):
            included, succeeded = wallets.mined(payment.hash) or (None, False)
            if succeeded:
                with self._database.transaction():
                    self._ledger.change(payment, height=included, raw=None)
                    self._settlement.included(payment)
            elif included is not None:
                self._bounce(payment)
            elif payment.expires is None or payment.expires >= height:
                wallets.submit(payment.raw or b"")
            elif wallets.refusal(payment.hash) is None:
                # In no block it can never be executed, so that another signature pays once.
                with self._database.transaction():
                    self._ledger.renew(payment)
                    self._settlement.renewed(payment)
            else:
                self._bounce(payment)

    def _bounce(self, payment: Payment) -> None:
        with self._database.transaction():
            self._settlement.bounced(payment)
            self._ledger.bounce(payment)
        logger.warning("the payment %s on %s moved nothing", payment.hash, payment.chain)
