"""Verbs of a demonstration."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class ShowDemo(EverywhereCommand):
    """Show a private send stage by stage; in the sandbox only."""

    KEY = "D"
    VERB = "demonstration"
    PLACE = 84
    SANDBOX_ONLY = True
    WRITES = True
    OPENS = "swapdesk.tui.screens.demo.DemoScreen"


class NextStage(Command):
    """Go on to the next stage, or wait for it."""

    KEY = "space"
    VERB = "next stage"


class StageBefore(Command):
    """One stage back, as it was when it was seen."""

    KEY = "b"
    VERB = "back"
    FOOTER = False


class Faster(Command):
    """Let the world run twice as fast."""

    KEY = "greater_than_sign"
    SHOWN_KEY = "> <"
    VERB = "speed"


class Slower(Command):
    """Let the world run half as fast."""

    KEY = "less_than_sign"
    SHOWN_KEY = "<"
    VERB = "slower"
    FOOTER = False


class Explain(Command):
    """More about this stage, with whole addresses and hashes; the same key takes it away."""

    KEY = "e"
    VERB = "explain"


class SearchLink(Command):
    """Search the local chains for what leads from Alice to Bob; the same key goes back to them."""

    KEY = "l"
    VERB = "link search"


class CopyHash(Command):
    """Copy the hash of the newest transaction on the screen."""

    KEY = "y"
    VERB = "copy hash"
    FOOTER = False


class End(Command):
    """End the demonstration; its order goes on."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "end"
