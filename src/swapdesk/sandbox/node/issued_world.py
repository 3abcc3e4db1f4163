"""What is issued to exchanges and faucet, and how a data directory keeps up with the tables.

A directory notes a digest of the tables it was issued from, and the terms of every token. With
other tables it is supplemented: what never moved is issued anew, and new wallets of what moved
get theirs. What orders of the directory need must still be there, else it is refused.

A wallet of an exchange has a name; the name makes a key (``evm.genesis``, ``solana.genesis``), and
the key an address on the embedded chains.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from swapdesk.sandbox.node.database import Database
from swapdesk.sandbox.venue_rows import PAYOUT_WALLETS, VENUE_ROWS
from swapdesk.sandbox.world import WorldToken, trades, world_tokens

VENUE_DOLLARS = 5_000_000_000
FAUCET_DOLLARS = 500_000_000_000
"""What each hot wallet and each faucet holds of a token at genesis, in US dollars."""

_MOST_ON_SOLANA = (1 << 63) // (len(VENUE_ROWS) * PAYOUT_WALLETS + 1)

PAYER = "payer of deposits"
"""Pays deposits on the embedded chains in place of a trader."""


def hot_wallet_name(venue: str, number: int = 0) -> str:
    """One of the wallets an exchange pays from."""
    return f"hot wallet {venue} {number}"


CUSTOMER = "customer "


def customer_name(name: str) -> str:
    """An account of a customer of the sandbox."""
    return CUSTOMER + name


def trader_name(name: str) -> str:
    """The account from which a customer sends transactions of their own. It is another one than
    that of their deposits, whose numbers (nonces) the books count."""
    return f"trader {name}"


def deposit_name(venue: str, key: str) -> str:
    """The address of one leg."""
    return f"deposit {venue} {key}"


def static_deposit_name(venue: str, chain: str, number: int) -> str:
    """An address that an exchange gives to one leg after the other."""
    return f"static deposit {venue} {chain} {number}"


def reserves_of(token: WorldToken) -> Iterator[tuple[str, int]]:
    """(wallet, base units) at genesis; nothing of what has no price."""
    if token.asset is None:
        return
    for venue in VENUE_ROWS:
        if trades(venue, token):
            for number in range(PAYOUT_WALLETS):
                yield hot_wallet_name(venue.code, number), reserve_units(token, VENUE_DOLLARS)
    yield PAYER, reserve_units(token, FAUCET_DOLLARS)


def reserve_units(token: WorldToken, dollars: int) -> int:
    """Base units of a wallet at genesis. Tokens on Solana are counted in 64 bits, and half of them
    are for these wallets. Raises ValueError without a price."""
    units = units_worth(token, dollars)
    return min(units, _MOST_ON_SOLANA) if token.chain.kind == "sol" else units


def units_worth(token: WorldToken, dollars: int) -> int:
    """Base units at the asset's base price, whole tokens. Raises ValueError without a price."""
    if token.asset is None:
        raise ValueError("only an asset with a price is issued")
    return int(dollars / token.asset.price) * int(10**token.row.decimals)


_DIGEST, _TERMS = "world digest", "world terms"

WalletOf = Callable[[WorldToken, str | None, int], str]
"""The address of an exchange's wallet by its number, or of the faucet, where a token lives."""


class OtherWorld(Exception):
    """Orders of the directory need what the tables no longer have."""

    def __init__(self, directory: Path, missing: Iterable[str]) -> None:
        super().__init__(
            f"{directory} has orders of another world ({', '.join(sorted(missing))});"
            " choose another data directory, or remove it to begin a new world"
        )


def issue_world(database: Database, wallet: WalletOf, directory: Path) -> None:
    """Issue what is not issued yet. Runs inside a transaction of the caller. Raises OtherWorld.

    A directory that notes no digest was begun by an earlier release and is looked through once.
    """
    digest = _digest()
    if database.get(_DIGEST) == digest:
        return
    tokens = {token.token_id: token for token in _issued()}
    noted: dict[str, list[str]] = json.loads(database.get(_TERMS) or "{}")
    used = _used(database)
    _require(database, directory, tokens, noted, used)
    _forget(database, used)
    for token in tokens.values():
        _issue(database, token, wallet)
    terms = {token_id: [*_terms(token), token.row.symbol] for token_id, token in tokens.items()}
    database.put(_TERMS, json.dumps(noted | terms))
    database.put(_DIGEST, digest)


def _issued() -> list[WorldToken]:
    return [token for token in world_tokens().values() if token.asset is not None]


def _terms(token: WorldToken) -> list[str]:
    """What must not change while somebody has some: its chain and its decimals."""
    return [token.row.chain, str(token.row.decimals)]


def _digest() -> str:
    """Of everything that decides who gets how much of what."""
    lines = [f"{FAUCET_DOLLARS} {VENUE_DOLLARS} {PAYOUT_WALLETS}"]
    for token in _issued():
        asset = token.asset
        assert asset is not None
        listed = f"{token.tradable} {asset.everywhere} {asset.only}"
        lines.append(f"{token.token_id} {_terms(token)} {asset.code} {asset.price} {listed}")
    lines += [
        f"{row.code} {row.reach} {sorted(row.without)} {sorted(row.without_chains)}"
        for row in VENUE_ROWS
    ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _used(database: Database) -> set[str]:
    """Tokens that were ever moved or ordered."""
    rows = database.connection.execute(
        "SELECT token FROM transfers UNION SELECT token_in FROM accounts"
        " UNION SELECT token_out FROM accounts"
    )
    return {row[0] for row in rows}


def _require(
    database: Database,
    directory: Path,
    tokens: dict[str, WorldToken],
    noted: dict[str, list[str]],
    used: set[str],
) -> None:
    """Raises OtherWorld."""
    missing = set()
    for token_id in used:
        token = tokens.get(token_id)
        chain, decimals, symbol = noted.get(token_id, ("", "", f"token {token_id}"))
        if token is None:
            missing.add(f"{symbol} {chain}".strip())
        elif token_id in noted and [chain, decimals] != _terms(token):
            missing.add(f"{symbol} {chain} with {decimals} decimals")
    venues = {row[0] for row in database.connection.execute("SELECT venue FROM accounts")}
    missing |= {f"exchange {code}" for code in venues - {row.code for row in VENUE_ROWS}}
    if missing:
        raise OtherWorld(directory, missing)


def _forget(database: Database, used: set[str]) -> None:
    """Take back what never moved."""
    kept = json.dumps(sorted(used))
    for table in ("balances", "issued"):
        database.connection.execute(
            f"DELETE FROM {table} WHERE token NOT IN (SELECT value FROM json_each(?))",  # noqa: S608
            (kept,),
        )


def _issue(database: Database, token: WorldToken, wallet: WalletOf) -> None:
    """To every exchange that trades a token and to the faucet, where they have no row of it."""
    units = {wallet(token, None, 0): reserve_units(token, FAUCET_DOLLARS)}
    for venue in VENUE_ROWS:
        if trades(venue, token):
            reserve = reserve_units(token, VENUE_DOLLARS)
            units |= {wallet(token, venue.code, i): reserve for i in range(PAYOUT_WALLETS)}
    query = "SELECT address FROM balances WHERE token = ?"
    held = {row[0] for row in database.connection.execute(query, (token.token_id,))}
    new = {address: amount for address, amount in units.items() if address not in held}
    if not new:
        return
    database.connection.executemany(
        "INSERT INTO balances VALUES (?, ?, ?)",
        [(token.token_id, address, str(amount)) for address, amount in new.items()],
    )
    query = "SELECT units FROM issued WHERE token = ?"
    before = database.connection.execute(query, (token.token_id,)).fetchone()
    total = sum(new.values()) + (0 if before is None else int(before[0]))
    database.connection.execute(
        "INSERT OR REPLACE INTO issued VALUES (?, ?)", (token.token_id, str(total))
    )
