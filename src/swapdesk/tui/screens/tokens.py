"""The page that searches tokens. Its keys work while the search field has the focus, and move the
cursor of the list below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct
from textual import on
from textual.containers import Vertical
from textual.widget import Widget

from swapdesk.flows.catalog.search import (
    LONGEST_TYPED,
    CanDo,
    TokenRow,
    TokenSearch,
    Verdict,
    imitated_by,
    lookalikes,
    named_contract,
    pair_for_limits,
)
from swapdesk.flows.check_line import CheckLine, refusal, texts
from swapdesk.flows.notation import (
    NOTHING,
    age,
    exact_amount,
    grouped_address,
    percent,
    short_address,
    tracker_amount,
    trimmed,
    usd_market,
)
from swapdesk.tui.commands.command import CommandState, Standings
from swapdesk.tui.commands.key_names import shown_key
from swapdesk.tui.commands.tokens import (
    ASK_LIMITS,
    BACK,
    CHOOSE,
    COPY_CONTRACT,
    DOWN,
    FETCH_UNLISTED,
    NEXT_CAN_DO,
    NEXT_CHAIN,
    NEXT_SORT,
    PAGE_DOWN,
    PAGE_UP,
    UP,
)
from swapdesk.tui.glyphs import ENDED, REFUSED, STALE, TROUBLE, UNKNOWN, VALID
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, LineLike, Span, line_of, spread, width_of, wrapped
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import RuleRow, StateView
from swapdesk.tui.widgets.overlay import Question
from swapdesk.tui.widgets.table_layout import Cell, Column, Row, Sketch
from swapdesk.tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from swapdesk.client.errors import ClientError
    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.flows.catalog.token_list import TokenList
    from swapdesk.wire.quotes import Limits, PairLimits
    from swapdesk.wire.tokens import Token

LIMIT = 200
OPENING = "the desk is opening"
SETTLE_SECONDS = 0.06
"""Seconds that the cursor has to rest on a row before the pane shows the token of that row."""
NORMAL, WIDE = 100, 160
LABEL = 12
STACKED_BELOW = 60
"""Width in cells below which the pane draws each label above its value."""
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
"""The columns on a wide screen, where a pane shows the whole contract address."""
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


CHECKS_COME = Span("Its checks come once the desk is open.", "muted")


class TokenNotes(Struct, frozen=True):
    """The notes about one token. ``warnings`` say what is suspicious."""

    head: LineLike
    figures: tuple[LineLike, ...] = ()
    warnings: tuple[LineLike, ...] = ()
    facts: tuple[Fact, ...] = ()


class TokenPane(StateView[TokenNotes | None]):
    """The pane with notes about the token under the cursor. It never shrinks while the same list is
    shown, so that the list does not move."""

    def __init__(self, **place: Any) -> None:
        super().__init__(None, **place)
        self._heights: dict[int, int] = {}

    def begin_list(self) -> None:
        """Lets the pane become lower again for a new list, whose notes may be shorter."""
        self._heights.clear()
        self.redraw()

    def lines(self, width: int) -> list[Line]:
        if self.state is None:
            return []
        rows = token_lines(self.state, width)
        height = self._heights[width] = max(self._heights.get(width, 0), len(rows))
        return rows + [[] for _ in range(height - len(rows))]


class TokenTable(LineTable):
    """The list of tokens. It never has the focus, because keys typed in the search field move its
    cursor."""

    def __init__(self, **place: Any) -> None:
        super().__init__(COLUMNS, **place)
        self.can_focus = False

    def show(self, found: Iterable[TokenRow]) -> None:
        needs = self._layout.needs
        self.set_rows(
            Sketch(row.id, partial(token_table_row, row), needs(numbers(row))) for row in found
        )


class TokensScreen(Page):
    """The page that finds a token by symbol, name, chain or contract address. Calls ``took`` with
    the chosen token as text, such as ``usdc.base``. If ``took`` is None, writes the text into the
    first page's line."""

    NAME = "Tokens"
    SPENDS = "quote"
    VERBS = (
        CHOOSE,
        UP,
        NEXT_CHAIN,
        NEXT_CAN_DO,
        NEXT_SORT,
        FETCH_UNLISTED,
        COPY_CONTRACT,
        ASK_LIMITS,
        DOWN,
        PAGE_DOWN,
        PAGE_UP,
        BACK,
    )
    AUTO_FOCUS: ClassVar[str | None] = "TextField"
    DEFAULT_CSS = """
    TokensScreen .side { display: none; padding: 1 0; }
    TokensScreen.-wide .side { display: block; }
    TokensScreen.-wide #pane, TokensScreen.-wide #body RuleRow { display: none; }
    """

    def __init__(
        self,
        session: Session,
        *,
        took: Callable[[str], object] | None = None,
        beside: Token | None = None,
    ) -> None:
        self._took = took
        self._next = "" if took is None else "to sell" if beside is None else "to buy"
        super().__init__(session, context=f"choose what {self._next}" if self._next else "")
        self._field = TextField(prompt="/", limit=LONGEST_TYPED, id="search")
        self._table = TokenTable()
        self._pane = TokenPane(id="pane")
        self._side = TokenPane()
        self.beside = beside
        """The token to sell, if this page chooses the token to buy; otherwise None."""
        self._query = TokenSearch()
        self._wide = False
        self._whole: set[str] = set()
        self._filled: TokenList | None = None
        """The list of tokens from which the rows were made; None before there is one."""

    def compose_body(self) -> Iterable[Widget]:
        yield self._field
        yield self._table
        yield RuleRow()
        yield self._pane

    def compose_side(self) -> Iterable[Widget]:
        yield Vertical(self._side, classes="side")

    def on_mount(self) -> None:
        self._fit()

    def on_resize(self) -> None:
        self._fit()
        # What is in view is known once the table has its new size.
        self.call_after_refresh(self.show_pane)

    def _fit(self) -> None:
        wide = self.app.size.width >= WIDE
        if wide != self._wide:
            self._wide = wide
            self._table.set_columns(WIDE_COLUMNS if wide else COLUMNS)

    def session_changed(self) -> None:
        if self._filled is None or self._filled is not (self.catalog and self.catalog.rows):
            self.show()
        else:
            self.show_pane()

    @on(TextField.Changed)
    def _typed(self) -> None:
        self.show()
        self._table.action_move(-LIMIT)

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self.delay("pane", SETTLE_SECONDS, self.show_pane)

    def _ask(self, query: TokenSearch) -> None:
        self._query = query
        self.show()

    def show(self) -> None:
        catalog = self.catalog
        self._query = self._query.about(self._field.value)
        found = self._query.find(catalog, LIMIT) if catalog is not None else []
        self._filled = catalog.rows if catalog is not None else None
        self._whole.clear()
        self._pane.begin_list()
        self._table.set_empty(self._query.nothing(catalog))
        self._table.show(found)
        self._field.hint = self._query.hint(len(found), catalog, LIMIT)
        self._field.redraw()
        self.show_pane()
        self.set_money("in your wallet.", f"you: choose a token {self._next}".rstrip())

    @property
    def current(self) -> TokenRow | None:
        key = self._table.cursor_key
        return None if self.catalog is None else self.catalog.row(key)

    def show_pane(self) -> None:
        """Shows the notes about the token under the cursor in the pane, or empties the pane if
        there is none."""
        row, catalog = self.current, self.catalog
        self.settle_notice(row.id if row is not None else "")
        notes = self._notes(row, catalog) if row is not None and catalog is not None else None
        if notes is None:
            self._pane.show(None)
            self._side.show(None)
        else:
            (self._side if self._wide else self._pane).show(notes)
            self._show_markets()
        self.refresh_keys()

    def _notes(self, row: TokenRow, catalog: Catalog) -> TokenNotes | None:
        drawn_like = catalog.rows.drawn_like(row)
        alike = lookalikes(row, drawn_like)
        legend = self.app.size.width >= NORMAL
        if not self.session.opened:
            # Whole tokens cannot be read yet: the row alone is told.
            return TokenNotes(
                _head(row), warnings=(CHECKS_COME,), facts=_facts(row, alike, [], legend=legend)
            )
        token = catalog.token(row.id)
        if token is None:
            return None
        check, limits = self._check(row, token, drawn_like), self.limits_of(token)
        return TokenNotes(
            [*_head(row), Span(_scanned(row, token, self.now()), "muted")],
            _figures(row, token),
            _warnings(check),
            _facts(row, alike, limits, legend=legend),
        )

    def _show_markets(self) -> None:
        if not self._wide or not self.session.opened:
            return
        catalog = self.desk.catalog
        for key in self._table.visible_keys():
            row, token = catalog.row(key), catalog.token(key)
            if key not in self._whole and row is not None and token is not None:
                self._whole.add(key)
                self._table.update_rows([token_table_row(row, token)])

    def _check(
        self, row: TokenRow, token: Token, drawn_like: Iterable[TokenRow]
    ) -> tuple[CheckLine, ...]:
        from swapdesk.flows.catalog.token_safety import check_token

        imitates = imitated_by(row, drawn_like)
        return check_token(token, now=self.now(), imitates=imitates)

    # limits, and contracts that no list has

    def _pair(self, token: Token) -> tuple[Token, Token] | None:
        return pair_for_limits(token, self.beside, self.desk.catalog)

    def limits_of(self, token: Token) -> Line:
        """Returns the limits of the pair with ``token``. If they are unknown, returns that they are
        being requested, or which key requests them."""
        pair = self._pair(token)
        if pair is None or self.link is None:
            return []
        limits = self.link.quotes.known_limits(*pair)
        if limits is not None:
            return limits_line(pair, limits)
        if "limits" in self.fetching:
            return [Span("asking", "status-moving")]
        key = shown_key(ASK_LIMITS.key)
        return [Span(key, "accent", bold=True), Span(" asks the service, 1 read", "muted")]

    def do_ask_limits(self, row: TokenRow) -> None:
        token = self.desk.catalog.token(row.id)
        pair = self._pair(token) if token is not None else None
        if pair is not None:
            question = self.desk.link.quotes.limits(*pair)
            self.fetch("limits", question, lambda _: self.show_pane(), self._no_limits)
            self.show_pane()

    def _no_limits(self, error: ClientError) -> None:
        self.show_failure(error, "warning")
        self.show_pane()

    def do_fetch_unlisted(self) -> None:
        contract, _ = named_contract(self._field.value.strip())
        self.fetch("tokens", self._unlisted(contract), self._fetched, self._not_fetched)

    async def _unlisted(self, contract: str) -> tuple[str, str]:
        catalog = self.desk.catalog
        try:
            token = await catalog.fetch_by_address(self.desk.link.api, contract)
        except OSError as error:
            problem = f"The list of tokens cannot be written: {error.strerror}; make room."
            return problem, "error"
        if catalog.gap:
            return f"{catalog.gap}.", "warning"
        return "" if token else "The service does not know this contract either.", "warning"

    def _fetched(self, notice: tuple[str, str]) -> None:
        if notice[0]:
            self.show_notice(*notice)
        self.show()

    def _not_fetched(self, error: ClientError) -> None:
        self.show_failure(error)
        self.show()

    # keys

    def standings(self) -> Standings:
        opening = "" if self.session.opened else OPENING
        unlisted = self._query.is_contract and not self._table.rows and self.session.ready
        return {
            CHOOSE: CommandState(locked=opening, hidden=self.current is None),
            NEXT_CHAIN: CommandState(locked=opening),
            FETCH_UNLISTED: CommandState(cost="1 read", hidden=not unlisted),
            BACK: CommandState(verb="clear" if self._field.value else "back"),
        }

    def standings_of(self, row: TokenRow) -> Standings:
        asked = "asked already" if "limits" in self.fetching else ""
        return {
            COPY_CONTRACT: bool(row.contract),
            ASK_LIMITS: CommandState(cost="1 read", locked=asked, hidden=not self.session.ready),
        }

    def do_move(self, by: int) -> None:
        self._table.action_move(by)

    def do_page(self, by: int) -> None:
        self._table.action_page(by)

    def do_next_chain(self) -> None:
        self._ask(self._query.on_next_chain(self.desk.catalog))

    def do_next_can_do(self) -> None:
        self._ask(self._query.for_next_purpose())

    def do_next_sort(self) -> None:
        self._ask(self._query.in_next_order())

    def do_copy_contract(self, row: TokenRow) -> None:
        self.controls.copy_value("contract", row.contract or "")

    def do_back(self) -> None:
        if self._field.value:
            self._field.set_value("")
        else:
            self.post_message(self.Go(BACK))

    @on(TextField.Submitted)
    def do_choose(self) -> None:
        if not self.session.opened:
            self.show_notice(f"Not yet: {OPENING}.", "warning")
            return
        row = self.current
        token = self.desk.catalog.token(row.id) if row is not None else None
        if row is None or token is None:
            return
        check = self._check(row, token, self.desk.catalog.rows.drawn_like(row))
        if reason := refusal(check):
            self.show_notice(reason, "warning", about=row.id)
            return
        if not (lines := texts(check, "warn")):
            self._take(row)
            return
        question = Question("This token needs a second look", lines, "yes", "choose it")
        self.confirm(question, lambda: self._take(row))

    def _take(self, row: TokenRow) -> None:
        from swapdesk.flows.intents.intent import TokenFacts
        from swapdesk.flows.quotes.recent import token_spec

        token = self.desk.catalog.token(row.id)
        if token is not None:
            spec = token_spec(TokenFacts.of(token), self.desk.catalog)
            if self._took is None:
                self.app.call_later(self.controls.navigation.write_token, spec)
            else:
                self.app.pop_screen()
                self._took(spec)


def token_lines(notes: TokenNotes, width: int) -> list[Line]:
    """Returns the lines of the pane. A contract address is never cut."""
    stacked = width < STACKED_BELOW
    rows = _head_lines(notes, width, stacked)
    for warning in notes.warnings:
        rows += wrapped(line_of(warning), width, indent=2)
    if not stacked:
        return [*rows, [], *facts_lines(notes.facts, width, LABEL)]
    for fact in notes.facts:
        # A fact without a label goes on with the one above.
        rows += [[], [Span(fact.label, "muted")]] if fact.label else []
        rows += wrapped(line_of(fact.value), width)
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


def numbers(row: TokenRow) -> dict[str, Cell]:
    """Returns the cells of number columns, by column key. These columns widen to fit their
    numbers."""
    return {"price": tracker_amount(row.price)}


def token_table_row(row: TokenRow, token: Token | None = None) -> Row:
    """Returns the table row of a token. Market size and volume come from ``token``; their cells are
    empty if it is None."""
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


def _warnings(check: Sequence[CheckLine]) -> tuple[Line, ...]:
    marks = {"refuse": (REFUSED, "status-trouble"), "warn": (TROUBLE, "status-waiting")}
    lines = [(*marks[line.level], line.text) for line in check if line.level in marks]
    return tuple([Span(f"{glyph} ", role), Span(text, role)] for glyph, role, text in lines)


def _facts(
    row: TokenRow, alike: Sequence[TokenRow], limits: Line, *, legend: bool
) -> tuple[Fact, ...]:
    contract = grouped_address(row.contract) if row.contract else "none, the coin of its chain"
    facts = [Fact("Contract", contract)]
    if limits:
        facts.append(Fact("Limits", limits))
    if legend:
        can = [span for what in row.uses for span in _legend(what)]
        facts.append(Fact("Can do", can or [Span("nothing", "muted")]))
    copies = _copies(alike, short=not legend)
    return (*facts, *(Fact("Alike" if at == 0 else "", line) for at, line in enumerate(copies)))


def limits_line(pair: tuple[Token, Token], limits: PairLimits) -> Line:
    """Returns the limits of a pair for each kind of route, as ``standard 12 to 400,000 private 60
    to 100,000 dex not stated``."""
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
    figures: list[tuple[str, Decimal | None, str]] = [
        ("rank ", row.rank, exact_amount(row.rank) if row.rank is not None else ""),
        ("cap ", token.market_cap, usd_market(token.market_cap)),
        ("24h ", token.volume, usd_market(token.volume)),
    ]
    return tuple(
        [Span(label, "muted"), Span(text)] for label, value, text in figures if value is not None
    )


def _legend(what: CanDo) -> Line:
    return [Span(what.value), Span(f" {_CAN[what]}   ", "muted")]


def _copies(alike: Sequence[TokenRow], *, short: bool) -> list[Line]:
    if not alike:
        return []
    count = "1 token copies" if len(alike) == 1 else f"{len(alike)} tokens copy"
    count = f"{len(alike)} alike: " if short else f"{count} this name: "
    first: Line = [Span(f"{TROUBLE} ", "status-waiting"), Span(count)]
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
