"""Transactions of a service on Solana as one that lies would hand them out.

Signatures stay what they were, so that they fit the changed message no more.
"""

from __future__ import annotations

import hashlib

from solders.pubkey import Pubkey

from swapdesk.chain.solana import (
    ReadMessage,
    TransferChecked,
    read_message,
    read_transaction,
    token_account,
)

STRANGER = Pubkey.from_bytes(hashlib.sha256(b"attacker").digest())
"""Nobody has the key of this address."""


def other_payee(half: bytes) -> bytes:
    """The first that is paid by the payer of the fee is a stranger."""
    message = _message(half)
    paid = next(
        one
        for one in message.instructions
        if isinstance(one, TransferChecked) and one.owner == message.payer
    )
    stranger = token_account(STRANGER, paid.mint, paid.program)
    return half.replace(bytes(paid.destination), bytes(stranger))


def other_blockhash(half: bytes) -> bytes:
    blockhash = _message(half).blockhash
    return half.replace(blockhash, hashlib.sha256(blockhash).digest())


def _message(half: bytes) -> ReadMessage:
    return read_message(read_transaction(half).message)
