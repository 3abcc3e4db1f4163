"""Messages as they are read before they are signed or executed."""

from __future__ import annotations

from dataclasses import dataclass

from solders.message import MessageV0
from solders.pubkey import Pubkey

from swapdesk.chain.solana.instructions import Known, Unknown, read_instruction
from swapdesk.chain.solana.transaction import AnyMessage, TransactionRefused


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
                keys[each.program_id_index],
                bytes(each.data),
                [keys[index] for index in bytes(each.accounts)],
            )
            for each in message.instructions
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
