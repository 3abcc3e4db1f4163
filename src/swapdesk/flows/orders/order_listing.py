"""Filters, groups and sorts lists of orders by lines such as ``private hold >1h``. An order must
match every word. ``>1h`` and ``<30m`` compare the age, ``state:hold`` searches one field, and
``-word`` keeps the orders that do not match ``word``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal, get_args

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.client.live import StreamState
from swapdesk.flows.notation import age, written_seconds
from swapdesk.flows.orders.order_fields import expected_end, route_of
from swapdesk.flows.orders.order_merge import PROGRESS, display_of, ended
from swapdesk.flows.orders.order_status import OrderStatus
from swapdesk.flows.orders.situations import LAST_HEARD, WAITING, situation_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.choices import RouteType

_FIELD = re.compile(r"([a-z]{1,12}):(.*)")
ROUTES = tuple(RouteType)
SEARCHED = (
    "ids, tokens, routes, states, providers, groups, recipients, all addresses and hashes,"
    " and request ids"
)
"""The fields that a bare filter word is searched in, as text for the user."""


class FilterProblem(ValueError):
    """Raised for an invalid word of a filter line. The message is a sentence for the user."""


class _Looked(Struct, frozen=True):
    tracked: TrackedOrder
    status: OrderStatus
    now: datetime
    line: FilterLine


Test = Callable[[_Looked], bool]


class FilterLine(Struct, frozen=True):
    """A parsed filter line. An empty line keeps every order. The journal and the address book are
    searched only after :meth:`looked_up`."""

    text: str
    tests: tuple[Test, ...]
    words: tuple[str, ...] = ()
    """The bare words, without a leading ``-``, which are searched in every field."""
    named: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Ids of the orders that the journal finds for each bare word."""
    names: Mapping[str, str] = field(default_factory=dict)
    """By address in lower case, the ``@name`` that the address book has for it."""

    def looked_up(
        self, named: Callable[[str], Collection[str]], names: Mapping[str, str]
    ) -> FilterLine:
        """Returns the filter extended by two sources. ``named`` returns the ids of the orders that
        the journal finds for a word. ``names`` maps addresses to their names in the address
        book."""
        return replace(self, named={word: named(word) for word in self.words}, names=names)

    def keeps(self, tracked: TrackedOrder, status: OrderStatus, now: datetime) -> bool:
        looked = _Looked(tracked, status, now, self)
        return all(test(looked) for test in self.tests)

    def nothing(self, count: int) -> str:
        orders = "1 order" if count == 1 else f"{count:,} orders"
        searched = f": {SEARCHED}" if self.words else ""
        return f"No order matches {self.text!r}. Searched in {orders}{searched}."

    @property
    def empty(self) -> bool:
        return not self.tests


EVERYTHING = FilterLine("", ())


def read_filter(text: str) -> FilterLine:
    """Returns the filter that a line such as ``private hold >1h`` means. Raises FilterProblem."""
    # A shortened address, as the desk draws it, is two words.
    words = text.lower().replace("…", " ").split()
    positive = [word[1:] if word[0] == "-" and len(word) > 1 else word for word in words]
    bare = [word for word in positive if word[0] not in "<>" and not _FIELD.fullmatch(word)]
    return FilterLine(
        " ".join(words), tuple(_test(word) for word in words), tuple(dict.fromkeys(bare))
    )


def _test(word: str) -> Test:
    if word.startswith("-") and len(word) > 1:
        inner = _test(word[1:])
        return lambda looked: not inner(looked)
    if word[0] in "<>":
        return _age_test(word)
    field = _FIELD.fullmatch(word)
    if field is not None:
        return _field_test(word, *field.groups())
    return lambda looked: (
        looked.tracked.service_id in looked.line.named.get(word, ()) or word in _everything(looked)
    )


def _age_test(word: str) -> Test:
    sign, seconds = word[0], written_seconds(word[1:])
    if seconds is None:
        raise FilterProblem(f"{word!r}: an age is a number with s, m, h or d, as >1h or <30m.")
    limit = timedelta(seconds=seconds)

    def test(looked: _Looked) -> bool:
        created = looked.tracked.order.created
        if created is None:
            return False
        passed = looked.now - created
        return passed > limit if sign == ">" else passed < limit

    return test


def _field_test(word: str, name: str, wanted: str) -> Test:
    if name not in _FIELDS:
        near = difflib.get_close_matches(name, _FIELDS, n=1)
        hint = f"; did you mean {near[0]}:?" if near else f". Fields are {', '.join(_FIELDS)}."
        raise FilterProblem(f"{word!r}: there is no field {name}:{hint}")
    example, value = _FIELDS[name]
    if not wanted:
        raise FilterProblem(f"{word!r}: nothing stands after {name}:, as in {name}:{example}.")
    if name == "route" and not any(route.startswith(wanted) for route in ROUTES):
        raise FilterProblem(f"{word!r}: routes are {', '.join(ROUTES)}.")
    return lambda looked: wanted in value(looked).lower()


def _state(looked: _Looked) -> str:
    status = looked.status
    late = "late" if status.time.late else ""
    away = "put away" if status.put_away else ""
    before = status.reported.word if status.situation is LAST_HEARD else ""
    return f"{status.word} {before} {'finished' if status.ended else 'open'} {late} {away}"


def _to(looked: _Looked) -> str:
    address = looked.tracked.order.receiver_address or ""
    label = looked.tracked.recipient_label or ""
    return f"{address} {label} {looked.line.names.get(address.lower(), '')}"


_FIELDS: dict[str, tuple[str, Callable[[_Looked], str]]] = {
    "route": ("private", lambda looked: route_of(looked.tracked.order)),
    "state": ("hold", _state),
    "send": ("btc", lambda looked: looked.tracked.symbols[0]),
    "get": ("eth", lambda looked: looked.tracked.symbols[1]),
    "at": ("juniper", lambda looked: looked.tracked.order.swap_name or ""),
    "to": ("@bob", _to),
    "id": ("w2Bn", lambda looked: looked.tracked.service_id),
    "group": ("kXb7", lambda looked: looked.tracked.order.multi_id or ""),
}
"""By field name: an example, and a function that returns the text to search."""


def _everything(looked: _Looked) -> str:
    return "\n".join(value(looked) for _, value in _FIELDS.values()).lower()


_LAST = datetime.max.replace(tzinfo=UTC)


class Group(StrEnum):
    """A group of orders in a list, with its label. The members are in the sequence in which the
    screen shows them."""

    NEEDS_YOU = "Needs you"
    """Orders that ended while money is stuck, which stays where it is until the user acts."""
    OPEN = "Open"
    NOT_SIGNED = "Not signed"
    """DEX swaps that the service still waits for although they will never be signed."""
    PUT_AWAY = "Put away"
    """Failed orders that the user marked as dealt with."""
    FINISHED = "Finished"


def group_of(tracked: TrackedOrder) -> Group:
    order = tracked.order
    if tracked.put_away:
        return Group.PUT_AWAY
    if not ended(display_of(order)):
        return Group.NOT_SIGNED if tracked.not_signed else Group.OPEN
    return Group.NEEDS_YOU if tracked.trouble is not None else Group.FINISHED


Sorting = Literal["deadline", "newest", "oldest", "late", "state", "pair", "amount"]
"""How to sort. ``deadline`` and ``late`` concern open orders; all others are then newest first.
``state`` puts trouble first. ``amount`` is by worth in USD at creation."""


def sorting_after(by: Sorting) -> Sorting:
    sortings: tuple[Sorting, ...] = get_args(Sorting)
    return sortings[(sortings.index(by) + 1) % len(sortings)]


def sort_orders(orders: Iterable[TrackedOrder], by: Sorting) -> list[TrackedOrder]:
    """Returns the orders in the sequence of :class:`Group`, and within each group sorted by ``by``,
    then by id."""
    groups: dict[Group, list[TrackedOrder]] = {group: [] for group in Group}
    for tracked in orders:
        groups[group_of(tracked)].append(tracked)
    return sort_groups(groups, by)


def sort_groups(groups: Mapping[Group, list[TrackedOrder]], by: Sorting) -> list[TrackedOrder]:
    """Sorts each list of ``groups`` in place, as :func:`sort_orders` does, and returns their orders
    in one list."""
    key = _KEYS[by]
    finished = _newest if by in ("deadline", "late") else key
    for group, orders in groups.items():
        of_group = key if group is Group.OPEN else finished
        orders.sort(key=lambda tracked, key=of_group: (key(tracked), tracked.service_id))  # type: ignore[misc]
    return [tracked for orders in groups.values() for tracked in orders]


def _newest(tracked: TrackedOrder) -> float:
    return -tracked.order.created.timestamp() if tracked.order.created else 0.0


def _by_state(tracked: TrackedOrder) -> tuple[bool, bool, int]:
    situation = situation_of(tracked.order)
    display = display_of(tracked.order)
    steps = [str(step) for step in PROGRESS]
    return (
        situation.level != "trouble",
        situation is not WAITING,
        -steps.index(display) if display in steps else 0,
    )


def _amount(tracked: TrackedOrder) -> tuple[bool, Decimal]:
    worth = tracked.order.in_amount_usd
    return worth is None, -(worth or Decimal(0))


_KEYS: dict[Sorting, Callable[[TrackedOrder], Any]] = {
    "deadline": lambda tracked: tracked.order.expires or _LAST,
    "newest": _newest,
    "oldest": lambda tracked: tracked.order.created or _LAST,
    "late": lambda tracked: expected_end(tracked.order) or _LAST,
    "state": _by_state,
    "pair": lambda tracked: tracked.symbols,
    "amount": _amount,
}


NEVER = 1e9
"""Age in seconds that stands for "never updated"."""


def stale_words(state: StreamState, seconds: float) -> str:
    """Returns how old the shown orders are and the state of the stream, as ``41s old, polling``.
    Empty while the stream is live."""
    if state == "live":
        return ""
    old = f"{age(seconds)} old, " if seconds < NEVER else ""
    return f"{old}{state}"


def left_out_words(skipped: int) -> str:
    """Returns a sentence about the ``skipped`` listed orders that cannot be read. Empty if there
    are none."""
    if not skipped:
        return ""
    orders, are = ("order", "is") if skipped == 1 else ("orders", "are")
    return (
        f"{skipped:,} {orders} of the service's list cannot be read and {are} left out, or as last"
        " known."
    )
