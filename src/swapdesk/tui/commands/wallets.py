"""Verbs of the wallets."""

from swapdesk.tui.commands.command import Verb

WALLETS = Verb(
    "wallets",
    "w",
    "wallets",
    "Accounts of this profile, what they have, and who may take of it.",
    writes=True,
    place=70,
    opens="swapdesk.tui.screens.wallets.WalletsScreen",
)
READ_CHAINS = Verb(
    "read-chains",
    "r",
    "read again",
    "Read balances and allowances from the chains again.",
    writes=True,
    act="read",
)
REVOKE_ALLOWANCE = Verb(
    "revoke-allowance",
    "x",
    "revoke",
    "End this allowance; what is signed is shown first.",
    writes=True,
    act="sign",
    current=True,
    money=True,
)
WITHDRAW_ALL = Verb(
    "withdraw-all",
    "d",
    "withdraw",
    "Take back everything that this smart account holds; what is signed is shown first.",
    writes=True,
    act="sign",
    current=True,
    money=True,
)
SET_LIMITS = Verb(
    "set-limits",
    "m",
    "limits",
    "Change what the wallet may sign at most, where, for whom and until when.",
    writes=True,
)
LOCK_WALLET = Verb(
    "lock-wallet",
    "l",
    "lock",
    "Drop the keys from memory; in the sandbox they open again by themselves.",
    writes=True,
)
COPY_WALLET_ADDRESS = Verb(
    "copy-wallet-address",
    "y",
    "copy address",
    "Copy the address of this row, without spaces.",
    current=True,
)
