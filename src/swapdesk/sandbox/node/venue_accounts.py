"""The books of the simulated exchanges: one account per leg, keyed by (venue, our key).

An account waits for its deposit, counts confirmations, exchanges, pays out and finishes.
Each step is one transaction that moves money at most once, so a node killed at any moment
goes on where it was. What fell due while nothing ran happens at the time it was due.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from swapdesk.sandbox.node.account_rows import AccountRows, due_of
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.deposits import deposit_place
from swapdesk.sandbox.node.ledger import Ledger, LedgerRefusal, Transfer
from swapdesk.sandbox.node.leg_faults import LegFaults
from swapdesk.sandbox.node.params import OpenLeg
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.sandbox.venue_rows import VENUE_ROWS
from swapdesk.sandbox.venues.pricing import PAYOUT_CONFIRMATIONS
from swapdesk.sandbox.world import WorldToken, chains_by_name, trades, world_tokens
from swapdesk.wire.orders import LegStatus

_VENUES = {row.code: row for row in VENUE_ROWS}
_OPEN = (LegStatus.WAITING, LegStatus.CONFIRMING)


@dataclass(frozen=True)
class Instruction:
    """Where and what to pay for a leg, in base units."""

    address: str
    tag: str | None
    token_in: str
    token_out: str
    units_in: int
    units_out: int

    def as_json(self) -> dict[str, object]:
        return {
            "address": self.address,
            "tag": self.tag,
            "tokenIn": self.token_in,
            "tokenOut": self.token_out,
            "unitsIn": str(self.units_in),
            "unitsOut": str(self.units_out),
        }


class VenueAccounts:
    """Accounts of all exchanges over one ledger. Raises LedgerRefusal for what cannot be."""

    def __init__(self, database: Database, ledger: Ledger, clock: WorldClock) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._rows = AccountRows(database, clock)
        self.faults = LegFaults(database, self._rows, clock)
        ledger.on_arrival = self._credit

    # What clients ask

    def open(self, leg: OpenLeg) -> Instruction:
        """Create the account, or return what the same key created before."""
        found = self._rows.by_key(leg.venue, leg.key)
        if found is not None:
            same = ("token_in", "token_out", "payout_address", "payout_tag")
            if any(found[name] != getattr(leg, name) for name in same):
                raise LedgerRefusal("this key opened another leg")
            return _instruction(found)
        token_in, token_out = _traded(leg.venue, leg.token_in), _traded(leg.venue, leg.token_out)
        if int(leg.units_in) == 0 or int(leg.units_out) == 0:
            raise LedgerRefusal("a leg has an amount on both sides")
        wallet = self._ledger.hot_wallet(leg.venue, token_out.chain)
        if self._ledger.balance(leg.token_out, wallet) < int(leg.units_out):
            raise LedgerRefusal("the exchange holds too little of the token bought")
        with self._database.transaction():
            chain = token_in.chain
            address, tag = deposit_place(
                self._rows, self._ledger, chain, _VENUES[leg.venue], leg.key
            )
            fault = self.faults.take(leg.venue, leg.key)
            now = self._clock.moment().now
            expires = now if fault == "expire" else int(leg.expires.timestamp() * 1000)
            self._rows.insert(
                {
                    "venue": leg.venue,
                    "key": leg.key,
                    "chain": chain.short_name,
                    "address": address,
                    "tag": tag,
                    "token_in": leg.token_in,
                    "token_out": leg.token_out,
                    "asked_in": leg.units_in,
                    "asked_out": leg.units_out,
                    "minimum": leg.minimum,
                    "payout_address": leg.payout_address,
                    "payout_tag": leg.payout_tag,
                    "refund_address": leg.refund_address,
                    "refund_tag": leg.refund_tag,
                    "expires": expires,
                    "exchange_ms": leg.exchange_seconds * 1000,
                    "status": LegStatus.WAITING,
                    "fault": fault,
                    "due_now": expires,
                }
            )
            row = self._rows.by_key(leg.venue, leg.key)
        if row is None:
            raise LedgerRefusal("the leg was not kept")
        return _instruction(row)

    def find(self, venue: str, key: str) -> Instruction | None:
        row = self._rows.by_key(venue, key)
        return None if row is None else _instruction(row)

    def report(self, venue: str, key: str) -> dict[str, object] | None:
        """State of a leg; amounts in base units of the token on their side."""
        row = self._rows.by_key(venue, key)
        if row is None:
            return None
        chain = chains_by_name()[row["chain"]]
        credited = self._rows.credited(row["id"])
        confirmations = None
        if row["included"] is not None:
            height = self._clock.height(chain, self._clock.moment())
            confirmations = min(max(0, height - row["included"] + 1), chain.confirmations)
        return {
            "status": row["status"],
            "tokenIn": row["token_in"],
            "tokenOut": row["token_out"],
            "unitsIn": row["arrived"] or (str(credited) if credited else None),
            "unitsOut": row["paying"] or row["asked_out"],
            "depositHash": row["deposit_hash"],
            "payoutHash": row["payout_hash"],
            "refundHash": row["refund_hash"],
            "refundUnits": row["refunded"],
            "refundChain": row["chain"] if row["refund_hash"] else None,
            "confirmations": confirmations,
            "confirmationsNeeded": chain.confirmations,
            "depositArrived": row["deposit_hash"] is not None,
        }

    # What time does

    def step(self) -> int:
        """Do everything that is due, oldest first. Returns the number of steps."""
        steps = 0
        while True:
            here = self._clock.moment()
            account = self._rows.next_due("accounts", here)
            late = self._rows.next_due("deposits", here)
            if account is not None and (
                late is None or self._rows.since(account) <= self._rows.since(late)
            ):
                with self._database.transaction():
                    self._advance(account, self._clock.at(due_of(account)))
            elif late is not None:
                with self._database.transaction():
                    self._return_late(late, self._clock.at(due_of(late)))
            else:
                return steps
            steps += 1

    def _advance(self, row: sqlite3.Row, at: Moment) -> None:
        status = LegStatus(row["status"])
        if status is LegStatus.WAITING:
            self._rows.settle(row, status=LegStatus.EXPIRED)
        elif status is LegStatus.CONFIRMING:
            self._confirmed(row, at)
        elif status is LegStatus.EXCHANGING:
            self._pay_out(row, at)
        else:
            self._rows.settle(row, status=LegStatus.FINISHED)

    def _confirmed(self, row: sqlite3.Row, at: Moment) -> None:
        arrived = self._rows.credited(row["id"])
        paying = int(row["asked_out"]) * arrived // int(row["asked_in"])
        if row["fault"] == "fail_after_deposit":
            self._rows.settle(row, status=LegStatus.FAILED, arrived=str(arrived))
        elif arrived < int(row["minimum"]) or paying == 0:
            self._give_back(row, arrived, at)
        else:
            self._sweep(row, arrived, at)
            self._rows.settle(
                row,
                status=LegStatus.EXCHANGING,
                arrived=str(arrived),
                paying=str(paying),
                due_world=at.world + row["exchange_ms"],
            )

    def _give_back(self, row: sqlite3.Row, arrived: int, at: Moment) -> None:
        if row["refund_address"] is None:
            self._rows.settle(row, status=LegStatus.FAILED, arrived=str(arrived))
            return
        refund = self._refund(row, arrived, f"refund:{row['id']}", at)
        self._rows.settle(
            row,
            status=LegStatus.REFUNDED,
            arrived=str(arrived),
            refund_hash=refund.hash,
            refunded=str(arrived),
        )

    def _refund(self, row: sqlite3.Row, units: int, cause: str, at: Moment) -> Transfer:
        return self._ledger.transfer(
            world_tokens()[row["token_in"]],
            row["address"],
            row["refund_address"],
            row["refund_tag"],
            units,
            cause=cause,
            at=at,
        )

    def _sweep(self, row: sqlite3.Row, units: int, at: Moment) -> None:
        token = world_tokens()[row["token_in"]]
        wallet = self._ledger.hot_wallet(row["venue"], token.chain)
        if wallet != row["address"]:
            self._ledger.transfer(
                token, row["address"], wallet, None, units, cause=f"sweep:{row['id']}", at=at
            )

    def _pay_out(self, row: sqlite3.Row, at: Moment) -> None:
        token = world_tokens()[row["token_out"]]
        wallet = self._ledger.hot_wallet(row["venue"], token.chain)
        units = int(row["paying"])
        if self._ledger.balance(token.token_id, wallet) < units:
            self._rows.settle(row, status=LegStatus.FAILED)
            return
        payout = self._ledger.transfer(
            token,
            wallet,
            row["payout_address"],
            row["payout_tag"],
            units,
            cause=f"payout:{row['id']}",
            at=at,
        )
        due = self._clock.confirmed(token.chain, payout.height, PAYOUT_CONFIRMATIONS)
        self._rows.settle(
            row,
            status=LegStatus.SENDING,
            payout_hash=payout.hash,
            due_world=due.world,
            due_now=due.now,
        )

    # Deposits

    def _credit(self, transfer: Transfer, at: Moment) -> None:
        """A transfer reached a deposit address. Without the right tag nobody is credited."""
        row = self._rows.by_deposit(transfer.chain, transfer.receiver, transfer.tag)
        if row is None or row["token_in"] != transfer.token:
            return
        chain = chains_by_name()[transfer.chain]
        due = self._clock.confirmed(chain, transfer.height, chain.confirmations)
        late = row["status"] not in _OPEN or (
            row["status"] == LegStatus.WAITING and row["expires"] <= at.now
        )
        self._database.connection.execute(
            "INSERT INTO deposits VALUES (?, ?, ?, ?, ?, ?)",
            (
                transfer.hash,
                row["id"],
                str(transfer.units),
                late,
                due.world if late else None,
                due.now if late else None,
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

    def _return_late(self, deposit: sqlite3.Row, at: Moment) -> None:
        """A deposit after the deadline goes back when somebody said where to, else it is held."""
        self._database.connection.execute(
            "UPDATE deposits SET due_world = NULL, due_now = NULL WHERE hash = ?",
            (deposit["hash"],),
        )
        row = self._rows.by_id(deposit["account"])
        if row is None or row["refund_address"] is None:
            return
        refund = self._refund(row, int(deposit["units"]), f"late:{deposit['hash']}", at)
        if row["status"] == LegStatus.EXPIRED:
            self._rows.change(
                row,
                status=LegStatus.REFUNDED,
                arrived=deposit["units"],
                refund_hash=refund.hash,
                refunded=deposit["units"],
            )


def _traded(venue_code: str, token_id: str) -> WorldToken:
    token, venue = world_tokens().get(token_id), _VENUES.get(venue_code)
    if token is None or venue is None or not trades(venue, token):
        raise LedgerRefusal("the exchange does not trade this token")
    return token


def _instruction(row: sqlite3.Row) -> Instruction:
    return Instruction(
        row["address"],
        row["tag"],
        row["token_in"],
        row["token_out"],
        int(row["asked_in"]),
        int(row["asked_out"]),
    )
