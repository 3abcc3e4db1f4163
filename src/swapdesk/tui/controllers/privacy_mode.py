"""What the desk keeps to itself: amounts on request, and the mouse given back to the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.driver import Driver

    from swapdesk.tui.controllers.host import DeskHost

HIDDEN = "Amounts are hidden; f9 shows them again. What is copied or sent is not changed."
SHOWN = "Amounts are shown."
RELEASED = "The mouse belongs to the terminal now; f8 takes it back."
TAKEN = "The mouse belongs to the desk again."
NO_MOUSE = "This terminal gives the desk no mouse."


class PrivacyMode:
    """Hides amounts and lets go of the mouse. ``painting`` reads ``hides_amounts``, in the last
    step before the cells."""

    def __init__(self, host: DeskHost, driver: Callable[[], Driver | None]) -> None:
        self._host = host
        self._session = host.session
        self._driver = driver
        self._mouse_released = False
        self.hides_amounts = False

    def known_symbol(self, word: str) -> bool:
        """Whether a word is a token's symbol, so that a whole number before it is an amount."""
        catalog = self._session.catalog
        return catalog is not None and bool(catalog.rows_of_symbol(word))

    def toggle_amounts(self) -> None:
        """Amounts as ``•••`` everywhere, or as they are again."""
        self.hides_amounts = not self.hides_amounts
        for screen in self._host.screen_stack:
            screen.refresh()
            for widget in screen.walk_children():
                widget.refresh()
        self._host.notify(HIDDEN if self.hides_amounts else SHOWN)

    def toggle_mouse(self) -> None:
        """Give the mouse to the terminal, for its own selection, or take it back."""
        name = "_enable_mouse_support" if self._mouse_released else "_disable_mouse_support"
        switch = getattr(self._driver(), name, None)
        if switch is None:
            self._host.notify(NO_MOUSE, severity="warning")
            return
        switch()
        self._mouse_released = not self._mouse_released
        self._host.notify(RELEASED if self._mouse_released else TAKEN)
