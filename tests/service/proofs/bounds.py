"""The tests of both sides of every bound that ``bounds.txt`` lists."""

from __future__ import annotations

from pathlib import Path

LISTED = Path(__file__).with_name("bounds.txt")
_TESTS = "service/test_bounds.py::"


def bounds(listed: str | None = None) -> dict[str, tuple[str, ...]]:
    """``operation name word`` for each word of each line, and the test of it."""
    found: dict[str, tuple[str, ...]] = {}
    for line in (LISTED.read_text() if listed is None else listed).splitlines():
        if line.startswith("#"):
            continue
        operation, place, name, *words = line.split()
        case = f"[{operation}-{place}-{name}]"
        for word in words:
            default = word.startswith("default=")
            test = "defaults_are_those_of_the_document" if default else "both_sides_of_every_bound"
            found[f"{operation} {name} {word}"] = (f"{_TESTS}test_{test}{case}",)
    return found
