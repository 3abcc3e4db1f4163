"""Constants of the embedded Solana chain: its block interval, the validity of its blockhashes, and
its URL path."""

from __future__ import annotations

CHAIN = "solana"
PATH = "/solana"

SLOT_MS = 400
"""Milliseconds of sandbox time between two blocks. The interval ignores the speed of world time,
because a blockhash expires after a number of blocks, which leaves its user a certain time."""
WINDOW = 150
"""Number of blocks for which a blockhash stays valid after its own block."""
CONFIRMED_AFTER, FINALIZED_AFTER = 2, 32
"""Number of blocks after which a transaction counts as confirmed, and as finalized."""
SKIPPED_SLOTS = 21_600_000
"""Difference between the slot and the height of a block, as if so many slots had passed without a
block before the sandbox began. The two numbers differ so that programs which confuse them fail."""
