"""The books of the simulated exchanges: one account per leg, keyed by (venue, our key).

An account waits for its deposit, counts confirmations, exchanges, pays out and finishes.
Each step is one transaction that moves money at most once, so a node killed at any moment
goes on where it was. What fell due while nothing ran happens at the time it was due.

Clients pay to an address of the leg, to one with a memo, or to a static address.
"""

from __future__ import annotations

import sqlite3

from msgspec import Struct

from swapdesk.sandbox.chain_rows import ChainRow
from swapdesk.sandbox.node.account_rows import AccountRows, due_of
from swapdesk.sandbox.node.chain_books import ChainBooks, Crediting
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.issued_world import deposit_name, static_deposit_name
from swapdesk.sandbox.node.ledger import Ledger, LedgerRefusal, LedgerTransfer
from swapdesk.sandbox.node.order_faults import OrderFaults
from swapdesk.sandbox.node.params import OpenLeg
from swapdesk.sandbox.node.settlement import Settlement
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.sandbox.venue_rows import STATIC_ADDRESSES, VENUE_ROWS, VenueRow
from swapdesk.sandbox.world import WorldToken, chains_by_name, seed_bytes, trades, world_tokens
from swapdesk.wire.orders import LegStatus

_FIRST_TAG, _LAST_TAG = 100_000_000, 2**32 - 1


class AddressesHeld(LedgerRefusal):
    """Every static deposit address of the exchange on the chain waits for an open leg."""


def deposit_place(
    rows: AccountRows, ledger: Ledger, chain: ChainRow, venue: VenueRow, key: str
) -> tuple[str, str | None]:
    """Address and tag of a new leg. Raises AddressesHeld.

    On a chain with memos most exchanges have one address for all and a memo for each leg;
    numbers are memos on every such chain.
    """
    if venue.static_deposits:
        return _static_address(rows, ledger, chain, venue), None
    wallets = ledger.embedded.get(chain.short_name)
    if wallets is not None:
        return wallets.address(deposit_name(venue.code, key)), None
    if not (chain.needs_memo and venue.memo_deposits):
        return chain.address(seed_bytes(ledger.seed, "deposit", venue.code, key)), None
    address = ledger.hot_wallet(venue.code, chain)
    attempt = 0
    while True:
        word = seed_bytes(ledger.seed, "tag", venue.code, key, attempt)[:8]
        tag = str(_FIRST_TAG + int.from_bytes(word, "big") % (_LAST_TAG - _FIRST_TAG + 1))
        if not rows.taken(chain.short_name, address, tag):
            return address, tag
        attempt += 1


def _static_address(rows: AccountRows, ledger: Ledger, chain: ChainRow, venue: VenueRow) -> str:
    for number in range(STATIC_ADDRESSES):
        address = _static(ledger, chain, venue, number)
        if not rows.held(chain.short_name, address):
            return address
    raise AddressesHeld("all static deposit addresses are held by open orders")


def _static(ledger: Ledger, chain: ChainRow, venue: VenueRow, number: int) -> str:
    wallets = ledger.embedded.get(chain.short_name)
    if wallets is not None:
        return wallets.address(static_deposit_name(venue.code, chain.short_name, number))
    seed = seed_bytes(ledger.seed, "static deposit", venue.code, chain.short_name, number)
    return chain.address(seed)


_VENUES = {row.code: row for row in VENUE_ROWS}


class Instruction(Struct, frozen=True):
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
        self.rows = self._rows = AccountRows(database, clock)
        self._settlement = Settlement(database, ledger, self._rows)
        crediting = Crediting(database, ledger, self._rows)
        self.chains = ChainBooks(database, ledger, clock, self._rows, crediting)
        self.faults = OrderFaults(database, self._rows, self._settlement, clock)
        ledger.on_arrival = crediting.credit

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
        wallet = self._ledger.hot_wallet(leg.venue, token_out.chain, leg.payout_wallet or 0)
        if self._ledger.balance(leg.token_out, wallet) < int(leg.units_out):
            raise LedgerRefusal("the exchange holds too little of the token bought")
        with self._database.transaction():
            chain = token_in.chain
            address, tag = deposit_place(
                self._rows, self._ledger, chain, _VENUES[leg.venue], leg.key
            )
            expires = int(leg.expires.timestamp() * 1000)
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
                    "fixed": leg.fixed,
                    "payout_wallet": leg.payout_wallet or 0,
                    "due_now": expires,
                    **self.faults.open_leg(leg.venue, leg.key),
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
        height = self._height(chain)
        if row["included"] is not None and height is not None:
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
            "refundUnits": row["refunded"] if _VENUES[venue].tells_refund else None,
            "refundChain": row["chain"] if row["refund_hash"] else None,
            "confirmations": confirmations,
            "confirmationsNeeded": chain.confirmations,
            "depositArrived": row["deposit_hash"] is not None,
            "declined": bool(row["declined"]),
            "held": any(
                self._ledger.by_cause(f"late:{deposit}") is None
                for deposit in self._rows.confirmed_late(row["id"])
            ),
        }

    def _height(self, chain: ChainRow) -> int | None:
        """Of the newest block; None while an embedded chain is not open."""
        wallets = self._ledger.embedded.get(chain.short_name)
        if wallets is None:
            return self._clock.height(chain, self._clock.moment())
        return wallets.height if wallets.is_open else None

    def send_on(self, venue: str, key: str, address: str, tag: str | None) -> LedgerTransfer:
        """Have what arrived for a failed leg sent to an address."""
        row = self._rows.by_key(venue, key)
        if row is None:
            raise LedgerRefusal("the exchange knows no such leg")
        with self._database.transaction():
            return self._settlement.send_on(row, address, tag, self._clock.moment())

    # What time does

    def step(self) -> int:
        """Do everything that is due, oldest first. Returns the number of steps."""
        steps = 0
        self.chains.follow()
        # Legs that wait for their chain to be opened.
        waiting: dict[str, list[object]] = {"accounts": [], "deposits": []}
        while True:
            here = self._clock.moment()
            account = self._next("accounts", here, waiting)
            late = self._next("deposits", here, waiting)
            if account is not None and (
                late is None or self._rows.since(account) <= self._rows.since(late)
            ):
                with self._database.transaction():
                    self._advance(account)
            elif late is not None:
                with self._database.transaction():
                    self._settlement.return_late(late, self._clock.at(due_of(late)))
            else:
                break
            steps += 1
        if steps:
            self.chains.send()
        return steps

    def _advance(self, row: sqlite3.Row) -> None:
        at = self._clock.at(due_of(row))
        if row["status"] == LegStatus.CONFIRMING:
            self.faults.confirmed(row, at)
        else:
            skipped = self.faults.skipped_wallets(row)
            self._settlement.advance(row, at, skipped_wallets=skipped)

    def _next(
        self, table: str, here: Moment, waiting: dict[str, list[object]]
    ) -> sqlite3.Row | None:
        """What is due in a table and can be done now."""
        while True:
            row = self._rows.next_due(table, here, waiting[table])
            if row is None:
                return None
            account = row if table == "accounts" else self._rows.by_id(row["account"])
            if account is None or not self.chains.missing(account):
                return row
            waiting[table].append(row["id"])


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
