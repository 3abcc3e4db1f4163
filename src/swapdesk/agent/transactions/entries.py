"""What stands in the records: transactions, and signatures as the gate remembers them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import SignedTransaction, TransactionState

State = TransactionState


@dataclass(frozen=True)
class Draft:
    """A transaction that is about to be written down. ``content`` is a hash of all that its
    payload fixes; ``nonce``, ``fee`` and ``priority`` (wei per gas) are of EVM chains,
    ``last_valid`` (height of blocks) of Solana. ``asked`` is what it was signed for, payload and
    promise, so that it can be judged again for a higher fee."""

    hash: str
    intent_id: str
    purpose: Purpose
    chain: str
    account: str
    content: bytes
    raw: bytes
    nonce: int | None = None
    fee: int = 0
    priority: int = 0
    last_valid: int | None = None
    replaces: str | None = None
    asked: str | None = None


@dataclass(frozen=True)
class Given:
    """A signature that was given out, with what the gate remembers of it. ``hash`` is that of
    its transaction, None for typed data."""

    content: bytes
    act: str
    quote_id: str | None
    chain_id: int | None
    owner: str
    token: str | None
    contract: str | None
    key: str | None = None
    step: int | None = None
    total: int | None = None
    complete: bool = False
    hash: str | None = None
    state: State | None = None


def given_of(row: sqlite3.Row) -> Given:
    return Given(
        content=bytes(row["content"]),
        act=row["act"],
        quote_id=row["quote"],
        chain_id=row["chain_id"],
        owner=row["owner"],
        token=row["token"],
        contract=row["contract"],
        key=row["key"],
        step=row["step"],
        total=row["total"],
        complete=bool(row["complete"]),
        hash=row["hash"],
        state=None if row["state"] is None else State(row["state"]),
    )


def told_of(row: sqlite3.Row) -> SignedTransaction:
    return SignedTransaction(
        hash=row["hash"],
        intent_id=row["intent"],
        purpose=Purpose(row["purpose"]),
        chain=row["chain"],
        account=row["account"],
        state=State(row["state"]),
        nonce=row["nonce"],
        last_valid_height=row["last_valid"],
        confirmations=row["confirmations"],
        replaces=row["replaces"],
        created=datetime.fromisoformat(row["created"]),
        problem=row["problem"],
    )
