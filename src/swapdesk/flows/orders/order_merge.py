"""Merges the states of one order from several sources, so that its shown state only moves forward
(contract 8.5 to 8.7).

An ended state is replaced only if the transitions allow it: expired or failed orders may be
refunded or deleted later. ``hashUrl`` does not say which transaction it shows (contract 8.1); it is
taken for the deposit's if it fits the template of the deposit's chain (contract 5.1) and cannot be
that of a payout. A state in which only estimates and times are new is not written.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Context, Decimal
from typing import Any
from urllib.parse import unquote

from swapdesk.wire.orders import DisplayStatus, LegStatus, Order, OrderStatusCode
from swapdesk.wire.tokens import Token

PROGRESS: tuple[DisplayStatus, ...] = (
    DisplayStatus.WAITING_FOR_DEPOSIT,
    DisplayStatus.DEPOSIT_DETECTED,
    DisplayStatus.EXCHANGE_IN_PROGRESS,
    DisplayStatus.SENDING_TO_INTERMEDIARY,
    DisplayStatus.REACHED_INTERMEDIARY,
    DisplayStatus.INITIATING_SECOND_EXCHANGE,
    DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS,
    DisplayStatus.SENDING_TO_RECEIVER,
)

_AFTER_END: dict[str, frozenset[str]] = {
    DisplayStatus.EXPIRED: frozenset({DisplayStatus.REFUNDED, DisplayStatus.DELETED}),
    DisplayStatus.FAILED: frozenset({DisplayStatus.REFUNDED, DisplayStatus.DELETED}),
    DisplayStatus.SWAP_COMPLETED: frozenset(),
    DisplayStatus.REFUNDED: frozenset(),
    DisplayStatus.DELETED: frozenset(),
}

PINNED: dict[str, str] = {
    "deposit_address": "deposit address",
    "deposit_tag": "deposit memo",
    "in_amount": "amount to pay",
    "receiver_address": "recipient",
    "receiver_tag": "memo of the recipient",
    "refund_address": "refund address",
    "in_token_id": "token to send",
    "out_token_id": "token to receive",
    "anonymous": "route",
    "created": "",
    "in_token": "",
    "in_symbol": "",
    "out_token": "",
    "out_symbol": "",
}
"""Fields that never change once known, with their words in messages. Empty words: no message."""

_CONTRADICTABLE = tuple((name, said) for name, said in PINNED.items() if said)

TO_PAY = frozenset({"deposit_address", "deposit_tag", "in_amount"})

DOUBLE = Context(prec=15)
"""Rounds amounts computed in binary doubles to the 15 digits that these keep."""

_UNTOUCHED = (None, LegStatus.NEW, LegStatus.WAITING)
"""States of the first leg in which nothing was paid yet."""

_HEX_ID = re.compile(r"[0-9a-fA-F]{24}")

_KNOWN = frozenset(DisplayStatus)
_STATE = ("display_status", "status", "status_label")

_BY_STATUS: dict[int, DisplayStatus] = {
    -2: DisplayStatus.WAITING_FOR_DEPOSIT,
    -1: DisplayStatus.WAITING_FOR_DEPOSIT,
    0: DisplayStatus.WAITING_FOR_DEPOSIT,
    1: DisplayStatus.DEPOSIT_DETECTED,
    2: DisplayStatus.EXCHANGE_IN_PROGRESS,
    3: DisplayStatus.REACHED_INTERMEDIARY,
    4: DisplayStatus.SWAP_COMPLETED,
    5: DisplayStatus.EXPIRED,
    6: DisplayStatus.FAILED,
    7: DisplayStatus.REFUNDED,
    8: DisplayStatus.DELETED,
}

_BY_SECOND_LEG: dict[int | None, DisplayStatus] = {
    LegStatus.CONFIRMING: DisplayStatus.INITIATING_SECOND_EXCHANGE,
    LegStatus.EXCHANGING: DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS,
    LegStatus.VERIFYING: DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS,
    LegStatus.FAILED: DisplayStatus.SECOND_EXCHANGE_IN_PROGRESS,
    LegStatus.SENDING: DisplayStatus.SENDING_TO_RECEIVER,
}


def display_of(order: Order) -> str | None:
    """Returns the displayed state: ``displayStatus`` if this desk knows the value, else the state
    that ``status`` and the legs imply (contract 8.19), else the unknown value. None if the service
    sent no state."""
    shown, status = order.display_status, order.status
    if shown in _KNOWN or status is None:
        return shown
    return _by_numbers(order, status) or shown or str(status)


def _by_numbers(order: Order, status: int) -> DisplayStatus | None:
    if status == OrderStatusCode.EXCHANGING and order.in_status == LegStatus.SENDING:
        private = order.anonymous is True
        between = DisplayStatus.SENDING_TO_INTERMEDIARY
        return between if private else DisplayStatus.SENDING_TO_RECEIVER
    if status == OrderStatusCode.ANONYMIZING and order.out_status in _BY_SECOND_LEG:
        return _BY_SECOND_LEG[order.out_status]
    return _BY_STATUS.get(status)


def ended(display: str | None) -> bool:
    """Returns whether ``display`` is a state in which an order ends."""
    return display in _AFTER_END


def may_follow(before: str | None, after: str | None) -> bool:
    """Returns whether an order shown in state ``before`` may be shown in state ``after`` next.
    Progress never goes back. An unknown state may replace only a missing state, an unknown state,
    or waiting for the deposit."""
    if before is None or before == after:
        return True
    if before in _AFTER_END:
        return after in _AFTER_END[before]
    if after in _AFTER_END:
        return True
    if before not in PROGRESS or after is None:
        return after is not None
    if after not in PROGRESS:
        return before == DisplayStatus.WAITING_FOR_DEPOSIT
    return PROGRESS.index(DisplayStatus(after)) >= PROGRESS.index(DisplayStatus(before))


def merge_order(known: Order, seen: Order, others: Collection[str] | None = None) -> Order | None:
    """Returns ``known`` updated by the newly received ``seen``; None if nothing changes. Fields in
    :data:`PINNED`, such as what to pay and who receives it, never change once known. ``others`` is
    the result of :func:`other_objects`, if already computed."""
    before, after = display_of(known), display_of(seen)
    if not may_follow(before, after):
        return None
    unranked = before not in PROGRESS and before not in _AFTER_END
    if (before == after or unranked) and _older(seen, known):
        return None
    address_known = known.deposit_address is not None
    told, kept, changed = seen.model_fields_set, False, False
    were, are = known.__dict__, seen.__dict__
    for name in other_objects(known, seen) if others is None else others:
        old, new = were[name], are[name]
        pinned = old is not None and name in PINNED
        if new == old:
            # An amount to pay stays digit for digit: 1.50 is not rewritten to 1.5.
            kept = kept or (pinned and isinstance(old, Decimal) and not old.same_quantum(new))
        elif new is None or name not in told or pinned or (address_known and name == "deposit_tag"):
            kept = True
        else:
            changed = True
    if not changed:
        return None
    if not kept and (known.model_fields_set is told or known.model_fields_set <= told):
        # Everything is as it was seen; then there is one object of it and not a copy.
        return seen
    merged = known.model_copy(update=_fresh(known, seen))
    if display_of(merged) == after:
        return merged
    # What is left of the state before would tell another one.
    return merged.model_copy(update={name: getattr(seen, name) for name in _STATE})


def _older(seen: Order, known: Order) -> bool:
    return bool(known.modified and seen.modified and seen.modified < known.modified)


def other_objects(known: Order, seen: Order) -> list[str]:
    """Returns the names of the fields that do not hold the same object in both orders. The objects
    may still be equal."""
    are = seen.__dict__
    return [name for name, were in known.__dict__.items() if are[name] is not were]


def _fresh(known: Order, seen: Order) -> dict[str, Any]:
    told = {name: getattr(seen, name) for name in seen.model_fields_set}
    fresh = {name: value for name, value in told.items() if value is not None}
    for name in PINNED:
        if getattr(known, name) is not None:
            fresh.pop(name, None)
    if known.deposit_address is not None:
        fresh.pop("deposit_tag", None)
    return fresh


def untouched(order: Order) -> bool:
    """Returns whether the order waits for its deposit and the service reports no payment on the
    first leg."""
    waiting = display_of(order) == DisplayStatus.WAITING_FOR_DEPOSIT
    return waiting and order.in_status in _UNTOUCHED


def contradicts(known: Order, seen: Order) -> str | None:
    """Returns how ``seen`` contradicts ``known``, an earlier state of the same order, as a
    sentence; None if they agree. An order with a contradiction must not be paid. What to pay is
    compared only while the deposit is awaited."""
    waiting = display_of(seen) == DisplayStatus.WAITING_FOR_DEPOSIT
    both = known.deposit_address is not None and seen.deposit_address is not None
    if waiting and both and (known.deposit_tag or None) != (seen.deposit_tag or None):
        # With the address known, no memo is as definite as a memo.
        return "the service now names another deposit memo"
    were, are = known.__dict__, seen.__dict__
    for name, said in _CONTRADICTABLE:
        before, after = were[name], are[name]
        if before is None or after is None or before is after or (name in TO_PAY and not waiting):
            continue
        if not _same(before, after):
            return f"the service now names another {said}"
    return _broken_promise(known, seen) if waiting else None


def _broken_promise(known: Order, seen: Order) -> str | None:
    """Returns what became worse for an unpaid order with a fixed rate, as a sentence: the rate is
    no longer fixed, or the payout is lower. None if nothing did."""
    if not known.fixed or seen.in_status not in _UNTOUCHED:
        return None
    if "fixed" in seen.model_fields_set and not seen.fixed:
        return "the service now says that the rate is not fixed"
    before, after = known.out_amount, seen.out_amount
    if before is not None and after is not None and DOUBLE.plus(after) < DOUBLE.plus(before):
        return "the service now pays out less than the fixed amount"
    return None


def _same(before: object, after: object) -> bool:
    if before == after or not isinstance(before, str) or not isinstance(after, str):
        return before == after
    caseless = before.startswith("0x") or _HEX_ID.fullmatch(before) is not None
    return caseless and before.lower() == after.lower()


_HASH = re.compile(r"[0-9A-Za-z_+/=-]{16,120}")
_PLACE = "{txHash}"
_PAID_OUT = (DisplayStatus.SENDING_TO_RECEIVER, DisplayStatus.SWAP_COMPLETED)


def payout_hash(order: Order) -> str | None:
    """Returns the hash of the transaction that pays the recipient (contract 8.1); None if the
    service has not named it yet."""
    return order.out_transaction_out_hash or order.in_transaction_out_hash


def linked_deposit(order: Order) -> str | None:
    """Returns the hash of the deposit transaction in the order's explorer link. None if the link
    does not fit the deposit's chain, or may show a payout or a refund."""
    template = _template(order.in_token)
    if display_of(order) in _PAID_OUT and _template(order.out_token) in ("", template):
        return None
    before, found, after = template.partition(_PLACE)
    link = order.hash_url or ""
    if not found or not link.startswith(before) or not link.endswith(after):
        return None
    named = unquote(link[len(before) : len(link) - len(after)])
    others = (payout_hash(order), order.refund_hash)
    return named if _HASH.fullmatch(named) and named not in others else None


def newly_linked_deposit(known: Order | None, seen: Order) -> str | None:
    """Returns :func:`linked_deposit` of ``seen`` if the explorer link of ``seen`` is not that of
    ``known``; otherwise None."""
    if known is not None and known.hash_url == seen.hash_url and known.in_token is not None:
        return None
    return linked_deposit(seen)


def _template(token: Token | None) -> str:
    chain = token.chain_data if token is not None else None
    return (chain.hash_url or chain.explorer_url or "") if chain is not None else ""


FIGURES = frozenset({"modified", "out_amount", "in_amount_usd", "out_amount_usd", "eta"})
_UNDER_WAY = frozenset(PROGRESS) - {DisplayStatus.WAITING_FOR_DEPOSIT}


def only_volatile_fields(known: Order, seen: Order, others: Collection[str] | None = None) -> bool:
    """Returns whether two states of an order under way differ only in :data:`FIGURES` (estimates
    and times). False before the deposit and after the end. ``others`` is the result of
    :func:`other_objects`, if already computed."""
    if display_of(seen) not in _UNDER_WAY:
        return False
    were, are = known.__dict__, seen.__dict__
    others = other_objects(known, seen) if others is None else others
    return all(name in FIGURES or were[name] == are[name] for name in others)
