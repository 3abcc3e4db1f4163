"""Verbs of the page that presents a private send."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class Demo(EverywhereCommand):
    """Show a private send stage by stage, on the sandbox's own chains."""

    KEY = "D"
    VERB = "demonstration"
    PLACE = 84
    SANDBOX_ONLY = True
    WRITES = True
    OPENS = "swapdesk.tui.screens.demo.DemoScreen"


class NextStage(Command):
    """Go on to the next stage, as soon as the world has come so far."""

    KEY = "space"
    VERB = "next stage"


class StageBefore(Command):
    """One stage back, from what was recorded."""

    KEY = "b"
    VERB = "back one"
    FOOTER = False


class Faster(Command):
    """Let the world run twice as fast."""

    KEY = "greater_than_sign"
    SHOWN_KEY = ">"
    VERB = "faster"


class Slower(Command):
    """Let the world run half as fast."""

    KEY = "less_than_sign"
    SHOWN_KEY = "<"
    VERB = "slower"


class ExplainStage(Command):
    """Say more about this stage, or less again."""

    KEY = "e"
    VERB = "explain"


class SearchLink(Command):
    """Search the local chains for a line from Alice to Bob, and say what was searched."""

    KEY = "l"
    VERB = "link search"


class EndDemo(Command):
    """End the demonstration; the order goes on."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "end"
