"""Block 0: who holds what, and the code that stands at given addresses before any transaction.

The sandbox's own accounts have names; a name and ``sandbox.key`` make a key.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from coincurve import PrivateKey
from msgspec import Struct, field

from swapdesk.chain.addresses.evm import keccak


class Allocation(Struct, frozen=True):
    """One account of block 0.

    ``balance`` is wei, ``code`` runtime code, ``storage`` words by slot.
    """

    balance: int = 0
    code: bytes = b""
    storage: Mapping[int, int] = field(default_factory=dict)


class Genesis(Struct, frozen=True):
    """The content of block 0, by 20-byte address.

    ``mark`` (up to 32 bytes) goes into its extra data, so that two sandboxes never share a genesis
    hash.
    """

    accounts: Mapping[bytes, Allocation] = field(default_factory=dict)
    mark: bytes = b""

    @property
    def digest(self) -> str:
        """Equal for equal content: a stored chain is opened only with its own."""
        hashed = hashlib.sha256(self.mark)
        for address in sorted(self.accounts):
            account = self.accounts[address]
            hashed.update(address + account.balance.to_bytes(32, "big"))
            hashed.update(hashlib.sha256(account.code).digest())
            for slot in sorted(account.storage):
                hashed.update(slot.to_bytes(32, "big") + account.storage[slot].to_bytes(32, "big"))
        return hashed.hexdigest()


FAUCET = "faucet"
"""Holds the coins that are given away, from block 0."""
OPERATOR = "operator"
"""Acts for the world itself: contracts, pools, prices."""


class SandboxKey(Struct, frozen=True):
    """One account. ``address`` is 20 bytes; ``secret`` is never shown."""

    name: str
    secret: bytes
    address: bytes

    def __repr__(self) -> str:
        return f"SandboxKey({self.name!r}, 0x{self.address.hex()})"


def sandbox_key(key: bytes, name: str) -> SandboxKey:
    """Returns the account ``name`` of the sandbox with this ``sandbox.key``; the same on every
    chain.
    """
    purpose = f"evm account\0{name}\x000".encode()
    secret = hmac.new(key, purpose, hashlib.sha256).digest()
    public = PrivateKey(secret).public_key.format(compressed=False)
    return SandboxKey(name, secret, keccak(public[1:])[12:])


def genesis_mark(key: bytes) -> bytes:
    """Returns 32 bytes that make block 0 of every sandbox unique."""
    return hmac.new(key, b"evm genesis", hashlib.sha256).digest()
