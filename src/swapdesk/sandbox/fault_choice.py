"""From the body of ``POST /faults`` to a fault that exists, or the reason why there is none."""

from __future__ import annotations

from swapdesk.sandbox.control_bodies import FaultBody
from swapdesk.sandbox.faults import (
    STREAM,
    ActiveFault,
    AnswerFault,
    UnknownOperation,
    operation_name,
)
from swapdesk.sandbox.venue_rows import VENUE_ROWS

ORDER_FAULTS = ("fail_after_deposit", "expire")
_ANSWER_SELECTORS = ("operation", "service_id", "quote_id")
_ORDER_SELECTORS = ("service_id", "venue")
_NAMES = {
    "operation": "operation",
    "service_id": "serviceId",
    "quote_id": "quoteId",
    "venue": "venue",
}


class FaultRefused(Exception):
    """No such fault, or not with this selector. ``field`` is the input to change."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field


def answer_fault(body: FaultBody) -> ActiveFault | None:
    """The fault of the service's answers that is meant, or None for a fault of an order."""
    if body.fault in ORDER_FAULTS:
        return None
    try:
        fault = AnswerFault(body.fault)
    except ValueError:
        known = ", ".join((*AnswerFault, *ORDER_FAULTS))
        raise FaultRefused("fault", f"there is no such fault; there are {known}") from None
    if body.leg is not None:
        raise FaultRefused("leg", f"{fault} knows no legs")
    stream = fault is AnswerFault.WS_DROP
    _one_selector(body, ("operation", "service_id") if stream else _ANSWER_SELECTORS, stream)
    operation = None
    if body.operation is not None:
        try:
            operation = operation_name(body.operation)
        except UnknownOperation as error:
            raise FaultRefused("operation", str(error)) from None
        if (operation == STREAM) != stream:
            raise FaultRefused("operation", f"{fault} does not happen to {operation}")
    return ActiveFault(
        fault, body.times, float(body.seconds), operation, body.service_id, body.quote_id
    )


def order_fault(body: FaultBody) -> dict[str, object]:
    """Parameters of the node's ``fault_add``."""
    _one_selector(body, _ORDER_SELECTORS, False)
    if body.venue is not None and body.venue not in {row.code for row in VENUE_ROWS}:
        raise FaultRefused("venue", f"there is no exchange {body.venue!r}")
    asked: dict[str, object] = {"fault": body.fault, "times": body.times}
    for name in (*_ORDER_SELECTORS, "leg"):
        value = getattr(body, name)
        if value is not None:
            asked[_NAMES.get(name, name)] = value
    return asked


def _one_selector(body: FaultBody, allowed: tuple[str, ...], optional: bool) -> None:
    given = [name for name in _NAMES if getattr(body, name) is not None]
    for name in given:
        if name not in allowed:
            raise FaultRefused(_NAMES[name], f"{body.fault} cannot be selected by it")
    if len(given) > 1:
        raise FaultRefused(_NAMES[given[1]], "a fault has one selector")
    if not given and not optional:
        names = ", ".join(_NAMES[name] for name in allowed)
        raise FaultRefused(_NAMES[allowed[0]], f"a selector is missing: one of {names}")
