"""The transactions of an order: what this desk sent for it, what the service named, and what chains
show of its deposit."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import ClassVar, Literal

from msgspec import Struct

from swapdesk.flows.notation import counted, exact_amount

Source = Literal["create", "read", "stream", "list", "journal"]
"""Where a state of an order was seen."""

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
    """``address`` is where a bundle paid the order's deposit; None where the order says it."""

    PRINTED: ClassVar = {"for": "role", "hash": "hash", "state": "fate", "by": "by"}

    role: TransactionRole
    hash: str
    fate: Fate
    by: Sender
    address: str | None = None

    @property
    def own(self) -> bool:
        """Whether this desk sent it."""
        return self.by != "service"


class PaidOnChain(Struct, frozen=True):
    """What one transaction paid to one receiver, as its chain showed it at ``seen_at``."""

    hash: str
    chain: str
    """Short name: ``tron``."""
    chain_name: str
    to: str
    token_id: str | None
    """None for a token that the catalogue does not have."""
    symbol: str
    amount: Decimal | None
    """None where its decimals are not known."""
    memo: str | None
    confirmations: int | None
    """None while it waits for a block."""
    at: datetime | None
    """Time of its block, where the chain tells one."""
    seen_at: datetime
    failed: bool = False
    """It was executed in vain and moved nothing."""
    underpriced: bool = False
    """It waits, and offers less than what a block costs now."""
    missing: bool = False
    """This desk sent it, and its chain does not know it."""

    @property
    def what(self) -> str:
        """``12,000 USDT``, or ``another token`` where nobody knows it."""
        if self.amount is None:
            return "a token that the catalogue does not have"
        return f"{exact_amount(self.amount)} {self.symbol}"

    @property
    def words(self) -> str:
        """The same to a customer, behind "your"."""
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
        """Whether it stands in a block and paid its receiver."""
        return self.confirmations is not None and not self.failed and not self.missing


def folded_hash(hash_: str) -> str:
    """A hash as it is compared: hexadecimal is the same in any case, base58 is not."""
    return hash_.lower() if hash_[:2] in ("0x", "0X") else hash_
