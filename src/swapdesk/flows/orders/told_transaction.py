"""Reads the transaction that an order of a DEX route says to send. A later order that differs in
chain, account or kind asks for another transaction (contract 10.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swapdesk.wire.encoding.codec import CodecError, decode_json
from swapdesk.wire.encoding.numbers import holds_far
from swapdesk.wire.orders import Order

OTHER_KINDS = ("authorizationList", "blobs", "blobVersionedHashes", "maxFeePerBlobGas")
"""Fields of transactions that hand over an account (EIP-7702) or publish blobs (EIP-4844)."""


class NotThisSwap(Exception):
    """Raised if the transaction of an order does not belong to the confirmed swap. ``code`` names
    the violated rule."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def told_by(order: Order) -> dict[str, Any]:
    """Returns the order's metadata (contract 10.8), which describes the transaction to send. Raises
    NotThisSwap if there is no usable metadata."""
    metadata = order.metadata
    if isinstance(metadata, str):
        try:
            metadata = decode_json(metadata.encode())
        except CodecError:
            metadata = None
    if not isinstance(metadata, dict) or holds_far(metadata):
        raise NotThisSwap("NOTHING_TO_SEND", "the order does not say what to send")
    return metadata


def same_transaction(created: Order, read: Order) -> bool:
    """Returns whether two states of an order ask for the same transaction. True also if either has
    no metadata. A member that only one of them has counts only if it changes the kind of
    transaction."""
    try:
        first, second = told_by(created), told_by(read)
    except NotThisSwap:
        return created.metadata is None or read.metadata is None
    kinds = ("offChain", *OTHER_KINDS)
    if any(bool(first.get(name)) is not bool(second.get(name)) for name in kinds):
        return False
    return all(
        _folded(first[name]) == _folded(second[name])
        for name in ("to", "data", "value", "chainId", "from")
        if name in first and name in second
    )


def settled_by_venue(told: Mapping[str, Any]) -> bool:
    """Returns whether the venue executes the order that the wallet signed, so that the wallet sends
    no transaction. ``told`` is the order's metadata."""
    return told.get("offChain") is True


def _folded(value: object) -> object:
    number, text = whole(value), str(value)
    if number is not None:
        return number
    return text.casefold() if text[:2].casefold() == "0x" else text


def whole(value: object) -> int | None:
    """Returns the integer that a number, a decimal text or a 0x-hex text stands for, exactly;
    otherwise None."""
    if isinstance(value, bool):
        return None
    text = str(value)
    digits, base = (text[2:], 16) if text[:2].lower() == "0x" else (text, 10)
    # ``int`` would also take signs, spaces and the digits of other scripts.
    if not digits or not digits.isascii() or not digits.isalnum() or len(digits) > 78:
        return None
    try:
        return int(digits, base)
    except ValueError:
        return None
