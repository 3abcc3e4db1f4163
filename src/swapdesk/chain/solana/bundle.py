"""Many payments in few transactions: packed by measured size, in order, none too large."""

from __future__ import annotations

from collections.abc import Sequence

from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey

from swapdesk.chain.solana.transaction import PACKET_BYTES, packet_size

MOST_ROWS = 10
"""Of one transaction, however small they are: what a person can still review."""


class RowTooLarge(ValueError):
    """A payment that does not fit into a transaction by itself; ``row`` counts from 0."""

    def __init__(self, row: int, size: int) -> None:
        super().__init__(f"payment {row + 1} alone takes {size} of {PACKET_BYTES} bytes")
        self.row = row


def pack(
    payer: Pubkey,
    head: Sequence[Instruction],
    rows: Sequence[Sequence[Instruction]],
    *,
    most: int = MOST_ROWS,
) -> list[range]:
    """Which rows go together: runs of neighbours, each as long as it fits beside ``head``
    (compute budget, memo), which every transaction carries. Raises RowTooLarge."""
    packed: list[range] = []
    first = 0
    for row in range(len(rows)):
        size = measure(payer, head, rows[first : row + 1])
        if size > PACKET_BYTES or row - first >= most:
            if row > first:
                packed.append(range(first, row))
                first, size = row, measure(payer, head, rows[row : row + 1])
            if size > PACKET_BYTES:
                raise RowTooLarge(row, size)
    if first < len(rows):
        packed.append(range(first, len(rows)))
    return packed


def measure(
    payer: Pubkey, head: Sequence[Instruction], rows: Sequence[Sequence[Instruction]]
) -> int:
    """Bytes of the signed transaction that carries these rows."""
    instructions = [*head, *(each for row in rows for each in row)]
    return packet_size(MessageV0.try_compile(payer, instructions, [], Hash.default()))
