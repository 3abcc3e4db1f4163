"""Derives the history of an order from the states that the journal kept: its legs step by step, and
what each update changed. A step that this desk did not see has no time; nothing is invented
(contract 8.1, 8.6)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.flows.failure_messages import Level
from swapdesk.flows.notation import copied_amount
from swapdesk.flows.orders.order_fields import expected_end, on_hold, second_leg_paid
from swapdesk.flows.orders.order_merge import display_of, ended
from swapdesk.flows.orders.situations import situation_of
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order

StepMark = Literal["past", "now", "future", "trouble", "ended"]
Seen = tuple[datetime, str, Order]
"""Time, source and order: a row of the journal's event log."""


def happened(order: Order, seen: datetime) -> datetime:
    """Returns when the order reached a state that this desk received at ``seen``: the service's
    time, but never before the order's creation or after ``seen``."""
    reported, created = order.order_finished_received or order.modified, order.created
    if reported is None or created is None:
        return min(reported or seen, seen)
    if reported <= created and display_of(order) != DisplayStatus.WAITING_FOR_DEPOSIT:
        # A service that keeps no time of changes.
        reported = seen
    return max(min(reported, seen), created)


class LegStep(Struct, frozen=True):
    """A step in the progress of a leg. A future time ``at`` is the service's estimate; None means
    that the time is unknown."""

    mark: StepMark
    at: datetime | None
    text: str
    note: str = ""


class Leg(Struct, frozen=True):
    title: str
    word: str
    steps: tuple[LegStep, ...]


_PLACES = (LegStatus.CONFIRMING, LegStatus.EXCHANGING, LegStatus.SENDING, LegStatus.FINISHED)
_REACHED: dict[int | None, int] = {
    LegStatus.CONFIRMING: 0,
    LegStatus.EXCHANGING: 1,
    LegStatus.VERIFYING: 1,
    LegStatus.SENDING: 2,
    LegStatus.FINISHED: 3,
    LegStatus.FALLBACK: 3,
}
_WORDS: dict[int, str] = {
    LegStatus.CONFIRMING: "confirming",
    LegStatus.EXCHANGING: "exchanging",
    LegStatus.SENDING: "sending",
    LegStatus.FINISHED: "finished",
    LegStatus.FAILED: "failed",
    LegStatus.REFUNDED: "refunded",
    LegStatus.VERIFYING: "on hold",
    LegStatus.EXPIRED: "expired",
    LegStatus.FALLBACK: "paid by fallback",
}
_LOWEST = -1
_ENDS = frozenset(
    {DisplayStatus.EXPIRED, DisplayStatus.FAILED, DisplayStatus.REFUNDED, DisplayStatus.DELETED}
)
"""Displayed states in which an order ends before all steps of its legs are done."""


def legs_of(
    order: Order, seen: Sequence[Seen], now: datetime, payee: str | None = None
) -> tuple[Leg, ...]:
    """Returns the legs (exchanges) of an order: two if it is private, otherwise one. ``seen`` are
    its states in the journal. ``payee`` is what the texts call the recipient; None means "the
    recipient"."""
    to = payee or "the recipient"
    states = [(happened(past, at), past) for at, _, past in seen] or [(now, order)]
    end = _expected_end(order, now)
    if order.anonymous is not True:
        return (_leg("Exchange", order, states, first=True, to=to, end=end),)
    return (
        _leg("First leg", order, states, first=True, to=None, end=None),
        _leg("Second leg", order, states, first=False, to=to, end=end),
    )


def _expected_end(order: Order, now: datetime) -> datetime | None:
    end = expected_end(order)
    waits = on_hold(order) or order.action_required or ended(display_of(order))
    return end if end is not None and end > now and not waits else None


def _leg(
    title: str,
    order: Order,
    states: Sequence[tuple[datetime, Order]],
    *,
    first: bool,
    to: str | None,
    end: datetime | None,
) -> Leg:
    last = to is not None

    def reached(past: Order) -> int:
        return _REACHED.get(_status(past, first), _LOWEST)

    started = order.created if first else order.out_created
    status = _status(order, first)
    # A failed leg no longer says how far it came: what was seen does.
    place = max(reached(past) for past in (order, *(past for _, past in states)))
    if not last and second_leg_paid(order):
        place = len(_PLACES) - 1
    over = ended(display_of(order))
    begun = first or started is not None or place > _LOWEST
    steps = [LegStep("past" if begun else "future", started, "created")]
    came = "seen on the chain" if order.is_dex else "deposit seen"
    texts = (came, "exchanging", f"sent to {to}" if last else "sent on", "finished")
    for at, text in enumerate(texts):
        if at > place:
            done_at = end if at == len(texts) - 1 and last else None
            if not over:
                steps.append(LegStep("future", done_at, text))
            continue
        when, first_past = next(
            ((time, past) for time, past in states if reached(past) >= at), (None, order)
        )
        # A state that was passed before the desk looked has no time of its own.
        if reached(first_past) > at:
            when = None
        if at == len(texts) - 1 and last:
            when = order.order_finished_received or when
        now_here = at == place and not over and at < len(texts) - 1
        steps.append(LegStep("now" if now_here else "past", when, text))
    trouble = _trouble(order, status, states, first)
    if trouble is not None:
        steps = [replace(step, mark="past") if step.mark == "now" else step for step in steps]
    if trouble is not None and (last or not second_leg_paid(order)):
        steps = [step for step in steps if step.mark != "future" or trouble.mark == "trouble"]
        at = next((n for n, step in enumerate(steps) if step.mark == "future"), len(steps))
        steps.insert(at, trouble)
    word = _word(status, begun, place)
    if word == "waiting" and trouble is not None:
        word = trouble.text
    return Leg(title, word, tuple(steps))


def _status(order: Order, first: bool) -> int | None:
    return order.in_status if first else order.out_status


def _word(status: int | None, begun: bool, place: int) -> str:
    if not begun:
        return "not begun"
    if place == len(_PLACES) - 1 and status != LegStatus.FALLBACK:
        return "finished"
    if status is None:
        return "not known"
    if status <= LegStatus.WAITING:
        return "waiting"
    return _WORDS.get(status, f"state {status}")


def _trouble(
    order: Order, status: int | None, states: Sequence[tuple[datetime, Order]], first: bool
) -> LegStep | None:
    display = display_of(order)
    if status == LegStatus.VERIFYING and not ended(display):
        since = next((time for time, past in states if _status(past, first) == status), None)
        return LegStep("trouble", since, "on hold", note="now")
    if display is None or display not in _ENDS:
        return None
    seen = next((time for time, past in states if display_of(past) == display), None)
    mark: StepMark = "trouble" if display == DisplayStatus.FAILED else "ended"
    return LegStep(mark, order.order_finished_received or seen, display.lower())


_SOURCES = {
    "create": "created here",
    "read": "asked",
    "list": "asked, in the list",
    "stream": "told by the stream",
    "journal": "journal",
}
_SILENT = frozenset({"modified", "in_token", "out_token", "metadata", "id"})
"""Fields whose changes are not listed in an update."""
_WHERE_TO_PAY = frozenset({"deposit_address", "deposit_tag"})
"""Fields whose values only the deposit card shows."""
_LINKS = frozenset({"hash_url"})
"""Fields that hold links, which the facts of the order show instead."""


class Update(Struct, frozen=True):
    """An update of an order. ``at`` is when this desk received it (printed as ``seen``).
    ``happened`` is the service's time of the change (printed as ``at``). ``changed`` lists the
    changed fields with their values."""

    PRINTED: ClassVar = {
        "at": "happened", "seen": "at", "source": "source", "state": "state", "changed": "changed",
    }  # fmt: skip

    at: datetime
    happened: datetime
    source: str
    state: str
    level: Level
    changed: tuple[str, ...]


def updates_of(seen: Sequence[Seen]) -> list[Update]:
    """Returns one update for each state in ``seen``, newest first. Changed fields are named as in
    the API."""
    earlier = (None, *(order for _, _, order in seen))
    updates = [
        Update(
            at=at,
            happened=happened(order, at),
            source=_SOURCES.get(source, source),
            state=display_of(order) or "no state",
            level=situation_of(order).level,
            changed=changed_fields(before, order) if before is not None else ("first seen",),
        )
        for before, (at, source, order) in zip(earlier, seen, strict=False)
    ]
    return updates[::-1]


def seen_since(seen: Sequence[Seen]) -> datetime | None:
    """Returns when the order entered its present situation (a row of ``situations``). None if
    ``seen``, the order's states, is empty."""
    since: datetime | None = None
    situation = None
    for at, _, order in seen:
        if situation_of(order) is not situation:
            situation, since = situation_of(order), happened(order, at)
    return since


def changed_fields(before: Order, after: Order) -> tuple[str, ...]:
    """Returns one text for each changed field, such as ``inStatus 2 to 3``, or ``nothing new``.
    Values of deposit addresses and memos are left out."""
    changes: list[str] = []
    for name, field in type(after).model_fields.items():
        if name in _SILENT:
            continue
        old, new = getattr(before, name), getattr(after, name)
        if old == new or new is None:
            continue
        label = field.serialization_alias
        if name in _WHERE_TO_PAY or name in _LINKS:
            changes.append(f"{label} {'set' if old is None else 'changed'}")
        elif old is None:
            short = _value(new)
            changes.append(f"{label} set" if len(short) > 12 else f"{label} {short}")
        else:
            changes.append(f"{label} {_value(old)} to {_value(new)}")
    return tuple(changes) or ("nothing new",)


def _value(value: object) -> str:
    if isinstance(value, Decimal):
        return copied_amount(value)
    if isinstance(value, datetime):
        return f"{value:%H:%M:%S}"
    return str(value)
