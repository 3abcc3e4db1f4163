"""How often a property is tried: a sample in every run, all of it with ``--full``."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

PART: Final = 4
LEAST: Final = 12
DEFAULT: Final = 100
"""Examples of a property that says nothing else, at full size."""

_full = False


def use(*, full: bool) -> None:
    """Set by the options, before tests are imported."""
    global _full
    _full = full
    # How long an example takes belongs to the machine; benchmarks measure time, tests do not.
    settings.register_profile("suite", deadline=None, max_examples=examples())
    settings.load_profile("suite")


def examples(count: int = DEFAULT, part: int = PART) -> int:
    """``count`` examples at full size; one in ``part``, and not fewer than a dozen, otherwise."""
    return count if _full else min(count, max(LEAST, count // part))
