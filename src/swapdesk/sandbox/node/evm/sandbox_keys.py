"""Keys of the sandbox's own EVM accounts, all derived from ``sandbox.key``.

A name always gives the same key in one sandbox and another one in every other sandbox.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from coincurve import PrivateKey

from swapdesk.chain.addresses.evm import keccak

_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141

FAUCET = "faucet"
"""Holds the coins that are given away, from block 0."""
OPERATOR = "operator"
"""Runs what the world does on its own: contracts, pools, prices."""


@dataclass(frozen=True, repr=False)
class SandboxKey:
    """One account. ``address`` is 20 bytes; ``secret`` is never shown."""

    name: str
    secret: bytes
    address: bytes

    def __repr__(self) -> str:
        return f"SandboxKey({self.name!r}, 0x{self.address.hex()})"


def sandbox_key(key: bytes, name: str) -> SandboxKey:
    """The account ``name`` of the sandbox with this ``sandbox.key``; the same on every chain."""
    attempt = 0
    while True:
        purpose = f"evm account\0{name}\0{attempt}".encode()
        secret = hmac.new(key, purpose, hashlib.sha256).digest()
        if 0 < int.from_bytes(secret, "big") < _ORDER:
            break
        attempt += 1
    public = PrivateKey(secret).public_key.format(compressed=False)
    return SandboxKey(name, secret, keccak(public[1:])[12:])


def genesis_mark(key: bytes) -> bytes:
    """32 bytes that make block 0 of every sandbox another one."""
    return hmac.new(key, b"evm genesis", hashlib.sha256).digest()
