"""The ledger of the sandbox: every payment, and what each address holds of each token.

A cause (what a payment is for) is paid only once. For an embedded chain the ledger is the
exchanges' book. An outgoing payment is signed in the transaction that books it, and the same bytes
are submitted until they are in a block; it is signed again only if it can never be executed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from msgspec import Struct
from msgspec.structs import asdict, replace

from swapdesk.chain.addresses.kinds import derive_transaction_hash
from swapdesk.sandbox.node.database import Database, OtherWorld
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.sandbox.tables import PAYOUT_WALLETS, VENUE_ROWS, ChainRow
from swapdesk.sandbox.world import (
    WorldToken,
    asset_of,
    chains_by_name,
    seed_bytes,
    trades,
    world_tokens,
)


class SignedPayment(Struct, frozen=True):
    """A signed payment, stored before it is submitted. ``expires`` is the last height at which it
    can be executed; None if it never expires."""

    raw: bytes
    hash: str
    expires: int | None = None


class IncomingPayment(Struct, frozen=True):
    """A payment read from a block. ``position`` identifies it within its transaction. ``token`` is
    a contract or mint, None for the coin. ``seconds`` counts from 1970."""

    hash: str
    position: int
    height: int
    seconds: int
    token: str | None
    sender: str
    receiver: str
    units: int


Inclusion = tuple[int, bool]
"""Height of the block that contains a transaction, and whether the transaction succeeded."""


class ChainWallets(Protocol):
    """The sandbox's wallets on one embedded chain. Every method except ``address`` and ``is_open``
    opens the chain if necessary."""

    name: str
    began: int
    """Height of the last block at which nobody can have been paid on the chain yet."""
    at_once: int
    """Number of blocks that are read in one step, after which progress is stored."""

    @property
    def is_open(self) -> bool:
        """True if somebody may have been paid on the chain: it was stored already or has been
        used."""

    def address(self, wallet: str) -> str:
        """Returns the address of one of the sandbox's own wallets."""

    def sign(
        self, wallet: str, number: int, token: WorldToken, receiver: str, units: int
    ) -> SignedPayment:
        """Signs a payment from this wallet. ``number`` counts the wallet's payments from 0;
        ``units`` are in the token's smallest unit."""

    def submit(self, raw: bytes) -> None:
        """Submits a signed payment to the chain; submitting it again is harmless."""

    def mined(self, transaction_hash: str) -> Inclusion | None:
        """Returns the height of a transaction's block and whether the transaction succeeded; None
        while it is in no block."""

    def refusal(self, transaction_hash: str) -> str | None:
        """Returns the reason why the chain does not execute a submitted payment; None if no reason
        is known."""

    def balance(self, token: WorldToken, address: str) -> int:
        """Returns the balance of an address at the newest block, in the token's smallest unit."""

    @property
    def height(self) -> int:
        """Height of the newest final block."""

    def arrivals(self, first: int, last: int) -> Iterable[IncomingPayment]:
        """Returns all payments in the blocks ``first`` to ``last``, in the order of the chain."""


VENUE_DOLLARS = 5_000_000_000
FAUCET_DOLLARS = 500_000_000_000
"""Value in US dollars of each token that the faucet holds at genesis; ``VENUE_DOLLARS`` is that of
each exchange's hot wallet."""

_MOST_ON_SOLANA = (1 << 63) // (len(VENUE_ROWS) * PAYOUT_WALLETS + 1)

ISSUER = ""
"""Name of the account that owes everything that was issued."""

PAYER = "payer of deposits"
"""Name of the account that pays deposits on the embedded chains in place of a trader."""


def hot_wallet_name(venue: str, number: int = 0) -> str:
    """Returns the name of a wallet from which an exchange pays. ``number`` counts the exchange's
    wallets from 0."""
    return f"hot wallet {venue} {number}"


CUSTOMER = "customer "
"""Prefix of the names of customers' accounts."""


def reserves_of(token: WorldToken) -> Iterator[tuple[str, int]]:
    """Yields the wallets that hold a token at genesis, as (name, smallest units). Yields nothing
    for a token without a price."""
    for venue, number, units in _reserves(token):
        yield PAYER if venue is None else hot_wallet_name(venue, number), units


def _reserves(token: WorldToken) -> Iterator[tuple[str | None, int, int]]:
    if token.asset is None:
        return
    for venue in VENUE_ROWS:
        if trades(venue, token):
            units = reserve_units(token, VENUE_DOLLARS)
            yield from ((venue.code, number, units) for number in range(PAYOUT_WALLETS))
    yield None, 0, reserve_units(token, FAUCET_DOLLARS)


def reserve_units(token: WorldToken, dollars: int) -> int:
    """Returns how many whole tokens ``dollars`` buy at the base price, in smallest units. On Solana
    the number is limited to what 64 bits can hold. Raises ValueError if the token has no price."""
    units = int(dollars / asset_of(token).price) * int(10**token.row.decimals)
    return min(units, _MOST_ON_SOLANA) if token.chain.kind == "sol" else units


def _digest() -> str:
    lines = [f"{FAUCET_DOLLARS} {VENUE_DOLLARS} {PAYOUT_WALLETS}"]
    for token in world_tokens().values():
        if (asset := token.asset) is not None:
            terms = f"{token.token_id} {token.row.chain} {token.row.decimals} {token.tradable}"
            lines.append(f"{terms} {asset.code} {asset.price} {asset.everywhere} {asset.only}")
    lines += [
        f"{row.code} {row.reach} {sorted(row.without)} {sorted(row.without_chains)}"
        for row in VENUE_ROWS
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


class Payment(Struct, frozen=True, kw_only=True):
    """A row of the table ``payments``, in smallest units. ``wallet`` and ``number`` identify a
    payment that the sandbox signed. For the deposit of a leg, ``account`` is the leg's id; ``late``
    means after the deadline."""

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


class Ledger:
    """The payments and balances of all chains in one database. Methods that write must be called
    inside a transaction."""

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
        """The wallets of the embedded chains, by the chain's short name. All other chains exist
        only as balances in this ledger."""
        self._names: dict[tuple[str, str], str] = {}
        self._wallets: dict[tuple[object, ...], str] = {}
        self.on_arrival: Callable[[Payment, Moment], None] = lambda payment, at: None
        """Called with each payment that arrives at an address and the time, in the transaction that
        books the payment."""

    # Wallets

    def hot_wallet(self, venue: str, chain: ChainRow, number: int = 0) -> str:
        """Returns the address of a wallet from which an exchange pays; the first wallet also takes
        deposits."""
        place = ("hot wallet", venue, chain.short_name, *([number] if number else []))
        return self._wallet(chain, place, hot_wallet_name(venue, number))

    def faucet(self, chain: ChainRow) -> str:
        """Returns the address of the wallet that pays deposits in place of a trader."""
        return self._wallet(chain, ("faucet", chain.short_name), PAYER)

    def customer(self, chain: ChainRow, name: str) -> str:
        """Returns the address of the account of the customer ``name`` on an embedded chain."""
        place = ("customer", name, chain.short_name)
        return self._wallet(chain, place, CUSTOMER + name)

    def _wallet(self, chain: ChainRow, place: tuple[object, ...], name: str) -> str:
        if place not in self._wallets:
            address = self._wallets[place] = self.address(chain, place, name)
            self._names[chain.short_name, address] = name
        return self._wallets[place]

    def address(self, chain: ChainRow, place: tuple[object, ...], name: str) -> str:
        """Returns the address of a wallet. On an embedded chain it is the address of the wallet
        ``name``; on other chains it is derived from the seed and ``place``."""
        wallets = self.embedded.get(chain.short_name)
        if wallets is not None:
            return wallets.address(name)
        return chain.address(seed_bytes(self.seed, *place))

    # Balances

    def issue(self) -> None:
        """Issues every priced token to the faucet and the exchanges, unless that was done before.
        Raises OtherWorld if it was done from another release's tables."""
        digest = _digest()
        noted = self._database.get("world digest")
        if noted is None:
            for token in world_tokens().values():
                self._issue(token)
            self._database.put("world digest", digest)
        elif noted != digest:
            raise OtherWorld("it was begun with other coins or exchanges")

    def _issue(self, token: WorldToken) -> None:
        chain, units = token.chain, {}
        for venue, number, held in _reserves(token):
            wallet = self.faucet(chain) if venue is None else self.hot_wallet(venue, chain, number)
            units[wallet] = held
        units[ISSUER] = -sum(units.values())
        self._connection.executemany(
            "INSERT INTO balances VALUES (?, ?, ?)",
            [(token.token_id, address, str(held)) for address, held in units.items()],
        )

    def balance(self, token: str, address: str) -> int:
        row = self._connection.execute(
            "SELECT units FROM balances WHERE token = ? AND address = ?", (token, address)
        ).fetchone()
        return 0 if row is None else int(row["units"])

    def _move(self, token: WorldToken, sender: str, receiver: str, units: int) -> None:
        held = self.balance(token.token_id, sender)
        if held < units:
            raise Problem(f"{sender} holds too little {token.row.symbol}")
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
        """Pays units of a token, at most once for each ``cause``, such as ``payout:7``; a repeated
        call returns the first payment. Raises Problem if the amount is 0 or a repeated call differs
        from the first."""
        done = self.paid(cause)
        if done is not None:
            asked = (token.token_id, receiver, tag, units)
            if (done.token, done.receiver, done.tag, done.units) != asked:
                raise Problem("this key already paid something else")
            return done
        if units <= 0:
            raise Problem("a transfer moves at least one unit")
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
        """Books a payment that an exchange received, as read from a block."""
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
        """Signs again an expired payment that is in no block. Balances stay as booked at the first
        signature."""
        assert payment.wallet is not None
        assert payment.number is not None
        token = world_tokens()[payment.token]
        signed = self.embedded[payment.chain].sign(
            payment.wallet, payment.number, token, payment.receiver, payment.units
        )
        self.change(payment, hash=signed.hash, raw=signed.raw, expires=signed.expires)

    def bounce(self, payment: Payment) -> None:
        """Undoes the booking of a payment that failed on its chain, so that its cause can be paid
        again."""
        token = world_tokens()[payment.token]
        if _is_exchange(payment.wallet or ""):
            self._move(token, self.faucet(token.chain), payment.sender, payment.units)
        self.change(payment, cause=f"bounced {payment.hash}:{payment.cause}", raw=None)

    def _add(self, payment: Payment) -> Payment:
        columns = asdict(payment) | {"id": None, "units": str(payment.units)}
        return replace(payment, id=self._database.insert("payments", columns))

    def change(self, payment: Payment, **columns: object) -> None:
        self._database.change("payments", payment.id, columns)

    def count(self, chain: str, height: int, at: Moment) -> None:
        """Sets the due time of deposits on an embedded chain to ``at`` if they have enough
        confirmations. ``height`` is the height of the newest block."""
        deep = height - chains_by_name()[chain].confirmations + 1
        self._connection.execute(
            "UPDATE payments SET due_world = ? WHERE chain = ? AND account IS NOT NULL"
            " AND counted = 0 AND due_world IS NULL AND height <= ?",
            (at.world, chain, deep),
        )

    def paid(self, cause: str) -> Payment | None:
        """Returns the payment that was made for a cause; None if there is none."""
        return next(iter(self._found("cause = ?", cause)), None)

    def find(self, transaction_hash: str) -> Payment | None:
        return next(iter(self._found("hash = ?", transaction_hash)), None)

    def waiting(self, chain: str) -> list[Payment]:
        return self._found("chain = ? AND raw IS NOT NULL", chain)

    def deposits(self, account: int) -> list[Payment]:
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
        """Returns the height of the chain's newest block; None if the chain is embedded and not
        open yet."""
        wallets = self.embedded.get(chain.short_name)
        if wallets is None:
            return self._clock.height(chain, self._clock.moment())
        return wallets.height if wallets.is_open else None


def _is_exchange(wallet: str) -> bool:
    """Returns True if the wallet belongs to an exchange. On embedded chains, only exchanges'
    wallets have a balance in this ledger."""
    return wallet != PAYER and not wallet.startswith(CUSTOMER)
