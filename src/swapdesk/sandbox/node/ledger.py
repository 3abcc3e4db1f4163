"""Balances and transfers of every ledger chain, exact and conserved.

Transfers cost nothing; the sum of all balances of a token is what was issued at genesis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from swapdesk.chain.addresses.derive import derive_transaction_hash
from swapdesk.sandbox.chain_rows import ChainRow
from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.node.world_clock import Moment, WorldClock
from swapdesk.sandbox.venue_rows import PAYOUT_WALLETS, VENUE_ROWS
from swapdesk.sandbox.world import WorldToken, chains_by_name, seed_bytes, trades, world_tokens

VENUE_DOLLARS = 5_000_000_000
FAUCET_DOLLARS = 500_000_000_000
"""What each hot wallet and each faucet holds of a token at genesis, in US dollars."""


class LedgerRefusal(Exception):
    """The ledger says no; nothing was moved."""


@dataclass(frozen=True)
class Transfer:
    """One payment. ``units`` are base units; ``height`` the block that includes it."""

    hash: str
    chain: str
    token: str
    sender: str
    receiver: str
    tag: str | None
    units: int
    height: int


class Ledger:
    """All chains in one database. Writing methods run inside a transaction of the caller."""

    def __init__(self, database: Database, clock: WorldClock, seed: int) -> None:
        self._database = database
        self._clock = clock
        self.seed = seed
        self._wallets: dict[tuple[object, ...], str] = {}
        self.on_arrival: Callable[[Transfer, Moment], None] = lambda transfer, at: None
        """Told of every transfer, within its transaction."""

    def hot_wallet(self, venue: str, chain: ChainRow, number: int = 0) -> str:
        """One of the wallets an exchange pays from; the first also takes what is deposited."""
        place = ("hot wallet", venue, chain.short_name, *([number] if number else []))
        if place not in self._wallets:
            self._wallets[place] = chain.address(seed_bytes(self.seed, *place))
        return self._wallets[place]

    def faucet(self, chain: ChainRow) -> str:
        """The wallet that pays deposits in place of a trader."""
        place = ("faucet", chain.short_name)
        if place not in self._wallets:
            self._wallets[place] = chain.address(seed_bytes(self.seed, *place))
        return self._wallets[place]

    def begin(self) -> None:
        """Issue every token to the exchanges that trade it and to the faucet."""
        balances: list[tuple[str, str, str]] = []
        issued: list[tuple[str, str]] = []
        for token in world_tokens().values():
            if token.asset is None:
                continue
            owners = [(self.faucet(token.chain), FAUCET_DOLLARS)] + [
                (self.hot_wallet(venue.code, token.chain, number), VENUE_DOLLARS)
                for venue in VENUE_ROWS
                if trades(venue, token)
                for number in range(PAYOUT_WALLETS)
            ]
            units = [(owner, _units(token, dollars)) for owner, dollars in owners]
            balances += [(token.token_id, owner, str(held)) for owner, held in units]
            issued.append((token.token_id, str(sum(held for _, held in units))))
        self._database.connection.executemany("INSERT INTO balances VALUES (?, ?, ?)", balances)
        self._database.connection.executemany("INSERT INTO issued VALUES (?, ?)", issued)

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
    ) -> Transfer:
        """Move units; the same cause moves once. Raises LedgerRefusal."""
        done = self._find("cause", cause)
        if done is not None:
            asked = (token.token_id, receiver, tag, units)
            if (done.token, done.receiver, done.tag, done.units) != asked:
                raise LedgerRefusal("this key already paid something else")
            return done
        if units <= 0:
            raise LedgerRefusal("a transfer moves at least one unit")
        held = self.balance(token.token_id, sender)
        if held < units:
            raise LedgerRefusal(f"{sender} holds too little {token.row.symbol}")
        self._set(token.token_id, sender, held - units)
        self._set(token.token_id, receiver, self.balance(token.token_id, receiver) + units)
        chain = token.chain
        moved = Transfer(
            derive_transaction_hash(chain.kind, seed_bytes(self.seed, "transfer", cause)),
            chain.short_name,
            token.token_id,
            sender,
            receiver,
            tag,
            units,
            self._clock.height(chain, at) + 1,
        )
        self._database.connection.execute(
            "INSERT INTO transfers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                moved.hash,
                cause,
                moved.chain,
                moved.token,
                sender,
                receiver,
                tag,
                str(units),
                moved.height,
            ),
        )
        self.on_arrival(moved, at)
        return moved

    def _find(self, column: str, value: str) -> Transfer | None:
        query = {
            "cause": "SELECT * FROM transfers WHERE cause = ?",
            "hash": "SELECT * FROM transfers WHERE hash = ?",
        }[column]
        row = self._database.connection.execute(query, (value,)).fetchone()
        if row is None:
            return None
        return Transfer(
            row["hash"],
            row["chain"],
            row["token"],
            row["sender"],
            row["receiver"],
            row["tag"],
            int(row["units"]),
            row["height"],
        )

    def by_cause(self, cause: str) -> Transfer | None:
        """The payment that was made for a cause."""
        return self._find("cause", cause)

    def find(self, transaction_hash: str) -> Transfer | None:
        return self._find("hash", transaction_hash)

    def confirmations(self, transfer: Transfer) -> int:
        chain = chains_by_name()[transfer.chain]
        return max(0, self._clock.height(chain, self._clock.moment()) - transfer.height + 1)

    def heights(self) -> dict[str, int]:
        here = self._clock.moment()
        return {name: self._clock.height(row, here) for name, row in chains_by_name().items()}

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


def _units(token: WorldToken, dollars: int) -> int:
    if token.asset is None:
        raise ValueError("only an asset with a price is issued")
    return int(dollars / token.asset.price) * int(10**token.row.decimals)
