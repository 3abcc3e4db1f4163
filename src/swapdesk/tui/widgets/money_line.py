"""Where the funds are and who acts next: on every screen, never hidden, never scrolled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from swapdesk.tui.spans import Line, LineLike, Span, cut, fill, line_of, spread, width_of
from swapdesk.tui.widgets.lines_view import LinesView
from swapdesk.tui.widgets.notice import whole_sentences

LEAST = 7
"""Cells that what comes next leaves: the word for where the money is, and no part of a number."""


@dataclass(frozen=True, slots=True)
class MoneyState:
    """``where`` follows the word Funds, ``next_`` the word Next; both are sentences without them.

    ``where_short`` is the place alone and ``next_short`` the step in few words, used when both
    halves do not fit. ``urgent`` makes the next step bold (a deadline under two minutes).
    """

    where: str
    next_: str = ""
    where_short: str = ""
    urgent: bool = False
    next_short: str = ""


class MoneyLine(LinesView):
    """The row above the keys."""

    DEFAULT_CSS = """
    MoneyLine {
        height: 1;
        background: $surface;
    }
    """

    def __init__(self, state: MoneyState, **place: Any) -> None:
        super().__init__(**place)
        self.state = state
        self._notice: LineLike = ""
        self._brief: LineLike = ""

    def show(self, state: MoneyState) -> None:
        if state != self.state:
            self.state = state
            self.redraw()

    def lay_over(self, notice: LineLike, brief: LineLike = "") -> None:
        """A notice in place of the left half, on screens without a row for it; empty ends it.

        ``brief`` stands in where ``notice`` would be cut.
        """
        self._notice, self._brief = notice, brief
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        return [money_line(self.state, width, self._notice, self._brief)]


def money_line(state: MoneyState, width: int, notice: LineLike = "", brief: LineLike = "") -> Line:
    """Both halves if they fit; else the left one in its short form, and then the right one.

    A ``brief`` notice names a key or an amount: it stays whole, the right half gives way.
    """
    right = _next(state.next_, state.urgent)
    left = _funds(state.where)
    if notice:
        left = line_of(notice)
        if brief and not _fits(left, right, width):
            left = line_of(brief)
            right = cut(right, max(0, width - width_of(left) - 2))
        elif right:
            if state.next_short and not _fits(left, right, width):
                right = _next(state.next_short, state.urgent)
            left = whole_sentences(left, width - width_of(right) - 2)
    elif not _fits(left, right, width):
        short = _funds(state.where_short) or left
        if state.next_short and not _fits(short, right, width):
            right = _next(state.next_short, state.urgent)
        actor = _next(state.next_.partition(":")[0], state.urgent)
        cuts = bool(short) and not _fits(short, right, width)
        if cuts and not state.urgent and _fits(short, actor, width):
            # Where money is stays whole: of what comes next, who acts is said.
            right = actor
        left = left if _fits(left, right, width) else short
        # That money is somewhere is said, however long what comes next is.
        least = min(width_of(left), LEAST)
        right = cut(right, width - least - 2 if least else width)
    return spread(left, right, width) if right else fill(left, width)


def _fits(left: Line, right: Line, width: int) -> bool:
    return width_of(left) + 2 + width_of(right) <= width


def _funds(where: str) -> Line:
    return [Span("Funds ", "muted"), Span(where)] if where else []


def _next(said: str, urgent: bool) -> Line:
    return [Span("Next ", "muted"), Span(said, "foreground", bold=urgent)] if said else []
