"""Verbs of the screen that signs."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command


class Sign(Command):
    """Sign exactly what stands here."""

    WRITES = True
    KEY = "s"
    VERB = "sign"
    MONEY = True


class Refuse(Command):
    """Sign nothing of this and end it here."""

    WRITES = True
    KEY = "x"
    VERB = "refuse"
    MONEY = True


class GoOn(Command):
    """Go on from the step where it stopped."""

    WRITES = True
    KEY = "r"
    VERB = "go on"


class Bump(Command):
    """Pay more gas for the transaction that waits: the same call again, in its place."""

    WRITES = True
    KEY = "plus"
    SHOWN_KEY = "+"
    VERB = "pay more gas"


class Cancel(Command):
    """Take back the transaction that waits, by one that moves nothing in its place."""

    WRITES = True
    KEY = "c"
    VERB = "cancel it"


class RawFields(Command):
    """Every field as it came from the service."""

    KEY = "J"
    VERB = "raw fields"


class CopyDigest(Command):
    """Copy the digest of what would be signed."""

    KEY = "y"
    VERB = "copy digest"


class ReadOn(Command):
    """Read on below, a page at most: what is signed was on the screen."""

    KEY = "space,pagedown,end,down,j"
    SHOWN_KEY = "space pgdn end"
    VERB = "read on"


class ReadBack(Command):
    """Read again above."""

    KEY = "up,k,pageup"
    SHOWN_KEY = "↑"
    VERB = "read back"
    FOOTER = False


class Unlock(Command):
    """Open the keys of the wallet with this pass phrase."""

    WRITES = True
    KEY = "enter"
    VERB = "unlock"


class Back(Command):
    """Back; it waits, and is shown on the first screen."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
