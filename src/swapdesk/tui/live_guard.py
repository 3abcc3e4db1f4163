"""Real money is agreed to once per session, by a typed word, before the first create."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from swapdesk.tui.widgets.typed_confirm import Question

PHRASE = "live"


class LiveGuard:
    """``live``: whether the profile is one. Nothing is asked in the sandbox."""

    def __init__(self, live: bool) -> None:
        self._asks = live

    @property
    def asks(self) -> bool:
        """Whether the word must be typed before anything is created."""
        return self._asks

    def question(self) -> Question:
        from swapdesk.tui.widgets.typed_confirm import Question

        return Question(
            "This is LIVE",
            ["This is LIVE. You type real money.", "The word is asked once for this session."],
            PHRASE,
            "agree",
        )

    def agree(self) -> None:
        """The word was typed."""
        self._asks = False
