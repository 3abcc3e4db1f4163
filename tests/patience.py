"""How long a test waits for what must come.

Only a defect takes so long, so how quick the machine is decides nothing. It is below the timeout
of a test, whose error says less.
"""

from typing import Final

PATIENCE: Final = 240.0
"""Seconds."""
