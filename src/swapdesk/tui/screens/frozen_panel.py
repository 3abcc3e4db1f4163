"""The intent beside the form, with as much in it as there are rows for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from textual.message import Message

from swapdesk.tui.glyphs import TROUBLE
from swapdesk.tui.screens.create_facts import HAVE, LEAST, SIDES, SIGNED_LEAST
from swapdesk.tui.spans import Line, Span, cut, line_of
from swapdesk.tui.widgets.detail_rows import Fact
from swapdesk.tui.widgets.intent_panel import IntentPanel, IntentState, intent_lines


class FrozenPanel(IntentPanel):
    """The intent in the rows it has. Rate, duration, fees and the own balance go where there is
    no room; amounts, markup, addresses, memos and cost never do: rows that are left out are
    counted instead."""

    @dataclass
    class Laid(Message):
        """The panel has another size: what it shows may be whole now, or no longer."""

        panel: FrozenPanel

        @property
        def control(self) -> FrozenPanel:
            return self.panel

    @property
    def whole(self) -> bool:
        """Whether everything that is confirmed stands on the screen, in the size it has now."""
        width, height = self.size
        return 0 < len(fitting_lines(self.state, width, height)) <= height

    def on_resize(self) -> None:
        self.redraw()
        self.post_message(self.Laid(self))

    def lines(self, width: int) -> list[Line]:
        height = self.size.height
        rows = fitting_lines(self.state, width, height)
        return rows if height <= 0 or len(rows) <= height else _counted(rows, width, height)


def fitting_lines(state: IntentState, width: int, height: int) -> list[Line]:
    """The rows of the panel, with less in it until they fit ``height`` (0: no limit).

    They are more than ``height`` when even what must be seen does not fit.
    """
    rows = intent_lines(state, width)
    if height <= 0 or len(rows) <= height:
        return rows
    for less in (_one_rate, _no_gap):
        state = replace(state, facts=[kept for fact in state.facts for kept in less(fact)])
        rows = intent_lines(state, width)
        if len(rows) <= height:
            return rows
    for less in (_same, _no_rate, _no_duration, _no_fees, _no_have, _brief_least, _chain_beside):
        state = replace(state, facts=[kept for fact in state.facts for kept in less(fact)])
        rows = [row for row in intent_lines(state, width) if row]
        if len(rows) <= height:
            return rows
    return rows


def _counted(rows: list[Line], width: int, height: int) -> list[Line]:
    """The first rows, and in the last one how many are missing."""
    shown = rows[: height - 1]
    said = f"{TROUBLE} {len(rows) - len(shown)} rows more: enlarge the window"
    return [*shown, cut([Span(said, "status-waiting")], width)]


def _same(fact: Fact) -> list[Fact]:
    return [fact]


def _one_rate(fact: Fact) -> list[Fact]:
    return [replace(fact, below=())] if fact.label == "Rate" else [fact]


def _no_gap(fact: Fact) -> list[Fact]:
    return [fact] if fact.label else []


def _no_have(fact: Fact) -> list[Fact]:
    """No part of what is confirmed."""
    return [fact] if fact.label != HAVE else []


def _no_rate(fact: Fact) -> list[Fact]:
    return [fact] if fact.label != "Rate" else []


def _no_duration(fact: Fact) -> list[Fact]:
    return [fact] if fact.label != "Takes" else []


def _no_fees(fact: Fact) -> list[Fact]:
    return [fact] if fact.label != "Fees" else []


def _brief_least(fact: Fact) -> list[Fact]:
    """Beside the amount stands whether the rate is fixed or floats; of a swap on chains nothing
    else says the least."""
    if fact.label != LEAST:
        return [fact]
    return [replace(fact, below=())] if fact.key == SIGNED_LEAST else []


def _chain_beside(fact: Fact) -> list[Fact]:
    """The chain of an amount in its row, where no former value stands there."""
    if fact.label not in SIDES or fact.was:
        return [fact]
    amount = [Span(span.text, span.role, True) for span in line_of(fact.value)]
    chains = [
        Span(f"  {span.text}", span.role) for row in fact.below for span in line_of(row, "muted")
    ]
    return [replace(fact, value=[*amount, *chains], below=(), bold=False)]
