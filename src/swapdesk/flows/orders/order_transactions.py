"""The transactions of an order: those this desk sent, the one the service names as its deposit, and
the payments that chains show."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import ClassVar, Literal

from msgspec import Struct

from swapdesk.flows.notation import counted, exact_amount

Source = Literal["create", "read", "stream", "list", "journal"]
"""The way in which this desk received a state of an order."""

TransactionRole = Literal[
    "deposit",
    "bundle",  # It paid the deposits of a whole group.
    "approve",
    "reset",  # An approval of nothing, which some tokens need before another one.
    "swap",
]
"""What a transaction does for its order."""


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
    """A transaction of an order. For a bundle (one payment for many orders), ``address`` is where
    this order's deposit was paid. None means the deposit address stated in the order."""

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
    """A payment by one transaction to one receiver, as the chain showed it at ``seen_at``."""

    hash: str
    chain: str
    """The chain's short name: ``tron``."""
    chain_name: str
    to: str
    token_id: str | None
    """The token's id; None if the catalogue does not have the token."""
    symbol: str
    amount: Decimal | None
    """The amount in token units; None if the token's decimals are not known."""
    memo: str | None
    confirmations: int | None
    """The number of confirmations; None while the transaction is in no block."""
    at: datetime | None
    """The time of the transaction's block; None if the chain states none."""
    seen_at: datetime
    failed: bool = False
    """True if the transaction was executed without success, so that it moved nothing."""
    underpriced: bool = False
    """True if the transaction is in no block and offers a lower fee than a block costs now."""
    missing: bool = False
    """True if this desk sent the transaction but its chain does not know it."""

    @property
    def what(self) -> str:
        """The amount with its symbol, as ``12,000 USDT``, or a phrase if the amount is unknown."""
        if self.amount is None:
            return "a token that the catalogue does not have"
        return f"{exact_amount(self.amount)} {self.symbol}"

    @property
    def words(self) -> str:
        """The payment as the words that follow "your" in a letter to a customer: ``12,000 USDT``,
        or ``payment of another token``."""
        return "payment of another token" if self.amount is None else self.what

    @property
    def said(self) -> str:
        """The payment as text: ``12,000 USDT on Tron, 19 confirmations``, or that it failed or is
        unknown to the chain."""
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
    """Returns the hash in a form to be compared: hexadecimal hashes in lower case, other hashes
    unchanged."""
    return hash_.lower() if hash_[:2] in ("0x", "0X") else hash_
