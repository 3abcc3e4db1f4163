"""Verbs of the first screen."""

from swapdesk.tui.commands.command import Verb

ASK_QUOTES = Verb("ask-quotes", "enter", "ask for quotes", "Ask for the quotes of every route.")
TO_RECENT = Verb(
    "to-recent", "down", "recent", "Go to what was asked before and to the open orders."
)
OTHER_CHAIN = Verb(
    "other-chain",
    "tab",
    "other chain",
    "Take the token of this name on another chain, or complete a name.",
)
OTHER_CHAIN_SOLD = Verb(
    "other-chain-sold",
    "shift+tab",
    "other chain sold",
    "Take the token that is sold on another chain.",
    footer=False,
)
FIND_TOKEN = Verb(
    "find-token", "ctrl+t", "find token", "Look for a token and write it into the line."
)
OPTIONS = Verb(
    "options", "f2", "options", "Rates, markup, providers and legs that quotes are asked with."
)
GO_ON_SIGNING = Verb(
    "go-on-signing",
    "s",
    "sign",
    "Open the swap that waits for your signature, or that stopped.",
    writes=True,
)
RETRY = Verb("retry", "r", "retry", "Start again after the start failed.")
BACK = Verb("back", "escape", "clear", "Clear the line.")
