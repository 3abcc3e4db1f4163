"""Verbs of the token search."""

from swapdesk.tui.commands.command import Verb

TOKENS = Verb(
    "tokens",
    "t",
    "tokens",
    "Look for a token.",
    place=40,
    opens="swapdesk.tui.screens.tokens.TokensScreen",
    before_opened=True,
)
CHOOSE = Verb("choose", "enter", "choose", "Write this token into the line of the first screen.")
NEXT_CHAIN = Verb(
    "next-chain", "tab", "chain", "Only tokens of the next chain; after the last one all again."
)
NEXT_CAN_DO = Verb(
    "next-can-do", "f2", "can do", "Only tokens that can be used for the next purpose."
)
NEXT_SORT = Verb("next-sort", "f3", "sort", "Order by rank, symbol, price or change.")
FETCH_UNLISTED = Verb(
    "fetch-unlisted",
    "f4",
    "ask for this contract",
    "Ask the service for a contract address that no list has.",
)
ASK_LIMITS = Verb(
    "ask-limits",
    "f5",
    "limits",
    "Ask how much of the token can be swapped by each kind of route.",
    current=True,
)
COPY_CONTRACT = Verb(
    "copy-contract",
    "ctrl+y",
    "copy contract",
    "Copy the contract address of the token.",
    current=True,
)
UP = Verb("up", "up", "move", "The token above.", shown="↑↓", act="move", given=(-1,))
DOWN = Verb("down", "down", "move down", "The token below.", footer=False, act="move", given=(1,))
PAGE_DOWN = Verb(
    "page-down",
    "pagedown",
    "page down",
    "A page of tokens further down.",
    shown="pgdn",
    footer=False,
    act="page",
    given=(1,),
)
PAGE_UP = Verb(
    "page-up",
    "pageup",
    "page up",
    "A page of tokens back up.",
    shown="pgup",
    footer=False,
    act="page",
    given=(-1,),
)
BACK = Verb("back", "escape", "clear", "Clear the search, then go back.")
