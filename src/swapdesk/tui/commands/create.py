"""Verbs of the form and its locked intent."""

from __future__ import annotations

from typing import ClassVar

from swapdesk.tui.commands.command import Command


class Create(Command):
    """Create the order of the locked intent; one exchange."""

    WRITES = True
    KEY = "c"
    VERB = "create"
    MONEY = True


class NewQuote(Command):
    """Ask again for this route and keep what was typed."""

    KEY = "r,ctrl+r"
    IN_FIELDS: ClassVar[str] = "ctrl+r"
    """The one of its keys that is not typed while a field has the focus."""
    VERB = "new quote"


class Edit(Command):
    """Unlock the intent and go back to its fields."""

    KEY = "e"
    VERB = "edit"


class NextField(Command):
    """Check the field and go to the next one; behind the last one lock the intent for review."""

    KEY = "enter"
    VERB = "next field"


class Complete(Command):
    """Complete a name of the address book, else go to the next field."""

    KEY = "tab"
    VERB = "complete @name"


class FieldBelow(Command):
    """The field below."""

    KEY = "down"
    SHOWN_KEY = "↑↓"
    VERB = "fields"


class FieldAbove(Command):
    """The field above."""

    KEY = "up"
    SHOWN_KEY = "↑"
    VERB = "field above"
    FOOTER = False


class Back(Command):
    """Back to the routes; what was typed is kept."""

    KEY = "escape"
    SHOWN_KEY = "esc"
    VERB = "back"
