"""How whatever makes an order or moves money stands: the journal's acts and the transactions of
the wallet alike."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """How an act stands."""

    PREPARED = "prepared"
    """Nothing of it left."""
    SENT = "sent"
    """It leaves now, or left and is not answered."""
    DONE = "done"
    REFUSED = "refused"
    """Nothing came of it, and nothing can: ``code`` says why."""
    UNKNOWN = "unknown"
    """It left, and whether it arrived is not known."""


OPEN = (State.PREPARED, State.SENT, State.UNKNOWN)
"""How it ends is not known."""
LEFT = (State.SENT, State.UNKNOWN)
"""It left, or may have."""
