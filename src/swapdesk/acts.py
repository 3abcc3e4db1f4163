"""The states of whatever creates an order or moves money, in the journal and the wallet alike."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """The state of an operation."""

    PREPARED = "prepared"
    """Nothing of it left."""
    SENT = "sent"
    """It leaves now, or left without an answer so far."""
    DONE = "done"
    REFUSED = "refused"
    """Nothing came of it, and nothing can: ``code`` says why."""
    UNKNOWN = "unknown"
    """It left, and whether it arrived is unknown."""


OPEN = (State.PREPARED, State.SENT, State.UNKNOWN)
"""The states without a known end."""
LEFT = (State.SENT, State.UNKNOWN)
"""The states in which it left, or may have."""
