"""What pydantic found, as (path, sentence) pairs that are safe to show and quote no value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from pydantic_core import ErrorDetails

from swapdesk.wire.encoding.text import safe_text

_SENTENCES = {
    "missing": "is required",
    "extra_forbidden": "is no field here",
    "bool_type": "must be true or false",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
}


_DECIMAL_REPR = re.compile(r"Decimal\('([^']+)'\)")


def path_of(loc: Iterable[int | str]) -> str:
    """``("orders", 0, "amount")`` as ``orders.0.amount``, safe to show."""
    return ".".join(safe_text(str(part), 64) for part in loc)


def _shown(value: Any) -> str:
    # pydantic hands a Decimal bound over as its repr.
    match = _DECIMAL_REPR.fullmatch(str(value))
    return format(Decimal(match[1]), "f") if match else str(value)


def sentence(detail: ErrorDetails) -> str:
    """Why one value is refused; a bound is quoted in plain digits, the value is not."""
    template = _SENTENCES.get(detail["type"])
    if template is not None:
        context = {name: _shown(value) for name, value in detail.get("ctx", {}).items()}
        return template.format_map(context)
    return detail["msg"].replace("Input should be", "must be", 1).removeprefix("Value error, ")
