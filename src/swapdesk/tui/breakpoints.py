"""From how many columns and rows on a screen is drawn in another way, and by which class."""

from __future__ import annotations

WIDTHS: list[tuple[int, str]] | None = [
    (0, "-tiny"),
    (60, "-small"),
    (80, "-narrow"),
    (100, "-normal"),
    (120, "-roomy"),
    (160, "-wide"),
]
SHORT_BELOW = 28
HEIGHTS: list[tuple[int, str]] | None = [(0, "-short"), (SHORT_BELOW, "-medium"), (36, "-tall")]


def classes_at(width: int, height: int) -> dict[str, bool]:
    """Every class of a size and whether a screen of so many cells has it."""
    found: dict[str, bool] = {}
    for cells, steps in ((width, WIDTHS or []), (height, HEIGHTS or [])):
        reached = max((least for least, _ in steps if least <= cells), default=None)
        found |= {name: least == reached for least, name in steps}
    return found
