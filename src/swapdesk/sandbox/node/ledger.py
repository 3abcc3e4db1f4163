"""Balances and transfers of every ledger chain, exact and conserved.

Transfers cost nothing; the sum of all balances of a token is what was issued at genesis. Each is
written down once for its cause.

Of an embedded chain this is the exchanges' book: what each of their wallets holds, and under the
faucet's name all that is not theirs. What comes in is booked when it is read in a block.

A payment that leaves a wallet is signed in the transaction that books it, with the next number of
its wallet. Its bytes are handed in until they are in a block: a node that is killed at any moment
sends the same bytes again and never signs another payment for the same cause. Only bytes that
expired unseen, and can never be executed, are signed anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from swapdesk.chain.addresses.kinds import derive_transaction_hash
from swapdesk.sandbox.chain_rows import ChainRow
from swapdesk.sandbox.node.chain_wallets import (
    ChainWallets,
    Inclusion,
    IncomingPayment,
    SignedPayment,
)
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.issued_world import (
    CUSTOMER,
    PAYER,
    customer_name,
    hot_wallet_name,
    issue_world,
)
from swapdesk.sandbox.node.world_clock import Due, Moment, WorldClock
from swapdesk.sandbox.world import WorldToken, chains_by_name, seed_bytes, world_tokens


class LedgerTransfer(Struct, frozen=True):
    """One payment. ``units`` are base units; ``height`` the block that includes it, 0 where
    only the embedded chain knows it."""

    hash: str
    chain: str
    token: str
    sender: str
    receiver: str
    tag: str | None
    units: int
    height: int


class Transfers:
    """The table of payments. Writing methods run inside a transaction of the caller."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, moved: LedgerTransfer, cause: str) -> None:
        self._database.connection.execute(
            "INSERT INTO transfers"
            " (cause, hash, chain, token, sender, receiver, tag, units, height)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                cause,
                moved.hash,
                moved.chain,
                moved.token,
                moved.sender,
                moved.receiver,
                moved.tag,
                str(moved.units),
                moved.height,
            ),
        )

    def forget(self, cause: str) -> None:
        self._database.connection.execute("DELETE FROM transfers WHERE cause = ?", (cause,))

    def rename(self, cause: str, transaction_hash: str) -> None:
        """The payment that was made for a cause is another transaction now."""
        self._database.connection.execute(
            "UPDATE transfers SET hash = ? WHERE cause = ?", (transaction_hash, cause)
        )

    def of_cause(self, cause: str) -> LedgerTransfer | None:
        """The payment that was made for a cause."""
        return self._find("cause", cause)

    def of_hash(self, transaction_hash: str) -> LedgerTransfer | None:
        return self._find("hash", transaction_hash)

    def _find(self, column: str, value: str) -> LedgerTransfer | None:
        query = {
            "cause": "SELECT * FROM transfers WHERE cause = ?",
            "hash": "SELECT * FROM transfers WHERE hash = ? ORDER BY cause LIMIT 1",
        }[column]
        row = self._database.connection.execute(query, (value,)).fetchone()
        if row is None:
            return None
        return LedgerTransfer(
            row["hash"],
            row["chain"],
            row["token"],
            row["sender"],
            row["receiver"],
            row["tag"],
            int(row["units"]),
            row["height"],
        )


FINAL_DEPTH = 64
"""Blocks after which a payment is no longer looked for: nothing is unwound so far."""


class LedgerPayment(Struct, frozen=True):
    """``number`` counts those of its ``wallet``. ``expires`` is the last height at which it may be
    executed, None for ever. ``height`` is None while it is in no block; ``succeeded`` what became
    of it there."""

    cause: str
    chain: str
    wallet: str
    number: int
    hash: str
    raw: bytes
    expires: int | None
    height: int | None
    succeeded: bool


class Outgoing:
    """The table of payments. Changes run inside a transaction of the caller."""

    def __init__(self, database: Database) -> None:
        self._connection = database.connection

    def next_number(self, chain: str, wallet: str) -> int:
        """How many payments the wallet has signed: the number (nonce) of its next one."""
        query = "SELECT COUNT(*) FROM outgoing WHERE chain = ? AND wallet = ?"
        (count,) = self._connection.execute(query, (chain, wallet)).fetchone()
        return int(count)

    def add(self, cause: str, chain: str, wallet: str, number: int, signed: SignedPayment) -> None:
        self._connection.execute(
            "INSERT INTO outgoing (cause, chain, wallet, number, hash, raw, expires)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (cause, chain, wallet, number, signed.hash, signed.raw, signed.expires),
        )

    def renew(self, payment: LedgerPayment, signed: SignedPayment) -> None:
        """Other bytes in the place of those that have expired."""
        self._connection.execute(
            "UPDATE outgoing SET hash = ?, raw = ?, expires = ? WHERE cause = ? AND height IS NULL",
            (signed.hash, signed.raw, signed.expires, payment.cause),
        )

    def give_up(self, payment: LedgerPayment) -> None:
        """It has expired and is made no more."""
        self._connection.execute("UPDATE outgoing SET final = 1 WHERE cause = ?", (payment.cause,))

    def unfinished(self, chain: str) -> list[LedgerPayment]:
        """Payments that are in no block or may be unwound, in the order in which they were
        signed."""
        rows = self._connection.execute(
            "SELECT * FROM outgoing WHERE chain = ? AND final = 0 ORDER BY id", (chain,)
        )
        return [_payment(row) for row in rows]

    def waiting(self, chain: str) -> list[LedgerPayment]:
        """Payments that are in no block, in the order in which they were signed."""
        rows = self._connection.execute(
            "SELECT * FROM outgoing WHERE chain = ? AND final = 0 AND height IS NULL ORDER BY id",
            (chain,),
        )
        return [_payment(row) for row in rows]

    def wallet_of(self, cause: str) -> str:
        """The name of the wallet that pays for a cause."""
        query = "SELECT wallet FROM outgoing WHERE cause = ?"
        return str(self._connection.execute(query, (cause,)).fetchone()["wallet"])

    def place(self, payment: LedgerPayment, found: Inclusion | None) -> None:
        """Where it is now; None when its block was unwound."""
        height, succeeded = (None, False) if found is None else (found.height, found.succeeded)
        self._connection.execute(
            "UPDATE outgoing SET height = ?, succeeded = ? WHERE chain = ? AND hash = ?",
            (height, succeeded, payment.chain, payment.hash),
        )

    def finish(self, chain: str, height: int) -> None:
        """What is in blocks up to this height stays there."""
        self._connection.execute(
            "UPDATE outgoing SET final = 1 WHERE chain = ? AND final = 0 AND height <= ?",
            (chain, height),
        )


def _payment(row: sqlite3.Row) -> LedgerPayment:
    return LedgerPayment(
        row["cause"],
        row["chain"],
        row["wallet"],
        row["number"],
        row["hash"],
        row["raw"],
        row["expires"],
        row["height"],
        bool(row["succeeded"]),
    )


class LedgerRefusal(Exception):
    """The ledger says no; nothing was moved."""


class Ledger:
    """All chains in one database. Writing methods run inside a transaction of the caller."""

    def __init__(
        self,
        database: Database,
        clock: WorldClock,
        seed: int,
        embedded: Mapping[str, ChainWallets] | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self.seed = seed
        self.embedded = embedded or {}
        """Wallets of the chains that are real, by short name; all others are kept here."""
        self.outgoing = Outgoing(database)
        self.transfers = Transfers(database)
        self._names: dict[tuple[str, str], str] = {}
        self._wallets: dict[tuple[object, ...], str] = {}
        self.on_arrival: Callable[[LedgerTransfer, Moment], None] = lambda transfer, at: None
        """Told of every transfer, within its transaction."""

    def hot_wallet(self, venue: str, chain: ChainRow, number: int = 0) -> str:
        """One of the wallets an exchange pays from; the first also takes what is deposited."""
        place = ("hot wallet", venue, chain.short_name, *([number] if number else []))
        return self._wallet(chain, place, hot_wallet_name(venue, number))

    def faucet(self, chain: ChainRow) -> str:
        """The wallet that pays deposits in place of a trader."""
        return self._wallet(chain, ("faucet", chain.short_name), PAYER)

    def customer(self, chain: ChainRow, name: str) -> str:
        """An account of a customer of the sandbox, on an embedded chain."""
        place = ("customer", name, chain.short_name)
        return self._wallet(chain, place, customer_name(name))

    def _wallet(self, chain: ChainRow, place: tuple[object, ...], name: str) -> str:
        if place not in self._wallets:
            wallets = self.embedded.get(chain.short_name)
            if wallets is None:
                self._wallets[place] = chain.address(seed_bytes(self.seed, *place))
            else:
                self._wallets[place] = wallets.address(name)
                self._names[chain.short_name, self._wallets[place]] = name
        return self._wallets[place]

    def issue(self, directory: Path) -> None:
        """Issue every token to the exchanges that trade it and to the faucet, as far as that has
        not been done. Raises OtherWorld."""
        issue_world(self._database, self._wallet_of, directory)

    def _wallet_of(self, token: WorldToken, venue: str | None, number: int) -> str:
        if venue is None:
            return self.faucet(token.chain)
        return self.hot_wallet(venue, token.chain, number)

    def balance(self, token: str, address: str) -> int:
        row = self._database.connection.execute(
            "SELECT units FROM balances WHERE token = ? AND address = ?", (token, address)
        ).fetchone()
        return 0 if row is None else int(row["units"])

    def _set(self, token: str, address: str, units: int) -> None:
        self._database.connection.execute(
            "INSERT OR REPLACE INTO balances VALUES (?, ?, ?)", (token, address, str(units))
        )

    def transfer(
        self,
        token: WorldToken,
        sender: str,
        receiver: str,
        tag: str | None,
        units: int,
        *,
        cause: str,
        at: Moment,
    ) -> LedgerTransfer:
        """Move units; the same cause moves once. Raises LedgerRefusal."""
        done = self.transfers.of_cause(cause)
        if done is not None:
            asked = (token.token_id, receiver, tag, units)
            if (done.token, done.receiver, done.tag, done.units) != asked:
                raise LedgerRefusal("this key already paid something else")
            return done
        if units <= 0:
            raise LedgerRefusal("a transfer moves at least one unit")
        chain = token.chain
        if chain.short_name in self.embedded:
            return self._pay(token, sender, receiver, tag, units, cause)
        self._move(token, sender, receiver, units)
        moved = LedgerTransfer(
            derive_transaction_hash(chain.kind, seed_bytes(self.seed, "transfer", cause)),
            chain.short_name,
            token.token_id,
            sender,
            receiver,
            tag,
            units,
            self._clock.height(chain, at) + 1,
        )
        self.transfers.note(moved, cause)
        self.on_arrival(moved, at)
        return moved

    def _pay(
        self,
        token: WorldToken,
        sender: str,
        receiver: str,
        tag: str | None,
        units: int,
        cause: str,
    ) -> LedgerTransfer:
        """A payment on an embedded chain, signed and written down; it leaves once this is
        durable. Raises LedgerRefusal and ChainClosed."""
        chain, outside = token.chain, self.faucet(token.chain)
        wallet = self._names[chain.short_name, sender]
        if _is_exchange(wallet):
            self._move(token, sender, outside, units)
        number = self.outgoing.next_number(chain.short_name, wallet)
        signed = self.embedded[chain.short_name].sign(wallet, number, token, receiver, units)
        name = chain.short_name
        self.outgoing.add(cause, name, wallet, number, signed)
        paid = LedgerTransfer(signed.hash, name, token.token_id, sender, receiver, tag, units, 0)
        self.transfers.note(paid, cause)
        return paid

    def arrive(
        self, token: WorldToken, venue: str, arrival: IncomingPayment, cause: str
    ) -> LedgerTransfer | None:
        """Book what was read in a block for a wallet of an exchange; None when it was before."""
        if self.transfers.of_cause(cause) is not None:
            return None
        chain = token.chain
        self._move(token, self.faucet(chain), self.hot_wallet(venue, chain), arrival.units)
        arrived = LedgerTransfer(
            arrival.hash,
            chain.short_name,
            token.token_id,
            arrival.sender,
            arrival.receiver,
            None,
            arrival.units,
            arrival.height,
        )
        self.transfers.note(arrived, cause)
        return arrived

    def vanish(self, venue: str, cause: str) -> None:
        """What had arrived is in no block any more."""
        arrived = self.transfers.of_cause(cause)
        if arrived is None:
            return
        token = world_tokens()[arrived.token]
        chain = token.chain
        self._move(token, self.hot_wallet(venue, chain), self.faucet(chain), arrived.units)
        self.transfers.forget(cause)

    def renew(self, payment: LedgerPayment) -> str | None:
        """Sign a payment anew that has expired unseen; its new hash. The books stay as they are.
        Raises ChainClosed."""
        paid = self.transfers.of_cause(payment.cause)
        if paid is None:
            return None
        signed = self.embedded[payment.chain].sign(
            payment.wallet,
            payment.number,
            world_tokens()[paid.token],
            paid.receiver,
            paid.units,
        )
        self.outgoing.renew(payment, signed)
        self.transfers.rename(payment.cause, signed.hash)
        return signed.hash

    def bounce(self, cause: str) -> None:
        """A payment was executed and moved nothing: it is booked back, and its cause may be paid
        for again."""
        paid = self.transfers.of_cause(cause)
        if paid is None:
            return
        token = world_tokens()[paid.token]
        outside = self.faucet(token.chain)
        if _is_exchange(self.outgoing.wallet_of(cause)):
            self._move(token, outside, paid.sender, paid.units)
        for table in ("transfers", "outgoing"):
            self._database.connection.execute(
                f"UPDATE {table} SET cause = ? WHERE cause = ?",  # noqa: S608 (ours)
                (f"bounced {paid.hash}:{cause}", cause),
            )

    def _move(self, token: WorldToken, sender: str, receiver: str, units: int) -> None:
        held = self.balance(token.token_id, sender)
        if held < units:
            raise LedgerRefusal(f"{sender} holds too little {token.row.symbol}")
        self._set(token.token_id, sender, held - units)
        self._set(token.token_id, receiver, self.balance(token.token_id, receiver) + units)

    def by_cause(self, cause: str) -> LedgerTransfer | None:
        """The payment that was made for a cause."""
        return self.transfers.of_cause(cause)

    def find(self, transaction_hash: str) -> LedgerTransfer | None:
        return self.transfers.of_hash(transaction_hash)

    def due(self, transfer: LedgerTransfer, confirmations: int) -> Due:
        """When the transfer counts; on an embedded chain its blocks say so (chain_books)."""
        if transfer.chain in self.embedded:
            return Due()
        chain = chains_by_name()[transfer.chain]
        return self._clock.confirmed(chain, transfer.height, confirmations)

    def confirmations(self, transfer: LedgerTransfer) -> int:
        chain = chains_by_name()[transfer.chain]
        wallets = self.embedded.get(transfer.chain)
        if wallets is not None:
            found = wallets.mined(transfer.hash) if wallets.is_open else None
            return 0 if found is None else wallets.height - found.height + 1
        return max(0, self._clock.height(chain, self._clock.moment()) - transfer.height + 1)

    def heights(self) -> dict[str, int]:
        """Of all chains but those that are embedded and not open."""
        here = self._clock.moment()
        heights = {name: self._clock.height(row, here) for name, row in chains_by_name().items()}
        for name, wallets in self.embedded.items():
            if wallets.is_open:
                heights[name] = wallets.height
            else:
                del heights[name]
        return heights

    def audit(self) -> list[dict[str, str]]:
        """Tokens whose balances do not add up to what was issued, or are negative."""
        held: dict[str, int] = {}
        negative = set()
        for row in self._database.connection.execute("SELECT token, units FROM balances"):
            units = int(row["units"])
            held[row["token"]] = held.get(row["token"], 0) + units
            if units < 0:
                negative.add(row["token"])
        issued = {
            row["token"]: int(row["units"])
            for row in self._database.connection.execute("SELECT token, units FROM issued")
        }
        return [
            {"token": token, "issued": str(issued.get(token, 0)), "held": str(held.get(token, 0))}
            for token in sorted(held.keys() | issued.keys())
            if issued.get(token, 0) != held.get(token, 0) or token in negative
        ]


def _is_exchange(wallet: str) -> bool:
    """Whether the books say what a wallet holds: of the faucet and of customers they do not."""
    return wallet != PAYER and not wallet.startswith(CUSTOMER)
