"""The call to sign for an order or an approval, held against what was confirmed.

The wallet agent judges whom it calls, with what and how much; nonce, gas and kind are its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from swapdesk.flows.orders.told_transaction import OTHER_KINDS, NotThisSwap, whole
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wire.dex import Approval
from swapdesk.wire.encoding.time_range import LATEST, within_range

_PLAIN_KINDS = frozenset({0, 1, 2})
"""Legacy, with an access list, and of EIP-1559: they say the same of who is paid."""


def transaction_of(told: Mapping[str, Any], promise: Promise) -> TransactionPayload:
    """The call to sign. Raises NotThisSwap."""
    to, data = told.get("to"), told.get("data")
    if not isinstance(to, str) or not isinstance(data, str):
        raise NotThisSwap("NOTHING_TO_SEND", "the order does not say what to send")
    _on_chain(told.get("chainId"), promise)
    _from_account(told.get("from"), promise)
    for name in OTHER_KINDS:
        if told.get(name):
            raise NotThisSwap(
                "TRANSACTION_KIND", f"the order asks for {name}, which no swap here needs"
            )
    if told.get("type") is not None and whole(told["type"]) not in _PLAIN_KINDS:
        raise NotThisSwap("TRANSACTION_KIND", "the order asks for another kind of transaction")
    sent_along = told.get("value")
    value = 0 if sent_along is None else whole(sent_along)
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
    seconds = whole(told.get("deadline"))
    try:
        if seconds is not None:
            return within_range(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        pass
    return LATEST


def _on_chain(told: object, promise: Promise) -> None:
    number = whole(told)
    if told is None or (number is not None and number == promise.chain_id):
        return
    where = "a chain without a readable id" if number is None else f"the chain with id {number}"
    raise NotThisSwap(
        "CHAIN_ID_DIFFERS", f"it is to be sent on {where}; you confirmed {promise.chain_id}"
    )


def _from_account(told: object, promise: Promise) -> None:
    if told is not None and str(told).casefold() != promise.account.casefold():
        raise NotThisSwap("OWNER_DIFFERS", "it is to be sent by another account than yours")
