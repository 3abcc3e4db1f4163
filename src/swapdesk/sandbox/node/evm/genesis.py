"""Block 0 of an embedded chain: account balances and code. The signing keys of the sandbox's own
accounts are derived from a name and ``sandbox.key``."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from coincurve import PrivateKey
from msgspec import Struct, field

from swapdesk.chain.addresses.evm import keccak


class Allocation(Struct, frozen=True):
    """The content of one account in block 0: ``balance`` in wei, ``code`` as runtime code,
    ``storage`` as words by slot."""

    balance: int = 0
    code: bytes = b""
    storage: Mapping[int, int] = field(default_factory=dict)


class Genesis(Struct, frozen=True):
    """The content of block 0: accounts by 20-byte address. ``mark`` goes into the extra data, so
    that each sandbox has its own genesis hash."""

    accounts: Mapping[bytes, Allocation] = field(default_factory=dict)
    mark: bytes = b""

    @property
    def digest(self) -> str:
        """Digest of the content of block 0. A stored chain can only be opened with the content that
        it began with."""
        hashed = hashlib.sha256(self.mark)
        for address in sorted(self.accounts):
            account = self.accounts[address]
            hashed.update(address + account.balance.to_bytes(32, "big"))
            hashed.update(hashlib.sha256(account.code).digest())
            for slot in sorted(account.storage):
                hashed.update(slot.to_bytes(32, "big") + account.storage[slot].to_bytes(32, "big"))
        return hashed.hexdigest()


FAUCET = "faucet"
"""Name of the account from which coins are given away; it holds them from block 0 on."""
OPERATOR = "operator"
"""Name of the account that acts for the sandbox itself, for example moves the pools with the
market."""


class SandboxKey(Struct, frozen=True):
    """The signing key of one account of the sandbox. ``address`` is 20 bytes; ``secret`` is never
    shown."""

    name: str
    secret: bytes
    address: bytes

    def __repr__(self) -> str:
        return f"SandboxKey({self.name!r}, 0x{self.address.hex()})"


def sandbox_key(key: bytes, name: str) -> SandboxKey:
    """Returns the signing key of the account ``name``, the same on every chain. ``key`` is the
    sandbox's secret (``sandbox.key``)."""
    purpose = f"evm account\0{name}\x000".encode()
    secret = hmac.new(key, purpose, hashlib.sha256).digest()
    public = PrivateKey(secret).public_key.format(compressed=False)
    return SandboxKey(name, secret, keccak(public[1:])[12:])


def genesis_mark(key: bytes) -> bytes:
    """Returns the 32 bytes in block 0 that differ between sandboxes. ``key`` is the sandbox's
    secret (``sandbox.key``)."""
    return hmac.new(key, b"evm genesis", hashlib.sha256).digest()
