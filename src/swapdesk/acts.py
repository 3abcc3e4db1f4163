"""The states of an operation, which is anything that creates an order or moves money. The journal
and the wallet share them."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """The state of an operation. An operation creates an order or moves money."""

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
"""The states of an operation that is neither done nor refused."""
LEFT = (State.SENT, State.UNKNOWN)
"""The states of an operation that was sent, or may have been sent, and is neither done nor
refused."""
