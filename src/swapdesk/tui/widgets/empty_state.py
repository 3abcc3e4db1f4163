"""Where nothing is: one sentence about what would be here and the key that fills it."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.tui.spans import Line, Span


@dataclass(frozen=True, slots=True)
class Nothing:
    """``No orders yet.`` and the key with its verb: ``n`` ``starts a swap``."""

    sentence: str
    key: str = ""
    verb: str = ""


def empty_line(state: Nothing) -> Line:
    line: Line = [Span(state.sentence, "muted")]
    if state.key:
        line += [Span(" "), Span(state.key, "accent", bold=True), Span(f" {state.verb}.", "muted")]
    return line
