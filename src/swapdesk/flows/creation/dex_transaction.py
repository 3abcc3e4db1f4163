"""The transaction of an order as the service tells it, held against what was confirmed.

The wallet agent judges whom it calls, with what and how much; nonce, gas and kind are its own.
What the service says beside that is not signed, but a service that speaks of another chain, another
account or another kind of transaction speaks of another transaction (contract 10.8).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wire.dex import Approval
from swapdesk.wire.encoding.codec import CodecError, decode_json
from swapdesk.wire.encoding.numbers import holds_far
from swapdesk.wire.encoding.time_range import LATEST, within_range
from swapdesk.wire.orders import Order

_PLAIN_KINDS = frozenset({0, 1, 2})
"""Legacy, with an access list, and of EIP-1559: they say the same of who is paid."""
_OTHER_KINDS = ("authorizationList", "blobs", "blobVersionedHashes", "maxFeePerBlobGas")
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
        one, other = told_by(created), told_by(read)
    except NotThisSwap:
        return created.metadata is None or read.metadata is None
    kinds = ("offChain", *_OTHER_KINDS)
    if any(bool(one.get(name)) is not bool(other.get(name)) for name in kinds):
        return False
    return all(
        _plainly(one[name]) == _plainly(other[name])
        for name in ("to", "data", "value", "chainId", "from")
        if name in one and name in other
    )


def settled_by_venue(told: Mapping[str, Any]) -> bool:
    """Whether the wallet sends nothing: the venue settles what was signed."""
    return told.get("offChain") is True


def transaction_of(told: Mapping[str, Any], promise: Promise) -> TransactionPayload:
    """The call to sign. Raises NotThisSwap."""
    to, data = told.get("to"), told.get("data")
    if not isinstance(to, str) or not isinstance(data, str):
        raise NotThisSwap("NOTHING_TO_SEND", "the order does not say what to send")
    _on_chain(told.get("chainId"), promise)
    _from_account(told.get("from"), promise)
    for name in _OTHER_KINDS:
        if told.get(name):
            raise NotThisSwap(
                "TRANSACTION_KIND", f"the order asks for {name}, which no swap here needs"
            )
    if told.get("type") is not None and _whole(told["type"]) not in _PLAIN_KINDS:
        raise NotThisSwap("TRANSACTION_KIND", "the order asks for another kind of transaction")
    sent_along = told.get("value")
    value = 0 if sent_along is None else _whole(sent_along)
    if value is None:
        raise NotThisSwap("VALUE_UNREADABLE", "the order does not say how much to send along")
    return TransactionPayload(Purpose.SWAP, to, data, value)


def approval_of(approval: Approval, promise: Promise) -> TransactionPayload:
    """The call to sign for an approval. Raises NotThisSwap."""
    chain = approval.from_chain
    if chain.chain_id is not None:
        _on_chain(chain.chain_id, promise)
    elif chain.short_name.casefold() != promise.chain.casefold():
        raise NotThisSwap("CHAIN_ID_DIFFERS", f"the approval is for {chain.short_name}")
    _from_account(approval.from_, promise)
    value = approval.value or 0
    if value != int(value):
        raise NotThisSwap("VALUE_UNREADABLE", "the approval sends a part of a unit along")
    return TransactionPayload(Purpose.APPROVE, approval.to, approval.data, int(value))


def deadline_of(told: Mapping[str, Any]) -> datetime:
    """When the transaction is executed last; far in the future where nobody said."""
    seconds = _whole(told.get("deadline"))
    try:
        if seconds is not None:
            return within_range(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        pass
    return LATEST


def _on_chain(told: object, promise: Promise) -> None:
    number = _whole(told)
    if told is None or (number is not None and number == promise.chain_id):
        return
    where = "a chain without a readable id" if number is None else f"the chain with id {number}"
    raise NotThisSwap(
        "CHAIN_ID_DIFFERS", f"it is to be sent on {where}; you confirmed {promise.chain_id}"
    )


def _from_account(told: object, promise: Promise) -> None:
    if told is not None and str(told).casefold() != promise.account.casefold():
        raise NotThisSwap("OWNER_DIFFERS", "it is to be sent by another account than yours")


def _plainly(told: object) -> object:
    """Numbers by their value and hexadecimal texts without case, however they are written."""
    number, text = _whole(told), str(told)
    if number is not None:
        return number
    return text.casefold() if text[:2].casefold() == "0x" else text


def _whole(told: object) -> int | None:
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
