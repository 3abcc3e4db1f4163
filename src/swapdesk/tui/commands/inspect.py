"""Verbs of the page that finds an order and explains it."""

from swapdesk.tui.commands.command import Verb

INSPECT = Verb(
    "inspect",
    "i",
    "inspect",
    "Find any order by whatever names it, and answer for it.",
    place=55,
    opens="swapdesk.tui.screens.inspect.InspectScreen",
    before_opened=True,
)
LOOK_UP = Verb(
    "look-up",
    "enter",
    "look up",
    "Look for what was pasted; what costs something is asked at the second press.",
)
COPY_REPLY = Verb("copy-reply", "y", "copy reply", "Copy the reply to the customer.")
COPY_ESCALATION = Verb(
    "copy-escalation",
    "Y",
    "copy for the service",
    "Copy what the service needs to find the order: ids, hashes and times.",
)
WRITE_BUNDLE = Verb(
    "write-bundle",
    "B",
    "write bundle",
    "Write the case into one file that may be posted publicly; what is in it is shown first.",
    current=True,
)
TRY_AGAIN = Verb(
    "try-again",
    "A",
    "try again with what is left",
    "Write what came back into the line of a new swap; nothing is asked or sent.",
    current=True,
    writes=True,
    footer=False,
)
CASE_HISTORY = Verb(
    "case-history",
    "h",
    "history",
    "Every update and request with its time, and the order as it stood after each.",
    current=True,
)
BACK = Verb(
    "back",
    "escape",
    "back",
    "Back: to the list of what was found, to the field, then to the screen before.",
)
MASK_OR_SHOW = Verb(
    "mask-or-show",
    "space",
    "mask or show",
    "Show what the line under the cursor names in the file, or mask it.",
    current=True,
)
WRITE_FILE = Verb("write-file", "enter", "write", "Write the file. Nothing is sent.")
LEAVE_BUNDLE = Verb("leave-bundle", "escape", "back", "Back to the case; nothing is written.")
