"""The line above a table that keeps only some of its rows; not there until it is asked for."""

from __future__ import annotations

from typing import Any

from swapdesk.tui.spans import LineLike
from swapdesk.tui.widgets.text_field import TextField

LIMIT = 240
"""Room for the longest hash and a few words."""


class FilterField(TextField):
    """Closed, it takes no row and filters nothing."""

    DEFAULT_CSS = """
    FilterField { display: none; }
    FilterField.-open { display: block; }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(prompt="/", limit=LIMIT, **place)

    @property
    def opened(self) -> bool:
        return self.has_class("-open")

    @property
    def text(self) -> str:
        """What the rows are filtered by, without blanks around it."""
        return self.value.strip()

    def open(self) -> None:
        """Show the line and type in it."""
        self.add_class("-open")
        self.focus()

    def say(self, hint: LineLike) -> None:
        """What stands at the right as long as it is so; empty for nothing."""
        if hint != self.hint:
            self.hint = hint
            self.redraw()

    def close(self) -> None:
        """Hide the line and forget what it said."""
        self.say("")
        self.remove_class("-open")
        self.set_value("")
