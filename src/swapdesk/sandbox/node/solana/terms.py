"""Terms of the embedded Solana chain: its beat, its window, and its path."""

from __future__ import annotations

CHAIN = "solana"
PATH = "/solana"

SLOT_MS = 400
"""Of sandbox time: a blockhash is a deadline, which the speed of the world does not move."""
WINDOW = 150
"""Blocks for which a blockhash is valid."""
CONFIRMED_AFTER, FINALIZED_AFTER = 2, 32
"""Blocks until a transaction has this commitment."""
SKIPPED_SLOTS = 21_600_000
"""Slots without a block before the sandbox began, so that height and slot are not one number."""
