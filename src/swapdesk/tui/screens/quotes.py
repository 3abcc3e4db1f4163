"""Every route for one amount in one table; nothing is asked again unless a key says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.client.errors import ClientError, RateLimited
from swapdesk.flows.announcements import (
    code_and_request,
    failure_of_error,
    no_usable_route,
    quote_ended,
    quotes_arrived,
    rate_limited,
    refused_fields,
)
from swapdesk.flows.notation import clock_time, countdown, exact_amount, percent, usd
from swapdesk.flows.ranking import RankedQuote, former_places
from swapdesk.tui.commands.command import HIDDEN, READY, Command, Standing
from swapdesk.tui.commands.quotes import Back, Refresh, Review, SortRows
from swapdesk.tui.glyphs import REFUSED, STALE
from swapdesk.tui.messages import QuotesArrived, QuotesFailed
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, LineLike, Span
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.quote_table import (
    badge_notes,
    quote_columns,
    quote_rows,
    reason_text,
    unusable_at,
)
from swapdesk.tui.widgets.text_rows import HeadLine, TextRows

if TYPE_CHECKING:
    from decimal import Decimal

    from swapdesk.flows.quoting import QuoteBoard
    from swapdesk.tui.screens.create import TypedBefore
    from swapdesk.wire.tokens import Token

SAY_ASKING_AFTER = 0.3
MOVED_FOR = 1.0
ONE_QUOTE = "1 quote"
NORMAL = 100


class QuotesScreen(Page):
    """``recipient`` is what the line already named; the form begins with it."""

    NAME = "Quotes"
    SPENDS = "quote"
    VERBS = (Review, SortRows, Refresh, Back)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"

    def __init__(
        self,
        session: Session,
        token_in: Token,
        token_out: Token,
        amount: Decimal,
        *,
        private_send: bool = False,
        recipient: str = "",
    ) -> None:
        super().__init__(session)
        self.token_in, self.token_out, self.amount = token_in, token_out, amount
        self.private_send = private_send
        self.recipient = recipient
        self.board: QuoteBoard | None = None
        self._error: ClientError | None = None
        self._asked_at: float | None = None
        self._by_time = False
        self._typed: TypedBefore | None = None
        self._former: dict[str, int] = {}
        self._head = HeadLine()
        self._table = LineTable(quote_columns(token_out.symbol), id="quotes")
        self._below = TextRows(classes="below")

    def compose_body(self) -> Iterable[Widget]:
        yield self._head
        yield self._table
        yield self._below

    def on_mount(self) -> None:
        super().on_mount()
        self.ask()

    # asking

    def ask(self) -> None:
        """One call for all routes; the rows in view stay until the answer is there."""
        if self._asked_at is not None or self.link is None:
            return
        self._asked_at = self.session.clock.monotonic()
        self._error = None
        self.set_timer(SAY_ASKING_AFTER, self._show)
        self.run_worker(self._fetch(), group="quotes", exclusive=True, exit_on_error=False)
        self._show()

    async def _fetch(self) -> None:
        quotes = self.desk.link.quotes
        try:
            if self.private_send:
                board = await quotes.ask_private_send(self.token_in, self.amount)
            else:
                board = await quotes.ask(self.token_in, self.token_out, self.amount)
        except ClientError as error:
            self.post_message(QuotesFailed(error))
        else:
            self.post_message(QuotesArrived(board))

    @on(QuotesArrived)
    def _arrived(self, event: QuotesArrived) -> None:
        self._asked_at = None
        self.take(event.board)
        self.show_notice(quotes_arrived(event.board))
        self.refresh_frame()

    @on(QuotesFailed)
    def _failed(self, event: QuotesFailed) -> None:
        self._asked_at = None
        self._error = event.error
        self._show()
        self.refresh_frame()

    def work_failed(self, group: str) -> None:
        self._asked_at = None
        self._show()

    def take(self, board: QuoteBoard) -> None:
        """Show another answer; the cursor follows its route, not its row number."""
        before, stood = self.board, self._row()
        self.board, self._error = board, None
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
        board = self.board
        self._head.show(*self._heading())
        if board is not None:
            self._table.set_rows(
                quote_rows(board, self.now(), by_time=self._by_time, former=self._former)
            )
        self._table.set_empty(self._nothing())
        self._show_below()
        self._say_money()
        self.refresh_keys()

    def _heading(self) -> tuple[LineLike, LineLike]:
        verb = "Send" if self.private_send else "Sell"
        left: Line = [
            Span(f"{verb} ", "muted"),
            Span(f"{exact_amount(self.amount)} {self.token_in.symbol}", bold=True),
            Span(f" on {self.token_in.chain_data.name}", "muted"),
        ]
        if self.private_send:
            left += [Span(" privately", "muted"), Span(f"   {self.recipient}", bold=True)]
        else:
            left += [
                Span("   Buy ", "muted"),
                Span(self.token_out.symbol, bold=True),
                Span(f" on {self.token_out.chain_data.name}", "muted"),
            ]
        return left, self._ranked_by()

    def _ranked_by(self) -> Line:
        board = self.board
        if self._asked_at is not None and board is not None:
            return [Span("asking again", "status-moving")]
        if board is None:
            return []
        said = "expected time" if self._by_time else "net received"
        line: Line = []
        if self._error is not None:
            line = [Span(f"{STALE} ", "status-waiting")]
        at = clock_time(board.received_at, zone=True)
        if self.app.size.width < NORMAL:
            return [*line, Span("by ", "muted"), Span(said)]
        return [*line, Span(f"{at} · ranked by ", "muted"), Span(said)]

    def _nothing(self) -> LineLike:
        if self._asked_at is not None:
            passed = self.session.clock.monotonic() - self._asked_at
            return f"asking for quotes, {passed:.1f} s" if passed >= SAY_ASKING_AFTER else ""
        if self._error is not None:
            return "No quotes. The reason stands below."
        return "The service has no route between these tokens." if self.board else ""

    def _show_below(self) -> None:
        rows: list[LineLike] = []
        if self._error is not None:
            rows += _error_rows(self._error, self._wait())
        board = self.board
        if board is not None:
            entry = unusable_at(board, self._table.cursor_key)
            if entry is not None:
                rows.append([Span("Reason  ", "muted"), Span(reason_text(entry))])
            rows += self._value_rows(board)
        self._below.show(rows)
        self._fit()

    def _fit(self) -> None:
        """The table takes what its rows need; what does not fit scrolls, the sentences stay."""
        body = self.query_one("#body")
        width = body.container_size.width - 4
        sentences = len(self._below.lines(width)) + 1 if self._below.rows else 0
        head = 1 if self.has_class("-short") else 2
        room = body.content_size.height - head - sentences
        wanted = len(self._table.rows) + self._table.head_height if self._table.rows else 3
        if room > 0:
            self._table.styles.height = max(3, min(wanted, room))

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._fit)

    def _value_rows(self, board: QuoteBoard) -> list[LineLike]:
        if not board.ranking.rows:
            return (
                [Span(no_usable_route(board), "status-waiting")] if board.ranking.unusable else []
            )
        row = self._row() or board.ranking.best_at(self.now()) or board.ranking.rows[0]
        value = board.value_difference(row)
        amount = f"{exact_amount(self.amount)} {self.token_in.symbol}"
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
        notes = badge_notes(board.ranking.rows) if self.app.size.width >= NORMAL else []
        rows += [[Span("Notes  ", "muted"), *note] for note in notes]
        return rows

    def _say_money(self) -> None:
        funds = "in your wallet."
        board, row = self.board, self._row()
        if self._asked_at is not None and board is None:
            self.set_money(funds, "the service: it asks every route")
        elif self._error is not None and board is None:
            self.set_money(funds, failure_of_error(self._error).next)
        elif row is None:
            self.set_money(funds, "you: change the amount or the tokens")
        elif row.expired(self.now()):
            self.set_money(funds, "you: r asks again, 1 quote")
        else:
            left = (row.expires_at - self.now()).total_seconds()
            self.set_money(funds, f"you: choose a route in {countdown(left)}", urgent=left < 15)

    # keys

    def _row(self) -> RankedQuote | None:
        """The usable route under the cursor."""
        key = self._table.cursor_key
        return self.board.ranking.find(key) if self.board is not None and key else None

    def _wait(self) -> float | None:
        return self.link.api.budget.wait_for("quote") if self.link is not None else None

    def verb_standing(self, verb: type[Command]) -> Standing:
        if verb is Review:
            row = self._row()
            if row is None:
                return HIDDEN
            return HIDDEN if row.expired(self.now()) else READY
        if verb is Refresh:
            if self._asked_at is not None:
                return Standing(locked="asked already")
            wait = self._wait()
            if wait:
                return Standing(locked=f"next one in {countdown(wait)}")
            return Standing(cost=ONE_QUOTE)
        if verb is SortRows:
            if self.board is None or len(self.board.ranking.rows) < 2:
                return HIDDEN
            return Standing(verb="sort by net" if self._by_time else "sort by time")
        return READY

    def do_refresh(self) -> None:
        self.ask()

    def do_sort_rows(self) -> None:
        self._by_time = not self._by_time
        self._show()

    def do_review(self) -> None:
        self._table.action_choose()

    def _typed_before(self) -> TypedBefore:
        from swapdesk.tui.screens.create import TypedBefore

        if self._typed is None:
            self._typed = TypedBefore(self.recipient)
        return self._typed

    @on(LineTable.Chosen)
    def _chosen_row(self, event: LineTable.Chosen) -> None:
        board = self.board
        if board is None:
            return
        entry = unusable_at(board, event.key)
        if entry is not None:
            self.show_notice(f"This route cannot be chosen: {reason_text(entry)}.", "warning")
            return
        row = board.ranking.find(event.key)
        if row is None:
            return
        if row.expired(self.now()):
            self.show_notice(f"{quote_ended(row.expires_at)} r asks again, {ONE_QUOTE}.", "warning")
        elif not row.choosable:
            self.show_notice("This route pays nothing: its fees take all of it.", "warning")
        else:
            from swapdesk.tui.screens.create import CreateScreen

            self.app.push_screen(CreateScreen(self.session, board, row, self._typed_before()))


_LEVELS = {
    "note": "foreground",
    "amber": "status-waiting",
    "typed": "amount-down",
    "refused": "amount-down",
}


def _error_rows(error: ClientError, wait: float | None) -> list[LineLike]:
    """The cause in words, every named field, then code and request id to be copied."""
    if isinstance(error, RateLimited):
        said = rate_limited(error, wait)
    else:
        said = failure_of_error(error).cause
    rows: list[LineLike] = [[Span(f"{REFUSED} ", "status-trouble"), Span(said, "status-trouble")]]
    rows += [Span(f"  {text}") for text in refused_fields(error)]
    rows.append(Span(f"  {code_and_request(error)}", "muted"))
    return rows
