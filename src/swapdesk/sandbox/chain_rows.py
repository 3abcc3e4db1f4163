"""The chains of the sandbox: what the catalogue says of them, and what those with an EVM promise.

``chains.tsv`` has a line for each. Blocks come closer together than in life where life is too
slow for a desk to be tried: a Bitcoin block every 100 s instead of 600 s of world time. The
embedded EVM chains add an id and a lowest base fee (``ChainTerms``).
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, derive_address, published_shape
from swapdesk.chain.deployments import SANDBOX_CHAIN_IDS
from swapdesk.sandbox.node.solana.terms import CHAIN, PATH
from swapdesk.sandbox.tables import read_table


class ChainRow(Struct, frozen=True):
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

    def chain_id_of(self, ids: ChainIds) -> int | None:
        """The EVM id, under which the sandbox's own are told from the real ones."""
        if self.chain_id is None or ids == "sandbox":
            return self.chain_id
        return self.chain_id - SANDBOX_CHAIN_IDS

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


ChainIds = Literal["sandbox", "real"]
"""``sandbox``: 1,337,000,000 + the real id (interfaces 3); ``real``: for outside clients."""

GAS_LIMIT = 30_000_000
"""Of every block, for ever: py-evm lets it drift."""

_GWEI = 10**9

_LOWEST_BASE_FEES = {
    "ethereum": 1_500_000_000,
    "base": 5_000_000,
    "arbitrum": 10_000_000,
    "polygon": 25 * _GWEI,
    "bsc": 50_000_000,
}
"""Wei per gas. Without a floor a quiet chain decays to 7 wei and gas is quoted as free."""

EVM_CHAINS = tuple(_LOWEST_BASE_FEES)
"""Short names of the chains which the sandbox runs itself."""


class ChainTerms(Struct, frozen=True):
    """``block_ms`` is world time between blocks. A transaction that somebody waits for is
    followed by ``confirmations`` - 1 blocks more, however quiet the chain is."""

    short_name: str
    chain_id: int
    block_ms: int
    confirmations: int
    lowest_base_fee: int


def chain_terms(ids: ChainIds = "sandbox") -> dict[str, ChainTerms]:
    """The terms of every embedded chain by short name."""
    found = {}
    for row in CHAIN_ROWS:
        fee = _LOWEST_BASE_FEES.get(row.short_name)
        chain_id = row.chain_id_of(ids)
        if fee is None or chain_id is None:
            continue
        found[row.short_name] = ChainTerms(
            row.short_name, chain_id, row.block_ms, row.confirmations, fee
        )
    return found


def chain_lines(terms: dict[str, ChainTerms], node: str) -> list[dict[str, object]]:
    """The embedded chains of the node at an address, as a ready line shows them (interfaces 2);
    Solana has no chain id."""
    lines = [
        {
            "shortName": name,
            "kind": "evm",
            "chainId": each.chain_id,
            "rpc": f"{node}/evm/{name}",
        }
        for name, each in terms.items()
    ]
    return [*lines, {"shortName": CHAIN, "kind": "sol", "chainId": None, "rpc": f"{node}{PATH}"}]
