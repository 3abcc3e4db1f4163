"""How states of one order from several sources become one that only moves forward.

Source: spec "Rules that hold" 1, wire decisions 2.19. A state that would go back is kept
in the event log and not shown. An ended state gives way to another only where the
transitions allow it (expired or failed orders may be refunded or deleted later).
"""

from __future__ import annotations

from swapdesk.wire.orders import DisplayStatus, Order

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

_STATUS_DISPLAY: dict[int, DisplayStatus] = {
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


def display_of(order: Order) -> str | None:
    """The displayed state: ``displayStatus`` when present, else what ``status`` implies."""
    if order.display_status is not None:
        return order.display_status
    return _STATUS_DISPLAY.get(order.status) if order.status is not None else None


def ended(display: str | None) -> bool:
    """Whether a displayed state is one that orders end in."""
    return display in _AFTER_END


def may_follow(before: str | None, after: str | None) -> bool:
    """Whether ``after`` may be shown once ``before`` was. Unknown states rank nowhere: they
    are shown only while nothing better is known."""
    if before is None or before == after:
        return True
    if before in _AFTER_END:
        return after in _AFTER_END[before]
    if after in _AFTER_END:
        return True
    if after not in PROGRESS:
        return False
    if before not in PROGRESS:
        return True
    return PROGRESS.index(DisplayStatus(after)) >= PROGRESS.index(DisplayStatus(before))


def fold(known: Order, seen: Order) -> Order | None:
    """The order to keep after ``seen`` arrived, or None when nothing changes.

    A deleted order may arrive as id and status alone; what was known stays. Deposit address,
    memo and amount to pay never change once known: a later object that differs there keeps
    the known ones, and the check of the order decides what may be shown.
    """
    before, after = display_of(known), display_of(seen)
    if not may_follow(before, after):
        return None
    fresh = {name: getattr(seen, name) for name in seen.model_fields_set}
    fresh = {name: value for name, value in fresh.items() if value is not None}
    for name in ("deposit_address", "deposit_tag", "in_amount", "receiver_address", "created"):
        if getattr(known, name) is not None:
            fresh.pop(name, None)
    if before == after and known.modified and seen.modified and seen.modified < known.modified:
        return None
    merged = known.model_copy(update=fresh)
    return None if merged == known else merged


def contradicts(known: Order, seen: Order) -> str | None:
    """Why ``seen`` must not be paid although it carries a known id; None when it agrees."""
    if known.deposit_address and seen.deposit_address:
        if known.deposit_address != seen.deposit_address:
            return "the service now names another deposit address"
        if (known.deposit_tag or None) != (seen.deposit_tag or None):
            return "the service now names another deposit memo"
    if (
        known.receiver_address
        and seen.receiver_address
        and known.receiver_address != seen.receiver_address
    ):
        return "the service now names another recipient"
    return None
