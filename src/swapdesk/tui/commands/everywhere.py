"""Verbs that work on every screen outside text and open no page of their own: the application
or the screen does them, in a method of their name. Verbs that open a page stand in the module of
that page."""

from __future__ import annotations

from swapdesk.tui.commands.command import EverywhereCommand


class NewSwap(EverywhereCommand):
    """Start a swap on the first screen."""

    KEY = "n"
    VERB = "new swap"
    PLACE = 10


class PrivateSend(EverywhereCommand):
    """Start a private send."""

    WRITES = True
    KEY = "p"
    VERB = "private send"
    PLACE = 20


class HideAmounts(EverywhereCommand):
    """Hide every amount, or show them again; what is copied or sent stays exact."""

    KEY = "f9"
    VERB = "hide amounts"
    PLACE = 90


class ReleaseMouse(EverywhereCommand):
    """Give the mouse to the terminal, or take it back."""

    KEY = "f8"
    VERB = "release the mouse"
    PLACE = 100


class Keys(EverywhereCommand):
    """Every key of this screen and of the desk."""

    KEY = "question_mark,f1"
    SHOWN_KEY = "?"
    VERB = "keys"
    PLACE = 110


class Palette(EverywhereCommand):
    """Find a verb by its name."""

    KEY = "ctrl+p"
    VERB = "find a command"
    PLACE = 120


class Back(EverywhereCommand):
    """Back to the screen before."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
    PLACE = 130


class Quit(EverywhereCommand):
    """Leave the desk. Orders go on without it."""

    KEY = "q"
    WHEN_TOO_SMALL = True
    VERB = "quit"
    PLACE = 140
