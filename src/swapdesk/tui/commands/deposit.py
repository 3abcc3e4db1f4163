"""Verbs of the pages with the deposit card and its code to scan."""

from swapdesk.tui.commands.command import Verb

FUND = Verb(
    "fund",
    "f",
    "fund",
    "Pay this deposit exactly once: from your wallet, or from the sandbox's faucet.",
    current=True,
    writes=True,
    money=True,
)
ACCEPT_LOWER = Verb(
    "accept-lower",
    "c",
    "accept less",
    "Accept less output than confirmed, so that the deposit address is shown.",
    current=True,
    writes=True,
    money=True,
)
COPY_MEMO = Verb(
    "copy-memo", "m", "copy memo", "Copy the memo or destination tag.", act="copy", given=("memo",)
)
COPY_AMOUNT = Verb(
    "copy-amount",
    "Y",
    "copy amount",
    "Copy the exact amount to send.",
    act="copy",
    given=("amount",),
)
COPY_ADDRESS = Verb(
    "copy-address",
    "y",
    "copy address",
    "Copy the deposit address, without spaces.",
    act="copy",
    given=("address",),
)
READ_ON = Verb(
    "read-on",
    "down,j,pagedown,ctrl+d",
    "more",
    "Scroll down to what has no room on this screen.",
    act="scroll",
    given=(1,),
)
READ_BACK = Verb(
    "read-back", "up,k,pageup,ctrl+u", "back up", "Scroll up again.", act="scroll", given=(-1,)
)
SHOW_CODE = Verb("show-code", "v", "code", "Show the code to scan, with what it holds.")
NEXT_CODE = Verb(
    "next-code", "v", "next code", "Go from the payment link to the plain address, and back."
)
FOLLOW = Verb(
    "follow", "enter", "follow the order", "Open the order and what happened to it so far."
)
