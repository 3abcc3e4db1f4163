"""An overlay that is only read: the arrows scroll what has no room on a low screen."""

from __future__ import annotations

from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from swapdesk.tui.widgets.key_bar import KeyHint
from swapdesk.tui.widgets.overlay import Overlay

MOVE = KeyHint("↑↓", "move")


class ReadingOverlay(Overlay[None]):
    """The keys that scroll are named only where something is out of view."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll_panel(1)", "down", show=False),
        Binding("up,k", "scroll_panel(-1)", "up", show=False),
        Binding("pagedown,ctrl+d,space", "scroll_panel(4)", "further down", show=False),
        Binding("pageup,ctrl+u", "scroll_panel(-4)", "further up", show=False),
    ]

    def __init__(self, **place: Any) -> None:
        super().__init__([], **place)

    def on_mount(self) -> None:
        self.call_after_refresh(self._name_keys)

    def on_resize(self) -> None:
        self.call_after_refresh(self._name_keys)

    def action_scroll_panel(self, rows: int) -> None:
        self._panel.scroll_relative(y=rows, animate=False)

    @property
    def overflows(self) -> bool:
        """Whether part of what is to be read is out of view."""
        return self._panel.max_scroll_y > 0

    def _name_keys(self) -> None:
        self._say_keys([MOVE] if self.overflows else [])
