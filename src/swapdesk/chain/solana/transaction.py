"""Serialized transactions: one packet, one plain form, legacy or version 0."""

from __future__ import annotations

from solders.message import Message, MessageV0, from_bytes_versioned, to_bytes_versioned
from solders.signature import Signature
from solders.transaction import VersionedTransaction

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
