"""Transactions that the wallet agent signed, as it tells of them.

The agent writes a transaction down before anybody else sees a byte of it, so after any crash
the question is only what became of it, never what it was.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

from swapdesk.clock import IsoTime, iso
from swapdesk.wallet.promise import Purpose


class TransactionState(StrEnum):
    SIGNED = "signed"
    """Written down; no byte of it has left the wallet."""
    SENDING = "sending"
    """Handed to a node whose answer is not known: it may be on its way."""
    SENT = "sent"
    """A node has it."""
    MINED = "mined"
    """In a block, with fewer confirmations than count."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    """Executed and reverted: the gas is paid and nothing else moved."""
    REPLACED = "replaced"
    """Another transaction of this wallet with the same nonce was executed."""
    LOST = "lost"
    """Its nonce was used by a transaction this wallet does not know, or it can no longer be
    executed (Solana: its blockhash has expired)."""
    ABANDONED = "abandoned"
    """Never sent, and given up."""


FINAL = frozenset(
    {
        TransactionState.SUCCEEDED,
        TransactionState.FAILED,
        TransactionState.REPLACED,
        TransactionState.LOST,
        TransactionState.ABANDONED,
    }
)
"""Nothing can come of these any more."""

EXECUTED = frozenset({TransactionState.SUCCEEDED, TransactionState.FAILED})
"""The chain took these, and no other of their nonce."""

HARMLESS = FINAL - {TransactionState.SUCCEEDED}
"""Nothing was paid by these but gas, so another one may be signed for the same intent."""


class SignedTransaction(Struct, frozen=True, forbid_unknown_fields=True):
    """``nonce`` is None on Solana, ``last_valid_height`` (of blocks) None on EVM chains;
    ``replaces`` is the hash of the one whose nonce it shares to pay more for gas."""

    PRINTED: ClassVar = {
        "hash": "hash", "intentId": "intent_id", "purpose": "purpose", "chain": "chain",
        "account": "account", "state": "state", "nonce": "nonce",
        "confirmations": "confirmations", "replaces": "replaces", "created": "created_text",
        "problem": "problem",
    }  # fmt: skip

    hash: str
    intent_id: str
    purpose: Purpose
    chain: str
    account: str
    state: TransactionState
    nonce: int | None
    last_valid_height: int | None
    confirmations: int
    replaces: str | None
    created: datetime
    problem: str | None = None
    """What the node last said against it."""

    @property
    def created_text(self) -> IsoTime:
        return iso(self.created)


class Signature(Struct, frozen=True, forbid_unknown_fields=True):
    """Of typed data: 0x and 65 bytes (r, s, v of 27 or 28) in hexadecimal. ``taken`` is the most
    of the token sold that everything signed under the intent lets be taken, in base units."""

    digest: str
    signature: str
    taken: int
