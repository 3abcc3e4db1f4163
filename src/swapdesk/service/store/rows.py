"""Quotes and orders as rows of SQLite, and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from swapdesk.service.store.records import EVERY_ROUTE, RouteChoice, StoredOrder, StoredQuote

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_TIMES = frozenset({"created", "modified", "expires", "due_at"})
_AMOUNTS = frozenset(
    {
        "amount_in",
        "amount_out",
        "amount_in_usd",
        "amount_out_usd",
        "minutes",
        "middle_amount",
        "markup",
    }
)
_FLAGS = frozenset({"fixed", "receive", "requires_refund_address", "filtered"})

QUOTE_COLUMNS = tuple(field.name for field in fields(StoredQuote))
ORDER_COLUMNS = tuple(field.name for field in fields(StoredOrder))
_CHOICES = tuple(field.name for field in fields(RouteChoice))


def micros(moment: datetime) -> int:
    """Microseconds since 1970 UTC, exact."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(value: int) -> datetime:
    return _EPOCH + value * _MICROSECOND


def amount_key(amount: Decimal) -> str:
    """An amount as 81 characters whose text order is the order of the numbers."""
    return format(amount, "081.40f")


def values_of(record: StoredQuote | StoredOrder, columns: tuple[str, ...]) -> dict[str, Any]:
    """Column values of a record, by name."""
    values: dict[str, Any] = {}
    for name in columns:
        value = getattr(record, name)
        write = _WRITTEN.get(name)
        values[name] = value if value is None or write is None else write(value)
    return values


def quote_of(row: sqlite3.Row) -> StoredQuote:
    return StoredQuote(**{name: _loaded(name, row[name]) for name in QUOTE_COLUMNS})


def order_of(row: sqlite3.Row) -> StoredOrder:
    return StoredOrder(**{name: _loaded(name, row[name]) for name in ORDER_COLUMNS})


def _loaded(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _TIMES:
        return moment_of(value)
    if name in _AMOUNTS:
        return Decimal(value)
    if name == "legs":
        return tuple(value.split(","))
    if name in _FLAGS:
        return bool(value)
    if name in ("detail", "plan"):
        return json.loads(value)
    if name == "rates":
        return tuple(json.loads(value))
    if name == "choice":
        return _choice(json.loads(value))
    return value


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True)


def _plain_choice(choice: RouteChoice) -> dict[str, Any]:
    """What was asked, and nothing that was not."""
    values = ((name, getattr(choice, name)) for name in _CHOICES)
    asked = {name: value for name, value in values if value != getattr(EVERY_ROUTE, name)}
    if "deviation_threshold" in asked:
        asked["deviation_threshold"] = format(asked["deviation_threshold"], "f")
    return asked


def _choice(asked: dict[str, Any]) -> RouteChoice:
    if not asked:
        return EVERY_ROUTE
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in asked.items()
    }
    if "deviation_threshold" in values:
        values["deviation_threshold"] = Decimal(values["deviation_threshold"])
    return RouteChoice(**values)


_WRITTEN: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_TIMES, micros),
    **dict.fromkeys(_AMOUNTS, lambda amount: format(amount, "f")),
    **dict.fromkeys(("detail", "rates", "plan"), _json),
    "legs": ",".join,
    "choice": lambda choice: _json(_plain_choice(choice)),
}
"""How the columns are written that SQLite does not take as they are."""
