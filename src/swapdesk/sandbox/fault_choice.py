"""From the body of ``POST /faults`` to a fault that exists, or the reason why there is none."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from swapdesk.sandbox.answer_faults import (
    AnswerFault,
    StreamFault,
    UnknownOperation,
    operation_name,
)
from swapdesk.sandbox.control_bodies import FaultBody
from swapdesk.sandbox.faults import WIRE_NAMES, ActiveFault, FaultKind
from swapdesk.sandbox.node.chain_faults import CHAIN_FAULTS, ChainFault
from swapdesk.sandbox.node.order_faults import ORDER_FAULTS, OrderFault
from swapdesk.sandbox.tampering import SERVICE_FAULTS, TamperedPart
from swapdesk.sandbox.venue_faults import BUNDLE_FAULTS, VENUE_FAULTS, VenueFault
from swapdesk.sandbox.venue_rows import VENUE_ROWS
from swapdesk.sandbox.world import chains_by_name

DELETE = FaultKind(
    "delete",
    "The order is deleted, unless it is being carried out.",
    selectors=("service_id",),
    takes=frozenset(),
)
FAULTS: dict[str, FaultKind] = {
    **SERVICE_FAULTS,
    **ORDER_FAULTS,
    DELETE.name: DELETE,
    **VENUE_FAULTS,
    **CHAIN_FAULTS,
    **BUNDLE_FAULTS,
}
"""Every fault of this sandbox by name."""

_NOT_TAKEN = {
    "leg": "{} knows no legs",
    "seconds": "{} does not last for a time",
    "times": "{} happens once, and at once",
}
_NEEDED = {
    "depth": "a reorganisation has a depth, and nothing else has one",
    "part": "a changed operation has a part, and nothing else has one",
}


def described(kind: FaultKind) -> dict[str, object]:
    """A fault as ``GET /faults`` tells it."""
    return {
        "fault": kind.name,
        "does": kind.does.replace("``", ""),
        "selectors": [WIRE_NAMES[name] for name in kind.selectors],
        "unselected": kind.unselected,
        "takes": sorted(kind.takes),
        "needs": kind.needs,
        "chains": list(kind.chains or ()) if isinstance(kind, ChainFault) else [],
        "parts": list(TamperedPart) if kind.needs == "part" else [],
    }


class FaultRefused(Exception):
    """No such fault, or not with this selector. ``field`` is the input to change."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


class NodeFaultCall(Struct, frozen=True):
    """Parameters of the node's ``fault_add``."""

    params: dict[str, Any]


class Deletion(Struct, frozen=True):
    """An order that shall be deleted."""

    service_id: str


Chosen = ActiveFault[FaultKind] | NodeFaultCall | Deletion


def choose(body: FaultBody) -> Chosen:
    """What is meant. Raises FaultRefused."""
    kind = FAULTS.get(body.fault)
    if kind is None:
        known = ", ".join(FAULTS)
        raise FaultRefused("fault", f"there is no such fault; there are {known}")
    for name, reason in _NOT_TAKEN.items():
        if getattr(body, name) is not None and name not in kind.takes:
            raise FaultRefused(name, reason.format(kind.name))
    for name, reason in _NEEDED.items():
        if (getattr(body, name) is not None) != (kind.needs == name):
            raise FaultRefused(name, reason)
    _require_selector(body, kind)
    _require_venue(body.venue)
    if isinstance(kind, ChainFault):
        _require_chain(body.chain, kind)
    if isinstance(kind, OrderFault | ChainFault):
        return _node_call(body)
    if kind is DELETE:
        return Deletion(str(body.service_id))
    # A fault of an exchange stays where nothing is said.
    times = body.times if isinstance(kind, VenueFault) else body.times or 1
    return ActiveFault(
        kind,
        times,
        float(kind.seconds if body.seconds is None else body.seconds),
        _operation(body, kind),
        body.service_id,
        body.quote_id,
        body.multi_id,
        body.venue,
        body.part,
    )


def _require_selector(body: FaultBody, kind: FaultKind) -> None:
    given = [name for name in WIRE_NAMES if getattr(body, name) is not None]
    for name in given:
        if name not in kind.selectors:
            raise FaultRefused(WIRE_NAMES[name], f"{kind.name} cannot be selected by it")
    if len(given) > 1:
        raise FaultRefused(WIRE_NAMES[given[1]], "a fault has one selector")
    if not given and not kind.unselected:
        names = ", ".join(WIRE_NAMES[name] for name in kind.selectors)
        first = WIRE_NAMES[kind.selectors[0]]
        raise FaultRefused(first, f"a selector is missing: one of {names}")


def _operation(body: FaultBody, kind: FaultKind) -> str | None:
    if body.operation is None or not isinstance(kind, AnswerFault | StreamFault):
        return None
    try:
        operation = operation_name(body.operation)
    except UnknownOperation as error:
        raise FaultRefused("operation", str(error)) from None
    if not kind.happens_to(operation):
        raise FaultRefused("operation", f"{kind.name} does not happen to {operation}")
    return operation


def _require_chain(chain: str | None, kind: ChainFault) -> None:
    if chain not in chains_by_name():
        raise FaultRefused("chain", f"there is no chain {chain!r}")
    if kind.chains is not None and chain not in kind.chains:
        raise FaultRefused("chain", f"only an embedded chain does that: {', '.join(kind.chains)}")


def _require_venue(code: str | None) -> None:
    if code is not None and code not in {row.code for row in VENUE_ROWS}:
        raise FaultRefused("venue", f"there is no exchange {code!r}")


def _node_call(body: FaultBody) -> NodeFaultCall:
    given = {
        WIRE_NAMES.get(name, name): getattr(body, name)
        for name in ("fault", "service_id", "venue", "chain", "leg", "times", "depth")
    }
    return NodeFaultCall({name: value for name, value in given.items() if value is not None})
