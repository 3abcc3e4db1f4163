"""Verbs of the create form, and of its intent once it is locked for review."""

from swapdesk.tui.commands.command import Verb

CREATE = Verb(
    "create",
    "c",
    "create",
    "Create the order of the locked intent; one exchange.",
    writes=True,
    money=True,
)
NEW_QUOTE = Verb(
    "new-quote", "r,ctrl+r", "new quote", "Ask again for this route and keep what was typed."
)
IN_FIELDS = "ctrl+r"
"""The second key of :data:`NEW_QUOTE`, for fields, which would take its usual letter as text."""
EDIT = Verb("edit", "e", "edit", "Unlock the intent and go back to its fields.")
NEXT_FIELD = Verb(
    "next-field",
    "enter",
    "next field",
    "Check the field and go to the next one; behind the last one lock the intent for review.",
)
COMPLETE = Verb(
    "complete",
    "tab",
    "complete @name",
    "Complete a name of the address book, else go to the next field.",
)
FIELD_BELOW = Verb(
    "field-below", "down", "fields", "The field below.", shown="↑↓", act="step", given=(1,)
)
FIELD_ABOVE = Verb(
    "field-above", "up", "field above", "The field above.", footer=False, act="step", given=(-1,)
)
BACK = Verb("back", "escape", "back", "Back to the routes; what was typed is kept.")
