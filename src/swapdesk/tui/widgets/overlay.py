"""A panel from the bottom, at most two thirds high. The money line under it stays visible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen, ScreenResultType
from textual.widget import Widget

from swapdesk.tui.bound_keys import bind_keys
from swapdesk.tui.breakpoints import HEIGHTS
from swapdesk.tui.cell_updates import CellCompositor
from swapdesk.tui.widgets.key_bar import KeyBar, KeyHint

CLOSE = KeyHint("esc", "close")


class Overlay(ModalScreen[ScreenResultType]):
    """Subclasses yield their content in :meth:`compose_panel`; ``esc`` dismisses with None."""

    DEFAULT_CSS = """
    Overlay {
        background: transparent;
        align: left bottom;
    }
    Overlay > .panel {
        width: 100%;
        height: auto;
        max-height: 66%;
        background: $surface;
        padding: 1 0;
        overflow-y: auto;
        scrollbar-size: 0 0;
        margin: 0 0 2 0;
    }
    /* Without the lower rule the row above the money line would show a torn piece of the body. */
    Overlay.-short > .panel { margin: 0 0 1 0; }
    Overlay > KeyBar { dock: bottom; }
    Overlay LineTable { background: $surface; }
    """

    VERTICAL_BREAKPOINTS = HEIGHTS

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "close", show=False)]

    def __init__(self, hints: Sequence[KeyHint], **place: Any) -> None:
        super().__init__(**place)
        self._compositor = CellCompositor()
        self._keys = KeyBar((*hints, CLOSE), help_key="")

    def on_mount(self) -> None:
        bind_keys(self, getattr(self.app, "keymap", {}))

    def compose_panel(self) -> Sequence[Widget]:
        return ()

    def compose(self) -> ComposeResult:
        yield Vertical(*self.compose_panel(), classes="panel")
        yield self._keys

    @property
    def _panel(self) -> Widget:
        return self.query_one(".panel")

    def _say_keys(self, hints: Sequence[KeyHint]) -> None:
        """Other keys than those the overlay began with."""
        self._keys.show((*hints, CLOSE))

    def action_leave(self) -> None:
        self.dismiss(None)
