"""Verbs of the first screen."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command


class AskQuotes(Command):
    """Ask for the quotes of every route."""

    KEY = "enter"
    VERB = "ask for quotes"


class ToRecent(Command):
    """Go to what was asked before and to the open orders."""

    KEY = "down"
    SHOWN_KEY = "↓"
    VERB = "recent"


class OtherChain(Command):
    """Take the token of this name on another chain, or complete a name."""

    KEY = "tab"
    VERB = "other chain"


class OtherChainSold(Command):
    """Take the token that is sold on another chain."""

    KEY = "shift+tab"
    VERB = "other chain sold"
    FOOTER = False


class FindToken(Command):
    """Look for a token and write it into the line."""

    KEY = "ctrl+t"
    VERB = "find token"


class Options(Command):
    """Rates, markup, providers and legs that quotes are asked with."""

    KEY = "f2"
    VERB = "options"


class GoOnSigning(Command):
    """Open the swap that waits for your signature, or that stopped."""

    WRITES = True
    KEY = "s"
    VERB = "sign"


class Retry(Command):
    """Start again after the start failed."""

    KEY = "r"
    VERB = "retry"


class Back(Command):
    """Clear the line."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "clear"
