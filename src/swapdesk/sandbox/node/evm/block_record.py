"""A block as it is kept and shown: its header, its transactions with receipts, its logs."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.sandbox.node.evm.machine import BlockHeader


@dataclass(frozen=True)
class LogRecord:
    """One log for the index. ``topics`` are 32 bytes each, joined; ``document`` its JSON."""

    position: int
    address: bytes
    topics: bytes
    document: str


@dataclass(frozen=True)
class TransactionRecord:
    """One mined transaction with its answers for ``eth_getTransactionByHash`` and
    ``eth_getTransactionReceipt`` as JSON texts."""

    position: int
    hash: bytes
    sender: bytes
    nonce: int
    raw: bytes
    document: str
    receipt: str


@dataclass(frozen=True)
class BlockRecord:
    """One sealed block. ``slot`` is the interval of world time it was made in, ``awaited`` how
    many more blocks shall follow it even if nothing is sent."""

    header: BlockHeader
    slot: int
    awaited: int
    document: str
    transactions: tuple[TransactionRecord, ...] = ()
    logs: tuple[LogRecord, ...] = ()

    @property
    def number(self) -> int:
        return int(self.header.block_number)


@dataclass(frozen=True)
class Head:
    """What clients may know: the newest block that is durable."""

    header: BlockHeader
    slot: int
    awaited: int

    @property
    def number(self) -> int:
        return int(self.header.block_number)
