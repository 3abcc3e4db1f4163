"""Verbs of the raw view of an order."""

from swapdesk.tui.commands.command import Verb

COPY_ALL = Verb("copy-all", "y", "copy all", "Copy the document as it is shown.")
BACK = Verb("back", "escape,J", "back", "Back to the order.")
