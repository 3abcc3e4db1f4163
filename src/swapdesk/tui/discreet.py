"""What the desk keeps to itself: amounts on request, and the mouse given back to the terminal."""

from __future__ import annotations

from textual.app import App

from swapdesk.tui.session import Session

HIDDEN = "Amounts are hidden; f9 shows them again. What is copied or sent is not changed."
SHOWN = "Amounts are shown."
RELEASED = "The mouse belongs to the terminal now; f8 takes it back."
TAKEN = "The mouse belongs to the desk again."
NO_MOUSE = "This terminal gives the desk no mouse."


class Discreet(App[int]):
    """The half of the application that hides amounts and lets go of the mouse."""

    session: Session
    hides_amounts: bool = False
    """Read by ``painting``, the last step before the cells."""
    _mouse_released: bool = False

    def known_symbol(self, word: str) -> bool:
        """Whether a word is a token's symbol, so that a whole number before it is an amount."""
        catalog = self.session.catalog
        return catalog is not None and bool(catalog.rows_of_symbol(word))

    def hide_amounts(self) -> None:
        """Amounts as ``•••`` everywhere, or as they are again."""
        self.hides_amounts = not self.hides_amounts
        for screen in self.screen_stack:
            screen.refresh()
            for widget in screen.walk_children():
                widget.refresh()
        self.notify(HIDDEN if self.hides_amounts else SHOWN)

    def release_mouse(self) -> None:
        """Give the mouse to the terminal, for its own selection, or take it back."""
        name = "_enable_mouse_support" if self._mouse_released else "_disable_mouse_support"
        switch = getattr(self._driver, name, None)
        if switch is None:
            self.notify(NO_MOUSE, severity="warning")
            return
        switch()
        self._mouse_released = not self._mouse_released
        self.notify(RELEASED if self._mouse_released else TAKEN)
