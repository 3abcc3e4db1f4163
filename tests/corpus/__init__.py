"""Hostile inputs, one line each; every past bug becomes one more line.

A line is ``{id, category, input, expect}``. An input too long to write is described:
``{"repeat": [text, times]}`` or ``{"join": [part, ...]}``; any other object is data for the
test of its category (a scripted answer, a typed-data document).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from msgspec import Struct

_HERE = Path(__file__).parent


class Case(Struct, frozen=True):
    id: str
    category: str
    input: Any
    expect: dict[str, Any]

    @property
    def text(self) -> str:
        """The input written out; TypeError when it is not a text."""
        return _text(self.input)


def _text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.keys() == {"repeat"}:
        text, times = part["repeat"]
        return str(text) * int(times)
    if isinstance(part, dict) and part.keys() == {"join"}:
        return "".join(map(_text, part["join"]))
    raise TypeError(f"no text: {part!r}")


def load(*categories: str, name: str = "first_forty") -> list[Case]:
    """The cases of one file, all or those of the named categories, in the order of the file."""
    lines = (_HERE / f"{name}.jsonl").read_text(encoding="ascii").splitlines()
    cases = [Case(**json.loads(line)) for line in lines]
    return [case for case in cases if not categories or case.category in categories]
