"""What stands in the records: transactions, and signatures as the gate remembers them."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass
from datetime import datetime

from swapdesk.agent.gate.taking import Taking
from swapdesk.agent.shapes.claim import NonceKind
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
    """A signature that was given out, with what the gate remembers of it. ``hash``, ``state`` and
    ``nonce`` are those of its transaction, None for typed data; ``taking`` is None where an
    earlier release wrote it down."""

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
    taking: Taking | None = None
    nonce: int | None = None


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
        # A file that is only read may have been written by a release without it.
        taking=read_taking(row["taking"]) if "taking" in row.keys() else None,  # noqa: SIM118
        nonce=row["nonce"],
    )


def taking_text(taking: Taking) -> str:
    """As the records keep it: amounts and nonces have more digits than a number of theirs."""
    nonce = taking.nonce
    told = {
        **asdict(taking),
        "units": str(taking.units),
        "kind": taking.kind.value,
        "nonce": None if nonce is None else _nonce_text(nonce),
    }
    return json.dumps(told)


def _nonce_text(nonce: int | bytes) -> str:
    return "0x" + nonce.hex() if isinstance(nonce, bytes) else str(nonce)


def read_taking(text: str | None) -> Taking | None:
    """None where it was not kept, or by a release that wrote it in another way."""
    if text is None:
        return None
    try:
        told = json.loads(text)
        nonce = told["nonce"]
        if nonce is not None:
            nonce = bytes.fromhex(nonce[2:]) if nonce.startswith("0x") else int(nonce)
        return Taking(
            **{
                **told,
                "units": int(told["units"]),
                "kind": NonceKind(told["kind"]),
                "nonce": nonce,
            }
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


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
