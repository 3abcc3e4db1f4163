"""What the exchanges and the faucet hold before anything is traded, and what their wallets on the
embedded chains are called: a name makes a key (``evm.genesis``, ``solana.genesis``), and a key
an address."""

from __future__ import annotations

from collections.abc import Iterator

from swapdesk.sandbox.venue_rows import PAYOUT_WALLETS, VENUE_ROWS
from swapdesk.sandbox.world import WorldToken, trades

VENUE_DOLLARS = 5_000_000_000
FAUCET_DOLLARS = 500_000_000_000
"""What each hot wallet and each faucet holds of a token at genesis, in US dollars."""

_MOST_ON_SOLANA = (1 << 63) // (len(VENUE_ROWS) * PAYOUT_WALLETS + 1)

PAYER = "payer of deposits"
"""Pays deposits on the embedded chains in place of a trader."""


def hot_wallet_name(venue: str, number: int = 0) -> str:
    """One of the wallets an exchange pays from."""
    return f"hot wallet {venue} {number}"


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
