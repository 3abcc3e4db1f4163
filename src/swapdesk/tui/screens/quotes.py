"""Every route for one amount in one table; nothing is asked again unless a key says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual import on

from swapdesk.flows.quotes.quote_order import Arrangement
from swapdesk.flows.quotes.quote_request import WishRefused, cost_in_words
from swapdesk.flows.quotes.requote import AskingAgain
from swapdesk.flows.tracking.announcements import code_and_request, failure_of_error, quotes_arrived
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.quotes import (
    AllIn,
    AllRoutes,
    Back,
    DexOnly,
    Explain,
    FixedToo,
    MoreRoutes,
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
from swapdesk.tui.screens.quote_facts import (
    SAY_ASKING_AFTER,
    QuoteQuestion,
    QuoteState,
    refusal_of,
    refusal_to_choose,
    standing_of,
)
from swapdesk.tui.screens.quotes_view import ROOMY, WIDE, QuotesView
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.wire.quotes import RouteType

if TYPE_CHECKING:
    from swapdesk.flows.creation.create_checks import TypedBefore
    from swapdesk.flows.quotes.quote_request import QuoteOptions
    from swapdesk.flows.quotes.quoting import QuoteResult

BESIDE = (Review, Explain, NextQuote, AllIn, Refresh)
"""Keys in the footer while the explanation stands beside the rows."""


class QuotesScreen(QuotesView):
    """Every route for one amount in one table; nothing is asked again unless a key says so.

    ``recipient`` is what the line already named; the form begins with it.
    """

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
        MoreRoutes,
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

    def on_mount(self) -> None:
        self.ask()

    # asking

    def ask(self, *, only_fixed: bool = False, by_itself: bool = False) -> None:
        """One call for each kind of rate; the rows in view stay until the answer is there.

        ``only_fixed`` adds fixed rates to the answer in view. ``by_itself``: what was refused
        before is asked once more.
        """
        if self._asked_at is not None or self.link is None:
            return
        self._asked_at = self.session.clock.monotonic()
        self._only_fixed = only_fixed
        self._again.begin(by_itself=by_itself)
        self._error = None
        self.set_timer(SAY_ASKING_AFTER, self._show)
        beside = self.board if only_fixed else None
        self.run_worker(self._fetch(beside), group="quotes", exclusive=True, exit_on_error=False)
        self._show()

    async def _fetch(self, beside: QuoteResult | None) -> None:
        quotes = self.desk.link.quotes
        if beside is None:
            await self._name_sender()
            answer = await self.question.ask(quotes, self._again.may_repeat)
        else:
            answer = await self.question.rate(quotes, beside, self._again.may_repeat, fixed=True)
        self.post_message(answer)

    async def _name_sender(self) -> None:
        """Routes are told for the account that would pay them, where one was chosen."""
        from swapdesk.flows.wallet.own_accounts import account_address

        wish = self.question.wish
        if wish.account and wish.asks_on_chain and wish.sender is None:
            sender = await account_address(self.desk, wish.token_in, wish.account)
            self.question = QuoteQuestion(replace(wish, sender=sender))

    def on_tick(self) -> None:
        if self._again.is_due(self.session.clock.monotonic()):
            self.ask(only_fixed=self._only_fixed, by_itself=True)
        self._show()

    @on(QuotesArrived)
    def _arrived(self, event: QuotesArrived) -> None:
        self._asked_at = None
        self._again.answered()
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
        self._again.refused(event.error, self._wait(), self.session.clock.monotonic())
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

    def in_footer(self) -> list[tuple[type[Command], CommandState]]:
        """Beside the rows stands why: then the keys are those of the explanation."""
        if not self._beside:
            return super().in_footer()
        working = dict(self.verbs.working())
        return [(verb, working[verb]) for verb in BESIDE if verb in working]

    @property
    def _beside(self) -> bool:
        """Whether the explanation was opened beside the rows."""
        return self._explained and ROOMY <= self.app.size.width < WIDE

    def verb_standing(self, verb: type[Command]) -> CommandState:
        if verb is Explain and self.app.size.width >= WIDE:
            # The explanation stands beside the rows always.
            return HIDDEN
        state = QuoteState(
            question=self.question,
            board=self.board,
            row=self.row,
            arrangement=self.arrangement,
            asking=self._asked_at is not None,
            explained=self._beside,
            wait=self._wait(),
            now=self.now(),
            again=self._said_again(),
            most=self._again.most,
        )
        standing = standing_of(verb, state)
        if verb is NextQuote and self._beside and standing is READY:
            return CommandState(key="[ ]")
        return standing

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

    def do_more_routes(self) -> None:
        self.rearrange(self.arrangement.unfolded(not self.arrangement.whole))

    def rearrange(self, arrangement: Arrangement) -> None:
        """Another order or filter of the rows; the cursor stays on its quote."""
        self.arrangement = arrangement
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
        try:
            wish = self.question.wish.with_options(options)
        except WishRefused as refused:
            self.show_notice(f"{refused.message} f2 changes the options.", "warning")
            return
        self.question, self._again = QuoteQuestion(wish), AskingAgain()
        said = f"Options changed. r asks with them, {cost_in_words(wish)}."
        self.show_notice(said)
        self._show()

    def do_back(self) -> None:
        if self._explained and ROOMY <= self.app.size.width < WIDE:
            self.do_explain()
        else:
            self.post_message(self.Go(Back))

    def do_review(self) -> None:
        self._table.action_choose()

    def _typed_before(self) -> TypedBefore:
        from swapdesk.flows.creation.create_checks import TypedBefore

        if self._typed is None:
            self._typed = TypedBefore(self.recipient)
        return self._typed

    @on(LineTable.Chosen)
    def _chosen_row(self, event: LineTable.Chosen) -> None:
        board = self.board
        if board is None:
            return
        if self.reads_only:
            self.show_notice("This desk only reads: no order is created.", "warning")
            return
        refusal = refusal_to_choose(board, event.key, self.now())
        if refusal is not None:
            self.show_notice(refusal, "warning")
            return
        row = board.ranking.find(event.key)
        if row is not None:
            from swapdesk.tui.screens.create import CreateScreen

            self.app.push_screen(CreateScreen(self.session, board, row, self._typed_before()))
