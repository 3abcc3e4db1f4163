"""The waterfall of one route: in a side panel, or on a page where the screen is narrow.

Over the body it has four columns; in a side panel each step has two rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import ROUND_FLOOR, Context, Decimal
from typing import TYPE_CHECKING, Protocol

from textual.widget import Widget

from swapdesk.flows.notation import (
    MINUS,
    countdown,
    exact_amount,
    expected_minutes,
    percent,
    table_amount,
    usd,
)
from swapdesk.flows.quotes.quote_columns import provider_name
from swapdesk.flows.quotes.quote_request import cost_in_words
from swapdesk.flows.quotes.waterfall import Part, SumVerdict, Unit, Waterfall, WaterfallStep, remark
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.commands.waterfall import ALL_IN, CLOSE, NEXT_QUOTE, PREVIOUS_QUOTE, REVIEW
from swapdesk.tui.glyphs import TROUBLE, VALID
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, Span, fill, push_right, rule, spread, wrapped
from swapdesk.tui.widgets.lines_view import FittedLines, HeadLine
from swapdesk.tui.widgets.quote_table import route_word

if TYPE_CHECKING:
    from swapdesk.flows.quotes.quote_order import Arrangement
    from swapdesk.flows.quotes.quoting import QuoteResult
    from swapdesk.flows.quotes.ranking import RankedQuote

COLUMNS_FROM = 60
_LABEL, _AMOUNT, _KNOWN = 18, 14, 8
_WIDE = Context(prec=80)
_MOST_PLACES = 8


def waterfall_lines(found: Waterfall, sold: str, bought: str, width: int) -> list[Line]:
    """From 60 cells with columns, below in the form of the side panel; ``sold`` and ``bought`` are
    the symbols of the two tokens."""
    draw = _columns if width >= COLUMNS_FROM else _panel
    said = remark(found, *(_amount(found, value) for value in (found.lines, found.net)))
    rows = draw(found, sold, bought, width)
    if said:
        head = Span(f"{TROUBLE} ", "status-waiting")
        rows += [[], *wrapped([head, Span(said, "status-waiting")], width, indent=2)]
    return rows


def _columns(found: Waterfall, sold: str, bought: str, width: int) -> list[Line]:
    how = width - _LABEL - _AMOUNT - _KNOWN - 5
    head: Line = [
        *fill(Span("Step", "muted"), _LABEL),
        *push_right(Span(bought, "muted"), _AMOUNT),
        Span("   "),
        *fill(Span("How", "muted"), how),
        *push_right(Span("From", "muted"), _KNOWN + 2),
    ]
    rows: list[Line] = [head, rule(width)]

    def put(step: WaterfallStep) -> None:
        texts = wrapped(Span(step.how, "muted"), how)
        for at, text in enumerate(texts):
            first = at == 0
            rows.append(
                [
                    *fill(_label(step) if first else "", _LABEL),
                    *push_right(_value(found, step, sold) if first else "", _AMOUNT),
                    Span("   "),
                    *fill(text, how),
                    *push_right(Span(step.known if first else "", "muted"), _KNOWN + 2),
                ]
            )

    _lay(found, rows, put, width)
    return rows


def _lay(
    found: Waterfall, rows: list[Line], put: Callable[[WaterfallStep], None], width: int
) -> None:
    """The steps in their order, with a rule before every sum; ``put`` writes one."""
    for step in found.of(Part.SEND):
        put(step)
    rows.append([])
    for step in found.of(Part.LINE):
        put(step)
    rows.append(rule(width))
    for part in (Part.TOTAL, Part.CHECK):
        for step in found.of(part):
            put(step)
    outside = found.of(Part.OUTSIDE)
    if outside:
        rows += [[], [Span("Not in net", "muted")]]
        for step in outside:
            put(step)
    rows.append(rule(width))
    for step in found.of(Part.BELOW):
        put(step)


def _panel(found: Waterfall, sold: str, bought: str, width: int) -> list[Line]:
    title: Line = [Span(f"Why {_amount(found, found.net)} {bought}", bold=True)]
    kind = found.row.quote.type
    name = found.row.quote.swap_name or found.row.quote.swap or ""
    route: Line = [Span(kind, f"route-{kind}" if kind in _ROUTES else "muted")]
    if name:
        route.append(Span(f" {name}", "muted"))
    rows: list[Line] = [spread(title, route, width), []]

    def put(step: WaterfallStep) -> None:
        rows.append(spread(_label(step), _value(found, step, sold), width))
        source = f"{step.how} · {step.known}"
        rows.extend([Span("  "), *line] for line in wrapped(Span(source, "muted"), width - 2))

    _lay(found, rows, put, width)
    return rows


_ROUTES = frozenset({"standard", "private", "dex"})


def _label(step: WaterfallStep) -> Line:
    return [Span(step.label, "foreground")]


def _value(found: Waterfall, step: WaterfallStep, sold: str) -> Line:
    role, bold, text = "foreground", step.part in (Part.TOTAL, Part.BELOW), step.word
    if step.amount is None:
        return [Span(text, "muted")]
    if step.part is Part.CHECK:
        good = found.verdict is SumVerdict.SUMS
        glyph, role = (VALID, "status-done") if good else (TROUBLE, "status-waiting")
        size = percent(step.amount).lstrip("−+")
        return [Span(f"{glyph} {size}", role)]
    if step.unit is Unit.USD:
        text = usd(step.amount)
    elif step.unit is Unit.PERCENT:
        text = percent(step.amount)
    elif step.unit is Unit.SOLD:
        amount = exact_amount(step.amount) if step.part is Part.SEND else table_amount(step.amount)
        text = f"{amount} {sold}"
    else:
        text = _amount(found, step.amount)
        if step.amount < 0:
            role = "amount-down"
        elif step.part is Part.TOTAL:
            role = "best-quote" if found.row.place == 1 else "foreground"
    return [Span(text, role, bold)]


def _amount(found: Waterfall, amount: Decimal) -> str:
    """In the digits of the net amount, rounded down: less is paid out, more is taken."""
    places = max(_places(found.net), _places(found.lines))
    short = amount.quantize(Decimal(1).scaleb(-places), ROUND_FLOOR, context=_WIDE)
    text = f"{short:,f}"
    return MINUS + text[1:] if text.startswith("-") else text


def _places(amount: Decimal) -> int:
    text = table_amount(amount)
    return min(_MOST_PLACES, len(text.partition(".")[2]))


class Comparison(Protocol):
    """The routes side by side, with the cursor on one of them."""

    board: QuoteResult | None
    arrangement: Arrangement

    @property
    def row(self) -> RankedQuote | None:
        """The usable route under the cursor."""

    def explained(self) -> Callable[[int], list[Line]]:
        """The waterfall of that route, at a width."""

    def do_step(self, steps: int) -> None:
        """The usable route this far from the cursor."""

    def do_all_in(self) -> None:
        """Rank by the other amount."""

    def do_review(self) -> None:
        """Take the route."""


class WaterfallScreen(Page):
    """The waterfall of one route where the screen is too narrow for it beside the table.

    It follows the cursor of the comparison it was opened from.
    """

    NAME = "Quotes"
    SPENDS = "quote"
    VERBS = (REVIEW, CLOSE, NEXT_QUOTE, ALL_IN, PREVIOUS_QUOTE)
    DEFAULT_CSS = """
    WaterfallScreen #why { margin: 1 0 0 0; }
    WaterfallScreen.-short #why { margin: 0; }
    """

    def __init__(self, session: Session, quotes: Comparison) -> None:
        super().__init__(session)
        self._quotes = quotes
        self._head = HeadLine()
        self._view = FittedLines(id="why")

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._view

    def on_mount(self) -> None:
        self._show()

    @property
    def counting(self) -> bool:
        return True

    def on_tick(self) -> None:
        self._show()

    def session_changed(self) -> None:
        self._show()

    def _show(self) -> None:
        quotes, row, board = self._quotes, self._quotes.row, self._quotes.board
        if row is None or board is None:
            return
        left = (row.expires_at - self.now()).total_seconds()
        self.context = f"why {table_amount(row.key)} {board.token_out.symbol}"
        line: Line = [
            Span(f"{row.place}   "),
            route_word(row.quote.type),
            Span(f"  {provider_name(row)}  "),
            Span(table_amount(row.key), bold=True),
            Span(f" {board.token_out.symbol}", "muted"),
        ]
        right: Line = [
            Span(f"{expected_minutes(row.quote.duration)}   ", "muted"),
            Span(countdown(left), "muted" if left <= 0 else "foreground"),
        ]
        self._head.show(line, right)
        self._view.show(quotes.explained())
        if left > 0:
            said = f"you: choose a route in {countdown(left)}"
            self.set_money("in your wallet.", said, urgent=left < 15)
        else:
            cost = cost_in_words(board.wish)
            self.set_money("in your wallet.", f"you: e, then r asks again, {cost}")
        self.refresh_frame()
        self.refresh_keys()

    def verb_standing(self, verb: Verb) -> CommandState:
        row, board = self._quotes.row, self._quotes.board
        if verb is REVIEW:
            return HIDDEN if row is None or row.expired(self.now()) else READY
        if verb in (NEXT_QUOTE, PREVIOUS_QUOTE, ALL_IN):
            several = board is not None and len(board.ranking.rows) > 1
            if several and verb is ALL_IN and self._quotes.arrangement.all_in:
                return CommandState(verb="net ranking")
            if several and verb is NEXT_QUOTE:
                return CommandState(key="[ ]")
            return READY if several else HIDDEN
        return READY

    def do_step(self, steps: int) -> None:
        self._quotes.do_step(steps)
        self._show()

    def do_all_in(self) -> None:
        self._quotes.do_all_in()
        self._show()

    async def do_close(self) -> None:
        await self.app.pop_screen()

    async def do_review(self) -> None:
        await self.app.pop_screen()
        self._quotes.do_review()
