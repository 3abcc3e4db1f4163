"""From executed transactions to a sealed block with everything that is ever asked about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import rlp

from swapdesk.sandbox.node.evm.block_record import BlockRecord, LogRecord, TransactionRecord
from swapdesk.sandbox.node.evm.candidate import Candidate
from swapdesk.sandbox.node.evm.machine import BlockHeader
from swapdesk.sandbox.node.evm.serialize import (
    block_document,
    log_document,
    receipt_document,
    text,
    transaction_document,
)
from swapdesk.sandbox.node.evm.whole_trie import root_in_order


@dataclass(frozen=True)
class Execution:
    """One executed transaction; ``gas_used`` is its own, the receipt's is cumulative."""

    candidate: Candidate
    receipt: Any
    succeeded: bool
    gas_used: int
    created: bytes | None

    @classmethod
    def of(cls, candidate: Candidate, receipt: Any, computation: Any, before: int) -> Execution:
        message = computation.msg
        created = bytes(message.storage_address) if message.is_create else None
        return cls(
            candidate,
            receipt,
            computation.is_success,
            receipt.gas_used - before,
            created,
        )


def seal(
    header: BlockHeader, done: Sequence[Execution], chain_id: int, *, slot: int, awaited: int
) -> BlockRecord:
    """The block of ``header`` and ``done``; the roots are filled in here."""
    if done:
        header = header.copy(
            transaction_root=root_in_order([each.candidate.transaction.encode() for each in done]),
            receipt_root=root_in_order([each.receipt.encode() for each in done]),
        )
    records: list[TransactionRecord] = []
    logs: list[LogRecord] = []
    for position, each in enumerate(done):
        shown = []
        for log in each.receipt.logs:
            document = log_document(
                log.address,
                log.topics,
                log.data,
                len(logs),
                header=header,
                transaction_hash=each.candidate.hash,
                transaction_position=position,
            )
            shown.append(document)
            topics = b"".join(int(topic).to_bytes(32, "big") for topic in log.topics)
            logs.append(LogRecord(len(logs), bytes(log.address), topics, text(document)))
        receipt = receipt_document(
            each.candidate,
            header,
            position,
            succeeded=each.succeeded,
            gas_used=each.gas_used,
            cumulative_gas=each.receipt.gas_used,
            bloom=each.receipt.bloom,
            created=each.created,
            logs=shown,
        )
        document = transaction_document(each.candidate, chain_id, header=header, position=position)
        records.append(
            TransactionRecord(
                position,
                each.candidate.hash,
                each.candidate.sender,
                each.candidate.nonce,
                each.candidate.raw,
                text(document),
                text(receipt),
            )
        )
    return BlockRecord(
        header,
        slot,
        awaited,
        text(block_document(header, _size(header, done))),
        tuple(records),
        tuple(logs),
    )


def _size(header: BlockHeader, done: Sequence[Execution]) -> int:
    """Bytes of the block in RLP: header, transactions, no uncles, no withdrawals."""
    inside = 0
    for each in done:
        raw = len(each.candidate.raw)
        # A typed transaction is a string in the list, one of the old form is a list itself.
        inside += raw if each.candidate.kind == 0 else raw + _prefix(raw)
    body = len(rlp.encode(header)) + inside + _prefix(inside) + 2
    return body + _prefix(body)


def _prefix(length: int) -> int:
    """Bytes before an RLP payload of this length."""
    return 1 if length <= 55 else 1 + (length.bit_length() + 7) // 8
