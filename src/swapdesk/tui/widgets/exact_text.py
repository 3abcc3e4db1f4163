"""A value exactly as it is copied, to be selected with the mouse where there is no clipboard."""

from __future__ import annotations

from collections.abc import Sequence

from textual.widget import Widget

from swapdesk.tui.spans import Line, Span, wrapped
from swapdesk.tui.widgets.lines_view import LinesView
from swapdesk.tui.widgets.overlay import Overlay


class ExactLines(LinesView):
    """The value unbroken from the left edge on, so that a selection takes nothing else along."""

    def __init__(self, label: str, value: str) -> None:
        super().__init__()
        self.label, self.value = label, value

    def lines(self, width: int) -> list[Line]:
        return exact_lines(self.label, self.value, width)


class ExactText(Overlay[None]):
    """``esc`` closes."""

    def __init__(self, label: str, value: str) -> None:
        super().__init__([])
        self._lines = ExactLines(label, value)

    def compose_panel(self) -> Sequence[Widget]:
        return (self._lines,)


def exact_lines(label: str, value: str, width: int) -> list[Line]:
    """The label, the value in full rows, how to select it."""
    rows: list[Line] = [[Span(label[:1].upper() + label[1:], bold=True)], []]
    rows += [[Span(value[at : at + width], bold=True)] for at in range(0, len(value), width)]
    how = (
        "This terminal takes no copies from programs. Select the text with the mouse (most"
        " terminals want shift held down) and compare what you paste."
    )
    return [*rows, [], *wrapped([Span(how, "muted")], width)]
