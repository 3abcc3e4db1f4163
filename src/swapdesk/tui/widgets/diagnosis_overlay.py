"""The diagnosis of one order, in fixed lines: cause, money, acts, by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from textual.widget import Widget

from swapdesk.tui.spans import Line, Span, wrapped
from swapdesk.tui.widgets.lines_view import LinesView, section_line
from swapdesk.tui.widgets.reading_overlay import ReadingOverlay

if TYPE_CHECKING:
    from swapdesk.flows.orders.diagnosis import Diagnosis

LABEL = 9


class DiagnosisText(LinesView):
    """The lines of a diagnosis."""

    def __init__(self, diagnosis: Diagnosis, **place: Any) -> None:
        super().__init__(**place)
        self.diagnosis = diagnosis

    def lines(self, width: int) -> list[Line]:
        return diagnosis_lines(self.diagnosis, width)


class DiagnosisOverlay(ReadingOverlay):
    """Left with ``esc``; the order stays as it was under it."""

    def __init__(self, diagnosis: Diagnosis) -> None:
        super().__init__()
        self._text = DiagnosisText(diagnosis)

    def compose_panel(self) -> Sequence[Widget]:
        return (self._text,)


def diagnosis_lines(diagnosis: Diagnosis, width: int) -> list[Line]:
    """One label a row, each text wrapped behind it; what it rests on stands last."""
    fact = f"rule {diagnosis.rule}, {diagnosis.certainty}"
    rows = [section_line("Diagnosis", fact, width), []]
    for label, text in (
        ("Cause", diagnosis.cause),
        ("Money", diagnosis.money),
        ("Acts", diagnosis.acts),
        ("By", diagnosis.by),
    ):
        rows += _labelled(label, text, "foreground", width)
    return [*rows, [], *_labelled("From", diagnosis.basis, "muted", width)]


def _labelled(label: str, text: str, role: str, width: int) -> list[Line]:
    parts = wrapped([Span(text, role)], max(8, width - LABEL))
    heads = [Span(label.ljust(LABEL), "muted"), *[Span(" " * LABEL)] * (len(parts) - 1)]
    return [[head, *part] for head, part in zip(heads, parts, strict=True)]
