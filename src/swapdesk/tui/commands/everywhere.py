"""Verbs that work on every screen outside text."""

from __future__ import annotations

from typing import ClassVar

from swapdesk.tui.commands.command import Command


class _Everywhere(Command):
    EVERYWHERE: ClassVar[bool] = True
    FOOTER: ClassVar[bool] = False


class NewSwap(_Everywhere):
    """Start a swap on the first screen."""

    KEY = "n"
    VERB = "new swap"


class PrivateSend(_Everywhere):
    """Start a private send."""

    KEY = "p"
    VERB = "private send"


class Batch(_Everywhere):
    """Many recipients from one file."""

    KEY = "b"
    VERB = "batch"


class Tokens(_Everywhere):
    """Look for a token."""

    KEY = "t"
    VERB = "tokens"


class Orders(_Everywhere):
    """Open orders and those that ended."""

    KEY = "o"
    VERB = "orders"


class AddressBook(_Everywhere):
    """Names for addresses: who was paid, how often and when."""

    KEY = "at"
    SHOWN_KEY = "@"
    VERB = "address book"


class Wallets(_Everywhere):
    """Accounts of this profile, what they have, and who may take of it."""

    KEY = "w"
    VERB = "wallets"


class Requests(_Everywhere):
    """Every call to the service and its answer, and what the desk said."""

    KEY = "g"
    VERB = "requests"


class HideAmounts(_Everywhere):
    """Hide every amount, or show them again; what is copied or sent stays exact."""

    KEY = "f9"
    VERB = "hide amounts"


class ReleaseMouse(_Everywhere):
    """Give the mouse to the terminal, or take it back."""

    KEY = "f8"
    VERB = "release the mouse"


class Keys(_Everywhere):
    """Every key of this screen and of the desk."""

    KEY = "question_mark,f1"
    SHOWN_KEY = "?"
    VERB = "keys"


class Palette(_Everywhere):
    """Find a verb by its name."""

    KEY = "ctrl+p"
    VERB = "find a command"


class Back(_Everywhere):
    """Back to the screen before."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"


class Quit(_Everywhere):
    """Leave the desk. Orders go on without it."""

    KEY = "q"
    WHEN_TOO_SMALL = True
    VERB = "quit"


EVERYWHERE: tuple[type[Command], ...] = (
    NewSwap,
    PrivateSend,
    Batch,
    Tokens,
    Orders,
    AddressBook,
    Wallets,
    Requests,
    HideAmounts,
    ReleaseMouse,
    Keys,
    Palette,
    Back,
    Quit,
)
