"""Verbs of the history of one order."""

from swapdesk.tui.commands.command import Verb

EARLIER_UPDATE = Verb(
    "earlier-update",
    "left_square_bracket",
    "earlier",
    "To the update before: the page shows the order as it stood then.",
    act="step",
    given=(-1,),
)
LATER_UPDATE = Verb(
    "later-update",
    "right_square_bracket",
    "later",
    "To the update after it.",
    act="step",
    given=(1,),
)
COPY_UPDATE = Verb(
    "copy-update", "y", "copy", "Copy the update under the cursor as a line.", current=True
)
BACK = Verb("back", "escape", "back", "Back to the order.")
