"""The terms of the embedded Solana chain: its block interval, the validity of its blockhashes, and
its path."""

from __future__ import annotations

CHAIN = "solana"
PATH = "/solana"

SLOT_MS = 400
"""Milliseconds of sandbox time between blocks. The interval ignores the speed of world time,
because a blockhash sets a deadline for its user."""
WINDOW = 150
"""Blocks for which a blockhash is valid after its own block."""
CONFIRMED_AFTER, FINALIZED_AFTER = 2, 32
"""Blocks after which a transaction is confirmed, and finalized."""
SKIPPED_SLOTS = 21_600_000
"""Slots without a block before the sandbox began, so that a height and its slot are different
numbers."""
