"""What the sandbox says of a ledger chain, and how its blocks beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, derive_address, published_shape


@dataclass(frozen=True)
class ChainRow:
    """One chain. ``beat`` is ``slots`` where blocks ignore the speed of the world.

    ``confirmations`` is what a venue waits for before it credits a deposit.
    """

    name: str
    short_name: str
    kind: str
    block_ms: int
    confirmations: int
    first_height: int
    explorer: str
    address_page: str
    transaction_page: str = "tx"
    chain_id: int | None = None
    enabled: bool = True
    beat: Literal["world", "slots"] = "world"

    @property
    def address_pattern(self) -> str:
        """What a payout address looks like (contract 5.1)."""
        return published_shape(self.kind, self.name)

    @property
    def contract_pattern(self) -> str:
        """What a token's contract looks like (contract 5.1)."""
        return ADDRESS_KINDS[self.kind].contract_shape

    def address(self, seed: bytes) -> str:
        """The address of a 32-byte seed on this chain; nobody holds its key."""
        return derive_address(self.kind, seed, self.name)

    @property
    def needs_memo(self) -> bool:
        """Whether exchanges tell their clients apart by a memo here (contract 5.1)."""
        memo = ADDRESS_KINDS[self.kind].memo
        return memo is not None and memo.per_client
