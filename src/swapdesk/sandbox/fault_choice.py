"""From the body of ``POST /faults`` to a fault that exists, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, get_args

from swapdesk.sandbox.bundle_faults import ActiveBundleFault, BundleFault
from swapdesk.sandbox.control_bodies import FaultBody
from swapdesk.sandbox.faults import (
    SIGNING_FAULTS,
    STREAM,
    STREAM_FAULTS,
    ActiveFault,
    AnswerFault,
    UnknownOperation,
    operation_name,
)
from swapdesk.sandbox.node.embedded import chains_with
from swapdesk.sandbox.node.params import NodeFault, OrderFault
from swapdesk.sandbox.venue_faults import ActiveVenueFault, VenueFault
from swapdesk.sandbox.venue_rows import VENUE_ROWS
from swapdesk.sandbox.world import chains_by_name

DELETE = "delete"
"""The order is deleted, unless it is being carried out."""
_ORDER_FAULTS: tuple[str, ...] = get_args(OrderFault)
_NODE_FAULTS: tuple[str, ...] = get_args(NodeFault)
KNOWN = (*AnswerFault, *_ORDER_FAULTS, DELETE, *VenueFault, *_NODE_FAULTS, *BundleFault)
"""Every fault of this sandbox."""

_SECONDS = Decimal(2)
_TIMED = frozenset(
    {
        AnswerFault.DELAY,
        AnswerFault.RATE_LIMITED,
        AnswerFault.WS_DROP,
        AnswerFault.WS_REORDER,
        VenueFault.VENUE_SLOW,
    }
)
_NAMES = {
    "operation": "operation",
    "service_id": "serviceId",
    "multi_id": "multiId",
    "quote_id": "quoteId",
    "venue": "venue",
    "chain": "chain",
}


class FaultRefused(Exception):
    """No such fault, or not with this selector. ``field`` is the input to change."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


@dataclass(frozen=True)
class NodeFaultCall:
    """Parameters of the node's ``fault_add``."""

    params: dict[str, Any]


@dataclass(frozen=True)
class Deletion:
    """An order that shall be deleted."""

    service_id: str


Chosen = ActiveFault | ActiveVenueFault | ActiveBundleFault | NodeFaultCall | Deletion


def choose(body: FaultBody) -> Chosen:
    """What is meant. Raises FaultRefused."""
    name = body.fault
    if name not in KNOWN:
        known = ", ".join(KNOWN)
        raise FaultRefused("fault", f"there is no such fault; there are {known}")
    if body.leg is not None and name not in _ORDER_FAULTS:
        raise FaultRefused("leg", f"{name} knows no legs")
    if body.seconds is not None and name not in _TIMED:
        raise FaultRefused("seconds", f"{name} does not last for a time")
    if body.times is not None and name in (DELETE, "release", "reorg"):
        raise FaultRefused("times", f"{name} happens once, and at once")
    if (body.depth is not None) != (name == "reorg"):
        raise FaultRefused("depth", "a reorganisation has a depth, and nothing else has one")
    if (body.part is not None) != (name == AnswerFault.TAMPER_USER_OPERATION):
        raise FaultRefused("part", "a changed operation has a part, and nothing else has one")
    if name == DELETE:
        _one_selector(body, ("service_id",))
        return Deletion(str(body.service_id))
    if name in _ORDER_FAULTS:
        return _order_fault(body)
    if name in _NODE_FAULTS:
        return _node_fault(body)
    if name in list(VenueFault):
        return _venue_fault(body)
    if name in list(BundleFault):
        _one_selector(body, ("multi_id",))
        return ActiveBundleFault(BundleFault(name), str(body.multi_id), body.times or 1)
    return _answer_fault(body)


def _answer_fault(body: FaultBody) -> ActiveFault:
    fault = AnswerFault(body.fault)
    stream = fault in STREAM_FAULTS
    allowed: tuple[str, ...] = ("operation", "service_id")
    if not stream:
        allowed += ("quote_id", "multi_id")
    _one_selector(body, allowed, optional=stream)
    operation = None
    if body.operation is not None:
        try:
            operation = operation_name(body.operation)
        except UnknownOperation as error:
            raise FaultRefused("operation", str(error)) from None
        told_by = SIGNING_FAULTS.get(fault)
        if (operation == STREAM) != stream or (told_by is not None and operation not in told_by):
            raise FaultRefused("operation", f"{fault} does not happen to {operation}")
    usual = Decimal(0) if fault is AnswerFault.WS_DROP else _SECONDS
    seconds = float(usual if body.seconds is None else body.seconds)
    times = 1 if body.times is None else body.times
    return ActiveFault(
        fault,
        times,
        seconds,
        operation,
        body.service_id,
        body.quote_id,
        body.multi_id,
        body.part,
    )


def _order_fault(body: FaultBody) -> NodeFaultCall:
    _one_selector(body, ("service_id", "venue"))
    _require_venue(body.venue)
    return _node_call(body, ("service_id", "venue", "leg", "times"))


def _node_fault(body: FaultBody) -> NodeFaultCall:
    _one_selector(body, ("chain",))
    if body.chain not in chains_by_name():
        raise FaultRefused("chain", f"there is no chain {body.chain!r}")
    known = chains_with(body.fault)
    if body.fault != "node_down" and body.chain not in known:
        raise FaultRefused("chain", f"only an embedded chain does that: {', '.join(known)}")
    return _node_call(body, ("chain", "times", "depth"))


def _venue_fault(body: FaultBody) -> ActiveVenueFault:
    _one_selector(body, ("venue",))
    _require_venue(body.venue)
    seconds = _SECONDS if body.seconds is None else body.seconds
    return ActiveVenueFault(VenueFault(body.fault), str(body.venue), body.times, float(seconds))


def _require_venue(code: str | None) -> None:
    if code is not None and code not in {row.code for row in VENUE_ROWS}:
        raise FaultRefused("venue", f"there is no exchange {code!r}")


def _node_call(body: FaultBody, names: tuple[str, ...]) -> NodeFaultCall:
    asked: dict[str, Any] = {"fault": body.fault}
    for name in names:
        value = getattr(body, name)
        if value is not None:
            asked[_NAMES.get(name, name)] = value
    return NodeFaultCall(asked)


def _one_selector(body: FaultBody, allowed: tuple[str, ...], *, optional: bool = False) -> None:
    given = [name for name in _NAMES if getattr(body, name) is not None]
    for name in given:
        if name not in allowed:
            raise FaultRefused(_NAMES[name], f"{body.fault} cannot be selected by it")
    if len(given) > 1:
        raise FaultRefused(_NAMES[given[1]], "a fault has one selector")
    if not given and not optional:
        names = ", ".join(_NAMES[name] for name in allowed)
        raise FaultRefused(_NAMES[allowed[0]], f"a selector is missing: one of {names}")
