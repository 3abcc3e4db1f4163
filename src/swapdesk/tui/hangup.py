"""A terminal that is gone ends the desk: nobody can read it or press a key any more.

The kernel tells only the leader of a session; a desk started otherwise would go on for ever,
reading the end of a closed terminal over and over.
"""

from __future__ import annotations

import select

LOOK_SECONDS = 1.0
EXIT_CODE = 129
"""As a shell says of a program that a hangup ended."""


def has_hung_up(fileno: int) -> bool:
    """Whether the other side of this terminal is closed."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    # No event is asked for: a hangup and an error are told all the same.
    poll.register(fileno, 0)
    return bool(poll.poll(0))
