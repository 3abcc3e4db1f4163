"""What each embedded EVM chain promises: id, beat, gas limit and lowest base fee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from swapdesk.chain.deployments import SANDBOX_CHAIN_IDS
from swapdesk.sandbox.chain_rows import CHAIN_ROWS

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


@dataclass(frozen=True)
class ChainTerms:
    """``block_ms`` is world time between blocks. A transaction that somebody waits for is
    followed by ``confirmations`` - 1 blocks more, however quiet the chain is."""

    short_name: str
    chain_id: int
    block_ms: int
    confirmations: int
    lowest_base_fee: int
    gas_limit: int = GAS_LIMIT


def chain_terms(ids: ChainIds = "sandbox") -> dict[str, ChainTerms]:
    """The terms of every embedded chain by short name."""
    found = {}
    for row in CHAIN_ROWS:
        fee = _LOWEST_BASE_FEES.get(row.short_name)
        if fee is None or row.chain_id is None:
            continue
        chain_id = row.chain_id if ids == "sandbox" else row.chain_id - SANDBOX_CHAIN_IDS
        found[row.short_name] = ChainTerms(
            row.short_name, chain_id, row.block_ms, row.confirmations, fee
        )
    return found


def chain_lines(terms: dict[str, ChainTerms], host: str, port: int) -> list[dict[str, object]]:
    """The embedded chains as a ready line shows them."""
    shown = f"[{host}]" if ":" in host else host
    return [
        {
            "shortName": name,
            "kind": "evm",
            "chainId": each.chain_id,
            "rpc": f"http://{shown}:{port}/evm/{name}",
        }
        for name, each in terms.items()
    ]
