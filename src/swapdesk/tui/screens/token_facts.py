"""A token as a row of the search, and as the pane below it: warnings first, then labelled facts.

The table lays out the rows in view and only measures the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from swapdesk.flows.catalog.search import CanDo, TokenRow, Verdict
from swapdesk.flows.notation import (
    NOTHING,
    age,
    exact_amount,
    grouped_address,
    percent,
    short_address,
    tracker_amount,
    usd_market,
)
from swapdesk.tui.amount_text import trimmed
from swapdesk.tui.glyphs import ENDED, REFUSED, STALE, TROUBLE, UNKNOWN, VALID
from swapdesk.tui.spans import Line, LineLike, Span, line_of, spread, width_of, wrapped
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import LinesView
from swapdesk.tui.widgets.table_layout import Cell, Column, Row, Sketch

if TYPE_CHECKING:
    from swapdesk.flows.catalog.token_safety import TokenCheck
    from swapdesk.wire.pair_limits import Limits, PairLimits
    from swapdesk.wire.tokens import Token


LABEL = 12
STACKED_BELOW = 60
"""Cells below which a label stands above its value."""


class TokenNotes(Struct, frozen=True):
    """``figures`` go where the row has no room; ``facts`` are labels and values."""

    head: LineLike
    figures: tuple[LineLike, ...] = ()
    warnings: tuple[LineLike, ...] = ()
    facts: tuple[tuple[str, LineLike], ...] = ()


class TokenPane(LinesView):
    """Under the list, or at its right on wide screens.

    As high as the longest notes of one list so far: the list above would move with every row.
    """

    def __init__(self, **place: Any) -> None:
        super().__init__(**place)
        self._notes: TokenNotes | None = None
        self._heights: dict[int, int] = {}

    def begin_list(self) -> None:
        """Another list: its notes may be shorter."""
        self._heights.clear()

    def show(self, notes: TokenNotes | None) -> None:
        """None for no token."""
        self._notes = notes
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        if self._notes is None:
            return []
        rows = token_lines(self._notes, width)
        height = self._heights[width] = max(self._heights.get(width, 0), len(rows))
        return rows + [[] for _ in range(height - len(rows))]


def token_lines(notes: TokenNotes, width: int) -> list[Line]:
    """The pane at a width; a contract is wrapped between its groups and never cut."""
    stacked = width < STACKED_BELOW
    rows = _head_lines(notes, width, stacked)
    for warning in notes.warnings:
        rows += wrapped(line_of(warning), width, indent=2)
    if not stacked:
        rows.append([])
    for label, value in notes.facts:
        if stacked:
            # A fact without a label goes on with the one above.
            rows += [[], [Span(label, "muted")]] if label else []
            rows += wrapped(line_of(value), width)
            continue
        for at, part in enumerate(wrapped(line_of(value), width - LABEL)):
            rows.append([Span((label if at == 0 else "").ljust(LABEL), "muted"), *part])
    return rows


def _head_lines(notes: TokenNotes, width: int, stacked: bool) -> list[Line]:
    head = line_of(notes.head)
    figures = [line_of(figure) for figure in notes.figures]
    if stacked:
        return [*wrapped(head, width), *figures]
    right: Line = []
    # The last figures are kept: rank goes before the market's size does.
    for figure in reversed(figures):
        longer = [*figure, *([Span("   ")] if right else []), *right]
        if width_of(head) + 2 + width_of(longer) <= width:
            right = longer
    return [spread(head, right, width)] if right else wrapped(head, width)


COLUMNS = [
    Column("symbol", "Symbol", 8),
    Column("name", "Name", 14, priority=1, grow=1),
    Column("chain", "Chain", 14),
    Column("price", "Price", 10, "point", priority=4),
    Column("change", "24h", 8, "right", priority=3),
    Column("can", "Can do", 15, priority=5, gap=3),
    Column("verdict", "Verdict", 13, gap=3),
]
WIDE_COLUMNS = [
    *COLUMNS[:5],
    Column("cap", "Cap", 7, "right", priority=2, role="muted"),
    Column("volume", "Volume", 7, "right", priority=1, role="muted"),
    Column("rank", "Rank", 4, "right", priority=2, role="muted"),
    *COLUMNS[5:],
    Column("contract", "Contract", 15, priority=0, role="muted"),
]
"""Columns beside the pane; the contract is whole in the pane."""
MARKS: dict[Verdict, tuple[str, str]] = {
    Verdict.BENIGN: (VALID, "status-done"),
    Verdict.WARNING: (TROUBLE, "status-waiting"),
    Verdict.UNKNOWN: (TROUBLE, "status-waiting"),
    Verdict.MALICIOUS: (REFUSED, "status-trouble"),
    Verdict.UNSCANNED: (UNKNOWN, "muted"),
    Verdict.STALE: (STALE, "muted"),
    Verdict.DISABLED: (ENDED, "muted"),
}
_CAN = {
    CanDo.CEX: "exchanges",
    CanDo.DEX: "on-chain",
    CanDo.BUNDLE: "batch in one signature",
    CanDo.SELF_PRIVATE: "private to self",
}
_MOST_ALIKE = 2


def numbers(row: TokenRow) -> dict[str, Cell]:
    """The cells whose columns grow to what is in them."""
    return {"price": tracker_amount(row.price)}


def token_table_row(row: TokenRow, token: Token | None = None) -> Row:
    """``token`` is the whole one where its market is shown, once its row is in view."""
    return Row(
        row.id,
        {
            "symbol": Span(row.symbol, bold=row.enabled),
            "name": row.name,
            "chain": row.chain_name,
            **numbers(row),
            "change": _change(row),
            "cap": usd_market(token.market_cap) if token is not None else "",
            "volume": usd_market(token.volume) if token is not None else "",
            "rank": exact_amount(row.rank) if row.rank is not None else NOTHING,
            "can": _can_do(row),
            "verdict": verdict_line(row.verdict),
            "contract": short_address(row.contract) if row.contract else NOTHING,
        },
        role="" if row.enabled else "muted",
    )


def verdict_line(verdict: Verdict) -> Line:
    glyph, role = MARKS[verdict]
    return [Span(f"{glyph} ", role), Span(verdict.value, role)]


def token_notes(
    row: TokenRow,
    token: Token,
    check: TokenCheck,
    alike: Sequence[TokenRow],
    limits: Line,
    now: datetime,
    *,
    legend: bool = True,
) -> TokenNotes:
    """What decides about a token: warnings, the whole contract, limits, copies of its name."""
    warnings: list[Line] = []
    for line in check.lines:
        if line.level in ("refuse", "warn"):
            role = "status-trouble" if line.level == "refuse" else "status-waiting"
            glyph = REFUSED if line.level == "refuse" else TROUBLE
            warnings.append([Span(f"{glyph} ", role), Span(line.text, role)])
    head = [*_head(row), Span(_scanned(row, token, now), "muted")]
    facts = _facts(row, alike, limits, legend=legend)
    return TokenNotes(head, _figures(row, token), tuple(warnings), facts)


def row_notes(row: TokenRow, alike: Sequence[TokenRow], *, legend: bool = True) -> TokenNotes:
    """What the row alone says, while whole tokens cannot be read yet; it says so itself."""
    checks: Line = [Span("Its checks come once the desk is open.", "muted")]
    return TokenNotes(_head(row), (), (checks,), _facts(row, alike, [], legend=legend))


def _facts(
    row: TokenRow, alike: Sequence[TokenRow], limits: Line, *, legend: bool
) -> tuple[tuple[str, Line], ...]:
    contract = grouped_address(row.contract) if row.contract else "none, the coin of its chain"
    facts: list[tuple[str, Line]] = [("Contract", [Span(contract)])]
    if limits:
        facts.append(("Limits", limits))
    if legend:
        able = [what for what in CanDo if row.can(what)]
        can = [span for what in able for span in _legend(what)]
        facts.append(("Can do", can or [Span("nothing", "muted")]))
    copies = _copies(alike, short=not legend)
    return (*facts, *(("Alike" if at == 0 else "", line) for at, line in enumerate(copies)))


def limits_line(pair: tuple[Token, Token], limits: PairLimits) -> Line:
    """``standard 12 to 400,000   private 60 to 100,000   dex none   USDC sold for BTC``."""
    sold, bought = pair
    kinds = (("standard", limits.cex), ("private", limits.private), ("dex", limits.dex))
    line: Line = []
    for kind, bucket in kinds:
        line += [Span(f"{kind} ", "muted"), Span(f"{_bounds(bucket)}   ")]
    return [*line, Span(sold.symbol), Span(f" sold for {bought.symbol}", "muted")]


def _bounds(bucket: Limits | None) -> str:
    if bucket is None:
        return "not stated"
    least = trimmed(bucket.min)
    return f"{least} or more" if bucket.max is None else f"{least} to {trimmed(bucket.max)}"


def _head(row: TokenRow) -> Line:
    return [
        Span(row.symbol, bold=True),
        Span(" on ", "muted"),
        Span(row.chain_name),
        Span("     "),
        *verdict_line(row.verdict),
    ]


def _scanned(row: TokenRow, token: Token, now: datetime) -> str:
    scan = token.security_scan
    if scan is None or row.verdict in (Verdict.UNSCANNED, Verdict.DISABLED):
        return ""
    return f", scanned {age(max(0.0, (now - scan.scanned_at).total_seconds()))} ago"


def _figures(row: TokenRow, token: Token) -> tuple[Line, ...]:
    """Rank, market and trade of a day, as far as they are known."""
    known: list[tuple[str, Decimal | None, str]] = [
        ("rank ", row.rank, exact_amount(row.rank) if row.rank is not None else ""),
        ("cap ", token.market_cap, usd_market(token.market_cap)),
        ("24h ", token.volume, usd_market(token.volume)),
    ]
    return tuple(
        [Span(label, "muted"), Span(text)] for label, value, text in known if value is not None
    )


def _legend(what: CanDo) -> Line:
    return [Span(what.value), Span(f" {_CAN[what]}   ", "muted")]


def _copies(alike: Sequence[TokenRow], *, short: bool) -> list[Line]:
    """How many tokens copy this name, and the first of them with their verdicts."""
    if not alike:
        return []
    said = "1 token copies" if len(alike) == 1 else f"{len(alike)} tokens copy"
    said = f"{len(alike)} alike: " if short else f"{said} this name: "
    first: Line = [Span(f"{TROUBLE} ", "status-waiting"), Span(said)]
    rows: list[Line] = [[*first, *_copy(alike[0])]]
    rows += [[Span("  "), *_copy(other)] for other in alike[1:_MOST_ALIKE]]
    if len(alike) > _MOST_ALIKE:
        rows[-1] = [*rows[-1], Span(f", and {len(alike) - _MOST_ALIKE} more", "muted")]
    return rows


def _copy(other: TokenRow) -> Line:
    contract = f", {short_address(other.contract)}" if other.contract else ""
    return [
        Span(f"{other.symbol} on {other.chain_name}{contract}, "),
        *verdict_line(other.verdict),
    ]


def _change(row: TokenRow) -> Cell:
    text = percent(row.change)
    if row.change is None or abs(row.change) < 1:
        return Span(text, "muted")
    return Span(text, "amount-up" if row.change > 0 else "amount-down")


def _can_do(row: TokenRow) -> Line:
    parts: Line = []
    for what in CanDo:
        gap = " " if parts else ""
        able = row.can(what)
        parts.append(Span(gap + (what.value if able else " · "), "foreground" if able else "muted"))
    return parts


class TokenTable(LineTable):
    """Fill with :meth:`show`. A field drives it: it takes no focus itself."""

    def __init__(self, **place: Any) -> None:
        super().__init__(COLUMNS, **place)
        self.can_focus = False

    def show(self, found: Iterable[TokenRow]) -> None:
        """These tokens and no others, in their sequence."""
        needs = self._layout.needs
        self.set_rows(
            Sketch(row.id, partial(token_table_row, row), needs(numbers(row))) for row in found
        )
