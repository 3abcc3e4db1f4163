"""How old what the desk shows may be, and what is missing, in words."""

from __future__ import annotations

from swapdesk.client.stream_events import StreamState
from swapdesk.flows.notation import age

NEVER = 1e9
"""From this age on nothing was ever heard."""


def stale_words(state: StreamState, seconds: float) -> str:
    """``41s old, polling`` while the stream does not tell of changes; empty while it does.

    ``seconds`` since the last message or answer.
    """
    if state is StreamState.LIVE:
        return ""
    old = f"{age(seconds)} old, " if seconds < NEVER else ""
    return f"{old}{state.name.lower()}"


def left_out_words(skipped: int) -> str:
    """A sentence about so many orders that the service listed and that cannot be read; empty for
    none."""
    if not skipped:
        return ""
    orders, are = ("order", "is") if skipped == 1 else ("orders", "are")
    return (
        f"{skipped:,} {orders} of the service's list cannot be read and {are} left out, or as last"
        " known."
    )
