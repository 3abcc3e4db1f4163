"""Reports each request and each change of an order's state to the operator's observers. They get no
header, body, query or secret, and the caller's address only on request."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from msgspec import Struct

from swapdesk.clock import iso
from swapdesk.service.store.records import StoredOrder
from swapdesk.wire.orders import OrderStatusCode

UNROUTED = "none"
"""Operation name for a request that matches no route."""
STREAM = "stream"
READY = "ready"
"""Operation name of the readiness probe; like ``STREAM``, it is not in the table of the API."""


class Call(Struct):
    """The facts about a request that observers receive."""

    request_id: str
    method: str = ""
    operation: str = UNROUTED
    partner: str | None = None
    order: str | None = None
    """Id of the order or batch that the request was about; None if there is none."""
    address: str = ""
    status: int = 0
    """Status of the answer; 0 if the request was aborted."""
    seconds: float = 0.0
    is_repeat: bool = False


class Observer(Protocol):
    """Receives every request and every change of an order's status. Its methods must neither block
    nor raise."""

    def answered(self, call: Call) -> None: ...

    def moved(self, order: StoredOrder, before: int | None) -> None:
        """Receives a change of an order's status; ``before`` is the former status, None for a new
        order."""
        ...


def state_name(status: int) -> str:
    return OrderStatusCode(status).name.lower()


_log = logging.getLogger("swapdesk.service.log")

FIELDS = "fields"
"""Name of the attribute of a log record that holds the additional members of its JSON line."""


class Log:
    """An observer that writes a log line for each request and each change of an order's state."""

    def __init__(self, *, addresses: bool = False) -> None:
        self._addresses = addresses

    def answered(self, call: Call) -> None:
        fields = {
            "requestId": call.request_id,
            "partner": call.partner,
            "operation": call.operation,
            "method": call.method,
            "status": call.status,
            "ms": round(call.seconds * 1000, 1),
            "order": call.order,
        }
        if self._addresses:
            fields["address"] = call.address
        _log.info("request", extra={FIELDS: fields})

    def moved(self, order: StoredOrder, before: int | None) -> None:
        fields = {
            "partner": order.partner_id,
            "order": order.service_id,
            "before": None if before is None else state_name(before),
            "after": state_name(order.status),
        }
        _log.info("transition", extra={FIELDS: fields})


MEMBERS: Mapping[str, Mapping[str, str]] = {
    "every line": {
        "time": "when it was written, ISO 8601 in UTC",
        "level": "`debug`, `info`, `warning` or `error`",
        "event": "`request`, `transition` or `message`",
    },
    "request": {
        "requestId": "the `x-request-id` of the answer",
        "partner": "id of the partner; null where nobody was known",
        "operation": (
            f"name of the operation; `{STREAM}`, `{READY}`, or `{UNROUTED}` for a path without one"
        ),
        "method": "as it was sent; `WS` for a stream",
        "status": "of the answer, of a stream that of its handshake; 0 where it was broken off",
        "ms": "milliseconds until the answer was sent; of a stream until it ended",
        "order": "id of the order or the group that it named or made; null for none",
        "address": "of the caller, as trusted proxies tell it; only with `addresses = true`",
    },
    "transition": {
        "partner": "id of the partner whose order it is",
        "order": "id of the order",
        "before": "the state it left; null for a new order",
        "after": "the state it has",
    },
    "message": {
        "logger": "the part of the program",
        "message": "what it says",
        "error": "the stack of a defect; absent for none",
    },
}
"""Descriptions of the members of a log line, by event."""


class JsonLines(logging.Formatter):
    """Formats a record as one line of printable ASCII, whatever its texts contain."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {"time": iso(moment), "level": record.levelname.lower()}
        fields = getattr(record, FIELDS, None)
        if fields is not None:
            line |= {"event": record.getMessage(), **fields}
        else:
            line |= {"event": "message", "logger": record.name, "message": record.getMessage()}
            if record.exc_info:
                line["error"] = self.formatException(record.exc_info)
        # JSON escapes every control character but this one.
        return json.dumps(line).replace("\x7f", "\\u007f")


LEVELS = ("debug", "info", "warning", "error")


def write_log(level: str) -> None:
    """Sets up logging to standard error: records of this program from ``level`` on, those of
    libraries from ``warning`` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    for earlier in [handler for handler in root.handlers if type(handler) is logging.StreamHandler]:
        root.removeHandler(earlier)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("swapdesk").setLevel(level.upper())
