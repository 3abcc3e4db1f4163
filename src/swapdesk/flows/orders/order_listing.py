"""Which orders a filter line keeps (``private hold >1h``), how they are grouped, how old they are.

Every word must match. A bare word is looked for in the id, tokens, route, state, provider and
recipient, and in the journal among addresses, hashes and request ids; ``>1h`` and ``<30m`` compare
the age; ``route:private``, ``state:hold``, ``send:btc``, ``get:eth``, ``at:juniper``, ``to:@bob``,
``id:w2Bn`` and ``group:kXb7`` look in one place; ``-word`` keeps what does not match. What cannot
be understood is told in words and keeps the filter before.
"""

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
from swapdesk.wire.quotes import RouteType

_FIELD = re.compile(r"([a-z]{1,12}):(.*)")
ROUTES = tuple(RouteType)
SEARCHED = (
    "ids, tokens, routes, states, providers, groups, recipients, all addresses and hashes,"
    " and request ids"
)
"""Where a bare word is looked for, for whoever finds nothing."""


class FilterProblem(ValueError):
    """A word that cannot be understood; the text is a sentence."""


class _Looked(Struct, frozen=True):
    """What the words of a filter are compared with."""

    tracked: TrackedOrder
    status: OrderStatus
    now: datetime
    named: Mapping[str, Collection[str]]
    """By word the orders of which the journal knows an address, hash or request id with it."""
    names: Mapping[str, str]
    """``@name`` by address, in small letters, as the address book has it now."""


Test = Callable[[_Looked], bool]


class FilterLine(Struct, frozen=True):
    """A filter line that was understood; an empty one keeps all."""

    text: str
    tests: tuple[Test, ...]
    words: tuple[str, ...] = ()
    """The bare ones."""
    named: Mapping[str, Collection[str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def looked_up(
        self, named: Callable[[str], Collection[str]], names: Mapping[str, str]
    ) -> FilterLine:
        """The same once the journal was asked, in one question a word, for the orders of which it
        knows an address, hash or request id with that word. ``names`` are those of the address
        book by address: an order of a batch has no other."""
        return replace(self, named={word: named(word) for word in self.words}, names=names)

    def keeps(self, tracked: TrackedOrder, status: OrderStatus, now: datetime) -> bool:
        looked = _Looked(tracked, status, now, self.named, self.names)
        return all(test(looked) for test in self.tests)

    def nothing(self, count: int) -> str:
        """What to say where none of ``count`` orders is kept."""
        orders = "1 order" if count == 1 else f"{count:,} orders"
        searched = f": {SEARCHED}" if self.words else ""
        return f"No order matches {self.text!r}. Searched in {orders}{searched}."

    @property
    def empty(self) -> bool:
        return not self.tests


EVERYTHING = FilterLine("", ())


def read_filter(text: str) -> FilterLine:
    """Understand a filter line. Raises FilterProblem."""
    # The ends of an address as the desk draws it are two words.
    words = text.lower().replace("…", " ").split()
    asked = [word[1:] if word[0] == "-" and len(word) > 1 else word for word in words]
    bare = [word for word in asked if word[0] not in "<>" and not _FIELD.fullmatch(word)]
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
        looked.tracked.service_id in looked.named.get(word, ()) or word in _everything(looked)
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
    place = _PLACES.get(name)
    if place is None:
        near = difflib.get_close_matches(name, _PLACES, n=1)
        hint = f"; did you mean {near[0]}:?" if near else f". Fields are {', '.join(_PLACES)}."
        raise FilterProblem(f"{word!r}: there is no field {name}:{hint}")
    if not wanted:
        raise FilterProblem(f"{word!r}: nothing stands after {name}:, as in {_EXAMPLES[name]}.")
    if name == "route" and not any(route.startswith(wanted) for route in ROUTES):
        raise FilterProblem(f"{word!r}: routes are {', '.join(ROUTES)}.")
    return lambda looked: wanted in place(looked).lower()


def _route(looked: _Looked) -> str:
    return route_of(looked.tracked.order)


def _state(looked: _Looked) -> str:
    status = looked.status
    late = "late" if status.time.late else ""
    away = "put away" if status.put_away else ""
    heard = status.said.word if status.situation is LAST_HEARD else ""
    return f"{status.word} {heard} {'finished' if status.ended else 'open'} {late} {away}"


def _to(looked: _Looked) -> str:
    address = looked.tracked.order.receiver_address or ""
    name = looked.names.get(address.lower(), "")
    return f"{address} {looked.tracked.recipient_label} {name}"


_PLACES: dict[str, Callable[[_Looked], str]] = {
    "route": _route,
    "state": _state,
    "send": lambda looked: looked.tracked.symbols[0],
    "get": lambda looked: looked.tracked.symbols[1],
    "at": lambda looked: looked.tracked.order.swap_name or "",
    "to": _to,
    "id": lambda looked: looked.tracked.service_id,
    "group": lambda looked: looked.tracked.order.multi_id or "",
}
_EXAMPLES = {
    "route": "route:private",
    "state": "state:hold",
    "send": "send:btc",
    "get": "get:eth",
    "at": "at:juniper",
    "to": "to:@bob",
    "id": "id:w2Bn",
    "group": "group:kXb7",
}


def _everything(looked: _Looked) -> str:
    return "\n".join(place(looked) for place in _PLACES.values()).lower()


_FIRST = datetime.min.replace(tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


class Group(StrEnum):
    """In their sequence; the value is how it is called on the screen."""

    NEEDS_YOU = "Needs you"
    """Ended orders whose money stays where it is until their owner acts."""
    OPEN = "Open"
    NOT_SIGNED = "Not signed"
    """Swaps on chains that the service still waits for, and nobody will sign."""
    PUT_AWAY = "Put away"
    """Failed ones that their owner dealt with."""
    FINISHED = "Finished"


def group_of(tracked: TrackedOrder) -> Group:
    """Where an order stands."""
    order = tracked.order
    if tracked.put_away:
        return Group.PUT_AWAY
    if not ended(display_of(order)):
        return Group.NOT_SIGNED if tracked.not_signed else Group.OPEN
    return Group.NEEDS_YOU if tracked.trouble is not None else Group.FINISHED


Sorting = Literal["deadline", "newest", "oldest", "late", "state", "pair", "amount"]
"""As it is called on the command line and on the screen: open ones by their deadline and finished
ones newest first; what should be done by now first (``late``); what needs you first, then how far
it came (``state``); the largest worth in USD at creation first, unknown ones last (``amount``)."""


def sorting_after(by: Sorting) -> Sorting:
    """The next one, as the key goes through them."""
    sortings: tuple[Sorting, ...] = get_args(Sorting)
    return sortings[(sortings.index(by) + 1) % len(sortings)]


def sort_orders(orders: Iterable[TrackedOrder], by: Sorting) -> list[TrackedOrder]:
    """The groups after one another, each in this sequence; equal ones by their id."""
    groups: dict[Group, list[TrackedOrder]] = {group: [] for group in Group}
    for one in orders:
        groups[group_of(one)].append(one)
    return sort_groups(groups, by)


def sort_groups(groups: Mapping[Group, list[TrackedOrder]], by: Sorting) -> list[TrackedOrder]:
    """As :func:`sort_orders`, of orders whose groups are known."""
    key = _KEYS[by]
    finished = _newest if by in ("deadline", "late") else key
    for group, found in groups.items():
        asked = key if group is Group.OPEN else finished
        found.sort(key=lambda one, asked=asked: (asked(one), one.service_id))  # type: ignore[misc]
    return [one for found in groups.values() for one in found]


def _newest(one: TrackedOrder) -> float:
    return -(one.order.created or _FIRST).timestamp() if one.order.created else 0.0


def _oldest(one: TrackedOrder) -> datetime:
    return one.order.created or _LAST


def _by_state(one: TrackedOrder) -> tuple[bool, bool, int]:
    said = situation_of(one.order)
    display = display_of(one.order)
    steps = [str(step) for step in PROGRESS]
    return (
        said.level != "trouble",
        said is not WAITING,
        -steps.index(display) if display in steps else 0,
    )


def _amount(one: TrackedOrder) -> tuple[bool, Decimal]:
    worth = one.order.in_amount_usd
    return worth is None, -(worth or Decimal(0))


_KEYS: dict[Sorting, Callable[[TrackedOrder], Any]] = {
    "deadline": lambda one: one.order.expires or _LAST,
    "newest": _newest,
    "oldest": _oldest,
    "late": lambda one: expected_end(one.order) or _LAST,
    "state": _by_state,
    "pair": lambda one: one.symbols,
    "amount": _amount,
}


NEVER = 1e9
"""From this age on nothing was ever heard."""


def stale_words(state: StreamState, seconds: float) -> str:
    """``41s old, polling`` while the stream does not tell of changes; empty while it does.

    ``seconds`` since the last message or answer.
    """
    if state == "live":
        return ""
    old = f"{age(seconds)} old, " if seconds < NEVER else ""
    return f"{old}{state}"


def left_out_words(skipped: int) -> str:
    """A sentence about so many orders that the service listed and that cannot be read; empty for
    none."""
    if not skipped:
        return ""
    orders, are = ("order", "is") if skipped == 1 else ("orders", "are")
    return (
        f"{skipped:,} {orders} of the service's list cannot be read and {are} left out, or as last"
        " known."
    )
