"""The states of operations that create an order or move money, shared by the journal and the
wallet."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """The state of an operation."""

    PREPARED = "prepared"
    """The operation is recorded, and nothing was sent."""
    SENT = "sent"
    """The operation is being sent, or was sent and has no answer yet."""
    DONE = "done"
    REFUSED = "refused"
    """The operation had no effect and cannot have one any more; ``code`` says why."""
    UNKNOWN = "unknown"
    """The operation was sent, and it is unknown whether it arrived."""


OPEN = (State.PREPARED, State.SENT, State.UNKNOWN)
"""The states of operations whose outcome is not known yet."""
LEFT = (State.SENT, State.UNKNOWN)
"""The states of operations that were sent or may have been sent."""
