"""Black on white whatever the palette: the colours of a code to scan, which nothing may take."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import NoColor

INK = Style(color="#000000", bgcolor="#ffffff")
BLACK, WHITE = Style(bgcolor="#000000"), Style(bgcolor="#ffffff")

_KEPT = {(one.color, one.bgcolor) for one in (INK, BLACK, WHITE)}


class NoColorButInk(NoColor):
    """``NO_COLOR`` without making codes unreadable: their black and white are no decoration."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        bare = super().apply(segments, background)
        return [
            one if one.style and (one.style.color, one.style.bgcolor) in _KEPT else other
            for one, other in zip(segments, bare, strict=True)
        ]
