"""Which orders a filter line keeps: ``private hold >1h``.

Every word must match. A bare word is looked for in the id, tokens, route, state, provider and
recipient, and in the journal among addresses, hashes and request ids; ``>1h`` and ``<30m`` compare
the age; ``route:private``, ``state:hold``, ``send:btc``, ``get:eth``, ``at:juniper``, ``to:@bob``,
``id:w2Bn`` and ``group:kXb7`` look in one place; ``-word`` keeps what does not match. What cannot
be understood is told in words and keeps the filter before.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from swapdesk.flows.orders.order_fields import route_of
from swapdesk.flows.orders.order_status import OrderStatus
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.quotes import RouteType

_AGE = re.compile(r"([<>])(\d{1,4})([smhd])")
_FIELD = re.compile(r"([a-z]{1,12}):(.*)")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
ROUTES = tuple(RouteType)
SEARCHED = (
    "ids, tokens, routes, states, providers, groups, recipients, all addresses and hashes,"
    " and request ids"
)
"""Where a bare word is looked for, for whoever finds nothing."""


class FilterProblem(ValueError):
    """A word that cannot be understood; the text is a sentence."""


@dataclass(frozen=True)
class _Looked:
    """What the words of a filter are compared with."""

    tracked: TrackedOrder
    status: OrderStatus
    now: datetime
    named: Mapping[str, Collection[str]]
    """By word the orders of which the journal knows an address, hash or request id with it."""


Test = Callable[[_Looked], bool]


@dataclass(frozen=True)
class OrderFilter:
    """A filter line that was understood; an empty one keeps all."""

    text: str
    tests: tuple[Test, ...]
    words: tuple[str, ...] = ()
    """The bare ones."""
    named: Mapping[str, Collection[str]] = field(default_factory=dict)

    def looked_up(self, named: Callable[[str], Collection[str]]) -> OrderFilter:
        """The same once the journal was asked, in one question a word, for the orders of which it
        knows an address, hash or request id with that word."""
        return replace(self, named={word: named(word) for word in self.words})

    def keeps(self, tracked: TrackedOrder, status: OrderStatus, now: datetime) -> bool:
        looked = _Looked(tracked, status, now, self.named)
        return all(test(looked) for test in self.tests)

    def nothing(self, count: int) -> str:
        """What to say where none of ``count`` orders is kept."""
        orders = "1 order" if count == 1 else f"{count:,} orders"
        searched = f": {SEARCHED}" if self.words else ""
        return f"No order matches {self.text!r}. Searched in {orders}{searched}."

    @property
    def empty(self) -> bool:
        return not self.tests


EVERYTHING = OrderFilter("", ())


def read_filter(text: str) -> OrderFilter:
    """Understand a filter line. Raises FilterProblem."""
    words = text.lower().split()
    asked = [word[1:] if word[0] == "-" and len(word) > 1 else word for word in words]
    bare = [word for word in asked if word[0] not in "<>" and not _FIELD.fullmatch(word)]
    return OrderFilter(
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
    asked = _AGE.fullmatch(word)
    if asked is None:
        raise FilterProblem(f"{word!r}: an age is a number with s, m, h or d, as >1h or <30m.")
    sign, number, unit = asked.groups()
    limit = timedelta(seconds=int(number) * _UNITS[unit])

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
    return f"{status.word} {'finished' if status.ended else 'open'} {late} {away}"


def _to(looked: _Looked) -> str:
    order, intent = looked.tracked.order, looked.tracked.intent
    label = intent.recipient_label if intent is not None else None
    return f"{order.receiver_address or ''} {label or ''}"


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
