"""A waterfall as rows: four columns over the body, two rows a step in a side panel."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from swapdesk.flows.notation import MINUS, exact_amount, percent, table_amount, usd
from swapdesk.flows.quotes.waterfall import Part, Step, Unit, Verdict, Waterfall, remark
from swapdesk.tui.glyphs import TROUBLE, VALID
from swapdesk.tui.spans import Line, Span, fill, push_right, rule, spread, wrapped
from swapdesk.tui.widgets.lines_view import LinesView

COLUMNS_FROM = 60
_LABEL, _AMOUNT, _KNOWN = 18, 14, 8
_WIDE = Context(prec=80)
_MOST_PLACES = 8


class WaterfallView(LinesView):
    """Draws the waterfall of the quote under the cursor; nothing without one."""

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._shown: tuple[Waterfall, str, str] | None = None

    def show(self, found: Waterfall | None, sold: str = "", bought: str = "") -> None:
        """``sold`` and ``bought`` are the symbols of the two tokens."""
        shown = None if found is None else (found, sold, bought)
        if shown != self._shown:
            self._shown = shown
            self.redraw()

    def lines(self, width: int) -> list[Line]:
        if self._shown is None:
            return []
        return waterfall_lines(*self._shown, width)


def waterfall_lines(found: Waterfall, sold: str, bought: str, width: int) -> list[Line]:
    """From 60 cells with columns, below in the form of the side panel."""
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

    def put(step: Step) -> None:
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


def _lay(found: Waterfall, rows: list[Line], put: Callable[[Step], None], width: int) -> None:
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

    def put(step: Step) -> None:
        rows.append(spread(_label(step), _value(found, step, sold), width))
        source = f"{step.how} · {step.known}"
        rows.extend([Span("  "), *line] for line in wrapped(Span(source, "muted"), width - 2))

    _lay(found, rows, put, width)
    return rows


_ROUTES = frozenset({"standard", "private", "dex"})


def _label(step: Step) -> Line:
    return [Span(step.label, "foreground")]


def _value(found: Waterfall, step: Step, sold: str) -> Line:
    role, bold, text = "foreground", step.part in (Part.TOTAL, Part.BELOW), step.word
    if step.amount is None:
        return [Span(text, "muted")]
    if step.part is Part.CHECK:
        good = found.verdict is Verdict.SUMS
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
