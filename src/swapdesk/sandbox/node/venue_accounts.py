"""The books of the simulated exchanges: one account for each leg, identified by the venue and the
service's key.

Each step is one transaction that moves money at most once, so that a killed node continues from
there. Late steps are booked at the time at which they were due.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from itertools import count

from swapdesk.chain.rpc.ledger import RpcCode
from swapdesk.sandbox.faults import About, ActiveFaults
from swapdesk.sandbox.node.database import AccountRows, Database, faults_of, written
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.ledger import Ledger, Payment
from swapdesk.sandbox.node.params import FaultAdd, OpenLeg, SendOn
from swapdesk.sandbox.node.settlement import ChainBooks, Settlement
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.sandbox.tables import STATIC_ADDRESSES, VENUE_ROWS, ChainRow, VenueRow
from swapdesk.sandbox.world import WorldToken, chains_by_name, seed_bytes, trades, world_tokens
from swapdesk.wire.orders import LegStatus

HOLD, RELEASE, EXPIRE, FALLBACK = "hold", "release", "expire", "fallback"
_NOT_CREDITED = (LegStatus.NEW, LegStatus.WAITING, LegStatus.CONFIRMING)
_MAY_YET = (*_NOT_CREDITED, LegStatus.EXCHANGING, LegStatus.VERIFYING)
"""States of a leg whose payout has not been made yet."""


ON_DEPOSIT: dict[str, Callable[[Settlement, sqlite3.Row, int, Moment], None]] = {
    "fail_after_deposit": lambda settlement, row, arrived, at: settlement.fail(row, arrived),
    "reroute": lambda settlement, row, arrived, at: settlement.fail(row, arrived, declined=True),
    "refund": Settlement.give_back,
    HOLD: partial(Settlement.accept, verified=False),
}
"""How a confirmed deposit is handled under each fault. If a leg has several faults, the first in
this order applies."""


class OrderFaults:
    """The faults of existing legs, and those for legs not opened yet (``waiting``)."""

    def __init__(
        self,
        database: Database,
        rows: AccountRows,
        settlement: Settlement,
        clock: WorldClock,
    ) -> None:
        self.waiting = ActiveFaults()
        self._database = database
        self._rows = rows
        self._settlement = settlement
        self._clock = clock

    def add(self, fault: FaultAdd) -> None:
        """Applies a fault to the existing leg of an order, or stores it for the next ``times``
        matching legs. Raises Problem if the order has no such leg or the leg is too far
        advanced."""
        with self._database.transaction():
            if fault.fault == RELEASE:
                self._release(fault)
                return
            row = None if fault.service_id is None else self._leg(fault.service_id, fault.leg)
            if row is not None:
                self._apply(fault.fault, row)
            else:
                chosen = selected_by(fault)
                self.waiting.set(fault.fault, *chosen, times=fault.times, leg=fault.leg)

    def clear(self) -> None:
        """Removes all faults that were not carried out, and releases deposits held for a check."""
        self.waiting.active.clear()
        with self._database.transaction() as connection:
            connection.execute("UPDATE accounts SET fault = NULL WHERE fault IS NOT NULL")
            query = "SELECT * FROM accounts WHERE status = ?"
            for row in connection.execute(query, (LegStatus.VERIFYING,)).fetchall():
                self._go_on(row)

    def open_leg(self, venue: str, key: str) -> dict[str, object]:
        """Counts the waiting faults that apply to a new leg as used, one fault of each name.
        Returns the columns that they set in the leg's row."""
        service_id, _, name = key.partition(":")
        about: About = {("serviceId", service_id), ("venue", venue)}
        met: set[str] = set()
        for fault in self.waiting.waiting((*ON_DEPOSIT, EXPIRE, FALLBACK), about):
            if fault.leg in (None, name.partition("#")[0]) and fault.name not in met:
                met.add(fault.name)
                self.waiting.spend(fault)
        columns: dict[str, object] = {"fault": written(met)}
        if EXPIRE in met:
            now = self._clock.moment().now
            columns |= {"expires": now, "due_now": now}
        return columns

    def confirmed(self, row: sqlite3.Row, at: Moment) -> None:
        """Handles the confirmed deposit of a leg. Accepts the deposit unless a fault prescribes
        otherwise."""
        arrived = self._rows.credited(row["id"])
        for name, on_deposit in ON_DEPOSIT.items():
            if name in faults_of(row):
                on_deposit(self._settlement, row, arrived, at)
                return
        self._settlement.accept(row, arrived, at)

    def skipped_wallets(self, row: sqlite3.Row) -> int:
        """Returns the number of hot wallets that a fault excludes from paying this leg out."""
        return 1 if FALLBACK in faults_of(row) else 0

    def _leg(self, service_id: str, side: str | None) -> sqlite3.Row | None:
        side = side or "in"
        legs = self._rows.legs_of(service_id, side)
        if legs:
            return legs[-1]
        if self._rows.legs_of(service_id):
            raise Problem(f"this order has no {side} leg")
        return None

    def _apply(self, name: str, row: sqlite3.Row) -> None:
        status = LegStatus(row["status"])
        if status not in _MAY_YET:
            raise Problem(f"too late: this leg is {status.name}")
        here = self._clock.moment()
        if name == EXPIRE:
            if status is not LegStatus.WAITING:
                raise Problem("the deposit has arrived: this leg no longer expires")
            self._rows.change(row, expires=here.now, due_now=here.now)
        elif name not in ON_DEPOSIT or status in _NOT_CREDITED:
            self._rows.change(row, fault=written({*faults_of(row), name}))
        else:
            ON_DEPOSIT[name](self._settlement, row, int(row["arrived"]), here)

    def _release(self, fault: FaultAdd) -> None:
        """Releases the deposits of an order or exchange that are held for a check; later deposits
        are not held either. Raises Problem if there is nothing to release."""
        if fault.service_id is not None:
            rows = self._rows.legs_of(fault.service_id, fault.leg)
        else:
            rows = self._rows.held_at(fault.venue or "")
        begun = [row for row in rows if row["status"] == LegStatus.VERIFYING]
        marked = [row for row in rows if HOLD in faults_of(row)]
        waiting = self.waiting.waiting((HOLD,), (selected_by(fault),))
        if not (begun or marked or waiting):
            raise Problem("nothing is on hold here")
        for row in marked:
            self._rows.change(row, fault=written(faults_of(row) - {HOLD}))
        for row in begun:
            self._go_on(row)
        for hold in waiting:
            self.waiting.active.remove(hold)

    def _go_on(self, row: sqlite3.Row) -> None:
        here = self._clock.moment()
        if row["paying"] is None:
            self._settlement.exchange(row, int(row["arrived"]), here)
            return
        due = here.world + row["exchange_ms"]
        self._rows.settle(row, status=LegStatus.EXCHANGING, due_world=due)


def selected_by(fault: FaultAdd) -> tuple[str, str]:
    """Returns what a fault selects: ``venue`` with the venue's code, or ``serviceId`` with the
    order's id."""
    if fault.venue is not None:
        return "venue", fault.venue
    return "serviceId", fault.service_id or ""


_FIRST_TAG, _LAST_TAG = 100_000_000, 2**32 - 1


def deposit_place(
    rows: AccountRows, ledger: Ledger, chain: ChainRow, venue: VenueRow, key: str
) -> tuple[str, str | None]:
    """Returns the address and tag (None for no tag) for the deposit of a new leg. Raises Problem if
    open legs occupy all static addresses."""
    name = chain.short_name
    if venue.static_deposits:
        for number in range(STATIC_ADDRESSES):
            static = ("static deposit", venue.code, name, number)
            address = ledger.address(chain, static, " ".join(map(str, static)))
            if not rows.held(name, address):
                return address, None
        raise Problem("all static deposit addresses are held by open orders", RpcCode.NO_ADDRESS)
    if name in ledger.embedded or not (chain.needs_memo and venue.memo_deposits):
        place = ("deposit", venue.code, key)
        return ledger.address(chain, place, " ".join(place)), None
    address = ledger.hot_wallet(venue.code, chain)
    for attempt in count():
        word = seed_bytes(ledger.seed, "tag", venue.code, key, attempt)[:8]
        tag = str(_FIRST_TAG + int.from_bytes(word, "big") % (_LAST_TAG - _FIRST_TAG + 1))
        if not rows.taken(name, address, tag):
            break
    return address, tag


_VENUES = {row.code: row for row in VENUE_ROWS}


class VenueAccounts:
    """The accounts of all exchanges over one ledger. All methods may raise Problem."""

    def __init__(self, database: Database, ledger: Ledger, clock: WorldClock) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self.rows = self._rows = AccountRows(database, clock)
        self._settlement = Settlement(ledger, self._rows, clock)
        self.chains = ChainBooks(database, ledger, clock, self._rows, self._settlement)
        self.faults = OrderFaults(database, self._rows, self._settlement, clock)
        ledger.on_arrival = self._settlement.credit

    # What clients ask

    def open(self, leg: OpenLeg) -> dict[str, object] | None:
        """Opens a leg and returns the deposit to make. A repeated call with the leg's key returns
        the same deposit. Raises Problem if that key belongs to a different leg."""
        existing = self._rows.by_key(leg.venue, leg.key)
        if existing is not None:
            same = ("token_in", "token_out", "payout_address", "payout_tag")
            if any(existing[name] != getattr(leg, name) for name in same):
                raise Problem("this key opened another leg")
            return _instruction(existing)
        token_in, token_out = _traded(leg.venue, leg.token_in), _traded(leg.venue, leg.token_out)
        if int(leg.units_in) == 0 or int(leg.units_out) == 0:
            raise Problem("a leg has an amount on both sides")
        wallet = self._ledger.hot_wallet(leg.venue, token_out.chain, leg.payout_wallet or 0)
        if self._ledger.balance(leg.token_out, wallet) < int(leg.units_out):
            raise Problem("the exchange holds too little of the token bought")
        with self._database.transaction():
            chain = token_in.chain
            address, tag = deposit_place(
                self._rows, self._ledger, chain, _VENUES[leg.venue], leg.key
            )
            expires = int(leg.expires.timestamp() * 1000)
            self._database.insert(
                "accounts",
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
                    "fixed": leg.fixed,
                    "payout_wallet": leg.payout_wallet or 0,
                    "due_now": expires,
                    **self.faults.open_leg(leg.venue, leg.key),
                },
            )
        return self.find(leg.venue, leg.key)

    def find(self, venue: str, key: str) -> dict[str, object] | None:
        row = self._rows.by_key(venue, key)
        return None if row is None else _instruction(row)

    def report(self, venue: str, key: str) -> dict[str, object] | None:
        """Returns the state of a leg, with amounts in smallest units; None if there is no such
        leg."""
        row = self._rows.by_key(venue, key)
        if row is None:
            return None
        chain = chains_by_name()[row["chain"]]
        deposits = self._ledger.deposits(row["id"])
        in_time = [deposit for deposit in deposits if not deposit.late]
        credited = sum(deposit.units for deposit in in_time)
        payout = self._ledger.paid(f"payout:{row['id']}")
        refunds = self._settlement.refunds(row)
        refunded = sum(payment.units for payment in refunds)
        seen = (in_time or deposits[:1])[-1:]
        height = self._ledger.height(chain)
        return {
            "status": row["status"],
            "tokenIn": row["token_in"],
            "tokenOut": row["token_out"],
            "unitsIn": row["arrived"] or (str(credited) if credited else None),
            "unitsOut": row["paying"] or row["asked_out"],
            "depositHash": deposits[0].hash if deposits else None,
            "payoutHash": None if payout is None else payout.hash,
            "refundHash": refunds[-1].hash if refunds else None,
            "refundUnits": str(refunded) if refunds and _VENUES[venue].tells_refund else None,
            "refundChain": row["chain"] if refunds else None,
            "confirmations": None
            if height is None or not seen
            else min(max(0, height - (seen[0].height or 0) + 1), chain.confirmations),
            "confirmationsNeeded": chain.confirmations,
            "depositArrived": bool(deposits),
            "declined": bool(row["declined"]),
            "held": any(
                deposit.late and deposit.counted and self._ledger.paid(f"late:{deposit.id}") is None
                for deposit in deposits
            ),
        }

    def send_on(self, asked: SendOn) -> Payment:
        """Forwards the deposit of a failed leg and returns the payment. Raises Problem."""
        row = self._rows.by_key(asked.venue, asked.key)
        if row is None:
            raise Problem("the exchange knows no such leg")
        with self._database.transaction():
            return self._settlement.send_on(row, asked.address, asked.tag, self._clock.moment())

    # What time does

    def step(self) -> int:
        """Does everything that is due in the books, the oldest first; returns the number of
        steps."""
        steps = 0
        self.chains.follow()
        while (due := self._rows.next_due(self._clock.moment())) is not None:
            table, row = due
            with self._database.transaction():
                self._advance(row) if table == "accounts" else self._count(row)
            steps += 1
        if steps:
            self.chains.follow()
        return steps

    def _advance(self, row: sqlite3.Row) -> None:
        skipped = self.faults.skipped_wallets(row)
        self._settlement.advance(row, self._rows.due_at(row), skipped_wallets=skipped)

    def _count(self, deposit: sqlite3.Row) -> None:
        at = self._rows.due_at(deposit)
        is_last = self._rows.count(deposit)
        row = self._rows.by_id(deposit["account"])
        if row is None:
            raise Problem("a deposit of no leg")
        if deposit["late"]:
            self._settlement.return_late(row, deposit, at)
        elif is_last and row["status"] == LegStatus.CONFIRMING:
            self.faults.confirmed(row, at)


def _traded(venue_code: str, token_id: str) -> WorldToken:
    token, venue = world_tokens().get(token_id), _VENUES.get(venue_code)
    if token is None or venue is None or not trades(venue, token):
        raise Problem("the exchange does not trade this token")
    return token


def _instruction(row: sqlite3.Row) -> dict[str, object]:
    return {
        "address": row["address"],
        "tag": row["tag"],
        "tokenIn": row["token_in"],
        "tokenOut": row["token_out"],
        "unitsIn": row["asked_in"],
        "unitsOut": row["asked_out"],
    }
