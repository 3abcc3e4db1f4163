"""Style sheets are parsed once for all applications of a test process.

An application parses the rules of each of its widgets when it starts, a tenth of what its start
costs. The rules depend on the text, its place and the colours, and nothing changes them: within
one application the toolkit keeps them by the same key.
"""

from __future__ import annotations

from typing import Any

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_parse_rules = Stylesheet._parse_rules
_known: dict[tuple[Any, ...], list[RuleSet]] = {}


def _parsed(
    sheet: Stylesheet,
    css: str,
    read_from: tuple[str, str],
    is_default_rules: bool = False,
    tie_breaker: int = 0,
    scope: str = "",
) -> list[RuleSet]:
    place = (css, read_from, is_default_rules, tie_breaker, scope)
    key = (frozenset(sheet._variables.items()), *place)
    rules = _known.get(key)
    if rules is None:
        rules = _known[key] = _parse_rules(sheet, *place)
    return rules


def use() -> None:
    """Let every application of this process find what another has parsed."""
    sheets: Any = Stylesheet
    sheets._parse_rules = _parsed
