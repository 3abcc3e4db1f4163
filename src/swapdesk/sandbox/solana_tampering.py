"""What a dishonest service would hand a wallet on Solana: the order's transaction, changed.

The maker's signature stays what it was, so that it fits the changed message no more; the wallet
has to notice both.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from swapdesk.chain.solana.instructions import Known, Transfer, TransferChecked, Unknown
from swapdesk.chain.solana.message import ReadMessage, read_message
from swapdesk.chain.solana.programs import token_account
from swapdesk.chain.solana.transaction import read_transaction

ATTACKER = Pubkey.from_bytes(hashlib.sha256(b"attacker").digest())
"""Nobody has the key of this address."""

Payment = Transfer | TransferChecked


def tampered_half(fault: str, raw: bytes) -> bytes | None:
    """The transaction as this fault changes it; None where there is nothing it could change."""
    transaction = read_transaction(raw)
    body = transaction.message
    if not isinstance(body, MessageV0):
        return None
    message = read_message(body)
    blockhash = message.blockhash
    built = [_built(each) for each in message.instructions]
    if fault == "stale_calldata":
        blockhash = hashlib.sha256(blockhash).digest()
    elif fault == "tamper_extra_field":
        built.append(Transfer(message.payer, ATTACKER, 1_000_000).build())
    else:
        change = _CHANGES.get(fault)
        if change is None:
            return None
        built = [change(each, message) for each in message.instructions]
    changed = MessageV0.try_compile(message.payer, built, [], Hash.from_bytes(blockhash))
    known = dict(zip(message.signers, transaction.signatures, strict=True))
    signers = changed.account_keys[: changed.header.num_required_signatures]
    signatures = [known.get(key, Signature.default()) for key in signers]
    return bytes(VersionedTransaction.populate(changed, signatures))


def _built(each: Known | Unknown) -> Instruction:
    if isinstance(each, Unknown):
        metas = [AccountMeta(key, False, True) for key in each.accounts]
        return Instruction(each.program, each.data, metas)
    return each.build()


def _ours(each: Known | Unknown, message: ReadMessage) -> bool:
    """Whether it is what the payer of the fee pays."""
    return (isinstance(each, Transfer) and each.source == message.payer) or (
        isinstance(each, TransferChecked) and each.owner == message.payer
    )


def _to_attacker(each: Payment) -> Instruction:
    if isinstance(each, Transfer):
        return replace(each, destination=ATTACKER).build()
    return replace(each, destination=token_account(ATTACKER, each.mint, each.program)).build()


def _other_payee(each: Known | Unknown, message: ReadMessage) -> Instruction:
    if isinstance(each, Payment) and _ours(each, message):
        return _to_attacker(each)
    return _built(each)


def _other_receiver(each: Known | Unknown, message: ReadMessage) -> Instruction:
    if isinstance(each, Payment) and not _ours(each, message):
        return _to_attacker(each)
    return _built(each)


def _twice(each: Known | Unknown, message: ReadMessage) -> Instruction:
    if isinstance(each, Transfer) and _ours(each, message):
        return replace(each, lamports=2 * each.lamports).build()
    if isinstance(each, TransferChecked) and _ours(each, message):
        return replace(each, units=2 * each.units).build()
    return _built(each)


def _delegated(each: Known | Unknown, message: ReadMessage) -> Instruction:
    """The right to take everything in place of one payment (Token, 4; System, 1)."""
    if isinstance(each, TransferChecked) and _ours(each, message):
        metas = [
            AccountMeta(each.source, False, True),
            AccountMeta(ATTACKER, False, False),
            AccountMeta(each.owner, True, False),
        ]
        return Instruction(each.program, b"\x04" + b"\xff" * 8, metas)
    if isinstance(each, Transfer) and _ours(each, message):
        owner = each.build().program_id
        return Instruction(
            owner, b"\1\0\0\0" + bytes(ATTACKER), [AccountMeta(each.source, True, True)]
        )
    return _built(each)


_CHANGES: dict[str, Callable[[Known | Unknown, ReadMessage], Instruction]] = {
    "tamper_spender": _other_payee,
    "tamper_recipient": _other_receiver,
    "tamper_amount": _twice,
    "tamper_calldata": _delegated,
}
