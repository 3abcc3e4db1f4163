"""The keys that makers of the sandbox sign their half of a swap with.

Another one in every sandbox, so that a wallet learns them from the ready line and never from the
service that it checks.
"""

from __future__ import annotations

from pathlib import Path

from swapdesk.sandbox.node.solana.genesis import MAKER, key_seed
from swapdesk.sandbox.node.solana.terms import CHAIN
from swapdesk.sandbox.partner_keys import load_key


def makers_of(directory: Path) -> list[dict[str, str]]:
    """Of the sandbox in a data directory: provider, chain and key of each maker. Raises
    KeyRefused."""
    from solders.keypair import Keypair  # on use: it takes longer than all the rest

    seed = key_seed(load_key(directory), MAKER)
    return [{"provider": "at", "chain": CHAIN, "key": str(Keypair.from_seed(seed).pubkey())}]
