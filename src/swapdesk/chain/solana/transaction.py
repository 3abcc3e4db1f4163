"""Serialized transactions, legacy or version 0: read, measured, priced, and packed with payments.

A transaction fits into one packet and has one plain form; any other bytes are refused. ``pack``
puts neighbouring payments together by their measured size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import Message, MessageV0, from_bytes_versioned, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from swapdesk.chain.solana.instructions import (
    COMPUTE_BUDGET,
    SYSTEM,
    ComputeLimit,
    ComputePrice,
    Known,
    Unknown,
    read_instruction,
)

PACKET_BYTES = 1232
"""The most a serialized transaction may have, signatures included."""

AnyMessage = Message | MessageV0


class TransactionRefused(ValueError):
    """Bytes that are no transaction we take."""


def read_transaction(raw: bytes) -> VersionedTransaction:
    """A transaction with a place for every signature, filled or not. Raises TransactionRefused
    for one that is too large, of another version, or not in its plain form."""
    if len(raw) > PACKET_BYTES:
        raise TransactionRefused(f"{len(raw)} bytes are more than {PACKET_BYTES}")
    try:
        transaction = VersionedTransaction.from_bytes(raw)
        transaction.sanitize()
    except Exception as error:
        # The library raises several kinds of its own.
        raise TransactionRefused("these bytes are no transaction") from error
    if not isinstance(transaction.message, Message | MessageV0):
        raise TransactionRefused("a transaction of this version is not taken")
    if bytes(transaction) != raw:
        raise TransactionRefused("the transaction is not in its plain form")
    return transaction


def read_serialized_message(raw: bytes) -> AnyMessage:
    """A message that is not signed yet. Raises TransactionRefused."""
    try:
        message = from_bytes_versioned(raw)
        if not isinstance(message, Message | MessageV0):
            raise TransactionRefused("a message of this version is not taken")
        unsigned(message).sanitize()
    except TransactionRefused:
        raise
    except Exception as error:
        raise TransactionRefused("these bytes are no message") from error
    if to_bytes_versioned(message) != raw:
        raise TransactionRefused("the message is not in its plain form")
    return message


def unsigned(message: AnyMessage) -> VersionedTransaction:
    """The transaction with empty places for its signatures."""
    places = message.header.num_required_signatures
    return VersionedTransaction.populate(message, [Signature.default()] * places)


def packet_size(message: AnyMessage) -> int:
    """Bytes of the signed transaction."""
    return len(bytes(unsigned(message)))


@dataclass(frozen=True)
class ReadMessage:
    """``payer`` is the first of ``signers`` and pays the fee; ``written`` are all accounts that
    may change."""

    payer: Pubkey
    signers: tuple[Pubkey, ...]
    written: tuple[Pubkey, ...]
    blockhash: bytes
    instructions: tuple[Known | Unknown, ...]


def read_message(message: AnyMessage) -> ReadMessage:
    """What a message does. Raises TransactionRefused when it takes accounts from a lookup table
    or names one that it does not have."""
    if isinstance(message, MessageV0) and message.address_table_lookups:
        raise TransactionRefused("it takes accounts from a lookup table")
    keys, header = message.account_keys, message.header
    signing = header.num_required_signatures
    if not 0 < signing <= len(keys):
        raise TransactionRefused("nobody signs it")
    try:
        instructions = tuple(
            read_instruction(
                keys[instruction.program_id_index],
                bytes(instruction.data),
                [keys[index] for index in bytes(instruction.accounts)],
            )
            for instruction in message.instructions
        )
    except IndexError:
        raise TransactionRefused("it names an account that it does not have") from None
    return ReadMessage(
        payer=keys[0],
        signers=tuple(keys[:signing]),
        written=written_keys(message),
        blockhash=bytes(message.recent_blockhash),
        instructions=instructions,
    )


def written_keys(message: AnyMessage) -> tuple[Pubkey, ...]:
    """The accounts that may change, in the order of the message."""
    keys, header = message.account_keys, message.header
    signing = header.num_required_signatures
    last_signer = signing - header.num_readonly_signed_accounts
    last_other = len(keys) - header.num_readonly_unsigned_accounts
    return (*keys[:last_signer], *keys[signing:last_other])


LAMPORTS_PER_SIGNATURE = 5_000
_MOST_UNITS = 1_400_000
_UNITS_OF_BUILTIN, _UNITS_OF_PROGRAM = 3_000, 200_000
_BUILTINS = frozenset({SYSTEM, COMPUTE_BUDGET})


def fee_of(message: ReadMessage) -> int:
    """Lamports that the payer loses, also when the transaction fails. Without a stated limit
    the price counts for what the network reserves for each instruction."""
    price = limit = None
    reserved = 0
    for instruction in message.instructions:
        if isinstance(instruction, ComputePrice):
            price = instruction.micro_lamports
        elif isinstance(instruction, ComputeLimit):
            limit = instruction.units
        reserved += _UNITS_OF_BUILTIN if _program(instruction) in _BUILTINS else _UNITS_OF_PROGRAM
    units = min(_MOST_UNITS, reserved if limit is None else limit)
    return LAMPORTS_PER_SIGNATURE * len(message.signers) + -(-(price or 0) * units // 1_000_000)


def _program(instruction: Known | Unknown) -> Pubkey:
    if isinstance(instruction, Unknown):
        return instruction.program
    return instruction.build().program_id


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
    instructions = [*head, *(instruction for row in rows for instruction in row)]
    return packet_size(MessageV0.try_compile(payer, instructions, [], Hash.default()))
