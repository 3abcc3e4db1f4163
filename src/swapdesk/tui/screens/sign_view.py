"""What stands on the page that signs: the review, or what goes on while there is none."""

from __future__ import annotations

from typing import Any

from textual.message import Message

from swapdesk.tui.screens.sign_facts import SignState, heading_lines, sign_lines
from swapdesk.tui.spans import Line
from swapdesk.tui.widgets.lines_view import LinesView


class SignView(LinesView):
    """The review, or what goes on while there is none."""

    class LaidOut(Message):
        """It has its room on the screen."""

    def __init__(self, state: SignState, **place: Any) -> None:
        super().__init__(**place)
        self.state = state

    def on_resize(self) -> None:
        self.post_message(self.LaidOut())

    def show(self, state: SignState) -> None:
        self.state = state
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return sign_lines(self.state, width)


class SignHeading(SignView):
    """What stays in view while a review is read."""

    def lines(self, width: int) -> list[Line]:
        return heading_lines(self.state, width)
