"""The table of the quotes in one answer of the service, and the comparison of the best route of
each kind (standard, private, DEX)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from rich.cells import cell_len

from swapdesk.flows.notation import (
    NOTHING,
    countdown,
    difference,
    expected_minutes,
    percent,
    table_amount,
)
from swapdesk.flows.quotes.quote_columns import (
    NOTE_WIDTH,
    QUOTE_COLUMNS,
    RouteTypeBest,
    provider_name,
)
from swapdesk.flows.quotes.ranking import (
    MEANINGS,
    Arrangement,
    PlacedQuote,
    common_badges,
    meaning_word,
    note_of,
    noted,
)
from swapdesk.tui.commands.quotes import MORE_ROUTES
from swapdesk.tui.glyphs import ENDED
from swapdesk.tui.spans import Line, LineLike, Span, cut, fill, plain_text, push_right, wrapped
from swapdesk.tui.widgets.lines_view import section_line
from swapdesk.tui.widgets.table_layout import (
    KEEP,
    Cell,
    Column,
    Prose,
    Row,
    Section,
    TableRow,
)

if TYPE_CHECKING:
    from swapdesk.flows.quotes.quote_request import QuoteRequest
    from swapdesk.flows.quotes.quoting import QuoteResult
    from swapdesk.flows.quotes.ranking import RankedQuote, Ranking, UnusableQuote


PLAIN = Arrangement()
SOON = 15
"""Seconds before a quote expires from which its countdown is bold."""
UNUSABLE = "unusable-"
"""First part of the row key of an unusable route. The position of the route in ``Ranking.unusable``
follows."""
BEFORE_REASON = 26
"""Width in cells of the columns before the reason of an unusable route: place, route and
provider."""
REASON_ROWS = 3
WIDEST_PERCENT = 8


def compared_symbol(wish: QuoteRequest) -> str:
    """Returns the symbol of the token in which routes are compared: the token bought, or the token
    sold if the user gave the amount to receive."""
    return wish.token_in.symbol if wish.receive else wish.token_out.symbol


MOST_NOTE = 13
"""Greatest width in cells of the column of notes, which fits on every screen."""


def note_width(placed: Sequence[PlacedQuote]) -> int:
    """Returns the width in cells of the column of notes, which depends on the notes in
    ``placed``."""
    common = _common(placed)
    rows = [quote.row.badges for quote in placed]
    notes = [note_of(row, common) for row in rows if "approve" in row or common - set(row)]
    return min(MOST_NOTE, max([NOTE_WIDTH, *map(cell_len, notes)]))


def _common(placed: Sequence[PlacedQuote]) -> frozenset[str]:
    return common_badges([quote.row.badges for quote in placed])


def quote_columns(
    wish: QuoteRequest, *, all_in: bool = False, note: int = NOTE_WIDTH
) -> list[Column]:
    """Returns the columns of the table of quotes. ``all_in`` says that amounts include gas."""
    short = plain_text(cut(compared_symbol(wish), 10))
    head = f"All-in {short}" if all_in else "You send" if wish.receive else f"Net {short}"
    columns = []
    for column in QUOTE_COLUMNS:
        if not column.label:
            continue
        widened = column.name == "note" and note != NOTE_WIDTH
        columns.append(
            Column(
                column.name,
                head if column.name == "net" else column.label.format(token=short),
                note if widened else column.width,
                column.align,
                KEEP if widened or not column.priority else column.priority,
                column.role,
                column.gap,
                column.grow,
            )
        )
    return columns


def quote_rows(
    board: QuoteResult,
    now: datetime,
    width: int,
    *,
    arrangement: Arrangement = PLAIN,
    former: Mapping[str, int] | None = None,
) -> list[TableRow]:
    ranking = board.ranking
    placed = arrangement.arrange(ranking, now)
    left_out, common = arrangement.left_out(placed), _common(placed)
    hidden = {quote.row.quote_id for quote in left_out}
    rows: list[TableRow] = []
    for quote in placed:
        if quote.row.quote_id not in hidden:
            rows.append(_row(board, quote, now, former or {}, arrangement, common))
        elif quote is left_out[0]:
            rows.append(_left_out(left_out))
    refused = [
        (at, entry)
        for at, entry in enumerate(ranking.unusable)
        if arrangement.only is None or entry.quote.type == arrangement.only
    ]
    if refused:
        if rows:
            rows.append(Prose("gap"))
        rows.append(Section("not-usable", "Not usable", str(len(refused))))
        for at, entry in refused:
            rows += _unusable(at, entry, width)
    return rows


def unusable_at(ranking: Ranking, key: str) -> UnusableQuote | None:
    """Returns the unusable route that the row with the key ``key`` shows; None if the row shows
    something else."""
    if not key.startswith(UNUSABLE):
        return None
    return ranking.unusable[int(key.removeprefix(UNUSABLE))]


def route_word(kind: str, *, muted: bool = False) -> Span:
    """Returns the kind of a route (``private``, ``standard`` or ``dex``) as a word in its own
    colour, or muted."""
    known = kind in ("private", "standard", "dex")
    return Span(kind, f"route-{kind}" if known and not muted else "muted")


def _left_out(rows: Sequence[PlacedQuote]) -> Row:
    down = not rows[0].row.reverse
    figures = sorted({row.figure for row in rows if row.figure is not None}, reverse=down)
    text = f"{len(rows)} more"
    if figures:
        text += f", {_figure(rows[0].row, figures[0])} to {_figure(rows[0].row, figures[-1])}"
    key = Span(MORE_ROUTES.key, "accent", bold=True)
    return Row(
        "left-out",
        {"route": route_word(rows[0].row.quote.type, muted=True)},
        role="muted",
        tail=[Span(f"{text}: ", "muted"), key, Span(" shows them", "muted")],
        tail_from="provider",
        selectable=False,
    )


def _row(
    board: QuoteResult,
    one: PlacedQuote,
    now: datetime,
    former: Mapping[str, int],
    arrangement: Arrangement,
    common: frozenset[str],
) -> Row:
    row, quote = one.row, one.row.quote
    expired = row.expired(now)
    figure = "gas ?" if one.figure is None else _figure(row, one.figure)
    shown: Cell = figure
    if one.best:
        shown = Span(figure, "best-quote", bold=True)
    elif not row.pays and not expired:
        shown = Span(figure, "amount-down")
    best_word: LineLike = Span("best", "best-quote", bold=True)
    was = former.get(row.quote_id) if not arrangement.all_in else None
    away = one.vs_best_amount
    cells: dict[str, Cell] = {
        column.name: column.text(board, row) for column in QUOTE_COLUMNS if column.label
    }
    return Row(
        row.quote_id,
        {
            **cells,
            "place": Span(str(one.place), bold=was is not None),
            "route": route_word(quote.type, muted=expired),
            "provider": provider_name(row),
            "net": shown,
            "best": best_word if one.best else _percent(one, expired),
            "difference": "" if not away else difference(away),
            "valid": _validity(row, now),
            "note": Span(f"was {was}", bold=True)
            if was is not None
            else note_of(row.badges, common),
        },
        role="muted" if expired else "",
    )


def _figure(row: RankedQuote, figure: Decimal) -> str:
    """Returns an amount as text, rounded up if the user sends it and down if the user gets it. The
    text thus never promises the user too much."""
    return table_amount(figure, "pay" if row.reverse else "receive")


def _validity(row: RankedQuote, now: datetime) -> Cell:
    left = (row.expires_at - now).total_seconds()
    return Span(countdown(left), "muted" if left <= 0 else "foreground", bold=0 < left < SOON)


def _percent(one: PlacedQuote, expired: bool) -> Cell:
    if not one.vs_best_amount:
        return ""
    percentage = one.vs_best_percent
    worse = percentage if not one.row.reverse or percentage is None else -percentage
    deep = worse is not None and worse <= -1
    text = percent(percentage)
    if len(text) > WIDEST_PERCENT:
        text = "<−999%" if percentage is not None and percentage < 0 else ">+999%"
    return Span(text, "amount-down" if deep and not expired else "muted")


def _unusable(at: int, entry: UnusableQuote, width: int) -> list[TableRow]:
    quote = entry.quote
    name = quote.swap_name or quote.swap or ("two legs" if quote.type == "private" else NOTHING)
    lines = wrapped(Span(reason_text(entry)), max(20, width - BEFORE_REASON))
    if len(lines) > REASON_ROWS:
        last = "".join(plain_text(line) for line in lines[REASON_ROWS - 1 :])
        lines = [*lines[: REASON_ROWS - 1], [Span(last)]]
        lines[-1] = cut(lines[-1], max(20, width - BEFORE_REASON))
    rows: list[TableRow] = [
        Row(
            f"{UNUSABLE}{at}",
            {"place": ENDED, "route": route_word(quote.type, muted=True), "provider": name},
            role="muted",
            tail=lines[0],
            tail_from="net",
        )
    ]
    for more, line in enumerate(lines[1:]):
        rows.append(Prose(f"reason-{at}-{more}", [Span(" " * BEFORE_REASON), *line]))
    return rows


def reason_text(entry: UnusableQuote) -> str:
    """Returns why a route is unusable, as a sentence. The words of the service are put in quotation
    marks."""
    return f'the service says: "{entry.reason}"' if entry.server_says else entry.reason


def badge_notes(rows: Sequence[RankedQuote], *, all_of_them: bool = True) -> list[Line]:
    """Returns the meaning of each note of these rows. If ``all_of_them`` is False, returns only the
    meanings of notes on nearly every row."""
    counts = Counter(badge for row in rows for badge in noted(row.badges))
    common = common_badges([row.badges for row in rows])
    lines: list[Line] = []
    for badge, text in MEANINGS.items():
        if badge in common:
            every = counts[badge] == len(rows)
            on = "on every route" if every else f"on {counts[badge]} of {len(rows)} routes"
            lines.append([Span(meaning_word(badge)), Span(f" {on}: {text}", "muted")])
        elif all_of_them and badge in counts:
            lines.append([Span(meaning_word(badge)), Span(f" {text}", "muted")])
    return lines


_KIND, _AMOUNT, _TAKES = 9, 18, 8
_KNOWS_FROM = 104


def ways_lines(ways: Sequence[RouteTypeBest], head: str, symbol: str, width: int) -> list[Line]:
    """Returns the comparison of the kinds of routes. ``head`` names the column of amounts, as ``You
    get, net``."""
    knows = width >= _KNOWS_FROM
    rest = width - _KIND - _AMOUNT - _TAKES - 3
    holds = rest // 2 + 4 if knows else rest
    heads: Line = [
        Span(" " * _KIND),
        *push_right(Span(head, "muted"), _AMOUNT),
        *push_right(Span("Takes", "muted"), _TAKES),
        Span("   "),
        *fill(Span("Holds your money meanwhile", "muted"), holds),
    ]
    if knows:
        heads += cut(Span("Knows who pays whom", "muted"), rest - holds)
    rows = [section_line("Same amount, three ways", "", width), heads]
    for way in ways:
        line: Line = fill(Span(way.kind, f"route-{way.kind}"), _KIND)
        if way.best is None:
            rows.append([*line, *cut(Span(f"  {way.missing}", "muted"), width - _KIND)])
            continue
        line += push_right(Span(f"{table_amount(way.best.figure)} {symbol}"), _AMOUNT)
        line += push_right(Span(expected_minutes(way.best.quote.duration)), _TAKES)
        line += [Span("   "), *fill(Span(way.holds), holds)]
        if knows:
            line += cut(Span(way.knows), rest - holds)
        rows.append(line)
    return rows
