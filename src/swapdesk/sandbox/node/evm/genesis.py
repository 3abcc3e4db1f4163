"""Block 0: who holds what, and the code that stands at given addresses before any transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Allocation:
    """One account of block 0. ``balance`` is wei, ``code`` runtime code, ``storage`` words by
    slot; a contract begins with nonce 1 (EIP-161)."""

    balance: int = 0
    code: bytes = b""
    storage: Mapping[int, int] = field(default_factory=dict)

    @property
    def nonce(self) -> int:
        return 1 if self.code else 0


@dataclass(frozen=True)
class Genesis:
    """Everything block 0 is made from, by 20-byte address. ``mark`` (up to 32 bytes) goes into
    its extra data, so that two sandboxes never share a genesis hash."""

    accounts: Mapping[bytes, Allocation] = field(default_factory=dict)
    mark: bytes = b""

    @property
    def digest(self) -> str:
        """The same for the same content: a stored chain is opened only by what made it."""
        hashed = hashlib.sha256(self.mark)
        for address in sorted(self.accounts):
            account = self.accounts[address]
            hashed.update(address + account.balance.to_bytes(32, "big"))
            hashed.update(hashlib.sha256(account.code).digest())
            for slot in sorted(account.storage):
                hashed.update(slot.to_bytes(32, "big") + account.storage[slot].to_bytes(32, "big"))
        return hashed.hexdigest()
