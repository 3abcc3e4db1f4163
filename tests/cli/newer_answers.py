"""What a newer service says: members and values that this program does not know, at every place.

Members go into every object of an answer or a frame, but for documents that are signed: those are
read strictly, member for member. Values stand wherever
the models of the wire have a set of values (contract 1.7).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import inf
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import httpx2
from msgspec import Struct, field

from flows.faulty_network import changed
from swapdesk.client.api import find_operation
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json
from swapdesk.wire.encoding.numbers import WireNumber
from swapdesk.wire.encoding.text import OpenEnum
from swapdesk.wire.errors import ErrorBody, ValidationBody
from swapdesk.wire.events import ServerFrame
from swapdesk.wire.model import WireModel
from swapdesk.wire.operations import OPERATIONS

Json = Any
MARK = "zz"
"""Begins every added name."""

KINDS: dict[str, Json] = {
    "Null": None,
    "True": True,
    "Number": WireNumber("7.25"),
    "Huge": WireNumber("9" * 40),
    "Long": WireNumber("7" * 120),
    "Beyond": WireNumber("-1.5e+4000"),
    "Text": "HOVERING \u202e[red]\x1b[2J",
    "List": [],
    "Object": {},
    "Nested": [{"status": WireNumber("8"), "list": [[None, {"depositAddress": "x"}]]}, True, [1]],
}

UNKNOWN = "HOVERING"
UNKNOWN_NUMBER = WireNumber("77")

SETS = {
    "Chain.kind": UNKNOWN,
    "ErrorBody.code": UNKNOWN,
    "EvmTransactionData.entryPointVersion": UNKNOWN,
    "Health.status": UNKNOWN,
    "MultiOrderError.code": UNKNOWN,
    "MultiTransactions.chain": UNKNOWN,
    "Order.in": UNKNOWN,
    "Order.inStatus": UNKNOWN_NUMBER,
    "Order.inStatusLabel": UNKNOWN,
    "Order.outStatus": UNKNOWN_NUMBER,
    "Order.outStatusLabel": UNKNOWN,
    "Order.status": UNKNOWN_NUMBER,
    "Order.statusLabel": UNKNOWN,
    "Quote.swap": UNKNOWN,
    "ServerFrame.code": UNKNOWN,
    "ServerFrame.type": UNKNOWN,
    "TokenScanFeature.type": UNKNOWN,
    "TokenSecurityScan.providerResultType": UNKNOWN,
    "ValidationBody.code": UNKNOWN,
}
"""Places of a set that the models keep as any text or number, and a value outside it. Those that
they know as a set (``OpenEnum``) are found."""

STATES = {
    "Order.displayStatus": UNKNOWN,
    "Order.inStatus": UNKNOWN_NUMBER,
    "Order.outStatus": UNKNOWN_NUMBER,
    "Order.status": UNKNOWN_NUMBER,
}
"""All that says how an order stands."""

PASSING = {"MultiExchangeStatus.bundleStatus": 3}
"""Values that a command waits with for minutes: said so often, they give way to what is so. What
is told of one that stays is tested with the flows."""

_WORDS = ("status", "type", "kind", "code", "label")
"""How the name of a set ends."""


def unknown_values() -> dict[str, Json]:
    """Every place of a set, as ``Model.member``, and a value that nobody knows there."""
    found = {
        f"{model.__name__}.{name}": UNKNOWN
        for model in models()
        for name, info in _members(model).items()
        if any(isinstance(one, OpenEnum) for one in info)
    }
    return {**found, **SETS}


def looks_like_sets() -> set[str]:
    """Places whose name is that of a set."""
    return {
        f"{model.__name__}.{name}"
        for model in models()
        for name in _members(model)
        if name.lower().endswith(_WORDS)
    }


@cache
def models() -> tuple[type[WireModel], ...]:
    """Every model in any answer or frame."""
    found: dict[type[WireModel], None] = {}

    def add(hint: Any) -> None:
        for model in _models_in(hint):
            if model not in found:
                found[model] = None
                for one in get_type_hints(model).values():
                    add(one)

    for operation in OPERATIONS:
        add(operation.result)
    for model in (ErrorBody, ValidationBody, ServerFrame):
        add(model)
    return tuple(found)


class Newer(Struct):
    """A change of everything a service says. ``members`` are added to every object, ``values``
    put at their places; ``seen`` are the places of sets that were met, ``objects`` the places of
    objects, ``changed`` how often something was changed, ``said`` how often a value at
    each place."""

    members: Mapping[str, Json] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    objects: set[str] = field(default_factory=set)
    changed: int = 0
    said: Counter[str] = field(default_factory=Counter)

    def body(self, method: str, path: str, status: int, body: bytes) -> bytes:
        """For ``rewriting_service``."""
        operation, _ = find_operation(method, path.removeprefix("/v2").partition("?")[0])
        if operation.name == "openapi":
            return body
        if status >= 400:
            kind = ValidationBody if b'"fields"' in body else ErrorBody
            return self._changed(kind, "error", body)
        return self._changed(operation.result, operation.name, body)

    def frame(self, body: bytes) -> bytes:
        """For ``rewriting_service``."""
        return self._changed(ServerFrame, "frame", body)

    def _changed(self, hint: Any, place: str, body: bytes) -> bytes:
        try:
            value = decode_json(body, max_bytes=1 << 24)
        except CodecError:
            return body
        return encode_json(self._added(self._valued(hint, value), place))

    def _valued(self, hint: Any, value: Json) -> Json:
        if isinstance(value, list):
            inner = next((args[0] for args in _generics(hint, list)), Any)
            return [self._valued(inner, one) for one in value]
        if not isinstance(value, dict):
            return value
        model = _likely(hint, value)
        if model is None:
            inner = next((args[1] for args in _generics(hint, dict)), Any)
            return {name: self._valued(inner, one) for name, one in value.items()}
        return {
            name: self._member(model, name, inner, value[name])
            for name, inner in ((name, _hints(model).get(name, Any)) for name in value)
        }

    def _member(self, model: type[WireModel], name: str, hint: Any, value: Json) -> Json:
        place = f"{model.__name__}.{name}"
        if place in _places() and value is not None:
            self.seen.add(place)
            if place in self.values:
                self.changed += 1
                self.said[place] += 1
                if self.said[place] <= PASSING.get(place, inf):
                    return self.values[place]
        return self._valued(hint, value)

    def _added(self, value: Json, place: str) -> Json:
        if isinstance(value, list):
            return [self._added(one, f"{place}[]") for one in value]
        if not isinstance(value, dict):
            return value
        if "primaryType" in value:
            return value
        self.objects.add(place)
        inner = {
            name: one if name in _SIGNED else self._added(one, f"{place}.{name}")
            for name, one in value.items()
        }
        if not self.members:
            return inner
        self.changed += 1
        added = [(MARK + name, one) for name, one in self.members.items()]
        half = len(added) // 2
        return {**dict(added[:half]), **inner, **dict(added[half:])}


def between(newer: Newer) -> Callable[[httpx2.Request, httpx2.Response], httpx2.Response]:
    """For ``FaultyNetwork.after``."""

    def answer(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        method, path, status = request.method, request.url.path, response.status_code
        return changed(response, lambda body: newer.body(method, path, status, body))

    return answer


_SIGNED = ("metadata", "swapRequiredMetadata")


@cache
def _places() -> frozenset[str]:
    return frozenset(unknown_values())


def _flat(hint: Any) -> Iterator[Any]:
    if get_origin(hint) is Annotated:
        yield from _flat(get_args(hint)[0])
    elif get_origin(hint) in (Union, UnionType):
        for one in get_args(hint):
            yield from _flat(one)
    elif hint is not NoneType:
        yield hint


def _generics(hint: Any, kind: type) -> Iterator[tuple[Any, ...]]:
    return (get_args(one) for one in _flat(hint) if get_origin(one) is kind and get_args(one))


def _models_in(hint: Any) -> Iterator[type[WireModel]]:
    for one in _flat(hint):
        if isinstance(one, type) and issubclass(one, WireModel):
            yield one
        for inner in get_args(one):
            yield from _models_in(inner)


def _likely(hint: Any, value: Mapping[str, Json]) -> type[WireModel] | None:
    """The model among the kinds of ``hint`` that has most of the members."""
    found = [one for one in _flat(hint) if isinstance(one, type) and issubclass(one, WireModel)]
    return max(found, key=lambda one: len(value.keys() & _hints(one).keys()), default=None)


@cache
def _hints(model: type[WireModel]) -> dict[str, Any]:
    hints = get_type_hints(model, include_extras=True)
    return {_alias(model, name): hints[name] for name in model.model_fields}


@cache
def _members(model: type[WireModel]) -> dict[str, tuple[Any, ...]]:
    """Names on the wire and the markers of each."""
    return {
        _alias(model, name): (*info.metadata, *_markers(_hints(model)[_alias(model, name)]))
        for name, info in model.model_fields.items()
    }


def _markers(hint: Any) -> Iterator[Any]:
    yield from getattr(hint, "__metadata__", ())
    for one in get_args(hint):
        yield from _markers(one)


def _alias(model: type[WireModel], name: str) -> str:
    info = model.model_fields[name]
    return str(info.serialization_alias or info.alias or name)


_VARIES = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?( UTC)?"), "TIME"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?\b"), "TIME"),
    (re.compile(r"\bbc1[a-z0-9]*(?: [a-z0-9]{1,4}){5,}…?"), "ID"),
    (re.compile(r"\b(?=\w*[a-z])(?=\w*[A-Z])[A-Za-z0-9]{20,}\b"), "ID"),
    (re.compile(r"\b0x(?: ?[0-9a-fA-F]{1,4}){3,}…?\b"), "ID"),
    (re.compile(r"\b0x[0-9a-fA-F]+\b"), "ID"),
    (re.compile(r"(?<![.\d])\b(?=[a-f]*\d)[0-9a-f]{8}\b"), "ID"),
    (re.compile(r"\b(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])[A-Za-z0-9_-]{6,}…?\b"), "ID"),
    (re.compile(r"(\d[\d,]*h ?)?(\d+m ?)?\b\d+(\.\d+)? ?(ms|min|s|m|h)\b"), "SPAN"),
    (re.compile(r"[-<−]?\d[\d,]*(\.\d+)?"), "N"),
    (re.compile(r" {2,}"), "  "),
    (re.compile(r"-{3,}"), "---"),
)


def blurred(text: str) -> str:
    """A text without what legitimately varies from run to run."""
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    return text.rstrip()
