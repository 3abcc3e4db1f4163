"""The beginning of the Solana chain: the catalogue's mints, and what the faucet, the exchanges and
the maker hold."""

from __future__ import annotations

import hashlib
import hmac
from fractions import Fraction

from msgspec import Struct

from swapdesk.chain.addresses import base58
from swapdesk.sandbox.node.ledger import reserves_of
from swapdesk.sandbox.node.solana.terms import CHAIN
from swapdesk.sandbox.tables import quoted_by_maker
from swapdesk.sandbox.world import WorldToken, world_tokens

FAUCET = "faucet"
"""Name of the account that holds the SOL to give away."""
MINTER = "mint"
"""Name of the account that may mint tokens of every catalogue mint."""

MAKER = "atoll"
"""Name of the account that holds the tokens of the venue Atoll and signs Atoll's half of each
swap."""

FAUCET_LAMPORTS = 500_000_000 * 10**9
MAKER_LAMPORTS = 1_000_000 * 10**9
MAKER_DOLLARS = 50_000_000
"""Value in dollars of each token that the maker holds, at the token's base price."""
WALLET_LAMPORTS = 10_000 * 10**9
"""Lamports for fees and rent in an exchange's wallet, besides those that it trades."""
_MOST_UNITS = 1 << 62
"""Largest number of a token's units that the maker holds: a quarter of what a token account can
hold."""
NATIVE_MINT = "So11111111111111111111111111111111111111112"
"""The mint of wrapped SOL, whose tokens only the token program can make."""


class FirstMint(Struct, frozen=True):
    """A mint that exists from the beginning. The maker holds ``held`` units of its tokens;
    ``reserves`` are the names of exchanges' wallets with the units that each holds."""

    address: str
    decimals: int
    held: int = 0
    reserves: tuple[tuple[str, int], ...] = ()

    @property
    def supply(self) -> int:
        return self.held + sum(units for _, units in self.reserves)


def catalogue_mints() -> list[FirstMint]:
    """Returns a mint for every token of the catalogue that has a contract on this chain. Wrapped
    SOL is left out."""
    return [
        FirstMint(token.address, token.row.decimals, _held(token), tuple(reserves_of(token)))
        for token in world_tokens().values()
        if token.row.chain == CHAIN
        and token.address is not None
        and not token.row.native
        and token.address != NATIVE_MINT
    ]


def _held(token: WorldToken) -> int:
    asset = quoted_by_maker(token.row)
    if asset is None:
        return 0
    units = Fraction(MAKER_DOLLARS) / Fraction(asset.price) * 10**token.row.decimals
    return min(int(units), _MOST_UNITS)


def wallet_lamports() -> dict[str, int]:
    """Returns the lamports that each wallet of an exchange has at the beginning, by the wallet's
    name."""
    (coin,) = (
        token for token in world_tokens().values() if token.row.chain == CHAIN and token.row.native
    )
    names = {name for mint in catalogue_mints() for name, _ in mint.reserves}
    lamports = dict.fromkeys(sorted(names), WALLET_LAMPORTS)
    for name, units in reserves_of(coin):
        lamports[name] = WALLET_LAMPORTS + units
    return lamports


def key_seed(key: bytes, name: str) -> bytes:
    """Returns the 32 bytes from which the signing key of the account ``name`` is made, derived from
    the sandbox's secret ``key``."""
    return hmac.new(key, b"solana account\0" + name.encode(), hashlib.sha256).digest()


def genesis_hash(key: bytes) -> str:
    """Returns the chain's genesis hash in base58. It depends on the sandbox and on the first
    accounts."""
    mints = "".join(
        f"{first_mint.address} {first_mint.decimals} {first_mint.held} {first_mint.reserves}\n"
        for first_mint in catalogue_mints()
    )
    first = f"solana genesis\0{FAUCET_LAMPORTS} {MAKER_LAMPORTS} {wallet_lamports()}\n{mints}"
    return base58.encode(hmac.new(key, first.encode(), hashlib.sha256).digest())
