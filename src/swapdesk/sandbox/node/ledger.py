"""The ledger of the sandbox: every payment once, and what each address holds of a token.

What is issued is a debt of ``ISSUER``, so that the balances of a token add up to nothing. A payment
is written down once for its cause, in the transaction that moves the balances.

Of an embedded chain this is the exchanges' book: what each of their wallets holds, and under the
faucet's name all that is not theirs. What comes in is booked when it is read in a block.

A payment that leaves a wallet there is signed in the transaction that books it, with the next
number of its wallet. Its bytes are handed in until they are in a block: a node that is killed at
any moment sends the same bytes again and never signs another payment for the same cause. Only bytes
that expired unseen, and can never be executed, are signed anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct
from msgspec.structs import asdict

from swapdesk.chain.addresses.kinds import derive_transaction_hash
from swapdesk.chain.rpc.ledger import RpcCode
from swapdesk.sandbox.chain_rows import ChainRow
from swapdesk.sandbox.node.chain_wallets import ChainWallets, IncomingPayment
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.issued_world import (
    CUSTOMER,
    PAYER,
    hot_wallet_name,
    issue_world,
)
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.sandbox.world import WorldToken, chains_by_name, seed_bytes, world_tokens


class Payment(Struct, frozen=True, kw_only=True):
    """A row of the table. ``units`` are base units; ``height`` is the block it is in.

    One that a wallet of ours signed has its ``wallet`` with the ``number`` of the payment there,
    ``expires``, the last height at which it may be executed, and ``raw`` while it is in no block.
    One that reached a leg has its ``account``, and is ``counted`` once it has its confirmations.
    """

    id: int = 0
    cause: str
    chain: str
    token: str
    sender: str
    receiver: str
    tag: str | None = None
    units: int
    hash: str
    height: int | None = None
    wallet: str | None = None
    number: int | None = None
    raw: bytes | None = None
    expires: int | None = None
    account: int | None = None
    late: bool = False
    counted: bool = False
    due_world: int | None = None
    due_now: int | None = None


class LedgerRefusal(Exception):
    """The ledger says no; nothing was moved. ``code`` is what a caller is told."""

    def __init__(self, message: str, code: RpcCode = RpcCode.REFUSED) -> None:
        super().__init__(message)
        self.code = code


class Ledger:
    """All chains in one database. Writing methods run inside a transaction of the caller."""

    def __init__(
        self,
        database: Database,
        clock: WorldClock,
        seed: int,
        embedded: Mapping[str, ChainWallets] | None = None,
    ) -> None:
        self._connection = database.connection
        self._database = database
        self._clock = clock
        self.seed = seed
        self.embedded = embedded or {}
        """Wallets of the chains that are real, by short name; all others are kept here."""
        self._names: dict[tuple[str, str], str] = {}
        self._wallets: dict[tuple[object, ...], str] = {}
        self.on_arrival: Callable[[Payment, Moment], None] = lambda payment, at: None
        """Told of what reached an address, within its transaction."""

    # Wallets

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
        return self._wallet(chain, place, CUSTOMER + name)

    def _wallet(self, chain: ChainRow, place: tuple[object, ...], name: str) -> str:
        if place not in self._wallets:
            wallets = self.embedded.get(chain.short_name)
            if wallets is None:
                self._wallets[place] = chain.address(seed_bytes(self.seed, *place))
            else:
                self._wallets[place] = wallets.address(name)
                self._names[chain.short_name, self._wallets[place]] = name
        return self._wallets[place]

    # Balances

    def issue(self) -> None:
        """Issue every token to the exchanges that trade it and to the faucet, at the beginning of
        a world. Raises OtherWorld."""
        issue_world(self._database, self._wallet_of)

    def _wallet_of(self, token: WorldToken, venue: str | None, number: int) -> str:
        if venue is None:
            return self.faucet(token.chain)
        return self.hot_wallet(venue, token.chain, number)

    def balance(self, token: str, address: str) -> int:
        row = self._connection.execute(
            "SELECT units FROM balances WHERE token = ? AND address = ?", (token, address)
        ).fetchone()
        return 0 if row is None else int(row["units"])

    def _move(self, token: WorldToken, sender: str, receiver: str, units: int) -> None:
        held = self.balance(token.token_id, sender)
        if held < units:
            raise LedgerRefusal(f"{sender} holds too little {token.row.symbol}")
        self._set(token.token_id, sender, held - units)
        self._set(token.token_id, receiver, self.balance(token.token_id, receiver) + units)

    def _set(self, token: str, address: str, units: int) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO balances VALUES (?, ?, ?)", (token, address, str(units))
        )

    # Payments

    def pay(
        self,
        token: WorldToken,
        sender: str,
        receiver: str,
        tag: str | None,
        units: int,
        *,
        cause: str,
        at: Moment,
    ) -> Payment:
        """Move units; the same cause moves once. On an embedded chain it is signed and leaves once
        this is durable. Raises LedgerRefusal."""
        done = self.paid(cause)
        if done is not None:
            asked = (token.token_id, receiver, tag, units)
            if (done.token, done.receiver, done.tag, done.units) != asked:
                raise LedgerRefusal("this key already paid something else")
            return done
        if units <= 0:
            raise LedgerRefusal("a transfer moves at least one unit")
        if token.row.chain in self.embedded:
            return self._sign(token, sender, receiver, units, cause)
        self._move(token, sender, receiver, units)
        moved = self._add(
            Payment(
                cause=cause,
                chain=token.row.chain,
                token=token.token_id,
                sender=sender,
                receiver=receiver,
                tag=tag,
                units=units,
                hash=derive_transaction_hash(
                    token.chain.kind, seed_bytes(self.seed, "transfer", cause)
                ),
                height=self._clock.height(token.chain, at) + 1,
            )
        )
        self.on_arrival(moved, at)
        return moved

    def _sign(
        self, token: WorldToken, sender: str, receiver: str, units: int, cause: str
    ) -> Payment:
        name = token.row.chain
        wallet = self._names[name, sender]
        if _is_exchange(wallet):
            self._move(token, sender, self.faucet(token.chain), units)
        query = "SELECT COUNT(*) FROM payments WHERE chain = ? AND wallet = ?"
        (number,) = self._connection.execute(query, (name, wallet)).fetchone()
        signed = self.embedded[name].sign(wallet, number, token, receiver, units)
        return self._add(
            Payment(
                cause=cause,
                chain=name,
                token=token.token_id,
                sender=sender,
                receiver=receiver,
                units=units,
                hash=signed.hash,
                wallet=wallet,
                number=number,
                raw=signed.raw,
                expires=signed.expires,
            )
        )

    def arrive(self, token: WorldToken, venue: str, arrival: IncomingPayment, at: Moment) -> None:
        """Book what was read in a block for an exchange."""
        chain = token.chain
        self._move(token, self.faucet(chain), self.hot_wallet(venue, chain), arrival.units)
        arrived = Payment(
            cause=f"arrival:{token.row.chain}:{arrival.hash}#{arrival.position}",
            chain=token.row.chain,
            token=token.token_id,
            sender=arrival.sender,
            receiver=arrival.receiver,
            units=arrival.units,
            hash=arrival.hash,
            height=arrival.height,
        )
        self.on_arrival(self._add(arrived), at)

    def renew(self, payment: Payment) -> None:
        """Sign a payment anew that has expired unseen. The books stay as they are."""
        assert payment.wallet is not None
        assert payment.number is not None
        token = world_tokens()[payment.token]
        signed = self.embedded[payment.chain].sign(
            payment.wallet, payment.number, token, payment.receiver, payment.units
        )
        self.change(payment, hash=signed.hash, raw=signed.raw, expires=signed.expires)

    def bounce(self, payment: Payment) -> None:
        """A payment moved nothing: it is booked back, and its cause may be paid for again."""
        token = world_tokens()[payment.token]
        if _is_exchange(payment.wallet or ""):
            self._move(token, self.faucet(token.chain), payment.sender, payment.units)
        self.change(payment, cause=f"bounced {payment.hash}:{payment.cause}", raw=None)

    def _add(self, payment: Payment) -> Payment:
        columns = asdict(payment) | {"id": None, "units": str(payment.units)}
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        query = f"INSERT INTO payments ({names}) VALUES ({marks})"  # noqa: S608 (names are ours)
        self._connection.execute(query, tuple(columns.values()))
        added = self.paid(payment.cause)
        assert added is not None
        return added

    def change(self, payment: Payment, **columns: object) -> None:
        changes = ", ".join(f"{name} = ?" for name in columns)
        query = f"UPDATE payments SET {changes} WHERE id = ?"  # noqa: S608 (names are ours)
        self._connection.execute(query, (*columns.values(), payment.id))

    def count(self, chain: str, height: int, at: Moment) -> None:
        """Deposits on an embedded chain that have their confirmations are due now."""
        deep = height - chains_by_name()[chain].confirmations + 1
        self._connection.execute(
            "UPDATE payments SET due_world = ? WHERE chain = ? AND account IS NOT NULL"
            " AND counted = 0 AND due_world IS NULL AND height <= ?",
            (at.world, chain, deep),
        )

    def paid(self, cause: str) -> Payment | None:
        """The payment that was made for a cause."""
        return next(iter(self._found("cause = ?", cause)), None)

    def find(self, transaction_hash: str) -> Payment | None:
        return next(iter(self._found("hash = ?", transaction_hash)), None)

    def waiting(self, chain: str) -> list[Payment]:
        """Payments that are in no block, in the order in which they were signed."""
        return self._found("chain = ? AND raw IS NOT NULL", chain)

    def deposits(self, account: int) -> list[Payment]:
        """What reached a leg, in the order in which it came."""
        return self._found("account = ?", account)

    def _found(self, condition: str, value: object) -> list[Payment]:
        query = f"SELECT * FROM payments WHERE {condition} ORDER BY id"  # noqa: S608 (ours)
        rows = self._connection.execute(query, (value,)).fetchall()
        return [
            Payment(
                **{
                    **dict(row),
                    "units": int(row["units"]),
                    "late": bool(row["late"]),
                    "counted": bool(row["counted"]),
                }
            )
            for row in rows
        ]

    # Blocks

    def confirmations(self, payment: Payment) -> int:
        height = self.height(chains_by_name()[payment.chain])
        if height is None or payment.height is None:
            return 0
        return max(0, height - payment.height + 1)

    def height(self, chain: ChainRow) -> int | None:
        """Of the newest block; None while an embedded chain is not open."""
        wallets = self.embedded.get(chain.short_name)
        if wallets is None:
            return self._clock.height(chain, self._clock.moment())
        return wallets.height if wallets.is_open else None


def _is_exchange(wallet: str) -> bool:
    """Whether the books say what a wallet holds: of the faucet and of customers they do not."""
    return wallet != PAYER and not wallet.startswith(CUSTOMER)
