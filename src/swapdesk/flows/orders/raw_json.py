"""An answer of the service as it was written: numbers in their own digits, text made safe.

An address that must not be paid is left out wherever it stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from swapdesk.wire.encoding.codec import refuse_deep
from swapdesk.wire.encoding.text import safe_text

HIDDEN = "«withheld»"
_TEXT_LIMIT = 2000
_DEPTH_LIMIT = 32


class _Digits(str):
    """A number as it stood in the answer."""

    __slots__ = ()


def raw_lines(raw: bytes, *, hidden: str | None = None) -> list[str]:
    """The document in indented lines; one line of text when it is not JSON.

    With ``hidden`` every deposit field and every text with that value is left out.
    """
    try:
        refuse_deep(raw)
        document = json.loads(raw, parse_float=_Digits, parse_int=_Digits, parse_constant=_Digits)
        return list(_lines(document, "", "", hidden, 0))
    except ValueError:
        return [safe_text(raw.decode("utf-8", "replace"), _TEXT_LIMIT)]


def _lines(value: Any, head: str, indent: str, hidden: str | None, depth: int) -> Iterator[str]:
    inner = indent + "  "
    if isinstance(value, dict) and value and depth < _DEPTH_LIMIT:
        yield f"{indent}{head}{{"
        last = len(value) - 1
        for at, (name, item) in enumerate(value.items()):
            secret = hidden is not None and name.lower().startswith("deposit") and item is not None
            shown = HIDDEN if secret else item
            yield from _closed(_lines(shown, f"{_text(name, hidden)}: ", inner, hidden, depth + 1),
                               at < last)  # fmt: skip
        yield f"{indent}}}"
    elif isinstance(value, list) and value and depth < _DEPTH_LIMIT:
        yield f"{indent}{head}["
        last = len(value) - 1
        for at, item in enumerate(value):
            yield from _closed(_lines(item, "", inner, hidden, depth + 1), at < last)
        yield f"{indent}]"
    else:
        yield f"{indent}{head}{_scalar(value, hidden)}"


def _closed(lines: Iterator[str], comma: bool) -> Iterator[str]:
    held: str | None = None
    for line in lines:
        if held is not None:
            yield held
        held = line
    if held is not None:
        yield f"{held}," if comma else held


def _scalar(value: Any, hidden: str | None) -> str:
    if isinstance(value, _Digits):
        return safe_text(str(value), _TEXT_LIMIT)
    if isinstance(value, str):
        return _text(value, hidden)
    if isinstance(value, dict):
        return "{}" if not value else "{…}"
    if isinstance(value, list):
        return "[]" if not value else "[…]"
    return {None: "null", True: "true", False: "false"}[value]


def _text(value: str, hidden: str | None) -> str:
    if hidden and hidden in value:
        value = HIDDEN
    return json.dumps(safe_text(value, _TEXT_LIMIT), ensure_ascii=False)
