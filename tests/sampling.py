"""How often a property is tried: a sample in every run, all of it with ``--full``."""

from __future__ import annotations

from typing import Final

PART: Final = 4
LEAST: Final = 12
DEFAULT: Final = 100
"""Examples of a property that says nothing else, at full size."""

_full = False


def at_full_size(full: bool) -> None:
    """Set by the options, before tests are collected."""
    global _full
    _full = full


def examples(count: int = DEFAULT, part: int = PART) -> int:
    """``count`` examples at full size; one in ``part``, and not fewer than a dozen, otherwise."""
    return count if _full else min(count, max(LEAST, count // part))
