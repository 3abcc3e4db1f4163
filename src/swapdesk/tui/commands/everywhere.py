"""Verbs that work on every screen outside text fields and open no page."""

from swapdesk.tui.commands.command import Verb

NEW_SWAP = Verb("new-swap", "n", "new swap", "Start a swap on the first screen.", place=10)
PRIVATE_SEND = Verb(
    "private-send", "p", "private send", "Start a private send.", writes=True, place=20
)
HIDE_AMOUNTS = Verb(
    "hide-amounts",
    "f9",
    "hide amounts",
    "Hide every amount, or show them again; what is copied or sent stays exact.",
    place=90,
)
RELEASE_MOUSE = Verb(
    "release-mouse",
    "f8",
    "release the mouse",
    "Give the mouse to the terminal, or take it back.",
    place=100,
)
KEYS = Verb(
    "keys", "question_mark,f1", "keys", "Every key of this screen and of the desk.", place=110
)
PALETTE = Verb("palette", "ctrl+p", "find a command", "Find a verb by its name.", place=120)
BACK = Verb("back", "escape", "back", "Back to the screen before.", place=130)
QUIT = Verb(
    "quit", "q", "quit", "Leave the desk. Orders go on without it.", when_too_small=True, place=140
)
