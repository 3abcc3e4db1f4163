"""Leaving the desk: the first key tells what is open, the second one leaves."""

from __future__ import annotations

from swapdesk.clock import Clock

AGAIN_SECONDS = 10.0
"""How long the telling counts; as long as its notice is shown."""


QUITS = "q quits."


def brief_warning(warning: str) -> str:
    """The first sentence of a warning and the key, for screens where all of it is too long."""
    first, dot, _ = warning.partition(".")
    return f"{first.partition(' and ')[0]}{dot} {QUITS}"


class LeavingGuard:
    """Asked at every ``q``; a warning is told once, then the next key leaves."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: tuple[str, float] | None = None

    def refusal(self, warning: str | None) -> str | None:
        """The warning to show instead of leaving, None to leave now."""
        now = self._clock.monotonic()
        told, self._told = self._told, (warning, now) if warning is not None else None
        if warning is None:
            return None
        if told is not None and told[0] == warning and now - told[1] <= AGAIN_SECONDS:
            return None
        return warning
