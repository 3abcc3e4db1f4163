"""Writes an answer of the service as indented JSON.

Numbers keep their digits, text is made safe, and a withheld deposit address is left out.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from swapdesk.wire.encoding.codec import refuse_deep
from swapdesk.wire.encoding.text import safe_text

HIDDEN = "«withheld»"
_TEXT_LIMIT = 2000


def raw_lines(raw: bytes, *, hidden: str | None = None) -> list[str]:
    """Returns the JSON document ``raw`` in indented lines, or one safe line if it is invalid. If
    ``hidden`` (a withheld deposit address) is given, deposit fields and texts with this address are
    masked."""
    try:
        refuse_deep(raw)
        document = json.loads(raw, parse_float=_digits, parse_int=_digits, parse_constant=str)
    except ValueError:
        return [safe_text(raw.decode("utf-8", "replace"), _TEXT_LIMIT)]
    shown = msgspec.json.encode(_safe(document, hidden))
    return msgspec.json.format(shown, indent=2).decode().split("\n")


def _digits(number: str) -> msgspec.Raw:
    return msgspec.Raw(number.encode())


def _safe(value: Any, hidden: str | None) -> Any:
    if isinstance(value, dict):
        return {
            _safe(name, hidden): HIDDEN
            if hidden is not None and name.lower().startswith("deposit") and item is not None
            else _safe(item, hidden)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_safe(item, hidden) for item in value]
    if isinstance(value, str):
        return HIDDEN if hidden and hidden in value else safe_text(value, _TEXT_LIMIT)
    return value
