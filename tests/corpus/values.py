"""Values that a member nobody knows may have: every kind of JSON, also within another."""

from __future__ import annotations

from typing import Any

EVERY_KIND: tuple[Any, ...] = (
    None,
    True,
    7,
    -0.5,
    10**30,
    "HOVERING",
    [],
    [1, "two", None],
    {},
    {"status": 8, "displayStatus": "HOVERING"},
    [{"amount": {"value": [1, [2, {"in": "out"}]]}}, True],
)
