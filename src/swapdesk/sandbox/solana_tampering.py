"""What a dishonest service would hand a wallet on Solana: the order's transaction, changed.

The maker's signature stays what it was, so that it fits the changed message no more; the wallet
has to notice both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from msgspec.structs import replace
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from swapdesk.chain.solana import (
    Known,
    ReadMessage,
    Transfer,
    TransferChecked,
    Unknown,
    read_message,
    read_transaction,
    token_account,
)

ATTACKER = Pubkey.from_bytes(hashlib.sha256(b"attacker").digest())
"""Nobody has the key of this address."""

Payment = Transfer | TransferChecked


def tampered_half(change: str, raw: bytes) -> bytes | None:
    """The transaction with one of CHANGES; None where there is nothing it could change."""
    transaction = read_transaction(raw)
    body = transaction.message
    if not isinstance(body, MessageV0):
        return None
    message = read_message(body)
    built, blockhash = CHANGES[change](message)
    changed = MessageV0.try_compile(message.payer, built, [], Hash.from_bytes(blockhash))
    known = dict(zip(message.signers, transaction.signatures, strict=True))
    signers = changed.account_keys[: changed.header.num_required_signatures]
    signatures = [known.get(key, Signature.default()) for key in signers]
    return bytes(VersionedTransaction.populate(changed, signatures))


def _instructions(
    change: Callable[[Known | Unknown, ReadMessage], Instruction],
) -> Callable[[ReadMessage], tuple[list[Instruction], bytes]]:
    """Every instruction as this changes it."""
    return lambda message: (
        [change(instruction, message) for instruction in message.instructions],
        message.blockhash,
    )


def _other_blockhash(message: ReadMessage) -> tuple[list[Instruction], bytes]:
    built = [_built(instruction) for instruction in message.instructions]
    return built, hashlib.sha256(message.blockhash).digest()


def _one_more(message: ReadMessage) -> tuple[list[Instruction], bytes]:
    built = [_built(instruction) for instruction in message.instructions]
    return [*built, Transfer(message.payer, ATTACKER, 1_000_000).build()], message.blockhash


def _built(instruction: Known | Unknown) -> Instruction:
    if isinstance(instruction, Unknown):
        metas = [AccountMeta(key, False, True) for key in instruction.accounts]
        return Instruction(instruction.program, instruction.data, metas)
    return instruction.build()


def _ours(instruction: Known | Unknown, message: ReadMessage) -> bool:
    """Whether it is what the payer of the fee pays."""
    return (isinstance(instruction, Transfer) and instruction.source == message.payer) or (
        isinstance(instruction, TransferChecked) and instruction.owner == message.payer
    )


def _to_attacker(instruction: Payment) -> Instruction:
    if isinstance(instruction, Transfer):
        return replace(instruction, destination=ATTACKER).build()
    return replace(
        instruction, destination=token_account(ATTACKER, instruction.mint, instruction.program)
    ).build()


def _other_payee(instruction: Known | Unknown, message: ReadMessage) -> Instruction:
    if isinstance(instruction, Payment) and _ours(instruction, message):
        return _to_attacker(instruction)
    return _built(instruction)


def _other_receiver(instruction: Known | Unknown, message: ReadMessage) -> Instruction:
    if isinstance(instruction, Payment) and not _ours(instruction, message):
        return _to_attacker(instruction)
    return _built(instruction)


def _twice(instruction: Known | Unknown, message: ReadMessage) -> Instruction:
    if isinstance(instruction, Transfer) and _ours(instruction, message):
        return replace(instruction, lamports=2 * instruction.lamports).build()
    if isinstance(instruction, TransferChecked) and _ours(instruction, message):
        return replace(instruction, units=2 * instruction.units).build()
    return _built(instruction)


def _delegated(instruction: Known | Unknown, message: ReadMessage) -> Instruction:
    """The right to take everything in place of one payment (Token, 4; System, 1)."""
    if isinstance(instruction, TransferChecked) and _ours(instruction, message):
        metas = [
            AccountMeta(instruction.source, False, True),
            AccountMeta(ATTACKER, False, False),
            AccountMeta(instruction.owner, True, False),
        ]
        return Instruction(instruction.program, b"\x04" + b"\xff" * 8, metas)
    if isinstance(instruction, Transfer) and _ours(instruction, message):
        owner = instruction.build().program_id
        return Instruction(
            owner, b"\1\0\0\0" + bytes(ATTACKER), [AccountMeta(instruction.source, True, True)]
        )
    return _built(instruction)


CHANGES: dict[str, Callable[[ReadMessage], tuple[list[Instruction], bytes]]] = {
    "other payee": _instructions(_other_payee),
    "other receiver": _instructions(_other_receiver),
    "twice": _instructions(_twice),
    "delegated": _instructions(_delegated),
    "one more": _one_more,
    "other blockhash": _other_blockhash,
}
"""Instructions and blockhash of the changed message; ``tampering`` names them."""
