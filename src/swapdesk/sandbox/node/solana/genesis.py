"""How the chain begins: the catalogue's mints at their own addresses, and SOL for the faucet."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from fractions import Fraction

from swapdesk.chain.addresses import base58
from swapdesk.sandbox.dex_listing import quoted_by_maker
from swapdesk.sandbox.node.solana.terms import CHAIN
from swapdesk.sandbox.world import WorldToken, world_tokens

FAUCET = "faucet"
"""Holds the SOL that is given away."""
MINTER = "mint"
"""May make tokens of every catalogue mint."""

MAKER = "atoll"
"""Holds both sides of what Atoll quotes, and signs its half of each swap."""

FAUCET_LAMPORTS = 500_000_000 * 10**9
MAKER_LAMPORTS = 1_000_000 * 10**9
MAKER_DOLLARS = 50_000_000
"""What the maker holds of each token, at its base price."""
_MOST_UNITS = 1 << 62
"""A quarter of what a token account can count, so that more can always be made."""
NATIVE_MINT = "So11111111111111111111111111111111111111112"
"""Wrapped SOL: nobody makes it but the token program."""


@dataclass(frozen=True)
class FirstMint:
    """A mint that stands on the chain from the beginning; ``held`` units are the maker's."""

    address: str
    decimals: int
    held: int = 0


def catalogue_mints() -> list[FirstMint]:
    """Every token of the catalogue that has a contract on this chain."""
    return [
        FirstMint(token.address, token.row.decimals, _held(token))
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


def key_seed(key: bytes, name: str) -> bytes:
    """32 bytes for the account ``name`` of the sandbox with this ``sandbox.key``."""
    return hmac.new(key, b"solana account\0" + name.encode(), hashlib.sha256).digest()


def genesis_hash(key: bytes) -> bytes:
    """Another one for every sandbox, and for other first accounts."""
    mints = "".join(f"{each.address} {each.decimals} {each.held}\n" for each in catalogue_mints())
    first = f"solana genesis\0{FAUCET_LAMPORTS} {MAKER_LAMPORTS}\n{mints}"
    return hmac.new(key, first.encode(), hashlib.sha256).digest()


def shown_hash(value: bytes) -> str:
    return base58.encode(value)
