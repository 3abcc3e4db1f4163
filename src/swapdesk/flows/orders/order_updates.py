"""Every update of one order that the journal kept, and what each changed.

Sightings that told nothing new are not updates; of very many the first and the newest are
kept (``order_log``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.notation import copied_amount
from swapdesk.flows.orders.order_history import Seen
from swapdesk.flows.orders.order_status import cause_of
from swapdesk.flows.orders.situations import situation_of
from swapdesk.flows.wording import Level
from swapdesk.wire.orders import Order

_SOURCES = {
    "create": "created here",
    "read": "asked",
    "list": "asked, in the list",
    "stream": "told by the stream",
    "journal": "journal",
}
_SILENT = frozenset({"modified", "in_token", "out_token", "metadata", "id"})
"""Fields that are not told when they change."""
_WHERE_TO_PAY = frozenset({"deposit_address", "deposit_tag"})
"""Fields whose values stand on the deposit card only."""
_LINKS = frozenset({"hash_url"})
"""Fields whose values are pages; the facts of the order say which of them knows it."""


@dataclass(frozen=True)
class Update:
    """``at`` is when it was received, ``written`` when the service says it wrote it."""

    at: datetime
    source: str
    state: str
    sentence: str
    level: Level
    changed: tuple[str, ...]
    written: datetime | None


def updates_of(seen: Sequence[Seen]) -> list[Update]:
    """The updates, newest first; what changed is named as on the wire."""
    found: list[Update] = []
    before: Order | None = None
    for at, source, order in seen:
        found.append(_update(at, source, order, before))
        before = order
    return found[::-1]


def seen_since(seen: Sequence[Seen]) -> datetime | None:
    """When the present state was first seen, None without a history."""
    since: datetime | None = None
    said = None
    for at, _, order in seen:
        if situation_of(order) is not said:
            said, since = situation_of(order), at
    return since


def _update(at: datetime, source: str, order: Order, before: Order | None) -> Update:
    return Update(
        at=at,
        source=_SOURCES.get(source, source),
        state=display_of(order) or "no state",
        sentence=cause_of(order),
        level=situation_of(order).meaning.level,
        changed=changed_fields(before, order) if before is not None else ("first seen",),
        written=order.modified,
    )


def changed_fields(before: Order, after: Order) -> tuple[str, ...]:
    """``inStatus 2 to 3``, ``outAmount 14.5 to 14.4``; a field that came is ``refundHash set``.

    Where to pay is never told: an order whose address changed is one that must not be paid.
    """
    said: list[str] = []
    for name, field in type(after).model_fields.items():
        if name in _SILENT:
            continue
        old, new = getattr(before, name), getattr(after, name)
        if old == new or new is None:
            continue
        label = field.serialization_alias or _camel(name)
        if name in _WHERE_TO_PAY or name in _LINKS:
            said.append(f"{label} {'set' if old is None else 'changed'}")
        elif old is None:
            short = _value(new)
            said.append(f"{label} set" if len(short) > 12 else f"{label} {short}")
        else:
            said.append(f"{label} {_value(old)} to {_value(new)}")
    return tuple(said) or ("nothing new",)


def _camel(name: str) -> str:
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


def _value(value: object) -> str:

    if isinstance(value, Decimal):
        return copied_amount(value)
    if isinstance(value, datetime):
        return f"{value:%H:%M:%S}"
    return str(value)
