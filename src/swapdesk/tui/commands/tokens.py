"""Verbs of the token search."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class Tokens(EverywhereCommand):
    """Look for a token."""

    KEY = "t"
    VERB = "tokens"
    PLACE = 40
    OPENS = "swapdesk.tui.screens.tokens.TokensScreen"
    BEFORE_OPENED = True


class Choose(Command):
    """Write this token into the line of the first screen."""

    KEY = "enter"
    VERB = "choose"


class NextChain(Command):
    """Only tokens of the next chain; after the last one all again."""

    KEY = "tab"
    VERB = "chain"


class NextCanDo(Command):
    """Only tokens that can be used for the next purpose."""

    KEY = "f2"
    VERB = "can do"


class NextSort(Command):
    """Order by rank, symbol, price or change."""

    KEY = "f3"
    VERB = "sort"


class FetchUnlisted(Command):
    """Ask the service for a contract address that no list has."""

    KEY = "f4"
    VERB = "ask for this contract"


class AskLimits(Command):
    """Ask how much of the token can be swapped by each kind of route."""

    KEY = "f5"
    VERB = "limits"


class CopyContract(Command):
    """Copy the contract address of the token."""

    KEY = "ctrl+y"
    VERB = "copy contract"


class Up(Command):
    """The token above."""

    KEY = "up"
    SHOWN_KEY = "↑↓"
    VERB = "move"


class Down(Command):
    """The token below."""

    KEY = "down"
    SHOWN_KEY = "↓"
    VERB = "move down"
    FOOTER = False


class PageDown(Command):
    """A page of tokens further down."""

    KEY = "pagedown"
    SHOWN_KEY = "pgdn"
    VERB = "page down"
    FOOTER = False


class PageUp(Command):
    """A page of tokens back up."""

    KEY = "pageup"
    SHOWN_KEY = "pgup"
    VERB = "page up"
    FOOTER = False


class Back(Command):
    """Clear the search, then go back."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "clear"
