"""Verbs of the page with all orders."""

from swapdesk.tui.commands.command import Verb

ORDERS = Verb(
    "orders",
    "o",
    "orders",
    "Open orders and those that ended.",
    place=50,
    opens="swapdesk.tui.screens.orders.OrdersScreen",
)
OPEN_ORDER = Verb(
    "open-order", "enter", "open", "Open the order: its stages, what happened, every address."
)
COPY_ADDRESS = Verb(
    "copy-address", "y", "copy address", "Copy the deposit address, without spaces.", current=True
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
FILTER_ROWS = Verb(
    "filter-rows",
    "slash",
    "filter",
    "Keep orders that match: private hold >1h, or part of an address, hash or request id.",
)
SORT_ROWS = Verb(
    "sort-rows",
    "s",
    "sort",
    "Another sequence: by deadline, newest, oldest, late, state, pair, amount.",
)
SAY_ROW = Verb(
    "say-row",
    "e",
    "say",
    "Say the order under the cursor in one sentence, to be read aloud.",
    current=True,
    footer=False,
)
AGAIN = Verb(
    "again",
    "A",
    "again",
    "Ask for quotes with the same amount, tokens, recipient and memo; a new order comes of it.",
    current=True,
    writes=True,
)
PUT_AWAY = Verb(
    "put-away",
    "P",
    "put away",
    "Put a failed order away that was dealt with; the same key takes it back.",
    current=True,
)
EXPORT_ROWS = Verb(
    "export-rows", "x", "export", "Write the orders shown to a file, as CSV or JSON."
)
REFRESH = Verb("refresh", "r", "refresh", "Read the list of the service again.", footer=False)
BACK = Verb("back", "escape", "back", "Clear the filter, then back to the screen before.")
