"""The ledger chains of the sandbox: what the catalogue says of them, and when they have blocks.

``chains.tsv`` has a line for each. Blocks come closer together than in life where life is too
slow for a desk to be tried: a Bitcoin block every 100 s instead of 600 s of world time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, derive_address, published_shape
from swapdesk.chain.deployments import SANDBOX_CHAIN_IDS
from swapdesk.sandbox.tables import read_table


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


__all__ = ["CHAIN_ROWS", "ChainRow"]


def _chain(line: dict[str, str]) -> ChainRow:
    flags = line["flags"].split()
    return ChainRow(
        name=line["name"],
        short_name=line["short"],
        kind=line["kind"],
        block_ms=int(line["block_ms"]),
        confirmations=int(line["confirmations"]),
        first_height=int(line["first_height"]),
        explorer=line["explorer"],
        address_page=line["address_page"],
        transaction_page=line["transaction_page"],
        chain_id=SANDBOX_CHAIN_IDS + int(line["chain_id"]) if line["chain_id"] else None,
        enabled="disabled" not in flags,
        beat="slots" if "slots" in flags else "world",
    )


CHAIN_ROWS: tuple[ChainRow, ...] = tuple(map(_chain, read_table("chains.tsv")))
