"""What is issued to exchanges and faucet at the beginning of a world.

A data directory notes a digest of the tables it was issued from, and belongs to them alone.

A wallet of an exchange has a name; the name makes a key (``evm.genesis``, ``solana.genesis``), and
the key an address on the embedded chains.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from swapdesk.sandbox.node.database import Database, OtherWorld
from swapdesk.sandbox.venue_rows import PAYOUT_WALLETS, VENUE_ROWS
from swapdesk.sandbox.world import WorldToken, asset_of, trades, world_tokens

VENUE_DOLLARS = 5_000_000_000
FAUCET_DOLLARS = 500_000_000_000
"""What each hot wallet and each faucet holds of a token at genesis, in US dollars."""

_MOST_ON_SOLANA = (1 << 63) // (len(VENUE_ROWS) * PAYOUT_WALLETS + 1)

ISSUER = ""
"""Where the books keep the debt of what was issued."""

PAYER = "payer of deposits"
"""Pays deposits on the embedded chains in place of a trader."""


def hot_wallet_name(venue: str, number: int = 0) -> str:
    """One of the wallets an exchange pays from."""
    return f"hot wallet {venue} {number}"


CUSTOMER = "customer "
"""Before the name of a customer of the sandbox: an account of theirs."""


def reserves_of(token: WorldToken) -> Iterator[tuple[str, int]]:
    """(wallet, base units) at genesis; nothing of what has no price."""
    for venue, number, units in _reserves(token):
        yield PAYER if venue is None else hot_wallet_name(venue, number), units


def _reserves(token: WorldToken) -> Iterator[tuple[str | None, int, int]]:
    """Exchange and number of a wallet, or None for the faucet, with its base units."""
    if token.asset is None:
        return
    for venue in VENUE_ROWS:
        if trades(venue, token):
            units = reserve_units(token, VENUE_DOLLARS)
            yield from ((venue.code, number, units) for number in range(PAYOUT_WALLETS))
    yield None, 0, reserve_units(token, FAUCET_DOLLARS)


def reserve_units(token: WorldToken, dollars: int) -> int:
    """Base units of a wallet at genesis, whole tokens at the asset's base price. Tokens on Solana
    are counted in 64 bits, and half of them are for these wallets. Raises ValueError without a
    price."""
    units = int(dollars / asset_of(token).price) * int(10**token.row.decimals)
    return min(units, _MOST_ON_SOLANA) if token.chain.kind == "sol" else units


WalletOf = Callable[[WorldToken, str | None, int], str]
"""The address of an exchange's wallet by its number, or of the faucet, where a token lives."""


def issue_world(database: Database, wallet: WalletOf) -> None:
    """Issue every token that has a price, unless that is done. Runs inside a transaction of the
    caller. Raises OtherWorld where it was done from other tables."""
    digest = _digest()
    noted = database.get("world digest")
    if noted is None:
        for token in world_tokens().values():
            _issue(database, token, wallet)
        database.put("world digest", digest)
    elif noted != digest:
        raise OtherWorld("it was begun with other coins or exchanges")


def _digest() -> str:
    """Of everything that decides who gets how much of what."""
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


def _issue(database: Database, token: WorldToken, wallet: WalletOf) -> None:
    """To every exchange that trades a token and to the faucet, as a debt of the issuer."""
    units = {wallet(token, venue, number): held for venue, number, held in _reserves(token)}
    units[ISSUER] = -sum(units.values())
    database.connection.executemany(
        "INSERT INTO balances VALUES (?, ?, ?)",
        [(token.token_id, address, str(held)) for address, held in units.items()],
    )
