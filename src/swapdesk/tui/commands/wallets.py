"""Verbs of the wallets."""

from __future__ import annotations

from swapdesk.tui.commands.command import Command, EverywhereCommand


class Wallets(EverywhereCommand):
    """Accounts of this profile, what they have, and who may take of it."""

    WRITES = True
    KEY = "w"
    VERB = "wallets"
    PLACE = 70
    OPENS = "swapdesk.tui.screens.wallets.WalletsScreen"


class ReadChains(Command):
    """Read balances and allowances from the chains again."""

    WRITES = True
    KEY = "r"
    VERB = "read again"


class RevokeAllowance(Command):
    """End this allowance; what is signed is shown first."""

    WRITES = True
    KEY = "x"
    VERB = "revoke"
    MONEY = True


class WithdrawAll(Command):
    """Take back everything that this smart account holds; what is signed is shown first."""

    WRITES = True
    KEY = "d"
    VERB = "withdraw"
    MONEY = True


class SetLimits(Command):
    """Change what the wallet may sign at most, where, for whom and until when."""

    WRITES = True
    KEY = "m"
    VERB = "limits"


class LockWallet(Command):
    """Drop the keys from memory; in the sandbox they open again by themselves."""

    WRITES = True
    KEY = "l"
    VERB = "lock"


class CopyWalletAddress(Command):
    """Copy the address of this row, without spaces."""

    KEY = "y"
    VERB = "copy address"
