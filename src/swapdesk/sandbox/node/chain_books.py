"""What the embedded chains tell the exchanges' books: deposits in blocks, confirmations, and what
became of payments.

Nothing is remembered but how far a chain was read, in the transaction that books what was found
there. A payment that no block has is handed in again, the same bytes; one that expired in no block
is signed anew. A block stays: nothing that was mined is unwound.
"""

from __future__ import annotations

import logging
import sqlite3

from swapdesk.sandbox.node.account_rows import AccountRows
from swapdesk.sandbox.node.chain_wallets import ChainWallets, IncomingPayment
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.ledger import Ledger, Payment
from swapdesk.sandbox.node.settlement import Settlement
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.sandbox.world import world_tokens

logger = logging.getLogger(__name__)


class ChainBooks:
    """The books' side of all embedded chains. ``follow`` is called before anything that is due."""

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
        """Up to which block each chain was read."""

    def follow(self) -> None:
        """Bring the books up to the newest block of every chain that is open, and hand in what
        was signed."""
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
            found = [
                (row, arrival)
                for arrival in wallets.arrivals(first, last)
                if (row := self._paid(name, arrival)) is not None
            ]
            # Of a chain on which nothing happens it is noted now and then how far it was read.
            if found or last // wallets.at_once > self._read[name] // wallets.at_once:
                with self._database.transaction():
                    for row, arrival in found:
                        self._credit(row, arrival)
                    self._database.put(f"read {name}", str(last))
            self._read[name] = last
        self._ledger.count(name, height, self._clock.moment())

    def _begin(self, name: str, wallets: ChainWallets) -> int:
        """Where reading went on to in an earlier run; what was before the first leg is nothing."""
        stored = self._database.get(f"read {name}")
        if stored is not None:
            return int(stored)
        return wallets.began if self._rows.any_on(name) else wallets.height

    def _paid(self, chain: str, arrival: IncomingPayment) -> sqlite3.Row | None:
        """The account whose token arrived at its address."""
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
