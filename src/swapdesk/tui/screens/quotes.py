"""The page that compares quotes: every route for one amount in one table. The waterfall explains,
step by step, why a route pays what it pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial

from msgspec.structs import replace
from textual import on
from textual.containers import Vertical
from textual.widget import Widget

from swapdesk.client.errors import ClientError, RateLimited
from swapdesk.flows.creation.confirm_intent import TypedBefore
from swapdesk.flows.notation import (
    clock_time,
    countdown,
    exact_amount,
    expected_minutes,
    percent,
    table_amount,
    usd,
)
from swapdesk.flows.quotes.quote_columns import (
    Waterfall,
    WaterfallStep,
    compare_route_types,
    provider_name,
    remark,
    waterfall,
)
from swapdesk.flows.quotes.quote_request import (
    Named,
    QuoteOptions,
    QuoteRequest,
    WishRefused,
    cost_in_words,
    options_in_words,
)
from swapdesk.flows.quotes.quoting import AskingAgain, QuoteResult
from swapdesk.flows.quotes.ranking import (
    Arrangement,
    RankedQuote,
    Ranking,
    UnusableQuote,
    former_places,
)
from swapdesk.flows.quotes.recent import ProviderRecord, provider_records, record_lines
from swapdesk.flows.tracking.announcements import (
    code_and_request,
    failure_of_error,
    no_usable_route,
    quote_ended,
    quotes_arrived,
    rate_limited,
    refused_fields,
    without_route_next,
)
from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.tui.commands import waterfall as walk
from swapdesk.tui.commands.command import CommandState, Standings, Verb
from swapdesk.tui.commands.quotes import (
    ALL_IN,
    ALL_ROUTES,
    BACK,
    DEX_ONLY,
    EXPLAIN,
    FIXED_TOO,
    MORE_ROUTES,
    NEXT_QUOTE,
    OPTIONS,
    PREVIOUS_QUOTE,
    PRIVATE_ONLY,
    REFRESH,
    REVIEW,
    SORT_ROWS,
    STANDARD_ONLY,
)
from swapdesk.tui.glyphs import REFUSED, STALE, TROUBLE, VALID
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import (
    Line,
    LineLike,
    Span,
    fill,
    joined,
    line_of,
    push_right,
    rule,
    spread,
    wrapped,
)
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import FittedLines, HeadLine, TextRows
from swapdesk.tui.widgets.quote_table import (
    badge_notes,
    compared_symbol,
    note_width,
    quote_columns,
    quote_rows,
    reason_text,
    route_word,
    unusable_at,
    ways_lines,
)
from swapdesk.tui.widgets.table_layout import MARGIN
from swapdesk.wire.choices import RouteType

MOVED_FOR = 1.0
NORMAL, ROOMY, WIDE = 100, 120, 160
PANEL = 44
BESIDE = (REVIEW, EXPLAIN, NEXT_QUOTE, ALL_IN, REFRESH)
"""The commands in the footer beside the waterfall, the steps to what a route pays out."""
SAY_ASKING_AFTER = 0.3
"""Seconds after a request for quotes from which the table says that it waits for the answer."""
_LEVELS = {
    "note": "foreground",
    "amber": "status-waiting",
    "typed": "amount-down",
    "refused": "amount-down",
}
COLUMNS_FROM = 60
_LABEL, _AMOUNT, _KNOWN = 18, 14, 8
_ROUTES = frozenset({"standard", "private", "dex"})


class QuotesScreen(Page):
    """The page with every route for one amount. Quotes are requested only by a key, or to repeat a
    refused request."""

    NAME = "Quotes"
    SPENDS = "quote"
    VERBS = (
        REVIEW,
        EXPLAIN,
        DEX_ONLY,
        SORT_ROWS,
        REFRESH,
        FIXED_TOO,
        OPTIONS,
        ALL_IN,
        STANDARD_ONLY,
        PRIVATE_ONLY,
        ALL_ROUTES,
        MORE_ROUTES,
        NEXT_QUOTE,
        PREVIOUS_QUOTE,
        BACK,
    )
    DEFAULT_CSS = """
    QuotesScreen .side { display: none; padding: 1 0; overflow-y: auto; scrollbar-size: 0 0; }
    QuotesScreen.-explained .side { display: block; }
    QuotesScreen.-short .side { padding: 0; }
    QuotesScreen #ways { display: none; margin: 1 0 0 0; }
    QuotesScreen.-tall #ways { display: block; }
    """

    def __init__(
        self,
        session: Session,
        request: QuoteRequest,
        *,
        recipient: str = "",
        typed: TypedBefore | None = None,
    ) -> None:
        """Makes the page, which then asks for the quotes of ``request``."""
        super().__init__(session)
        self.request = request
        self.recipient = recipient
        self.result: QuoteResult | None = None
        self.arrangement = Arrangement()
        self._error: ClientError | None = None
        self._asked_at = 0.0
        self._again = AskingAgain()
        self._only_fixed = False
        self._explained = False
        self._typed = typed or TypedBefore(recipient)
        self._former: dict[str, int] = {}
        self._former_until = 0.0
        self._head = HeadLine()
        self._heads = quote_columns(request)
        self._table = LineTable(self._heads, id="quotes")
        self._below = TextRows(classes="below")
        self._ways = FittedLines(id="ways")
        self._why = FittedLines()
        self._record = FittedLines()
        self._records: dict[str, ProviderRecord] | None = None
        self._side = Vertical(self._why, self._record, classes="side")

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._table
        yield self._below
        yield self._ways

    def compose_side(self) -> Iterable[Widget]:
        yield self._side

    def on_mount(self) -> None:
        self.ask()
        self.watch(self._table, "below", self._say_head, init=False)

    # asking

    def ask(self, *, only_fixed: bool = False, by_itself: bool = False) -> None:
        """Asks for quotes. The old rows stay until the answer comes. ``only_fixed`` adds fixed
        rates to the old rows. ``by_itself`` is True if the desk repeats a refused request without a
        key press."""
        if self.fetching or self.link is None:
            return
        self._asked_at = self.session.clock.monotonic()
        self._only_fixed = only_fixed
        self._again.begin(by_itself=by_itself)
        self._error = None
        self.set_timer(SAY_ASKING_AFTER, self.show)
        beside = self.result if only_fixed else None
        failed = partial(self._failed, beside=beside is not None)
        self.fetch("quotes", self._quotes(beside), self._arrived, failed)
        self.show()

    async def _quotes(self, beside: QuoteResult | None) -> QuoteResult:
        quotes, repeats = self.desk.link.quotes, self._again.may_repeat
        if beside is not None:
            return await quotes.ask_rate(beside, fixed=True, on_repeat=repeats)
        await self._name_sender()
        return await quotes.ask(self.request, repeats)

    async def _name_sender(self) -> None:
        from swapdesk.flows.wallet.own_accounts import account_address

        request = self.request
        if request.account and request.asks_on_chain and request.sender is None:
            sender = await account_address(self.desk, request.token_in, request.account)
            self.request = replace(request, sender=sender)

    def on_tick(self) -> None:
        if self._again.is_due(self.session.clock.monotonic()):
            self.ask(only_fixed=self._only_fixed, by_itself=True)
        self.show()

    def _arrived(self, result: QuoteResult) -> None:
        self._again.answered()
        self.take(result)
        if result.refused is None:
            self.show_notice(quotes_arrived(result))
        else:
            self.show_failure(result.refused, "warning")

    def _failed(self, error: ClientError, *, beside: bool) -> None:
        self._again.refused(error, self._wait(), self.session.clock.monotonic())
        if beside:
            self.show_failure(error, "warning")
        else:
            self._error = error
        self.show()

    def in_footer(self) -> list[tuple[Verb, CommandState]]:
        """Returns the commands in the footer with their states. While the waterfall (the steps to
        what a route pays out) is beside the table, only the commands in :data:`BESIDE` are in the
        footer."""
        if not self._beside:
            return super().in_footer()
        working = dict(self.verbs.working())
        return [(verb, working[verb]) for verb in BESIDE if verb in working]

    @property
    def _beside(self) -> bool:
        return self._explained and ROOMY <= self.app.size.width < WIDE

    def take(self, result: QuoteResult) -> None:
        """Shows the new answer ``result``. The cursor stays on its route, even if the route is in a
        different row now."""
        before, row = self.result, self.row
        self._records = None
        self.result, self._error = result, None
        self.request = result.request
        if before is not None:
            self._former = former_places(before.ranking, result.ranking)
            self._former_until = self.session.clock.monotonic() + MOVED_FOR
            self.set_timer(MOVED_FOR, self._forget_former)
        self.show()
        follow = result.ranking.follow(row) if row is not None else None
        signs = result.token_in.chain_data.kind in KINDS
        wanted = follow or result.ranking.default_at(self.now(), signs=signs)
        if wanted is not None and not self._table.move_to(wanted.quote_id) and self.composed:
            self.arrangement = self.arrangement.unfolded()
            self.show()
            self._table.move_to(wanted.quote_id)
        self.step_changed(result.received_at.isoformat())

    def _forget_former(self) -> None:
        left = self._former_until - self.session.clock.monotonic()
        if left > 0:
            self.set_timer(left, self._forget_former)
            return
        self._former = {}
        self.show()

    # drawing

    @property
    def composed(self) -> bool:
        """True while the widgets of the page exist. While it is False, an answer is stored but not
        drawn."""
        return self.is_running and self._table.is_attached

    @property
    def counting(self) -> bool:
        if self._said_again():
            return True
        return bool(self.ranking.rows)

    def _said_again(self) -> str:
        return self._again.words(self.session.clock.monotonic())

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self._show_below()
        self.refresh_keys()

    def show(self) -> None:
        if not self.composed:
            return
        result = self.result
        self.set_class(self._panel_open, "-explained")
        self._say_head()
        if result is not None:
            self._set_heads(result)
            self._table.set_rows(
                quote_rows(
                    result,
                    self.now(),
                    self._columns,
                    arrangement=self.arrangement,
                    former=self._former,
                )
            )
            symbol = compared_symbol(result.request)
            head = "You send" if result.request.receive else "You get, net"
            ways = compare_route_types(result, self.now())
            self._ways.show(partial(ways_lines, ways, head, symbol) if ways else None)
        passed = self.session.clock.monotonic() - self._asked_at if self.fetching else None
        answered, turn = result is not None, self._again.turn
        self._table.set_empty(nothing_yet(passed, self._error, answered=answered, turn=turn))
        self._show_below()
        self._say_money()
        self.refresh_keys()

    def _set_heads(self, result: QuoteResult) -> None:
        note = note_width(self.arrangement.arrange(result.ranking, self.now()))
        heads = quote_columns(result.request, all_in=self.arrangement.all_in, note=note)
        if heads != self._heads:
            self._heads = heads
            self._table.set_columns(heads)

    def _say_head(self) -> None:
        if self.composed:
            self._head.show(heading(self.request, self.recipient), *self._ranked_by())

    def _ranked_by(self) -> list[Line]:
        if self.result is None:
            return []
        if self.fetching:
            turn = self._again.turn
            words = f"asking again, {turn}" if turn else "asking again"
            return [[Span(words, "status-moving")]]
        lines = ranked_by(self.result, self.arrangement, failed=self._error is not None)
        count = _count_below(self._table)
        return [*([*count, *line] for line in lines), lines[-1]]

    def _show_below(self) -> None:
        if not self.composed:
            return
        result, now = self.result, self.now()
        notes: list[Line] = []
        if result is not None:
            noted = [ranked.row for ranked in self.arrangement.arrange(result.ranking, now)]
            notes = badge_notes(noted, all_of_them=self.app.size.width >= NORMAL)
        entry = unusable_at(self.ranking, self._table.cursor_key)
        rows = rows_below(
            result,
            self.row,
            entry,
            now,
            error=self._error,
            wait=self._wait(),
            again=self._said_again(),
            notes=notes,
            named=self.desk.catalog.provider_name,
        )
        if result is not None and entry is None and 0 < self._room(rows) < self._wanted:
            # Those that cannot be used stand below the rows in view.
            rows = [*unusable_row(result, self.arrangement.only), *rows]
        self._below.show(rows)
        if result is not None:
            self._why.show(self.explained())
            self._show_record()
        self._fit()

    def _show_record(self) -> None:
        row, link = self.row, self.link
        shown = self._panel_open and link is not None and link.tracker.past_known
        if row is None or row.quote.swap is None or link is None or not shown:
            self._record.show(None)
            return
        if self._records is None:
            self._records = provider_records(link.tracker.orders())
        self._record.show(partial(record_rows, self._records.get(row.quote.swap)))

    def _fit(self) -> None:
        room = self._room(self._below.state)
        if room > 0:
            self._table.styles.height = max(3, min(self._wanted, room))

    @property
    def _wanted(self) -> int:
        return len(self._table.rows) + self._table.head_height if self._table.rows else 3

    def _room(self, rows: Sequence[LineLike]) -> int:
        body = self._table.parent
        if not isinstance(body, Widget) or not self.composed:
            return 0
        width = self._columns
        sentences = sum(len(wrapped(line_of(row), width)) for row in rows) + bool(rows)
        if self.has_class("-tall"):
            ways = self._ways.lines(width)
            sentences += len(ways) + 1 if ways else 0
        head = 1 if self.has_class("-short") else 2
        return body.content_size.height - head - sentences

    def on_resize(self) -> None:
        self.call_after_refresh(self.show)

    def _say_money(self) -> None:
        funds = "in your wallet."
        result, row = self.result, self.row
        if self.fetching and result is None:
            self.set_money(funds, "the service: it asks every route")
        elif not self.fetching and (again := self._said_again()):
            self.set_money(funds, f"the desk: it asks {again}")
        elif self._error is not None and result is None:
            self.set_money(funds, failure_of_error(self._error).next)
        elif row is None:
            self.set_money(funds, without_route_next(result))
        elif row.expired(self.now()):
            cost = cost_in_words(self.request, self._again.most)
            self.set_money(funds, f"you: r asks again, {cost}")
        else:
            left = (row.expires_at - self.now()).total_seconds()
            self.set_money(funds, f"you: choose a route in {countdown(left)}", urgent=left < 15)

    @property
    def row(self) -> RankedQuote | None:
        return self.ranking.find(self._table.cursor_key)

    @property
    def ranking(self) -> Ranking:
        return Ranking((), ()) if self.result is None else self.result.ranking

    def explained(self) -> Callable[[int], list[Line]]:
        """Returns a function that draws the waterfall (the steps to what a route pays out) of the
        route under the cursor."""
        result, row = self.result, self.row
        if result is None or row is None:
            return lambda width: []
        sold, bought = result.token_in.symbol, result.token_out.symbol
        return partial(waterfall_lines, waterfall(result, row), sold, bought)

    @property
    def _panel_open(self) -> bool:
        width = self.app.size.width
        return self.result is not None and (width >= WIDE or (self._explained and width >= ROOMY))

    @property
    def _columns(self) -> int:
        return self.app.size.width - 2 * MARGIN - (PANEL if self._panel_open else 0)

    def _wait(self) -> float | None:
        return self.link.api.budget.wait_for("quote") if self.link is not None else None

    # keys

    def standings(self) -> Standings:
        row, arrangement = self.row, self.arrangement
        several = len(self.ranking.rows) > 1
        locked = self._locked_asking()
        closes = "close" if self._beside else ""
        both = "[ ]" if self._beside else ""
        cost = cost_in_words(self.request, self._again.most)
        no_fixed = self.result is None or self.request.fixed
        narrowing = (DEX_ONLY, STANDARD_ONLY, PRIVATE_ONLY)
        return {
            REVIEW: row is not None and not row.expired(self.now()),
            # On a wide screen the explanation stands beside the rows always.
            EXPLAIN: CommandState(verb=closes, hidden=row is None or self.app.size.width >= WIDE),
            SORT_ROWS: several,
            REFRESH: CommandState(cost=cost, locked=locked),
            FIXED_TOO: CommandState(cost="1 quote", locked=locked, hidden=no_fixed),
            OPTIONS: not self.fetching,
            ALL_IN: CommandState(
                verb="net ranking" if arrangement.all_in else "", hidden=not several
            ),
            ALL_ROUTES: arrangement.only is not None,
            MORE_ROUTES: CommandState(
                verb="fewer routes" if arrangement.whole else "", hidden=not self._folds
            ),
            NEXT_QUOTE: CommandState(key=both, hidden=not several),
            PREVIOUS_QUOTE: several,
            BACK: CommandState(verb=closes),
            **{verb: self._narrowing(*verb.given) for verb in narrowing},
        }

    @property
    def _folds(self) -> bool:
        folded = self.arrangement.unfolded(False)
        return bool(folded.left_out(folded.arrange(self.ranking, self.now())))

    def _locked_asking(self) -> str:
        if self.fetching:
            return "asked already"
        wait = self._wait()
        return self._said_again() or (f"next one in {countdown(wait)}" if wait else "")

    def _narrowing(self, kind: object) -> CommandState:
        if self.arrangement.only == kind:
            return CommandState(verb="all routes")
        ranking = self.ranking
        quotes = [
            *(row.quote for row in ranking.rows),
            *(entry.quote for entry in ranking.unusable),
        ]
        of_kind = sum(quote.type == kind for quote in quotes)
        return CommandState(hidden=not 0 < of_kind < len(quotes))

    def do_refresh(self) -> None:
        self.ask()

    def do_fixed_too(self) -> None:
        self.ask(only_fixed=True)

    def do_sort_rows(self) -> None:
        self.rearrange(self.arrangement.sorted_on())

    def do_all_in(self) -> None:
        self.rearrange(self.arrangement.switched())

    def do_narrow(self, kind: str) -> None:
        self.rearrange(self.arrangement.narrowed(RouteType(kind) if kind else None))

    def do_more_routes(self) -> None:
        self.rearrange(self.arrangement.unfolded(not self.arrangement.whole))

    def rearrange(self, arrangement: Arrangement) -> None:
        """Sorts and filters the rows, and hides similar routes, as ``arrangement`` says. The cursor
        stays on its route."""
        self.arrangement = arrangement
        self.show()

    def do_step(self, steps: int) -> None:
        """Moves the cursor by ``steps`` usable routes (negative: up). Unusable routes are
        skipped."""
        keys = [row.key for row in self._table.rows]
        usable = [key for key in keys if self.ranking.find(key)]
        key = self._table.cursor_key
        at = usable.index(key) + steps if key in usable else 0
        if usable:
            self._table.move_to(usable[max(0, min(at, len(usable) - 1))])

    def do_explain(self) -> None:
        if self.app.size.width >= ROOMY:
            self._explained = not self._explained
            self.show()
            self.call_after_refresh(self.show)
        elif self.row is not None:
            self.app.push_screen(WaterfallScreen(self.session, self))

    def do_options(self) -> None:
        from swapdesk.tui.screens.quote_options import open_options

        open_options(self.app, self.session, self.request.options, self._opted)

    def _opted(self, options: QuoteOptions) -> None:
        try:
            request = self.request.with_options(options)
        except WishRefused as refused:
            self.show_notice(f"{refused.message} f2 changes the options.", "warning")
            return
        self.request, self._again = request, AskingAgain()
        notice = f"Options changed. r asks with them, {cost_in_words(request)}."
        self.show_notice(notice)
        self.show()

    def do_back(self) -> None:
        if self._beside:
            self.do_explain()
        else:
            self.post_message(self.Go(BACK))

    def do_review(self) -> None:
        self._table.action_choose()

    @on(LineTable.Chosen)
    def _chosen_row(self, event: LineTable.Chosen) -> None:
        result = self.result
        if result is None:
            return
        if self.reads_only:
            self.show_notice("This desk only reads: no order is created.", "warning")
            return
        refusal = refusal_to_choose(result, event.key, self.now())
        if refusal is not None:
            self.show_notice(refusal, "warning")
            return
        row = result.ranking.find(event.key)
        if row is not None:
            from swapdesk.tui.screens.create import CreateScreen

            self.app.push_screen(CreateScreen(self.session, result, row, self._typed))


class WaterfallScreen(Page):
    """A page with the waterfall (the steps to what a route pays out) for narrow screens, for the
    route under the cursor of ``quotes``."""

    NAME = "Quotes"
    SPENDS = "quote"
    VERBS = (walk.REVIEW, walk.CLOSE, walk.NEXT_QUOTE, walk.ALL_IN, walk.PREVIOUS_QUOTE)
    DEFAULT_CSS = """
    WaterfallScreen #why { margin: 1 0 0 0; }
    WaterfallScreen.-short #why { margin: 0; }
    """

    def __init__(self, session: Session, quotes: QuotesScreen) -> None:
        super().__init__(session)
        self._quotes = quotes
        self._head = HeadLine()
        self._view = FittedLines(id="why")

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._view

    @property
    def counting(self) -> bool:
        return True

    def on_tick(self) -> None:
        self.show()

    def show(self) -> None:
        quotes, row, result = self._quotes, self._quotes.row, self._quotes.result
        if row is None or result is None:
            return
        left = (row.expires_at - self.now()).total_seconds()
        self.context = f"why {table_amount(row.key)} {result.token_out.symbol}"
        line: Line = [
            Span(f"{row.place}   "),
            route_word(row.quote.type),
            Span(f"  {provider_name(row)}  "),
            Span(table_amount(row.key), bold=True),
            Span(f" {result.token_out.symbol}", "muted"),
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
            cost = cost_in_words(result.request)
            self.set_money("in your wallet.", f"you: e, then r asks again, {cost}")
        self.refresh_frame()
        self.refresh_keys()

    def standings(self) -> Standings:
        quotes = self._quotes.standings()
        several = quotes[PREVIOUS_QUOTE]
        return {
            walk.REVIEW: quotes[REVIEW],
            walk.NEXT_QUOTE: CommandState(key="[ ]", hidden=not several),
            walk.ALL_IN: quotes[ALL_IN],
            walk.PREVIOUS_QUOTE: several,
        }

    def do_step(self, steps: int) -> None:
        self._quotes.do_step(steps)
        self.show()

    def do_all_in(self) -> None:
        self._quotes.do_all_in()
        self.show()

    async def do_close(self) -> None:
        await self.app.pop_screen()

    async def do_review(self) -> None:
        await self.app.pop_screen()
        self._quotes.do_review()


def record_rows(record: ProviderRecord | None, width: int) -> list[Line]:
    rows = record_lines(record)
    return [rule(width), *(spread([Span(a)], [Span(b, "muted")], width) for a, b in rows)]


def _count_below(table: LineTable) -> Line:
    first = len(table.rows) - table.below
    count = sum(row.selectable for row in table.rows[first:])
    return [Span(f"{count} below · ", "muted")] if count else []


def heading(request: QuoteRequest, recipient: str) -> Line:
    token_in, token_out = request.token_in, request.token_out
    amount = exact_amount(request.amount)
    sold = token_in.symbol if request.receive else f"{amount} {token_in.symbol}"
    verb = "Send" if request.private_send else "Sell"
    line: Line = [
        Span(f"{verb} ", "muted"),
        Span(sold, bold=True),
        Span(f" on {token_in.chain_data.name}", "muted"),
    ]
    if request.private_send:
        return [*line, Span(" privately", "muted"), Span(f"   {recipient}", bold=True)]
    bought = f"{amount} {token_out.symbol}" if request.receive else token_out.symbol
    return [
        *line,
        Span("   Receive " if request.receive else "   Buy ", "muted"),
        Span(bought, bold=True),
        Span(f" on {token_out.chain_data.name}", "muted"),
    ]


def ranked_by(result: QuoteResult, arrangement: Arrangement, *, failed: bool) -> list[Line]:
    """Returns two forms of the line that says how the rows are ranked: with and without the time of
    the answer. ``failed`` adds a mark for outdated rows."""
    net = "what you send" if result.request.receive else "net received"
    orders = {"net": net, "all-in": "all-in", "time": "expected time"}
    line: Line = [Span(f"{STALE} ", "status-waiting")] if failed else []
    if arrangement.only is not None:
        line += [route_word(arrangement.only), Span(" only · ", "muted")]
    at = clock_time(result.received_at, zone=True)
    return [
        [*line, Span(f"{at} · ranked by ", "muted"), Span(orders[arrangement.order])],
        [*line, Span("by ", "muted"), Span(orders[arrangement.order])],
    ]


def nothing_yet(
    asking: float | None, error: ClientError | None, *, answered: bool, turn: str = ""
) -> LineLike:
    """Returns the sentence for a table without rows. ``asking`` is the number of seconds since
    quotes were requested; None if no answer is awaited. ``turn`` is added to the sentence about
    such a request."""
    if asking is not None:
        sentence = f"asking for quotes, {asking:.1f} s{f', {turn}' if turn else ''}"
        return sentence if asking >= SAY_ASKING_AFTER else ""
    if error is not None:
        return "No quotes. The reason stands below."
    return "The service has no route between these tokens." if answered else ""


def rows_below(
    result: QuoteResult | None,
    row: RankedQuote | None,
    entry: UnusableQuote | None,
    now: datetime,
    *,
    error: ClientError | None,
    wait: float | None,
    again: str = "",
    notes: Sequence[Line] = (),
    named: Named = lambda code: code,
) -> list[LineLike]:
    """Returns the sentences under the table, such as the last failure or why the route ``entry`` is
    unusable. ``wait`` (in seconds) and ``again`` (in words) say when quotes can be requested
    again."""
    rows: list[LineLike] = []
    if error is not None:
        rows += error_rows(error, wait, again)
    if result is None:
        return rows
    if entry is not None:
        rows.append([Span("Reason  ", "muted"), Span(reason_text(entry))])
    rows += value_rows(result, row, now, notes)
    asked = options_in_words(result.request, named)
    if asked and not (result.request.receive and asked == "fixed rates"):
        rows.append([Span("Asked  ", "muted"), Span(asked)])
    return rows


def value_rows(
    result: QuoteResult, row: RankedQuote | None, now: datetime, notes: Sequence[Line]
) -> list[LineLike]:
    """Returns a comparison of the value received on the route ``row`` with the value sent, warnings
    about missing prices, and ``notes``. If ``row`` is None, the best route is compared."""
    ranking = result.ranking
    if not ranking.rows:
        return [Span(no_usable_route(result), "status-waiting")] if ranking.unusable else []
    shown = row or ranking.best_at(now) or ranking.rows[0]
    value = result.value_difference(shown)
    amount = f"{exact_amount(result.amount_in(shown))} {result.token_in.symbol}"
    if value.percent is None:
        sentence: Line = [Span(f"No price for {amount} or its result: compare by hand.")]
    else:
        text = f"{amount} is {usd(value.value_in_usd)}; this route returns "
        sentence = [
            Span(f"{text}{usd(value.value_out_usd)}: "),
            Span(percent(value.percent), _LEVELS.get(value.level, "foreground"), bold=True),
            Span(" with fees."),
        ]
    rows: list[LineLike] = [[Span("Value  ", "muted"), *sentence]]
    gross = [ranked.quote for ranked in ranking.rows if "gross" in ranked.badges]
    if gross:
        said = "The fees of gross routes are not in the ranking."
        if all(quote.amount_out_usd is None for quote in gross):
            said = f"No USD price for {result.token_out.symbol}: its fees are not in the ranking."
        rows.append(Span(said, "status-waiting"))
    return [*rows, [Span("Notes  ", "muted"), *joined(notes)]] if notes else rows


def unusable_row(result: QuoteResult, only: RouteType | None) -> list[LineLike]:
    """Returns how many routes of the kind ``only`` (None: all kinds) are unusable, and why the
    first of them is. Empty if no route is unusable, or if every route is."""
    entries = [
        entry for entry in result.ranking.unusable if only is None or entry.quote.type == only
    ]
    if not entries or not result.ranking.rows:
        return []
    first = entries[0]
    name = first.quote.swap_name or first.quote.swap or first.quote.type
    names = (
        f"{len(entries)}, the first {name}: " if len(entries) > 1 else f"{len(entries)}, {name}: "
    )
    return [[Span("Not usable  ", "muted"), Span(names), Span(reason_text(first), "muted")]]


def refusal_to_choose(result: QuoteResult, key: str, now: datetime) -> str | None:
    """Returns why the route with the row key ``key`` cannot be chosen, as a sentence; None if it
    can."""
    entry = unusable_at(result.ranking, key)
    if entry is not None:
        return f"This route cannot be chosen: {reason_text(entry)}."
    row = result.ranking.find(key)
    if row is None:
        return None
    if row.expired(now):
        return f"{quote_ended(row.expires_at)} r asks again, {cost_in_words(result.request)}."
    if row.on_chain and result.token_in.chain_data.kind not in KINDS:
        chain = result.token_in.chain_data.name
        return f"The wallet of this desk signs nothing on {chain}. Choose another route."
    if not row.pays:
        return "This route pays nothing: its fees take all of it."
    return None


def error_rows(error: ClientError, wait: float | None, again: str) -> list[LineLike]:
    """Returns the rows about a failed request: cause, refused fields, error code and request id.
    ``again`` says when the desk repeats the request; empty if it does not."""
    if isinstance(error, RateLimited):
        cause = rate_limited(error, wait, again)
    else:
        cause = failure_of_error(error).cause
    rows: list[LineLike] = [[Span(f"{REFUSED} ", "status-trouble"), Span(cause, "status-trouble")]]
    rows += [Span(f"  {text}") for text in refused_fields(error)]
    rows.append(Span(f"  {code_and_request(error)}", "muted"))
    return rows


def waterfall_lines(waterfall: Waterfall, sold: str, bought: str, width: int) -> list[Line]:
    """Returns the rows of the waterfall, which shows step by step how the amount that a route pays
    out comes about."""
    draw = _columns if width >= COLUMNS_FROM else _panel
    sentence = remark(
        waterfall, *(waterfall.written(value) for value in (waterfall.lines, waterfall.net))
    )
    rows = draw(waterfall, sold, bought, width)
    if sentence:
        head = Span(f"{TROUBLE} ", "status-waiting")
        rows += [[], *wrapped([head, Span(sentence, "status-waiting")], width, indent=2)]
    return rows


def _columns(waterfall: Waterfall, sold: str, bought: str, width: int) -> list[Line]:
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
                    *push_right(_value(waterfall, step, sold) if first else "", _AMOUNT),
                    Span("   "),
                    *fill(text, how),
                    *push_right(Span(step.known if first else "", "muted"), _KNOWN + 2),
                ]
            )

    _lay(waterfall, rows, put, width)
    return rows


def _lay(
    waterfall: Waterfall, rows: list[Line], put: Callable[[WaterfallStep], None], width: int
) -> None:
    for step in waterfall.of("send"):
        put(step)
    rows.append([])
    for step in waterfall.of("line"):
        put(step)
    rows.append(rule(width))
    for part in ("total", "check"):
        for step in waterfall.of(part):
            put(step)
    outside = waterfall.of("outside")
    if outside:
        rows += [[], [Span("Not in net", "muted")]]
        for step in outside:
            put(step)
    rows.append(rule(width))
    for step in waterfall.of("below"):
        put(step)


def _panel(waterfall: Waterfall, sold: str, bought: str, width: int) -> list[Line]:
    title: Line = [Span(f"Why {waterfall.written(waterfall.net)} {bought}", bold=True)]
    kind = waterfall.row.quote.type
    name = waterfall.row.quote.swap_name or waterfall.row.quote.swap or ""
    route: Line = [Span(kind, f"route-{kind}" if kind in _ROUTES else "muted")]
    if name:
        route.append(Span(f" {name}", "muted"))
    rows: list[Line] = [spread(title, route, width), []]

    def put(step: WaterfallStep) -> None:
        rows.append(spread(_label(step), _value(waterfall, step, sold), width))
        source = f"{step.how} · {step.known}"
        rows.extend([Span("  "), *line] for line in wrapped(Span(source, "muted"), width - 2))

    _lay(waterfall, rows, put, width)
    return rows


def _label(step: WaterfallStep) -> Line:
    return [Span(step.label, "foreground")]


def _value(waterfall: Waterfall, step: WaterfallStep, sold: str) -> Line:
    role, bold, text = "foreground", step.part in ("total", "below"), step.word
    if step.amount is None:
        return [Span(text, "muted")]
    if step.part == "check":
        good = waterfall.verdict == "sums"
        glyph, role = (VALID, "status-done") if good else (TROUBLE, "status-waiting")
        size = percent(step.amount).lstrip("−+")
        return [Span(f"{glyph} {size}", role)]
    if step.unit == "usd":
        text = usd(step.amount)
    elif step.unit == "percent":
        text = percent(step.amount)
    elif step.unit == "sold":
        amount = exact_amount(step.amount) if step.part == "send" else table_amount(step.amount)
        text = f"{amount} {sold}"
    else:
        text = waterfall.written(step.amount)
        if step.amount < 0:
            role = "amount-down"
        elif step.part == "total":
            role = "best-quote" if waterfall.row.place == 1 else "foreground"
    return [Span(text, role, bold)]
