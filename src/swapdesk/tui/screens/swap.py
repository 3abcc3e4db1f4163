"""The first page: one line is enough to start a swap."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.events import Key
from textual.widget import Widget

from swapdesk.flows.deposits.funds_location import AT_HOME, NOT_READ
from swapdesk.tui.commands.account import SHOW_ACCOUNT
from swapdesk.tui.commands.batch import BATCH
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.commands.inspect import INSPECT
from swapdesk.tui.commands.orders import ORDERS
from swapdesk.tui.commands.swap import (
    ASK_QUOTES,
    BACK,
    FIND_TOKEN,
    GO_ON_SIGNING,
    OPTIONS,
    OTHER_CHAIN,
    OTHER_CHAIN_SOLD,
    RETRY,
    TO_RECENT,
)
from swapdesk.tui.commands.tokens import TOKENS
from swapdesk.tui.commands.wallets import WALLETS
from swapdesk.tui.page import SHOWN_BY_KEY, Page, signing_standing
from swapdesk.tui.screens.swap_line import (
    HINT,
    LONGEST,
    TALL_FROM,
    IntentReading,
    Reading,
    SwapLine,
    places_reading,
    reading_lines,
    with_options,
)
from swapdesk.tui.screens.swap_lists import SwapLists
from swapdesk.tui.session import Phase, Session, starting_words
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import FittedLines, TextRows
from swapdesk.tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from textual.timer import Timer

    from swapdesk.flows.quotes.quote_request import QuoteOptions
    from swapdesk.flows.signing.signing_session import SigningSession
    from swapdesk.flows.wallet.own_accounts import OwnBalance
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
NOTHING_SWAPPED = "Write an amount and two tokens, as 0.5 btc eth."
NOTHING_SENT = "Write an amount, a token and whom to pay, as 0.5 eth @bob."
PLACES: dict[Verb, str] = {
    ORDERS: "orders",
    TOKENS: "tokens",
    BATCH: "batch",
    WALLETS: "wallets",
    SHOW_ACCOUNT: "account",
    INSPECT: "support",
}
"""Where the keys of the empty line lead, in the words of the first screen."""


class SwapScreen(Page):
    """The first page: one line is enough to start; below it, what was done and what is open.

    The line is read again at every change; limits of its pair come once it rests. ``begin``
    empties it for a new swap or private send.
    """

    NAME = "Swap"
    VERBS = (
        RETRY,
        GO_ON_SIGNING,
        ASK_QUOTES,
        TO_RECENT,
        OTHER_CHAIN,
        OTHER_CHAIN_SOLD,
        FIND_TOKEN,
        OPTIONS,
        BACK,
    )
    AUTO_FOCUS: ClassVar[str | None] = "TextField"
    DEFAULT_CSS = """
    SwapScreen #reading { margin: 1 0 0 0; min-height: 2; }
    SwapScreen #waiting { display: none; margin: 1 0 0 0; }
    SwapScreen.-signing #waiting { display: block; }
    SwapScreen.-short #waiting { margin: 0; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, classes="-empty")
        self.line = TextField("", hint=HINT, tall=True, limit=LONGEST)
        self.line.leaves = self._is_key
        self._reading = FittedLines(id="reading")
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
        yield self._reading
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
        from swapdesk.tui.screens.sign_facts import under_way

        rows = under_way(self.controls.signing.open_sessions)
        self._waiting.show(rows)
        self.set_class(bool(rows), "-signing")
        self._say_money()
        self.refresh_keys()

    def begin(self, *, private: bool) -> None:
        """An empty line, for a swap or for a private send."""
        self.private = private
        self._label.show([Span(SEND_LABEL if private else SWAP_LABEL, "muted")])
        self.line.hint = SEND_HINT if private else HINT
        self.line.set_value("")
        self.line.focus()
        self._understand()

    def begin_with(self, line: str) -> None:
        """A swap with this line, to be gone on with or changed."""
        self.begin(private=False)
        self.line.set_value(line)

    def finished(self) -> None:
        """The order of this line exists; the next one starts empty."""
        self.begin(private=False)

    def write_token(self, spec: str) -> None:
        """Put a chosen token behind what is written, or before an amount still to be typed."""
        value = self.line.value.strip()
        self.line.set_value(f"{value} {spec}" if value else f" {spec} ")
        if not value:
            self.line.action_edit("home")
        self.line.focus()

    def session_changed(self) -> None:
        self._understand()
        self._fill_lists()
        if self.controls.signing.begun_swaps:
            self.swaps_changed()

    def orders_changed(self, ids: frozenset[str]) -> None:
        if self._filling is None:
            self._filling = self.set_timer(self._pause, self._fill_lists)

    def balances_changed(self) -> None:
        self._read.held.clear()
        self._understand()
        if self.link is not None:
            self._ask_balance()

    def on_screen_resume(self) -> None:
        """A whole line that one comes back to stands as it was: a letter is a key again, and
        whatever else is typed edits it."""
        if self._read.complete:
            self.line.rest()

    def on_resize(self) -> None:
        tall = self.app.size.height >= TALL_FROM
        if tall != self.line.tall:
            self.line.tall = tall
            self.line.redraw()
        if self.link is not None:
            # A wide screen has a column more.
            self._lists.tell(self.desk, self.service_time())

    def on_tick(self) -> None:
        if self.session.opened and self.link is not None:
            self._lists.show_open(self.link.tracker, self.service_time())

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
        on_line = self.focused is self.line and not self.line.value
        if catalog is None or not on_line or not word.isalpha() or not self.verbs.has_key(word[0]):
            return False
        if not catalog.begins_a_symbol(word):
            return False
        if text != word:
            return bool(catalog.rows_of_symbol(word))
        return True if len(word) > 1 and word[0] != TOKENS.key else None

    def word_waits(self, key: str) -> None:
        """A letter waits for the next one: say what it does alone."""
        verb = next(
            (verb for verb, _ in self.verbs.working() if key in self.verbs.keys(verb)), None
        )
        if verb is not None:
            does = f"{PLACES.get(verb, verb.words)} in a moment, or the beginning of a token"
            self._say(IntentReading(Reading.EMPTY, f"{key}: {does}"))

    def write_letter(self, letter: str) -> None:
        """Put a letter into the line that is a key as long as it stands alone."""
        self.line.insert(letter)

    def _subject(self) -> object:
        """What a notice of this screen speaks of."""
        return self.line.value, self._read.choose, self._read.sold, self.private, self.session.phase

    # reading the line

    def _understand(self) -> None:
        """Read the line again and say so; no call is made."""
        if self.session.opened:
            said = self._read.read(self.line.value, self.desk, self.link, private=self.private)
            if said.reading is Reading.EMPTY:
                said = self._where_to_go()
            named = self.desk.catalog.provider_name
            self._say(with_options(said, self.session.quote_options, named))
        self.settle_notice(self._subject())
        self._say_money()
        self.refresh_keys()

    def _say(self, reading: IntentReading) -> None:
        """Draw how the line was read and mark the place of a refusal."""
        self.line.mark(reading.marked)
        self._reading.show(partial(reading_lines, reading))

    def _where_to_go(self) -> IntentReading:
        """Under the empty line: its keys, and whose account the service is called with."""
        working = dict(self.verbs.working())
        keys = [(self.verbs.shown_key(verb), PLACES[verb]) for verb in PLACES if verb in working]
        whose = "" if self.link is None or self.session.live else self.link.connection.partner
        return places_reading(keys, whose)

    def _ask_limits(self) -> None:
        line = self._read.line
        if line is None or self.link is None or not (line.ready or line.share is not None):
            return
        self._ask_balance()
        if (
            line.ready
            and self._read.pair is not None
            and self._read.known_limits(self.link) is None
        ):
            self.run_worker(self._fetch_limits(), group="limits", exclusive=True,
                            exit_on_error=False)  # fmt: skip

    def _ask_balance(self) -> None:
        line = self._read.line
        if line is not None and line.token_in is not None and (self._read.pair or line.share):
            work = self._fetch_balance(line.token_in)
            self.run_worker(work, group="balance", exclusive=True, exit_on_error=False)

    async def _fetch_limits(self) -> None:
        from swapdesk.client.errors import ClientError

        pair, link = self._read.pair, self.link
        if pair is None or link is None:
            return
        # Limits are a comfort: without them the quotes themselves say what is too small.
        with contextlib.suppress(ClientError):
            await link.quotes.limits(*pair)
            self.call_later(self._understand)

    async def _fetch_balance(self, sold: Token) -> None:
        from swapdesk.flows.wallet.own_accounts import own_balance

        self.call_later(self._balance_known, sold.id, await own_balance(self.desk, sold))

    def _balance_known(self, token_id: str, found: OwnBalance | str) -> None:
        """What the own wallet has of a token, or why nobody can say."""
        self._read.held[token_id] = found
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
        known = self._lists.fill(tracker, self.desk.catalog, self.service_time())
        if tracker is not None and known:
            self._lists.tell(self.desk, self.service_time())
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
            self._say(IntentReading(Reading.REFUSED, session.reason))
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

    # keys

    def verb_standing(self, verb: Verb) -> CommandState:
        failed = self.session.phase is Phase.FAILED
        if verb is RETRY:
            return READY if failed and not self.line.value else HIDDEN
        if verb is GO_ON_SIGNING:
            return signing_standing(None if self.line.value else self.signing)
        if verb is ASK_QUOTES:
            if self.session.ready and self._read.complete:
                return CommandState(cost=self._cost())
            return HIDDEN
        if verb is OTHER_CHAIN:
            several = self._read.several
            naming = "@" in self.line.value
            return (
                CommandState(verb="complete @name" if naming else "")
                if several or naming
                else HIDDEN
            )
        if verb is OTHER_CHAIN_SOLD:
            return READY if self._read.sold_elsewhere else HIDDEN
        if verb is FIND_TOKEN:
            return READY if self.session.opened else HIDDEN
        if verb is OPTIONS:
            return READY if self.session.ready else HIDDEN
        if verb is TO_RECENT:
            return READY if self._lists.filled is not None else HIDDEN
        if verb is BACK:
            return READY if self.line.value or self.private else HIDDEN
        return READY

    def do_go_on_signing(self) -> None:
        if self.signing is not None:
            self.controls.signing.open(self.signing)

    def do_to_recent(self) -> None:
        table = self._lists.filled
        if table is not None and self.focused not in self._lists.tables:
            table.focus()

    def do_other_chain(self) -> None:
        named = self._read.named(self.line.value, self.desk) if self.session.opened else None
        if named is None:
            self._read.choose += 1
            self._understand()
        else:
            self.line.set_value(named)

    def do_other_chain_sold(self) -> None:
        self._read.sold += 1
        self._understand()

    def do_find_token(self) -> None:
        from swapdesk.tui.screens.tokens import TokensScreen

        beside = self._read.line.token_in if self._read.line is not None else None
        self.app.push_screen(TokensScreen(self.session, choosing=True, beside=beside))

    def do_options(self) -> None:
        from swapdesk.tui.screens.quote_options import open_options

        open_options(self.app, self.session, self._options, lambda _: self._understand())

    @property
    def _options(self) -> QuoteOptions:
        """How quotes are asked for from here."""
        from swapdesk.flows.quotes.quote_request import PLAIN

        return self.session.quote_options or PLAIN

    def _cost(self) -> str:
        from swapdesk.flows.quotes.quote_request import cost_in_words

        options = self._options
        return cost_in_words(options.to_receive if self._read.receive else options)

    def do_new_swap(self) -> None:
        self.begin(private=False)

    def do_private_send(self) -> None:
        self.begin(private=True)

    def do_retry(self) -> None:
        self.controls.start()

    def do_back(self) -> None:
        if not self.line.value and self.private:
            self.begin(private=False)
            return
        self.line.set_value("")
        self.line.focus()

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.reason, "warning", about=self._subject())

    def on_key(self, event: Key) -> None:
        """While the line has text a character is typed, wherever the focus is."""
        field, character = self.line, event.character
        if field.value and not field.has_focus and event.is_printable and character:
            event.stop()
            field.focus()
            field.insert(character)

    @on(LineTable.Chosen, "#recent")
    def _again(self, event: LineTable.Chosen) -> None:
        recent = self._lists.chosen(event.key)
        if recent is not None:
            self.begin(private=recent.private_send)
            self.line.set_value(recent.text)

    @on(LineTable.Chosen, "#open")
    def _open_order(self, event: LineTable.Chosen) -> None:
        self.controls.navigation.open_order(event.key)

    @on(TextField.Submitted)
    def do_ask_quotes(self) -> None:
        from swapdesk.flows.quotes.quote_request import QuoteRequest, WishRefused
        from swapdesk.tui.screens.quotes import QuotesScreen

        line = self._read.line
        if not self.line.value.strip():
            said = NOTHING_SENT if self.private else NOTHING_SWAPPED
            self.show_notice(said, about=self._subject())
        elif not self.session.ready or line is None:
            said = "The desk is still starting. The line stays here."
            self.show_notice(said, "warning", about=self._subject())
        elif line.wants_amount:
            # The cursor goes to where it belongs.
            self.line.set_value(f" {self.line.value.strip()}")
            self.line.action_edit("home")
            self.show_notice(line.message, "warning", about=self._subject())
        elif not line.ready:
            said = line.message or "The line is not complete."
            self.show_notice(said, "warning", about=self._subject())
        elif (outside := self._read.outside()) is not None:
            short = self._read.nearest()
            self.show_notice(outside, "warning", about=self._subject(), short=short)
        elif line.token_in is not None and line.token_out is not None and line.amount is not None:
            try:
                wish = QuoteRequest.of(
                    self._options,
                    line.token_in,
                    line.token_out,
                    line.amount,
                    receive=line.receive,
                    private_send=line.private_send,
                )
            except WishRefused as refused:
                said = f"{refused.message} f2 changes the options."
                self.show_notice(said, "warning", about=self._subject())
                return
            screen = QuotesScreen(self.session, wish, recipient=self._read.recipient)
            self.app.push_screen(screen)
