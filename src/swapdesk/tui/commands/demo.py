"""Verbs of a demonstration."""

from swapdesk.tui.commands.command import Verb

SHOW_DEMO = Verb(
    "show-demo",
    "D",
    "demonstration",
    "Show a private send stage by stage; in the sandbox only.",
    place=84,
    sandbox_only=True,
    writes=True,
    opens="swapdesk.tui.screens.demo.DemoScreen",
)
NEXT_STAGE = Verb(
    "next-stage", "space", "next stage", "Go on to the next stage, or wait for it.", current=True
)
STAGE_BEFORE = Verb(
    "stage-before", "b", "back", "One stage back, as it was when it was seen.", footer=False
)
FASTER = Verb(
    "faster",
    "greater_than_sign",
    "speed",
    "Let the world run twice as fast.",
    shown="> <",
    act="change_speed",
    given=("2",),
)
SLOWER = Verb(
    "slower",
    "less_than_sign",
    "slower",
    "Let the world run half as fast.",
    footer=False,
    act="change_speed",
    given=("0.5",),
)
EXPLAIN = Verb(
    "explain",
    "e",
    "explain",
    "More about this stage, with whole addresses and hashes; the same key takes it away.",
    current=True,
)
SEARCH_LINK = Verb(
    "search-link",
    "l",
    "link search",
    "Search the local chains for what leads from Alice to Bob; the same key goes back to them.",
    current=True,
)
COPY_HASH = Verb(
    "copy-hash",
    "y",
    "copy hash",
    "Copy the hash of the newest transaction on the screen.",
    current=True,
    footer=False,
)
END = Verb("end", "escape", "end", "End the demonstration; its order goes on.")
