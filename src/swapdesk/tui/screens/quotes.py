"""Every route for one amount in one table; nothing is asked again unless a key says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Vertical
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.announcements import code_and_request, failure_of_error, quotes_arrived
from swapdesk.flows.notation import countdown
from swapdesk.flows.quote_order import Arrangement
from swapdesk.flows.ranking import RankedQuote, former_places
from swapdesk.flows.three_ways import three_ways
from swapdesk.flows.waterfall import Waterfall, waterfall
from swapdesk.flows.wish_words import cost_in_words
from swapdesk.tui.commands.command import Command, Standing
from swapdesk.tui.commands.quotes import (
    AllIn,
    AllRoutes,
    Back,
    DexOnly,
    Explain,
    FixedToo,
    NextQuote,
    Options,
    PreviousQuote,
    PrivateOnly,
    Refresh,
    Review,
    SortRows,
    StandardOnly,
)
from swapdesk.tui.messages import QuotesArrived, QuotesFailed
from swapdesk.tui.page import Page
from swapdesk.tui.quote_question import QuoteQuestion
from swapdesk.tui.screens.quote_facts import (
    SAY_ASKING_AFTER,
    heading,
    nothing_yet,
    ranked_by,
    refusal_of,
    refusal_to_choose,
    rows_below,
)
from swapdesk.tui.screens.quote_keys import QuoteState, standing_of
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, Span
from swapdesk.tui.widgets.line_table import MARGIN, LineTable
from swapdesk.tui.widgets.quote_table import compared_symbol, quote_columns, quote_rows, unusable_at
from swapdesk.tui.widgets.text_rows import HeadLine, TextRows
from swapdesk.tui.widgets.waterfall_view import WaterfallView
from swapdesk.tui.widgets.ways_view import WaysView
from swapdesk.wire.quotes import RouteType

if TYPE_CHECKING:
    from swapdesk.flows.quote_wish import QuoteOptions, QuoteWish
    from swapdesk.flows.quoting import QuoteBoard
    from swapdesk.tui.screens.create_form import TypedBefore

MOVED_FOR = 1.0
NORMAL, ROOMY, WIDE = 100, 120, 160
PANEL = 44


class QuotesScreen(Page):
    """``recipient`` is what the line already named; the form begins with it."""

    NAME = "Quotes"
    SPENDS = "quote"
    VERBS = (
        Review,
        Explain,
        DexOnly,
        SortRows,
        Refresh,
        FixedToo,
        Options,
        AllIn,
        StandardOnly,
        PrivateOnly,
        AllRoutes,
        NextQuote,
        PreviousQuote,
        Back,
    )
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    DEFAULT_CSS = """
    QuotesScreen .side { display: none; padding: 1 0; overflow-y: auto; scrollbar-size: 0 0; }
    QuotesScreen.-explained .side { display: block; }
    QuotesScreen.-short .side { padding: 0; }
    QuotesScreen WaysView { display: none; }
    QuotesScreen.-tall WaysView { display: block; }
    """

    def __init__(self, session: Session, wish: QuoteWish, *, recipient: str = "") -> None:
        super().__init__(session)
        self.question = QuoteQuestion(wish)
        self.recipient = recipient
        self.board: QuoteBoard | None = None
        self.arrangement = Arrangement()
        self._error: ClientError | None = None
        self._asked_at: float | None = None
        self._explained = False
        self._typed: TypedBefore | None = None
        self._former: dict[str, int] = {}
        self._head = HeadLine()
        self._table = LineTable(quote_columns(wish, all_in=False), id="quotes")
        self._below = TextRows(classes="below")
        self._ways = WaysView()
        self._why = WaterfallView()
        self._side = Vertical(self._why, classes="side")

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._table
        yield self._below
        yield self._ways

    def compose_side(self) -> Iterable[Widget]:
        yield self._side

    def on_mount(self) -> None:
        super().on_mount()
        self.ask()

    # asking

    def ask(self, *, only_fixed: bool = False) -> None:
        """One call for each kind of rate; the rows in view stay until the answer is there.

        ``only_fixed`` adds fixed rates to the answer in view.
        """
        if self._asked_at is not None or self.link is None:
            return
        self._asked_at = self.session.clock.monotonic()
        self._error = None
        self.set_timer(SAY_ASKING_AFTER, self._show)
        beside = self.board if only_fixed else None
        self.run_worker(self._fetch(beside), group="quotes", exclusive=True, exit_on_error=False)
        self._show()

    async def _fetch(self, beside: QuoteBoard | None) -> None:
        quotes = self.desk.link.quotes
        if beside is None:
            answer = await self.question.ask(quotes)
        else:
            answer = await self.question.rate(quotes, beside, fixed=True)
        self.post_message(answer)

    @on(QuotesArrived)
    def _arrived(self, event: QuotesArrived) -> None:
        self._asked_at = None
        self.take(event.board)
        refused = event.board.refused
        if refused is None:
            self.show_notice(quotes_arrived(event.board))
        else:
            self.show_notice(refusal_of(refused), "warning")
        self.refresh_frame()

    @on(QuotesFailed)
    def _failed(self, event: QuotesFailed) -> None:
        self._asked_at = None
        if event.beside:
            cause = failure_of_error(event.error).cause
            self.show_notice(f"{cause} {code_and_request(event.error)}", "warning")
        else:
            self._error = event.error
        self._show()
        self.refresh_frame()

    def work_failed(self, group: str) -> None:
        self._asked_at = None
        self._show()

    def take(self, board: QuoteBoard) -> None:
        """Show another answer; the cursor follows its route, not its row number."""
        before, stood = self.board, self.row
        self.board, self._error = board, None
        self.question = QuoteQuestion(board.wish)
        if before is not None:
            self._former = former_places(before.ranking, board.ranking)
            self.set_timer(MOVED_FOR, self._forget_former)
        self._show()
        follow = board.ranking.follow(stood) if stood is not None else None
        wanted = follow or board.ranking.default_at(self.now())
        if wanted is not None:
            self._table.move_to(wanted.quote_id)
        self.step_changed(board.received_at.isoformat())

    def _forget_former(self) -> None:
        self._former = {}
        self._show()

    # drawing

    @property
    def composed(self) -> bool:
        """Whether the widgets stand in a running application: before they are composed and
        after the screen is removed an answer is kept and nothing is drawn."""
        return self.is_running and self._table.is_attached

    @property
    def counting(self) -> bool:
        return self.board is not None and bool(self.board.ranking.rows)

    def on_tick(self) -> None:
        self._show()

    def session_changed(self) -> None:
        self._show()

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self._show_below()
        self.refresh_keys()

    def _show(self) -> None:
        if not self.composed:
            return
        board = self.board
        self.set_class(self._panel_open, "-explained")
        self._head.show(heading(self.question.wish, self.recipient), self._ranked_by())
        if board is not None:
            self._table.set_rows(
                quote_rows(
                    board,
                    self.now(),
                    self._columns,
                    arrangement=self.arrangement,
                    former=self._former,
                )
            )
            symbol = compared_symbol(board.wish)
            head = "You send" if board.wish.receive else "You get, net"
            self._ways.show(three_ways(board, self.now()), head, symbol)
        passed = None
        if self._asked_at is not None:
            passed = self.session.clock.monotonic() - self._asked_at
        self._table.set_empty(nothing_yet(passed, self._error, answered=board is not None))
        self._show_below()
        self._say_money()
        self.refresh_keys()

    def _ranked_by(self) -> Line:
        if self.board is None:
            return []
        if self._asked_at is not None:
            return [Span("asking again", "status-moving")]
        short = self.app.size.width < NORMAL or (self._panel_open and self.app.size.width < WIDE)
        return ranked_by(self.board, self.arrangement, failed=self._error is not None, short=short)

    def _show_below(self) -> None:
        if not self.composed:
            return
        board, wide = self.board, self.app.size.width >= NORMAL
        entry = unusable_at(board, self._table.cursor_key) if board is not None else None
        rows = rows_below(
            board, self.row, entry, self.now(), error=self._error, wait=self._wait(), notes=wide
        )
        self._below.show(rows)
        if board is not None:
            self._why.show(self.explanation, board.token_in.symbol, board.token_out.symbol)
        self._fit()

    def _fit(self) -> None:
        """The table takes what its rows need; what does not fit scrolls, the sentences stay."""
        body = self._table.parent
        if not isinstance(body, Widget) or not self.composed:
            return
        width = self._columns
        sentences = len(self._below.lines(width)) + 1 if self._below.rows else 0
        if self.has_class("-tall"):
            ways = self._ways.lines(width)
            sentences += len(ways) + 1 if ways else 0
        head = 1 if self.has_class("-short") else 2
        room = body.content_size.height - head - sentences
        wanted = len(self._table.rows) + self._table.head_height if self._table.rows else 3
        if room > 0:
            self._table.styles.height = max(3, min(wanted, room))

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._show)

    def _say_money(self) -> None:
        funds = "in your wallet."
        board, row = self.board, self.row
        if self._asked_at is not None and board is None:
            self.set_money(funds, "the service: it asks every route")
        elif self._error is not None and board is None:
            self.set_money(funds, failure_of_error(self._error).next)
        elif row is None:
            self.set_money(funds, "you: change the amount or the tokens")
        elif row.expired(self.now()):
            self.set_money(funds, f"you: r asks again, {cost_in_words(self.question.wish)}")
        else:
            left = (row.expires_at - self.now()).total_seconds()
            self.set_money(funds, f"you: choose a route in {countdown(left)}", urgent=left < 15)

    # keys

    @property
    def row(self) -> RankedQuote | None:
        """The usable route under the cursor."""
        key = self._table.cursor_key
        return self.board.ranking.find(key) if self.board is not None and key else None

    @property
    def explanation(self) -> Waterfall | None:
        """The waterfall of the route under the cursor."""
        board, row = self.board, self.row
        return waterfall(board, row) if board is not None and row is not None else None

    @property
    def _panel_open(self) -> bool:
        width = self.app.size.width
        return self.board is not None and (width >= WIDE or (self._explained and width >= ROOMY))

    @property
    def _columns(self) -> int:
        """Cells of a row beside the panel."""
        return self.app.size.width - 2 * MARGIN - (PANEL if self._panel_open else 0)

    def _wait(self) -> float | None:
        return self.link.api.budget.wait_for("quote") if self.link is not None else None

    def verb_standing(self, verb: type[Command]) -> Standing:
        state = QuoteState(
            question=self.question,
            board=self.board,
            row=self.row,
            arrangement=self.arrangement,
            asking=self._asked_at is not None,
            explained=self._explained and self.app.size.width >= ROOMY,
            wait=self._wait(),
            now=self.now(),
        )
        return standing_of(verb, state)

    def do_refresh(self) -> None:
        self.ask()

    def do_fixed_too(self) -> None:
        self.ask(only_fixed=True)

    def do_sort_rows(self) -> None:
        self.rearrange(self.arrangement.sorted_on())

    def do_all_in(self) -> None:
        self.rearrange(self.arrangement.switched())

    def do_dex_only(self) -> None:
        self.rearrange(self.arrangement.narrowed(RouteType.DEX))

    def do_standard_only(self) -> None:
        self.rearrange(self.arrangement.narrowed(RouteType.STANDARD))

    def do_private_only(self) -> None:
        self.rearrange(self.arrangement.narrowed(RouteType.PRIVATE))

    def do_all_routes(self) -> None:
        self.rearrange(self.arrangement.narrowed(None))

    def rearrange(self, arrangement: Arrangement) -> None:
        """Another order or filter of the rows; the cursor stays on its quote."""
        self.arrangement = arrangement
        self._table.set_columns(quote_columns(self.question.wish, all_in=arrangement.all_in))
        self._show()

    def step(self, steps: int) -> None:
        """The usable route this far from the cursor, as far as there are any."""
        keys = [row.key for row in self._table.rows]
        usable = [key for key in keys if self.board is not None and self.board.ranking.find(key)]
        key = self._table.cursor_key
        at = usable.index(key) + steps if key in usable else 0
        if usable:
            self._table.move_to(usable[max(0, min(at, len(usable) - 1))])

    def do_next_quote(self) -> None:
        self.step(1)

    def do_previous_quote(self) -> None:
        self.step(-1)

    def do_explain(self) -> None:
        from swapdesk.tui.screens.waterfall import WaterfallScreen

        if self.app.size.width >= ROOMY:
            self._explained = not self._explained
            self._show()
            self.call_after_refresh(self._show)
        elif self.row is not None:
            self.app.push_screen(WaterfallScreen(self.session, self))

    def do_options(self) -> None:
        from swapdesk.tui.screens.quote_options import open_options

        open_options(self.app, self.session, self.question.wish.options, self._opted)

    def _opted(self, options: QuoteOptions) -> None:
        """Other options: the answer in view stays what it was until it is asked again."""
        wish = self.question.wish.with_options(options)
        self.question = QuoteQuestion(wish)
        said = f"Options changed. r asks with them, {cost_in_words(wish)}."
        self.show_notice(said)
        self._show()

    def do_back(self) -> None:
        self.post_message(self.Go(Back))

    def do_review(self) -> None:
        self._table.action_choose()

    def _typed_before(self) -> TypedBefore:
        from swapdesk.tui.screens.create_form import TypedBefore

        if self._typed is None:
            self._typed = TypedBefore(self.recipient)
        return self._typed

    @on(LineTable.Chosen)
    def _chosen_row(self, event: LineTable.Chosen) -> None:
        board = self.board
        if board is None:
            return
        refusal = refusal_to_choose(board, event.key, self.now())
        if refusal is not None:
            self.show_notice(refusal, "warning")
            return
        row = board.ranking.find(event.key)
        if row is not None:
            from swapdesk.tui.screens.create import CreateScreen

            self.app.push_screen(CreateScreen(self.session, board, row, self._typed_before()))
