"""Who holds what on the embedded chains: the sandbox's own accounts and their part of tokens."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.sandbox.node.evm.genesis import OPERATOR, sandbox_key

TREASURY = "treasury"
"""Holds every token that nobody else does, and gives them away."""
SOLVER = "isthmus"
"""Settles orders of Isthmus out of its inventory."""
RELAYER = "meridian"
"""Pays out what Meridian's portal took on another chain."""
BUNDLER = "bundler"
"""Sends bundles of UserOperations, and is paid back for their gas."""
KEEPER = OPERATOR
"""Moves pools after the market."""

COINS = 10**6 * 10**18
"""Wei of each from block 0, for gas."""


@dataclass(frozen=True)
class Parties:
    """Addresses with their checksum, the same on every chain."""

    treasury: str
    solver: str
    relayer: str
    keeper: str
    bundler: str


def parties_of(key: bytes) -> Parties:
    """The accounts of the sandbox with this ``sandbox.key``."""
    return Parties(*(_address(key, name) for name in (TREASURY, SOLVER, RELAYER, KEEPER, BUNDLER)))


def _address(key: bytes, name: str) -> str:
    return checksummed("0x" + sandbox_key(key, name).address.hex())
