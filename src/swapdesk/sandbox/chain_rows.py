"""The ledger chains of the sandbox: what the catalogue says of them and how their blocks beat.

``chains.tsv`` has a line for each. Blocks come closer together than in life where life is too
slow for a desk to be tried: a Bitcoin block every 100 s instead of 600 s of world time.
"""

from __future__ import annotations

from swapdesk.chain.deployments import SANDBOX_CHAIN_IDS
from swapdesk.sandbox.chain_row import ChainRow
from swapdesk.sandbox.tables import read_table

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
