"""The first screen as it is drawn: the line, how it is read, what is open, the money line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual import on
from textual.widget import Widget

from swapdesk.flows.deposits.funds_location import AT_HOME, NOT_READ
from swapdesk.tui.commands.tokens import Tokens
from swapdesk.tui.messages import BalanceKnown, LimitsKnown
from swapdesk.tui.page import Page
from swapdesk.tui.screens.open_signing_key import SHOWN_BY_KEY
from swapdesk.tui.screens.swap_line import SwapLine
from swapdesk.tui.screens.swap_lists import SwapLists
from swapdesk.tui.screens.swap_reading import with_options
from swapdesk.tui.session import Phase, Session, starting_words
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.intent_line import HINT, IntentLine, IntentReading, Reading
from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from textual.timer import Timer

    from swapdesk.flows.signing.signing_session import SigningSession
    from swapdesk.wire.tokens import Token


LIMITS_AFTER = 0.3
"""Seconds without a key before the limits of the pair are asked for."""
UPDATE_SECONDS = 0.1
"""Changes of orders within this time are shown as one."""
UPDATE_SHARE = 0.05
"""Of the time that goes at most into telling of thousands of orders that move."""
SWAP_LABEL = "What do you want to swap?"
SEND_LABEL = "What do you want to send privately?"
NOTHING_MOVES = "in your wallet. Nothing moves from this screen."
SEND_HINT = "amount   token   @name or address"


class SwapView(Page):
    """The line is read again at every change; limits of its pair come once it rests."""

    DEFAULT_CSS = """
    SwapView #waiting { display: none; margin: 1 0 0 0; }
    SwapView.-signing #waiting { display: block; }
    SwapView.-short #waiting { margin: 0; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, classes="-empty")
        self.line = IntentLine()
        self.line.field.leaves = self._is_key
        self.private = False
        self._label = TextRows([Span(SWAP_LABEL, "muted")], classes="question")
        self._waiting = TextRows(id="waiting")
        self._lists = SwapLists()
        self._read = SwapLine()
        self._limits_timer: Timer | None = None
        self._filling: Timer | None = None
        self._pause = UPDATE_SECONDS
        self._funds = NOT_READ
        """Told anew when orders change."""

    def compose_body(self) -> Iterable[Widget]:
        yield self._label
        yield self.line
        yield self._waiting
        yield self._lists

    # from the application

    @property
    def signing(self) -> SigningSession | None:
        """What is to be looked at first of all that is signed: what waits for the trader."""
        signings = self.controls.signing.open_sessions
        return next(iter([one for one in signings if one.waits] or signings), None)

    def swaps_changed(self) -> None:
        """Say which swaps and payments are under way, in a row each."""
        from swapdesk.tui.screens.swaps_under_way import under_way

        rows = under_way(self.controls.signing.open_sessions)
        self._waiting.show(rows)
        self.set_class(bool(rows), "-signing")
        self._say_money()
        self.refresh_keys()

    def begin(self, *, private: bool) -> None:
        """An empty line, for a swap or for a private send."""
        self.private = private
        self._label.show([Span(SEND_LABEL if private else SWAP_LABEL, "muted")])
        self.line.field.hint = SEND_HINT if private else HINT
        self.line.set_value("")
        self.line.field.focus()
        self._understand()

    def finished(self) -> None:
        """The order of this line exists; the next one starts empty."""
        self.begin(private=False)

    def write_token(self, spec: str) -> None:
        """Put a chosen token behind what is written, or before an amount still to be typed."""
        value = self.line.value.strip()
        self.line.set_value(f"{value} {spec}" if value else f" {spec} ")
        if not value:
            self.line.field.action_edit("home")
        self.line.field.focus()

    def session_changed(self) -> None:
        self._understand()
        self._fill_lists()
        if self.controls.signing.begun_swaps:
            self.swaps_changed()

    def orders_changed(self, ids: frozenset[str]) -> None:
        if self._filling is None:
            self._filling = self.set_timer(self._pause, self._fill_lists)

    def balances_changed(self) -> None:
        self._read.balances.clear()
        self._understand()
        if self.link is not None:
            self._ask_balance()

    def on_screen_resume(self) -> None:
        """A whole line that one comes back to stands as it was: a letter is a key again, and
        whatever else is typed edits it."""
        if self._read.complete:
            self.line.field.rest()

    def on_resize(self) -> None:
        if self.link is not None:
            # A wide screen has a column more.
            self._lists.tell(self.desk, self.now())

    def on_tick(self) -> None:
        if self.session.opened and self.link is not None:
            self._lists.show_open(self.link.tracker, self.now())

    @property
    def counting(self) -> bool:
        return bool(self._lists.open_count)

    @on(TextField.Changed)
    def _typed(self) -> None:
        self._read.choose = self._read.sold = 0
        self._understand()
        if self._limits_timer is not None:
            self._limits_timer.stop()
        self._limits_timer = self.set_timer(LIMITS_AFTER, self._ask_limits)

    def _is_key(self, key: str) -> bool:
        """Whether a key on the empty line is a verb; everything else is the first character."""
        return key == "space" or self.verbs.has_key(key)

    def begins_word(self, text: str) -> bool | None:
        """Whether letters typed one after the other on the empty line begin a word of it, though
        the first is a key; None as long as the next one decides.

        Behind the key of the token search letters are searched for: there the word must be whole.
        """
        word, catalog = text.rstrip(" ."), self.catalog
        on_line = self.focused is self.line.field and not self.line.value
        if catalog is None or not on_line or not word.isalpha() or not self.verbs.has_key(word[0]):
            return False
        if not catalog.begins_a_symbol(word):
            return False
        if text != word:
            return bool(catalog.rows_of_symbol(word))
        return True if len(word) > 1 and word[0] != Tokens.KEY else None

    def write_letter(self, letter: str) -> None:
        """Put a letter into the line that is a key as long as it stands alone."""
        self.line.field.insert(letter)

    def _subject(self) -> object:
        """What a notice of this screen speaks of."""
        return self.line.value, self._read.choose, self._read.sold, self.private, self.session.phase

    # reading the line

    def _understand(self) -> None:
        """Read the line again and say so; no call is made."""
        if self.session.opened:
            said = self._read.read(self.line.value, self.desk, self.link, private=self.private)
            self.line.show(with_options(said, self.session.quote_options))
        self.settle_notice(self._subject())
        self._say_money()
        self.refresh_keys()

    def _ask_limits(self) -> None:
        line = self._read.line
        if line is None or not line.ready or self._read.pair is None or self.link is None:
            return
        self._ask_balance()
        if self._read.known_limits(self.link) is None:
            self.run_worker(self._fetch_limits(), group="limits", exclusive=True,
                            exit_on_error=False)  # fmt: skip

    def _ask_balance(self) -> None:
        pair = self._read.pair
        if pair is not None:
            work = self._fetch_balance(pair[0])
            self.run_worker(work, group="balance", exclusive=True, exit_on_error=False)

    async def _fetch_limits(self) -> None:
        from swapdesk.client.errors import ClientError

        pair, link = self._read.pair, self.link
        if pair is None or link is None:
            return
        # Limits are a comfort: without them the quotes themselves say what is too small.
        with contextlib.suppress(ClientError):
            limits = await link.quotes.limits(*pair)
            self.post_message(LimitsKnown((pair[0].id, pair[1].id), limits))

    async def _fetch_balance(self, sold: Token) -> None:
        from swapdesk.flows.wallet.own_accounts import own_balance

        self.post_message(BalanceKnown(sold.id, await own_balance(self.desk, sold)))

    @on(BalanceKnown)
    def _balance_known(self, event: BalanceKnown) -> None:
        if event.amount is None:
            self._read.balances.pop(event.token_id, None)
        else:
            self._read.balances[event.token_id] = event.amount
        self._understand()

    @on(LimitsKnown)
    def _limits_known(self, event: LimitsKnown) -> None:
        self._understand()

    # what stands below

    def _fill_lists(self) -> None:
        self._filling = None
        if not self.session.opened:
            return
        begin = self.session.clock.monotonic()
        tracker = self.link.tracker if self.link is not None else None
        self._funds = self.funds()
        self._say_money()
        known = self._lists.fill(tracker, self.desk.catalog, self.now())
        if tracker is not None and known:
            self._lists.tell(self.desk, self.now())
        sandbox = not self.session.live
        # Until the orders are known the screen stays as it began: nothing comes to go again.
        if self.session.ready or known or not sandbox:
            self.set_class(not known and sandbox, "-empty")
        greeted = not known and self.session.ready and sandbox
        self._lists.greet(self.desk.catalog if greeted else None)
        self.refresh_keys()
        self._pause = max(UPDATE_SECONDS, (self.session.clock.monotonic() - begin) / UPDATE_SHARE)

    def _say_money(self) -> None:
        session = self.session
        where, short = self._funds.where, self._funds.short
        if self._funds == AT_HOME:
            where = NOTHING_MOVES
        if session.phase is Phase.FAILED:
            what = "the service" if session.live else "the sandbox"
            self.set_money(short, f"you: r tries {what} again")
            self.line.show(IntentReading(Reading.REFUSED, session.reason))
        elif session.phase is Phase.STARTING:
            self.set_money(short, starting_words(live=session.live, done=session.done))
        elif not self.line.value and (signing := self.signing) is not None and signing.waits:
            self.set_money(where, SHOWN_BY_KEY, where_short=short)
        elif self._read.complete:
            self.set_money(where, "you: press enter to ask for quotes", where_short=short)
        elif self._read.wants_amount:
            self.set_money(where, "you: type the amount", where_short=short)
        elif self.private:
            self.set_money(where, "you: write what to send", where_short=short)
        else:
            self.set_money(where, "you: write what to swap", where_short=short)
