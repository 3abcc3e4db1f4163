"""A code to scan beside the facts it was made of: its caption, the code, what to mind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.geometry import Size

from swapdesk.tui.spans import LineLike
from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.qr_code import QrCode, QrState

CARD = 78
"""Cells the card beside it needs: an address in one row with its label and margins."""
LEAST = Size(120, 36)
AROUND = Size(4, 11)
"""Cells and rows of the screen that are neither card nor code."""


@dataclass(frozen=True, slots=True)
class CodePanelState:
    """``text`` is what the code holds; ``caption`` stands above it, ``below`` under it."""

    text: str
    caption: LineLike = ""
    below: Sequence[LineLike] = ()


class CodePanel(Vertical):
    """Shows the first code that fits whole; without one, or on a small screen, nothing."""

    DEFAULT_CSS = """
    CodePanel { display: none; height: 100%; width: auto; padding: 1 0 0 0; }
    CodePanel QrCode { margin: 1 2; }
    CodePanel TextRows { width: 42; }
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._caption = TextRows()
        self._code = QrCode()
        self._below = TextRows()

    def compose(self) -> ComposeResult:
        yield self._caption
        yield self._code
        yield self._below

    @property
    def shown(self) -> str:
        """The text of the code in view, empty for none."""
        return self._code.state.text if self.display else ""

    def show(self, states: Sequence[CodePanelState], screen: Size) -> None:
        """``states`` from the fullest code on; ``screen`` is the size of the terminal."""
        room = Size(screen.width - CARD - AROUND.width, screen.height - AROUND.height)
        large = screen.width >= LEAST.width and screen.height >= LEAST.height
        fitting = None
        for state in states if large else ():
            if self._code.fits(QrState(state.text), room):
                fitting = state
                break
        self.display = fitting is not None
        self._code.show(QrState(fitting.text if fitting is not None else ""))
        self._caption.show([fitting.caption] if fitting is not None else [])
        self._below.show(fitting.below if fitting is not None else [])
