"""Converts quotes and orders to database rows and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import msgspec
from msgspec.structs import asdict

from swapdesk.service.store.database import Row, micros, moment_of
from swapdesk.service.store.records import (
    RouteChoice,
    StoredOrder,
    StoredQuote,
    SwapTerms,
)

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
        "fee_usd",
        "commission",
    }
)
_FLAGS = frozenset({"fixed", "receive", "requires_refund_address", "filtered", "told"})

QUOTE_COLUMNS = StoredQuote.__struct_fields__
ORDER_FIELDS = StoredOrder.__struct_fields__
OF_DETAIL = ("source_chain", "confirmed_hash", "finished_day")
"""Columns that repeat an entry of an order's ``detail``, for searching."""


def values_of(record: SwapTerms) -> dict[str, Any]:
    values = asdict(record)
    for name, write in _WRITTEN.items():
        value = values.get(name)
        if value is not None:
            values[name] = write(value)
    if isinstance(record, StoredOrder):
        values |= _found_by(record.detail)
    return values


def _found_by(detail: Mapping[str, Any]) -> dict[str, Any]:
    finished = detail.get("finished")
    return {
        "source_chain": detail.get("sourceChain"),
        "confirmed_hash": detail.get("confirmedHash"),
        "finished_day": None if finished is None else str(finished)[:10],
    }


def quote_of(row: Row) -> StoredQuote:
    return StoredQuote(**_members(row, QUOTE_COLUMNS))


def order_of(row: Row) -> StoredOrder:
    return StoredOrder(**_members(row, ORDER_FIELDS))


def _members(row: Row, columns: tuple[str, ...]) -> dict[str, Any]:
    # By position: to look a column up by its name is slow in a row of fifty.
    values = dict(zip(row.keys(), row, strict=True))
    members = {name: values[name] for name in columns}
    for name, read in _READ.items():
        value = members.get(name)
        if value is not None:
            members[name] = read(value)
    return members


_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


_WRITTEN: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_TIMES, micros),
    **dict.fromkeys(("detail", "plan", "rates"), _encode),
    "legs": ",".join,
    "choice": lambda choice: msgspec.json.encode(choice, order="sorted").decode(),
}
"""Functions that convert a column's values for the database, by column name."""

_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(_TIMES, moment_of),
    **dict.fromkeys(_AMOUNTS, Decimal),
    **dict.fromkeys(_FLAGS, bool),
    **dict.fromkeys(("detail", "plan"), json.loads),
    "rates": lambda text: tuple(json.loads(text)),
    "legs": lambda text: tuple(text.split(",")),
    "choice": lambda text: msgspec.json.decode(text, type=RouteChoice),
}
