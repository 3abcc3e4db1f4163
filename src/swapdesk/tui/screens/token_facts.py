"""A token as a row of the search and as the pane below it; pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from swapdesk.flows.notation import (
    age,
    grouped_address,
    percent,
    short_address,
    tracker_amount,
    usd_market,
)
from swapdesk.flows.search import CanDo, TokenRow, Verdict
from swapdesk.flows.token_safety import check_token
from swapdesk.tui.glyphs import ENDED, REFUSED, STALE, TROUBLE, UNKNOWN, VALID
from swapdesk.tui.spans import Line, LineLike, Span
from swapdesk.tui.widgets.table_layout import Cell, Column, Row
from swapdesk.wire.tokens import Token

COLUMNS = [
    Column("symbol", "Symbol", 8),
    Column("name", "Name", 14, priority=1, grow=1),
    Column("chain", "Chain", 14),
    Column("price", "Price", 10, "point", priority=4),
    Column("change", "24h", 8, "right", priority=3),
    Column("can", "Can do", 15, priority=5, gap=3),
    Column("verdict", "Verdict", 13, gap=3),
]
MARKS: dict[Verdict, tuple[str, str]] = {
    Verdict.BENIGN: (VALID, "status-done"),
    Verdict.WARNING: (TROUBLE, "status-waiting"),
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


def token_table_row(row: TokenRow) -> Row:
    return Row(
        row.id,
        {
            "symbol": Span(row.symbol, bold=row.enabled),
            "name": row.name,
            "chain": row.chain_name,
            "price": tracker_amount(row.price),
            "change": _change(row),
            "can": _can_do(row),
            "verdict": verdict_line(row.verdict),
        },
        role="" if row.enabled else "muted",
    )


def verdict_line(verdict: Verdict) -> Line:
    glyph, role = MARKS[verdict]
    return [Span(f"{glyph} ", role), Span(verdict.word, role)]


def token_pane(
    row: TokenRow, token: Token, alike: Sequence[TokenRow], now: datetime, *, legend: bool = True
) -> list[LineLike]:
    """What decides about a token: warnings first, the whole contract, copies of its name."""
    rows: list[LineLike] = [_head(row, token, now)]
    check = check_token(token, now=now)
    for line in check.lines:
        if line.level in ("refuse", "warn"):
            role = "status-trouble" if line.level == "refuse" else "status-waiting"
            glyph = REFUSED if line.level == "refuse" else TROUBLE
            rows.append([Span(f"{glyph} ", role), Span(line.text, role)])
    contract = grouped_address(row.contract) if row.contract else "none, the coin of its chain"
    rows += [[], [Span("Contract    ", "muted"), Span(contract)]]
    if legend:
        able = [what for what in CanDo if row.can(what)]
        can: Line = [Span("Can do      ", "muted")]
        for what in able:
            can += [Span(what.value), Span(f" {_CAN[what]}   ", "muted")]
        rows.append(can if able else [*can, Span("nothing", "muted")])
    for other in alike[:_MOST_ALIKE]:
        rows.append(_alike(other))
    if len(alike) > _MOST_ALIKE:
        rows.append(Span(f"            and {len(alike) - _MOST_ALIKE} more copies", "muted"))
    return rows


def _head(row: TokenRow, token: Token, now: datetime) -> Line:
    scan = token.security_scan
    scanned = ""
    if scan is not None and row.verdict not in (Verdict.UNSCANNED, Verdict.DISABLED):
        scanned = f", scanned {age(max(0.0, (now - scan.scanned_at).total_seconds()))} ago"
    line: Line = [
        Span(row.symbol, bold=True),
        Span(" on ", "muted"),
        Span(row.chain_name),
        Span("     "),
        *verdict_line(row.verdict),
        Span(scanned, "muted"),
    ]
    if token.market_cap is not None:
        line += [Span("     cap ", "muted"), Span(usd_market(token.market_cap))]
    if token.volume is not None:
        line += [Span("   24h ", "muted"), Span(usd_market(token.volume))]
    return line


def _alike(other: TokenRow) -> Line:
    _, role = MARKS[other.verdict]
    contract = f", {short_address(other.contract)}" if other.contract else ""
    return [
        Span("Alike       ", "muted"),
        Span(f"{TROUBLE} ", "status-waiting"),
        Span(f"copies this name: {other.symbol} on {other.chain_name}{contract}, "),
        *([Span(other.verdict.word, role)]),
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
