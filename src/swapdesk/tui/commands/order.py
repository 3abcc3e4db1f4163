"""Verbs of one order."""

from swapdesk.tui.commands.command import Verb

COPY_FACT = Verb(
    "copy-fact", "y", "copy", "Copy the value under the cursor, without spaces.", current=True
)
DEPOSIT_CARD = Verb(
    "deposit-card", "d", "deposit card", "Show what to send, where and until when.", current=True
)
FUND = Verb(
    "fund",
    "f",
    "fund",
    "Pay this deposit exactly once: from your wallet, or from the sandbox's faucet.",
    current=True,
    writes=True,
    money=True,
)
OPEN_LINK = Verb(
    "open-link",
    "enter",
    "link",
    "Show the explorer's link of the transaction under the cursor and copy it.",
)
INSPECT = Verb(
    "inspect",
    "i",
    "diagnose",
    "Why the order is where it is: cause, money, who acts, by when.",
    current=True,
)
HISTORY = Verb("history", "h", "history", "Every update received, with its time.", current=True)
RAW_JSON = Verb(
    "raw-json",
    "J",
    "raw JSON",
    "The order as the service wrote it, numbers in their own digits.",
    current=True,
)
REFRESH = Verb("refresh", "r", "refresh", "Read this order again.", footer=False)
BACK = Verb("back", "escape", "back", "Back to the screen before.")
