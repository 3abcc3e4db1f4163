"""One line instead of a broken picture when the terminal is smaller than the desk needs."""

from __future__ import annotations

from swapdesk.tui.spans import Line, Span, wrapped
from swapdesk.tui.widgets.lines_view import LinesView

LEAST_WIDTH = 60
LEAST_HEIGHT = 15


def is_too_small(width: int, height: int) -> bool:
    return width < LEAST_WIDTH or height < LEAST_HEIGHT


class TooSmall(LinesView):
    """Lies over everything else, which keeps its place and the focus beneath."""

    DEFAULT_CSS = """
    TooSmall {
        display: none; padding: 0; layer: cover; width: 100%; height: 100%;
        background: $background;
    }
    """

    def lines(self, width: int) -> list[Line]:
        size = self.app.size
        need = f"This desk needs {LEAST_WIDTH} x {LEAST_HEIGHT}."
        said = f"{need} You have {size.width} x {size.height}."
        return wrapped([Span(said)], width)
