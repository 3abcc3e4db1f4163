"""What a person would read on the screen of a running application."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.app import App

from swapdesk.tui.spans import Line, ascii_line, plain_text, width_of


def screen_text(app: App[Any]) -> str:
    """All rows of the current screen, right edges trimmed."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(part.text for part in strip).rstrip() for strip in strips)


def lines_text(lines: Iterable[Line], width: int) -> str:
    """Rows of a pure layout; every row is checked to keep to the width, in ASCII too."""
    rows = list(lines)
    for line in rows:
        assert width_of(line) <= width, plain_text(line)
        assert width_of(ascii_line(line)) == width_of(line), plain_text(line)
    return "\n".join(plain_text(line).rstrip() for line in rows)
