"""The deposits of a group on Solana as transactions that the sender signs and sends.

Packed by measured size, never over one packet, and at most ten deposits each
(contract 9.15). The group's id stands in the memo of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey

from swapdesk.chain.solana.bundle import pack
from swapdesk.chain.solana.instructions import (
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Memo,
    Transfer,
    TransferChecked,
)
from swapdesk.chain.solana.programs import token_account
from swapdesk.chain.solana.transaction import unsigned
from swapdesk.wire.multi import MOST_DEPOSITS

_UNITS = 450_000
"""Compute units of ten deposits that each open a token account, with room."""
_MICRO_LAMPORTS = 1_000


@dataclass(frozen=True)
class Deposit:
    """``units`` of the mint, of SOL for None, to the wallet ``to``."""

    service_id: str
    mint: str | None
    decimals: int
    to: str
    units: int


@dataclass(frozen=True)
class Batch:
    """The orders of one transaction, and its bytes with an empty place for the signature."""

    service_ids: tuple[str, ...]
    transaction: bytes


def batches_of(
    sender: str, deposits: Sequence[Deposit], multi_id: str, blockhash: str
) -> list[Batch]:
    """Transactions that pay these deposits in their order, each good as long as the blockhash.

    A token account that the receiver lacks is opened at the sender's cost. Raises ValueError for
    a sender or receiver that is no address.
    """
    payer = Pubkey.from_string(sender)
    head = [
        ComputeLimit(_UNITS).build(),
        ComputePrice(_MICRO_LAMPORTS).build(),
        Memo(multi_id).build(),
    ]
    rows = [_instructions(payer, deposit) for deposit in deposits]
    recent = Hash.from_string(blockhash)
    return [
        Batch(
            tuple(deposits[row].service_id for row in run),
            _serialized(payer, [*head, *(each for row in run for each in rows[row])], recent),
        )
        for run in pack(payer, head, rows, most=MOST_DEPOSITS)
    ]


def _instructions(payer: Pubkey, deposit: Deposit) -> list[Instruction]:
    receiver = Pubkey.from_string(deposit.to)
    if deposit.mint is None:
        return [Transfer(payer, receiver, deposit.units).build()]
    mint = Pubkey.from_string(deposit.mint)
    opened = CreateTokenAccount(payer, receiver, mint)
    paid = TransferChecked(
        source=token_account(payer, mint),
        mint=mint,
        destination=opened.account,
        owner=payer,
        units=deposit.units,
        decimals=deposit.decimals,
    )
    return [opened.build(), paid.build()]


def _serialized(payer: Pubkey, instructions: list[Instruction], recent: Hash) -> bytes:
    return bytes(unsigned(MessageV0.try_compile(payer, instructions, [], recent)))
