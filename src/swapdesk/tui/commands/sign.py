"""Verbs of the page where the user signs."""

from swapdesk.tui.commands.command import Verb

SIGN = Verb(
    "sign", "s", "sign", "Sign exactly what stands here.", current=True, writes=True, money=True
)
REFUSE = Verb(
    "refuse",
    "x",
    "refuse",
    "Sign nothing of this and end it here.",
    current=True,
    writes=True,
    money=True,
)
GO_ON = Verb("go-on", "r", "go on", "Go on from the step where it stopped.", writes=True)
BUMP = Verb(
    "bump",
    "plus",
    "pay more gas",
    "Pay more gas for the transaction that waits: the same call again, in its place.",
    writes=True,
    act="replace",
    given=(False,),
)
CANCEL = Verb(
    "cancel",
    "c",
    "cancel it",
    "Take back the transaction that waits, by one that moves nothing in its place.",
    writes=True,
    act="replace",
    given=(True,),
)
RAW_FIELDS = Verb("raw-fields", "J", "raw fields", "Every field as it came from the service.")
COPY_DIGEST = Verb(
    "copy-digest", "y", "copy digest", "Copy the digest of what would be signed.", current=True
)
READ_ON = Verb(
    "read-on",
    "space,pagedown,end,down,j",
    "read on",
    "Read on below, a page at most: what is signed was on the screen.",
    shown="space pgdn end",
    act="scroll",
    given=(1,),
)
READ_BACK = Verb(
    "read-back",
    "up,k,pageup",
    "read back",
    "Read again above.",
    footer=False,
    act="scroll",
    given=(-1,),
)
UNLOCK = Verb(
    "unlock", "enter", "unlock", "Open the keys of the wallet with this pass phrase.", writes=True
)
BACK = Verb("back", "escape", "back", "Back; it waits, and is shown on the first screen.")
