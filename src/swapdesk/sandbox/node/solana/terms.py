"""What the embedded Solana chain promises: its beat, its window, and where it is served."""

from __future__ import annotations

CHAIN = "solana"
PATH = "/solana"

SLOT_MS = 400
"""Of sandbox time: a blockhash is a deadline, which the speed of the world does not move."""
WINDOW = 150
"""Blocks for which a blockhash is good."""
CONFIRMED_AFTER, FINALIZED_AFTER = 2, 32
"""Blocks until a transaction is told to be that safe."""
SKIPPED_SLOTS = 21_600_000
"""Slots without a block before the sandbox began, so that height and slot are not one number."""
