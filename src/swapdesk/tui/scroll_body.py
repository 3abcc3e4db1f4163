"""A body that is read and has no cursor: the arrows scroll it where the screen is too low."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.tui.commands.command import HIDDEN, READY, CommandState

if TYPE_CHECKING:
    from textual.widget import Widget

STEP = 3
"""Rows one key scrolls."""


class BodyReading:
    """Where the body of a screen stands, and how it is scrolled."""

    def __init__(self, body: Widget) -> None:
        self._body = body

    @property
    def below(self) -> CommandState:
        """Whether something stands further down."""
        return READY if self._body.scroll_offset.y < self._body.max_scroll_y else HIDDEN

    @property
    def above(self) -> CommandState:
        """Whether something stands further up."""
        return READY if self._body.scroll_offset.y > 0 else HIDDEN

    def on(self) -> None:
        """Further down."""
        self._body.scroll_relative(y=STEP, animate=False)

    def back(self) -> None:
        """Further up."""
        self._body.scroll_relative(y=-STEP, animate=False)
