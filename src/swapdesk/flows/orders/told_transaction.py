"""What an order of a DEX route says to send, read as the service tells it.

What the service says beside the call is not signed, but a service that speaks of another chain,
another account or another kind of transaction speaks of another transaction (contract 10.8).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swapdesk.wire.encoding.codec import CodecError, decode_json
from swapdesk.wire.encoding.numbers import holds_far
from swapdesk.wire.orders import Order

OTHER_KINDS = ("authorizationList", "blobs", "blobVersionedHashes", "maxFeePerBlobGas")
"""What only transactions carry that hand an account over (EIP-7702) or publish blobs (EIP-4844)."""


class NotThisSwap(Exception):
    """What is to be sent is not of the swap that was confirmed. ``code`` names the rule."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code


def told_by(order: Order) -> dict[str, Any]:
    """What to send: an object in the answer to a create, a text of it in all others
    (contract 10.8). Raises NotThisSwap when it says nothing of use."""
    found = order.metadata
    if isinstance(found, str):
        try:
            found = decode_json(found.encode())
        except CodecError:
            found = None
    if not isinstance(found, dict) or holds_far(found):
        raise NotThisSwap("NOTHING_TO_SEND", "the order does not say what to send")
    return found


def same_transaction(created: Order, read: Order) -> bool:
    """Whether an order that is read again says to send what its create said. What only one of
    the two tells is no difference, but for what would make it another kind of transaction."""
    try:
        first, second = told_by(created), told_by(read)
    except NotThisSwap:
        return created.metadata is None or read.metadata is None
    kinds = ("offChain", *OTHER_KINDS)
    if any(bool(first.get(name)) is not bool(second.get(name)) for name in kinds):
        return False
    return all(
        _plainly(first[name]) == _plainly(second[name])
        for name in ("to", "data", "value", "chainId", "from")
        if name in first and name in second
    )


def settled_by_venue(told: Mapping[str, Any]) -> bool:
    """Whether the wallet sends nothing: the venue settles what was signed."""
    return told.get("offChain") is True


def _plainly(told: object) -> object:
    """Numbers by their value and hexadecimal texts without case, however they are written."""
    number, text = whole(told), str(told)
    if number is not None:
        return number
    return text.casefold() if text[:2].casefold() == "0x" else text


def whole(told: object) -> int | None:
    """A number, or a decimal or 0x-hex text of one; no digits are lost on the way."""
    if isinstance(told, bool):
        return None
    text = str(told)
    digits, base = (text[2:], 16) if text[:2].lower() == "0x" else (text, 10)
    # ``int`` would also take signs, spaces and the digits of other scripts.
    if not digits or not digits.isascii() or not digits.isalnum() or len(digits) > 78:
        return None
    try:
        return int(digits, base)
    except ValueError:
        return None
