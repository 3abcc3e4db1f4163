"""Constants of the embedded Solana chain: its block interval, the validity of its blockhashes, and
its URL path."""

from __future__ import annotations

CHAIN = "solana"
PATH = "/solana"

SLOT_MS = 400
"""Milliseconds of sandbox time between two blocks, at every speed, so that blockhashes stay usable
long enough."""
WINDOW = 150
"""Number of blocks for which a blockhash stays valid after its own block."""
CONFIRMED_AFTER, FINALIZED_AFTER = 2, 32
"""Number of blocks after which a transaction counts as confirmed, and as finalized."""
SKIPPED_SLOTS = 21_600_000
"""How far slots are ahead of block heights, so that programs which confuse them fail."""
