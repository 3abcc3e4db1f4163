"""The transactions of an order: those this desk sent, the one the service names as its deposit, and
the payments that chains show."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import ClassVar, Literal

from msgspec import Struct

from swapdesk.flows.notation import counted, exact_amount

Source = Literal["create", "read", "stream", "list", "journal"]
"""Where a state of an order came from."""

TransactionRole = Literal[
    "deposit",
    "bundle",  # It paid the deposits of a whole group.
    "approve",
    "reset",  # An approval of nothing, which some tokens need before another one.
    "swap",
]
"""What a transaction did for its order."""


Fate = Literal[
    "sent",
    "confirmed",
    "failed",
    "seen",  # The service named it.
]


Sender = Literal[
    "wallet",
    "faucet",
    "batch",
    "service",  # Not known: the service named it.
]


class OrderTransaction(Struct, frozen=True):
    """``address`` is where a bundle paid the order's deposit; None if the order itself names it."""

    PRINTED: ClassVar = {"for": "role", "hash": "hash", "state": "fate", "by": "by"}

    role: TransactionRole
    hash: str
    fate: Fate
    by: Sender
    address: str | None = None

    @property
    def own(self) -> bool:
        return self.by != "service"


class PaidOnChain(Struct, frozen=True):
    """A payment of one transaction to one receiver, as its chain showed it at ``seen_at``."""

    hash: str
    chain: str
    """Short name: ``tron``."""
    chain_name: str
    to: str
    token_id: str | None
    """None if the catalogue does not have the token."""
    symbol: str
    amount: Decimal | None
    """None if the token's decimals are not known."""
    memo: str | None
    confirmations: int | None
    """None while it waits for a block."""
    at: datetime | None
    """Time of its block, if the chain names one."""
    seen_at: datetime
    failed: bool = False
    """It was executed without success and moved nothing."""
    underpriced: bool = False
    """It waits, and offers less than a block costs now."""
    missing: bool = False
    """This desk sent it, and its chain does not know it."""

    @property
    def what(self) -> str:
        """``12,000 USDT``."""
        if self.amount is None:
            return "a token that the catalogue does not have"
        return f"{exact_amount(self.amount)} {self.symbol}"

    @property
    def words(self) -> str:
        """The same for a customer, after "your"."""
        return "payment of another token" if self.amount is None else self.what

    @property
    def said(self) -> str:
        """``12,000 USDT on Tron, 19 confirmations``."""
        if self.failed:
            return f"a transaction on {self.chain_name} that failed"
        if self.missing:
            return f"no such transaction on {self.chain_name}"
        waits = "not in a block yet"
        depth = waits if self.confirmations is None else counted(self.confirmations, "confirmation")
        return f"{self.what} on {self.chain_name}, {depth}"

    @property
    def moved(self) -> bool:
        return self.confirmations is not None and not self.failed and not self.missing


def folded_hash(hash_: str) -> str:
    """Returns the hash for comparison: hexadecimal ignores case, base58 does not."""
    return hash_.lower() if hash_[:2] in ("0x", "0X") else hash_
