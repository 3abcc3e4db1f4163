"""The books of the simulated exchanges: one account per leg, keyed by (venue, our key).

An account waits for its deposit, counts confirmations, exchanges, pays out and finishes.
Each step is one transaction that moves money at most once, so a node killed at any moment
goes on where it was. What fell due while nothing ran happens at the time it was due.

Clients pay to an address of the leg, to one with a memo, or to a static address.
"""

from __future__ import annotations

import sqlite3
from itertools import count

from swapdesk.chain.rpc.ledger import RpcCode
from swapdesk.sandbox.chain_rows import ChainRow
from swapdesk.sandbox.node.account_rows import AccountRows
from swapdesk.sandbox.node.chain_books import ChainBooks
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.ledger import Ledger, LedgerRefusal, Payment
from swapdesk.sandbox.node.order_faults import OrderFaults
from swapdesk.sandbox.node.params import OpenLeg
from swapdesk.sandbox.node.settlement import Settlement
from swapdesk.sandbox.node.world_clock import WorldClock
from swapdesk.sandbox.venue_rows import STATIC_ADDRESSES, VENUE_ROWS, VenueRow
from swapdesk.sandbox.world import WorldToken, chains_by_name, seed_bytes, trades, world_tokens
from swapdesk.wire.orders import LegStatus

_FIRST_TAG, _LAST_TAG = 100_000_000, 2**32 - 1


def deposit_place(
    rows: AccountRows, ledger: Ledger, chain: ChainRow, venue: VenueRow, key: str
) -> tuple[str, str | None]:
    """Address and tag of a new leg. Raises LedgerRefusal where every static address of the exchange
    on the chain waits for an open leg.

    On a chain with memos most exchanges have one address for all and a memo for each leg;
    numbers are memos on every such chain.
    """
    name = chain.short_name
    if venue.static_deposits:
        for number in range(STATIC_ADDRESSES):
            place = f"static deposit {venue.code} {name} {number}"
            address = _address(ledger, chain, place, "static deposit", venue.code, name, number)
            if not rows.held(name, address):
                return address, None
        raise LedgerRefusal(
            "all static deposit addresses are held by open orders", RpcCode.NO_ADDRESS
        )
    if name in ledger.embedded or not (chain.needs_memo and venue.memo_deposits):
        place = f"deposit {venue.code} {key}"
        return _address(ledger, chain, place, "deposit", venue.code, key), None
    address = ledger.hot_wallet(venue.code, chain)
    for attempt in count():
        word = seed_bytes(ledger.seed, "tag", venue.code, key, attempt)[:8]
        tag = str(_FIRST_TAG + int.from_bytes(word, "big") % (_LAST_TAG - _FIRST_TAG + 1))
        if not rows.taken(name, address, tag):
            break
    return address, tag


def _address(ledger: Ledger, chain: ChainRow, wallet: str, *parts: object) -> str:
    """Of a wallet on an embedded chain, on any other one made from the seed."""
    wallets = ledger.embedded.get(chain.short_name)
    if wallets is not None:
        return wallets.address(wallet)
    return chain.address(seed_bytes(ledger.seed, *parts))


_VENUES = {row.code: row for row in VENUE_ROWS}


class VenueAccounts:
    """Accounts of all exchanges over one ledger. Raises LedgerRefusal for what cannot be."""

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

    def open(self, leg: OpenLeg) -> dict[str, object]:
        """Create the account, or find what the same key created before: where and what to pay."""
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

    def find(self, venue: str, key: str) -> dict[str, object] | None:
        row = self._rows.by_key(venue, key)
        return None if row is None else _instruction(row)

    def report(self, venue: str, key: str) -> dict[str, object] | None:
        """State of a leg; amounts in base units of the token on their side."""
        row = self._rows.by_key(venue, key)
        if row is None:
            return None
        chain = chains_by_name()[row["chain"]]
        deposits = self._ledger.deposits(row["id"])
        in_time = [each for each in deposits if not each.late]
        credited = sum(each.units for each in in_time)
        payout = self._ledger.paid(f"payout:{row['id']}")
        refunds = self._settlement.refunds(row)
        refunded = sum(each.units for each in refunds)
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
                each.late and each.counted and self._ledger.paid(f"late:{each.id}") is None
                for each in deposits
            ),
        }

    def send_on(self, venue: str, key: str, address: str, tag: str | None) -> Payment:
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
        """A deposit has its confirmations."""
        at = self._rows.due_at(deposit)
        is_last = self._rows.count(deposit)
        row = self._rows.by_id(deposit["account"])
        if row is None:
            raise LedgerRefusal("a deposit of no leg")
        if deposit["late"]:
            self._settlement.return_late(row, deposit, at)
        elif is_last and row["status"] == LegStatus.CONFIRMING:
            self.faults.confirmed(row, at)


def _traded(venue_code: str, token_id: str) -> WorldToken:
    token, venue = world_tokens().get(token_id), _VENUES.get(venue_code)
    if token is None or venue is None or not trades(venue, token):
        raise LedgerRefusal("the exchange does not trade this token")
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
