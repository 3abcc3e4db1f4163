"""The fields of a quote as contract 6.7 has them, held against the rows of an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from swapdesk.wire.encoding.timestamps import parse_rfc3339

CONTRACT = Path(__file__).parents[2] / "docs/contract.md"
Row = dict[str, Any]

PRESENT: dict[str, Callable[[Row], bool | None]] = {
    "always": lambda row: True,
    "optional": lambda row: None,
    "elsewhere": lambda row: False,
    "without `error`": lambda row: "error" not in row,
    "with `quoteId`": lambda row: "quoteId" in row,
    "priced rows": lambda row: True if "quoteId" in row else None,
    "unpriced rows": lambda row: "quoteId" not in row,
    "exact-out rows": lambda row: None,
    "not on private rows": lambda row: row["type"] != "private",
    "DEX": lambda row: row["type"] == "dex",
    "DEX across chains": lambda row: None if row["type"] == "dex" else False,
    "filtered rows": lambda row: row["filtered"],
    "fixed rows": lambda row: row["fixed"],
}
"""Whether a row has a field, by the word of the contract; None: it may."""

TYPES: dict[str, Callable[[Any], bool]] = {
    "number": lambda value: type(value) in (int, Decimal),
    "boolean": lambda value: type(value) is bool,
    "string": lambda value: isinstance(value, str) and value != "",
    "enum": lambda value: isinstance(value, str) and value.isascii(),
    "array": lambda value: isinstance(value, list),
    "time": lambda value: parse_rfc3339(value).tzinfo is not None,
}


def fields() -> Iterator[tuple[str, str, str]]:
    """Name, type and presence of every field."""
    rule = CONTRACT.read_text().partition("\n**6.7** ")[2].partition("\n**")[0]
    for line in rule.splitlines():
        if not line.startswith("| `"):
            continue
        names, kinds, present, _ = (cell.strip() for cell in line.strip("|").split(" |", 3))
        each = [one.strip("`") for one in names.split(", ")]
        told = kinds.split(", ")
        for name, kind in zip(
            each, told if len(told) == len(each) else told * len(each), strict=True
        ):
            yield name, kind, present


def check_fields(rows: Iterable[Row]) -> None:
    """Every row has what the contract says, and nothing that it does not."""
    known = list(fields())
    assert len(known) > 30
    for row in rows:
        for name, kind, present in known:
            assert PRESENT[present](row) in (None, name in row), (name, present, row)
            assert name not in row or TYPES[kind](row[name]), (name, kind, row)
        assert row.keys() <= {name for name, _, _ in known}, row
