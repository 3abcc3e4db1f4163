"""The first page of the desk, where one typed line is enough to start a swap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import replace
from textual import on
from textual.containers import Horizontal, Vertical
from textual.events import Key
from textual.widget import Widget

from swapdesk.flows.deposits.funds_location import AT_HOME, NOT_READ
from swapdesk.flows.notation import (
    clock_time,
    day,
    exact_amount,
    percent,
    short_address,
    tracker_amount,
    trimmed,
    usd,
)
from swapdesk.tui.commands.account import SHOW_ACCOUNT
from swapdesk.tui.commands.batch import BATCH
from swapdesk.tui.commands.command import CommandState, Standings, Verb
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
from swapdesk.tui.glyphs import ABOUT, DOT, REFUSED, TROUBLE, VALID
from swapdesk.tui.page import SHOWN_BY_KEY, Page, signing_standing
from swapdesk.tui.session import Session, starting_words
from swapdesk.tui.spans import (
    Line,
    LineLike,
    Span,
    cut,
    fill,
    line_of,
    push_right,
    spread,
    width_of,
    wrapped,
)
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import FittedLines, SectionLabel, TextRows, section_line
from swapdesk.tui.widgets.table_layout import Column, Row
from swapdesk.tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from decimal import Decimal

    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.flows.catalog.token_list import TokenRow
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.orders.order_status import OrderStatus
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.flows.quotes.intent_line import IntentLine, LineState
    from swapdesk.flows.quotes.quote_request import Named, QuoteOptions
    from swapdesk.flows.quotes.recent import Recent
    from swapdesk.flows.signing.signing_session import SigningSession
    from swapdesk.flows.tracking.open_business import RecentEvent
    from swapdesk.flows.wallet.own_accounts import OwnBalance
    from swapdesk.wire.quotes import PairLimits
    from swapdesk.wire.tokens import Token

LIMITS_AFTER = 0.3
"""Seconds after the last key from which the limits of the typed pair are asked for."""
UPDATE_SECONDS = 0.1
"""Seconds during which changes of orders are collected, to be drawn together."""
UPDATE_SHARE = 0.05
"""Largest share of the time that drawing changed orders may take."""
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
"""The words on the first page for the keys that open a page while the line is empty."""
HINT = "amount   you sell   you buy"
TALL_FROM = 28
LONGEST = 1_000
"""Largest number of characters in the line, enough for a payment link with a message."""
RECENT_COLUMNS = (
    Column("line", "", 18, grow=1),
    Column("route", "", 8, priority=2),
    Column("at", "", 11, "right", priority=1, role="muted"),
)
OPEN_COLUMNS = (
    Column("id", "", 6),
    Column("what", "", 16, grow=1, priority=3),
    Column("state", "", 15),
    Column("time", "", 11, "right", priority=2, role="muted"),
)
MOST = 6
ROLE_OF_LEVEL = {
    "waiting": "status-waiting",
    "moving": "status-moving",
    "done": "status-done",
    "trouble": "status-trouble",
    "back": "status-trouble",
    "expired": "muted",
}
MOST_EVENTS = 6
MOST_MARKETS = 4
_TIME, _ID, _SYMBOL, _PRICE, _CHANGE = 12, 8, 10, 14, 10
TWO_FROM = 92
EXAMPLES = (
    ("0.5 btc eth", "sell 0.5 BTC, buy ETH"),
    ("=2 btc eth", "get exactly 2 ETH, sell BTC"),
    ("0.5 eth @bob", "private send to bob"),
    ("900 usdc.base sol", "name the chain after a dot"),
    ("$500 btc to eth", "dollars; or 1k, 50%, max"),
    ("usdc bitcoin:…", "pay a payment link"),
)
COLOURS_OFFERED = "Colours: ctrl+p, theme. beacon for low vision, iris for colour blindness."
NEWS_FROM = 160
MOST_OPEN = 50
"""Most open orders on this page. The page of all orders has the rest."""


MARKS: dict[LineState, tuple[str, str]] = {
    "empty": ("", "muted"),
    "incomplete": (DOT, "muted"),
    "ambiguous": (TROUBLE, "status-waiting"),
    "valid": (VALID, "status-done"),
    "refused": (REFUSED, "status-trouble"),
}
"""Glyph and colour role for each state of the typed line."""


class IntentReading(Struct, frozen=True):
    """What is shown about the typed line. ``right`` is the value of the amount in USD. ``marked``
    has the positions of wrong characters."""

    state: LineState = "empty"
    text: LineLike = ""
    right: LineLike = ""
    below: LineLike = ""
    marked: frozenset[int] = field(default_factory=frozenset)


class SwapScreen(Page):
    """The first page, where one typed line starts a swap. Below are earlier swaps and open
    orders."""

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
        self._recent = LineTable(
            RECENT_COLUMNS, heads=False, empty="Nothing asked yet.", id="recent"
        )
        self._lines: dict[str, Recent] = {}
        """Earlier swaps as lines that can be typed again, by the key of their row."""
        self._open = LineTable(OPEN_COLUMNS, heads=False, empty="No order is open.", id="open")
        self._open_label = SectionLabel("Open orders")
        self._news = FittedLines()
        self._asked: list[Intent] = []
        """The intents that the user confirmed at this desk, newest first."""
        self._welcome = TextRows(id="welcome")
        self._choose = 0
        """How often the user pressed the key that takes the token on a different chain, since the
        line changed."""
        self._sold = 0
        """How often the user changed the chain of the token sold since the line changed."""
        self._read: IntentLine | None = None
        """The line as it was last read; None before the desk is open."""
        self._limits: PairLimits | None = None
        """The limits of the pair in the line; None if they are not known."""
        self.held: dict[str, OwnBalance | str] = {}
        """The user's balances by token id, or why one is unknown."""
        self._pause = UPDATE_SECONDS
        self._funds = NOT_READ
        """Where the money of all orders is. It is read again when orders change."""

    def compose_body(self) -> Iterable[Widget]:
        yield self._label
        yield self.line
        yield self._reading
        yield self._waiting
        yield Horizontal(
            Vertical(SectionLabel("Recent"), self._recent),
            Vertical(self._open_label, self._open),
            Vertical(self._news, id="news"),
            id="lists",
        )
        examples = FittedLines(how_lines)
        yield Vertical(SectionLabel("How to write it"), examples, id="how")
        yield self._welcome

    # from the application

    @property
    def signing(self) -> SigningSession[Any] | None:
        """The open signing session to show first: a session that waits for the user, otherwise any
        open session. None if no session is open."""
        signings = self.controls.signing.open_sessions
        return next(iter([session for session in signings if session.waits] or signings), None)

    def swaps_changed(self) -> None:
        from swapdesk.tui.screens.sign import under_way

        rows = under_way(self.controls.signing.open_sessions)
        self._waiting.show(rows)
        self.set_class(bool(rows), "-signing")
        self._say_money()
        self.refresh_keys()

    def begin(self, *, private: bool) -> None:
        """Empties the line for a new swap or, if ``private`` is True, for a private send, and moves
        the focus to it."""
        self.private = private
        self._label.show([Span(SEND_LABEL if private else SWAP_LABEL, "muted")])
        self.line.hint = SEND_HINT if private else HINT
        self.line.set_value("")
        self.line.focus()
        self._understand()

    def begin_with(self, line: str) -> None:
        """Begins a swap: writes ``line``, such as ``0.5 btc eth``, into the field, where the user
        can change it."""
        self.begin(private=False)
        self.line.set_value(line)

    def write_token(self, spec: str) -> None:
        """Appends the token ``spec``, such as ``usdc.base``, to the line."""
        value = self.line.value.strip()
        self.line.set_value(f"{value} {spec}" if value else f" {spec} ")
        if not value:
            self.line.action_edit("home")
        self.line.focus()

    def session_changed(self) -> None:
        self._understand()
        self._fill_lists()
        if self.controls.signing.begun:
            self.swaps_changed()

    def orders_changed(self, ids: frozenset[str]) -> None:
        self.soon("lists", self._pause, self._fill_lists)

    def balances_changed(self) -> None:
        self.held.clear()
        self._understand()
        if self.link is not None:
            self._ask_balance()

    def on_screen_resume(self) -> None:
        """Called when the page comes into view. If the line is complete, letters are keys of the
        page from then on."""
        if self._complete:
            self.line.rest()

    def on_resize(self) -> None:
        tall = self.app.size.height >= TALL_FROM
        if tall != self.line.tall:
            self.line.tall = tall
            self.line.redraw()
        # A wide screen has a column more.
        self._show_news()

    def on_tick(self) -> None:
        self._show_open()

    @property
    def counting(self) -> bool:
        return bool(self._open.rows)

    @on(TextField.Changed)
    def _typed(self) -> None:
        self._choose = self._sold = 0
        self._understand()
        self.delay("limits", LIMITS_AFTER, self._ask_limits)

    def _is_key(self, key: str) -> bool:
        return key == "space" or self.verbs.has_key(key)

    def begins_word(self, text: str) -> bool | None:
        """Returns True if ``text``, typed on the empty line, begins a token's symbol, otherwise
        False. Returns None if only the next letter can decide between a symbol and a command
        key."""
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
        """Shows which command the letter ``key`` will carry out if the user types no further letter
        in time."""
        verb = next(
            (verb for verb, _ in self.verbs.working() if key in self.verbs.keys(verb)), None
        )
        if verb is not None:
            does = f"{PLACES.get(verb, verb.words)} in a moment, or the beginning of a token"
            self._say(IntentReading(text=f"{key}: {does}"))

    def write_letter(self, letter: str) -> None:
        """Inserts ``letter`` into the line as text, although it is also a command key."""
        self.line.insert(letter)

    def subject(self) -> object:
        return self.line.value, self._choose, self._sold, self.private, self.session.phase

    # reading the line

    def _understand(self) -> None:
        if self.session.opened:
            reading = self._read_line()
            if reading.state == "empty":
                reading = self._where_to_go()
            named = self.desk.catalog.provider_name
            self._say(with_options(reading, self.session.quote_options, named))
        self.settle_notice(self.subject())
        self._say_money()
        self.refresh_keys()

    def _read_line(self) -> IntentReading:
        from swapdesk.flows.payees.recipients import payee_check
        from swapdesk.flows.quotes.intent_line import parse_intent_line

        desk, link = self.desk, self.link
        line = parse_intent_line(
            self.line.value,
            desk.catalog,
            desk.book,
            choose=self._choose,
            sold=self._sold,
            held=self.held,
            check=payee_check(desk.catalog, desk.book, desk.journal),
            private=self.private,
        )
        self._read = line
        pair = line.pair
        self._limits = link.quotes.known_limits(*pair) if link is not None and pair else None
        if line.state == "empty":
            return IntentReading()
        has = self.held.get(line.token_in.id) if line.token_in is not None else None
        have = None if has is None or isinstance(has, str) else has.amount
        return reading_of(line, self._limits, outside(line, self._limits), have)

    @property
    def _complete(self) -> bool:
        line = self._read
        return line is not None and line.ready and not outside(line, self._limits)

    def _say(self, reading: IntentReading) -> None:
        self.line.mark(reading.marked)
        self._reading.show(partial(reading_lines, reading))

    def _where_to_go(self) -> IntentReading:
        working = dict(self.verbs.working())
        keys = [(self.verbs.shown_key(verb), PLACES[verb]) for verb in PLACES if verb in working]
        whose = "" if self.link is None or self.session.live else self.link.connection.partner
        return places_reading(keys, whose)

    def _ask_limits(self) -> None:
        line = self._read
        if line is None or self.link is None or not (line.ready or line.share is not None):
            return
        self._ask_balance()
        pair = line.pair
        if line.ready and pair is not None and self._limits is None:
            # Limits are a comfort: without them the quotes themselves say what is too small.
            asked = self.link.quotes.limits(*pair)
            self.fetch("limits", asked, lambda _: self._understand(), lambda _: None)

    def _ask_balance(self) -> None:
        line = self._read
        if line is not None and line.token_in is not None and (line.pair or line.share):
            from swapdesk.flows.wallet.own_accounts import own_balance

            question = own_balance(self.desk, line.token_in)
            self.fetch("balance", question, partial(self._balance_known, line.token_in.id))

    def _balance_known(self, token_id: str, balance: OwnBalance | str) -> None:
        self.held[token_id] = balance
        self._understand()

    # what stands below

    def _fill_lists(self) -> None:
        if not self.session.opened:
            return
        from swapdesk.flows.quotes.recent import newest_intents, recent_lines

        begin, catalog = self.session.clock.monotonic(), self.desk.catalog
        tracker, now = self.link.tracker if self.link is not None else None, self.service_time()
        self._funds = self.funds()
        self._say_money()
        self._asked = [] if tracker is None else newest_intents(tracker.known())
        self._lines = {line.text: line for line in recent_lines(self._asked, catalog, MOST)}
        self._recent.set_rows(_recent_row(line, now) for line in self._lines.values())
        self._show_open()
        count = 0 if tracker is None else tracker.open_count
        self._open_label.show("Open orders", f"{count:,}" if count else "")
        known = 0 if tracker is None else tracker.count
        if known:
            self._show_news()
        sandbox = not self.session.live
        # Until the orders are known the screen stays as it began: nothing comes to go again.
        if self.session.ready or known or not sandbox:
            self.set_class(not known and sandbox, "-empty")
        greeted = not known and self.session.ready and sandbox
        self._welcome.show(greeting(catalog) if greeted else [])
        self.refresh_keys()
        self._pause = max(UPDATE_SECONDS, (self.session.clock.monotonic() - begin) / UPDATE_SHARE)

    def _show_news(self) -> None:
        if self.link is None or self.app.size.width < NEWS_FROM:
            return
        from swapdesk.flows.tracking.open_business import markets_of, recent_events

        events = recent_events(self.desk.journal, MOST_EVENTS, self.link.tracker.get)
        markets = markets_of(self._asked, self.desk.catalog, MOST_MARKETS)
        self._news.show(partial(news_lines, events, markets, self.service_time()))

    def _show_open(self) -> None:
        if self.link is None:
            return
        from swapdesk.flows.orders.order_status import order_status

        nearest, now = self.link.tracker.nearest(MOST_OPEN), self.service_time()
        rows = [(tracked, order_status(tracked, now)) for tracked in nearest]
        self._open.set_rows(_row(tracked, status) for tracked, status in rows if not status.ended)

    @property
    def _filled(self) -> LineTable | None:
        return next((table for table in (self._recent, self._open) if table.rows), None)

    def _say_money(self) -> None:
        session = self.session
        where, short = self._funds.where, self._funds.short
        if self._funds == AT_HOME:
            where = NOTHING_MOVES
        if session.phase == "failed":
            what = "the service" if session.live else "the sandbox"
            self.set_money(short, f"you: r tries {what} again")
            self._say(IntentReading("refused", session.reason))
        elif session.phase == "starting":
            self.set_money(short, starting_words(live=session.live, done=session.done))
        elif not self.line.value and (signing := self.signing) is not None and signing.waits:
            self.set_money(where, SHOWN_BY_KEY, where_short=short)
        elif self._complete:
            self.set_money(where, "you: press enter to ask for quotes", where_short=short)
        elif self._read is not None and self._read.wants_amount:
            self.set_money(where, "you: type the amount", where_short=short)
        elif self.private:
            self.set_money(where, "you: write what to send", where_short=short)
        else:
            self.set_money(where, "you: write what to swap", where_short=short)

    # keys

    def standings(self) -> Standings:
        session, line, text = self.session, self._read, self.line.value
        names = "complete @name" if "@" in text else ""
        several = line is not None and line.choices > 1
        asks = session.ready and self._complete
        return {
            RETRY: session.phase == "failed" and not text,
            GO_ON_SIGNING: signing_standing(None if text else self.signing),
            ASK_QUOTES: CommandState(cost=self._cost()) if asks else False,
            TO_RECENT: self._filled is not None,
            OTHER_CHAIN: CommandState(verb=names, hidden=not (names or several)),
            OTHER_CHAIN_SOLD: line is not None and line.both_hints is not None,
            FIND_TOKEN: session.opened,
            OPTIONS: session.ready,
            BACK: bool(text) or self.private,
        }

    def do_go_on_signing(self) -> None:
        if self.signing is not None:
            self.controls.signing.open(self.signing)

    def do_to_recent(self) -> None:
        table = self._filled
        if table is not None and self.focused not in (self._recent, self._open):
            table.focus()

    def do_other_chain(self) -> None:
        named = self._named() if self.session.opened else None
        if named is None:
            self._choose += 1
            self._understand()
        else:
            self.line.set_value(named)

    def _named(self) -> str | None:
        text, sold = self.line.value, self._read.token_in if self._read is not None else None
        head, at, begun = text.rpartition("@")
        if not at:
            return None
        booked = self.desk.book.names(sold.chain_data.kind if sold is not None else None)
        names = [name for name in booked if name.startswith(begun.lower())]
        if not names:
            return text
        following = names[(names.index(begun) + 1) % len(names)] if begun in names else names[0]
        return f"{head}@{following}"

    def do_other_chain_sold(self) -> None:
        self._sold += 1
        self._understand()

    def do_find_token(self) -> None:
        from swapdesk.tui.screens.tokens import TokensScreen

        beside = self._read.token_in if self._read is not None else None
        self.app.push_screen(TokensScreen(self.session, took=self.write_token, beside=beside))

    def do_options(self) -> None:
        from swapdesk.tui.screens.quote_options import open_options

        open_options(self.app, self.session, self._options, lambda _: self._understand())

    @property
    def _options(self) -> QuoteOptions:
        from swapdesk.flows.quotes.quote_request import PLAIN

        return self.session.quote_options or PLAIN

    def _cost(self) -> str:
        from swapdesk.flows.quotes.quote_request import cost_in_words

        line, options = self._read, self._options
        receive = line is not None and line.receive
        return cost_in_words(options.to_receive if receive else options)

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

    def on_key(self, event: Key) -> None:
        """Types the character into a line that is not empty, even if a list has the focus."""
        field, character = self.line, event.character
        if field.value and not field.has_focus and event.is_printable and character:
            event.stop()
            field.focus()
            field.insert(character)

    @on(LineTable.Chosen, "#recent")
    def _again(self, event: LineTable.Chosen) -> None:
        recent = self._lines.get(event.key)
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

        line = self._read
        if not self.line.value.strip():
            notice = NOTHING_SENT if self.private else NOTHING_SWAPPED
            self.show_notice(notice, about=self.subject())
        elif not self.session.ready or line is None:
            notice = "The desk is still starting. The line stays here."
            self.show_notice(notice, "warning", about=self.subject())
        elif line.wants_amount:
            # The cursor goes to where it belongs.
            self.line.set_value(f" {self.line.value.strip()}")
            self.line.action_edit("home")
            self.show_notice(line.message, "warning", about=self.subject())
        elif not line.ready:
            notice = line.message or "The line is not complete."
            self.show_notice(notice, "warning", about=self.subject())
        elif refusal := outside(line, self._limits):
            short = nearest_bound(line, self._limits)
            self.show_notice(refusal, "warning", about=self.subject(), short=short)
        elif line.pair is not None and line.amount is not None:
            try:
                request = QuoteRequest.of(
                    self._options,
                    *line.pair,
                    line.amount,
                    receive=line.receive,
                    private_send=line.private_send,
                )
            except WishRefused as refused:
                notice = f"{refused.message} f2 changes the options."
                self.show_notice(notice, "warning", about=self.subject())
                return
            screen = QuotesScreen(self.session, request, recipient=line.payee)
            self.app.push_screen(screen)


def reading_lines(reading: IntentReading, width: int) -> list[Line]:
    """Returns the rows under the typed line: how it was understood, with its value in USD at the
    right end, then notes."""
    role = "status-trouble" if reading.state == "refused" else "muted"
    text = line_of(reading.text, role)
    rows: list[Line] = []
    if text:
        glyph, hue = MARKS[reading.state]
        head: Line = [Span(f"{glyph} ", hue), *text] if glyph else text
        right = line_of(reading.right, "foreground")
        rows += wrapped(head, width, indent=2)
        # The value goes before anything of the sentence would: an amount is never cut.
        if right and width_of(rows[-1]) + 2 + width_of(right) <= width:
            rows[-1] = spread(rows[-1], right, width)
    if reading.below:
        below = wrapped(line_of(reading.below, "muted"), width - 2)
        rows += [[Span("  "), *row] for row in below]
    return rows


def reading_of(
    line: IntentLine,
    limits: PairLimits | None,
    refusal: str,
    have: Decimal | None = None,
) -> IntentReading:
    """Returns what to show about ``line``. ``limits`` and ``have`` (the balance) are None if
    unknown. ``refusal`` says why no route accepts the amount; empty if a route may accept it."""
    if refusal and line.ready:
        return IntentReading("refused", refusal, _value(line), _below(line, limits, have))
    marked = frozenset({line.place}) if line.place is not None else frozenset()
    if line.state == "refused":
        return IntentReading(line.state, line.message, marked=marked)
    if line.token_in is None or line.amount is None:
        return IntentReading(line.state, line.message)
    text = _understood(line)
    below: LineLike = _below(line, limits, have)
    if line.token_out is None:
        return IntentReading(line.state, text, _value(line), line.message)
    if line.state == "ambiguous":
        below = f"{line.derived} {DOT} {line.message}" if line.derived else line.message
    return IntentReading(line.state, text, _value(line), below)


def greeting(catalog: Catalog) -> list[LineLike]:
    """Returns the sentences that the page shows in the sandbox before the first swap."""
    text = f"This is a sandbox with {len(catalog.chains())} chains and {catalog.count} tokens."
    return [
        Span(f"{text} Nothing here is real money.", "muted"),
        Span(COLOURS_OFFERED, "muted"),
    ]


def outside(line: IntentLine, limits: PairLimits | None) -> str:
    """Returns why no route accepts the amount of the line. Empty if a route may accept it, or if
    the limits are unknown."""
    from swapdesk.flows.quotes.quoting import outside_limits

    if line.amount is None or line.stated is None:
        return ""
    return outside_limits(line.amount, line.stated.symbol, limits, receive=line.receive)


def nearest_bound(line: IntentLine, limits: PairLimits | None) -> str:
    """Returns in a few words the limit that the amount violates. Empty if the amount violates no
    limit, or if the limits are unknown."""
    from swapdesk.flows.quotes.quoting import bounds_of

    bounds = bounds_of(limits, receive=line.receive)
    if bounds is None or line.amount is None or line.stated is None:
        return ""
    broken = bounds.broken_by(line.amount)
    if broken is None:
        return ""
    return f"{broken[0].capitalize()}: {exact_amount(broken[1])} {line.stated.symbol}"


def places_reading(keys: Sequence[tuple[str, str]], whose: str) -> IntentReading:
    """Returns what to show under an empty line: ``keys``, each a key and the page that it opens,
    and ``whose``, the name of this desk's account in the sandbox, or empty."""
    places: Line = [Span("  ")] if keys else []
    for at, (key, place) in enumerate(keys):
        places += [Span(f" {DOT} ", "rule")] if at else []
        places += [Span(key, "accent"), Span(f" {place}", "muted")]
    account = f"{whose} is this desk's account at the service of the sandbox." if whose else ""
    return IntentReading(text=places, below=account)


def with_options(
    reading: IntentReading, options: QuoteOptions | None, named: Named = lambda code: code
) -> IntentReading:
    """Returns ``reading`` with the options for quotes in words, unless all are the defaults."""
    from swapdesk.flows.quotes.quote_request import options_in_words

    words = options_in_words(options, named) if options is not None else ""
    if not words:
        return reading
    asks: Line = [Span("f2", "accent", bold=True), Span(f" options: {words}", "muted")]
    below = line_of(reading.below, "muted")
    return replace(reading, below=[*below, Span(f" {DOT} ", "muted"), *asks] if below else asks)


def _understood(line: IntentLine) -> Line:
    assert line.amount is not None
    assert line.token_in is not None
    about = f"{ABOUT} " if line.dollars is not None else ""
    amount = f"{about}{exact_amount(line.amount)}"
    if line.receive:
        return [*_to_arrive(line, amount), *_payee(line)]
    text: Line = [
        Span("Send privately  " if line.private_send else "Sell  ", "muted"),
        Span(f"{amount} {line.token_in.symbol}", bold=True),
        Span(f"  on {line.token_in.chain_data.name}", "muted"),
    ]
    if line.token_out is not None and not line.private_send:
        text += [Span("    Buy  ", "muted"), *_token(line.token_out)]
    return [*text, *_payee(line)]


def _payee(line: IntentLine) -> Line:
    from swapdesk.chain.addresses.payments import read_payment_link

    to = line.payee
    if not to:
        return []
    link = None if line.recipient_name else read_payment_link(to)
    address = to if link is None else link.address
    shown = to if line.recipient_name else short_address(address)
    return [Span("    to  ", "muted"), Span(shown, bold=True)]


def _to_arrive(line: IntentLine, amount: str) -> Line:
    assert line.token_in is not None
    bought = f" {line.token_out.symbol}" if line.token_out is not None else ""
    text: Line = [Span("You get exactly  ", "muted"), Span(f"{amount}{bought}", bold=True)]
    if line.token_out is not None:
        text.append(Span(f"  on {line.token_out.chain_data.name}", "muted"))
    return [*text, Span(", you sell  ", "muted"), *_token(line.token_in)]


def _token(token: Token) -> Line:
    return [Span(token.symbol, bold=True), Span(f"  on {token.chain_data.name}", "muted")]


def _value(line: IntentLine) -> Line:
    value = line.value_usd
    return [Span(f"{ABOUT} ", "muted"), Span(usd(value))] if value is not None else []


def held(have: Decimal, symbol: str, amount: Decimal | None) -> Line:
    """Returns the user's balance as text, marked if it is below ``amount``, the amount to sell."""
    if amount is not None and have < amount:
        return [Span(f"you have {exact_amount(have)} {symbol}, too little", "status-trouble")]
    return [Span(f"you have {exact_amount(have)} {symbol}", "muted")]


def _below(line: IntentLine, limits: PairLimits | None, have: Decimal | None) -> Line:
    from swapdesk.flows.quotes.intent_line import BOUGHT_KEY, SOLD_KEY
    from swapdesk.flows.quotes.quoting import bounds_of

    parts: list[Line] = [[Span(line.derived, "muted")]] if line.derived else []
    if have is not None and line.token_in is not None and line.share is None:
        parts.append(held(have, line.token_in.symbol, None if line.receive else line.amount))
    bounds = bounds_of(limits, receive=line.receive)
    if bounds is not None and line.stated is not None:
        least, symbol = trimmed(bounds.smallest), line.stated.symbol
        text = f"limits {least} {symbol} or more"
        if bounds.largest is not None:
            text = f"limits {least} to {trimmed(bounds.largest)} {symbol}"
        parts.append([Span(text, "muted")])
    if line.both_hints is not None:
        for hint, key in zip(line.both_hints, (SOLD_KEY, BOUGHT_KEY), strict=True):
            parts.append([Span(f"{hint}: ", "muted"), Span(key, "accent", bold=True)])
    else:
        parts += [[Span(hint, "muted")] for hint in line.hints[-1:]]
        if line.choices > 1:
            parts.append([Span(BOUGHT_KEY, "accent", bold=True), Span(" other chain", "muted")])
    joined: Line = []
    for part in parts:
        joined += [Span(f" {DOT} ", "muted"), *part] if joined else part
    return joined


def _recent_row(line: Recent, now: datetime) -> Row:
    route = Span(line.route, f"route-{line.route}")
    return Row(line.text, {"line": line.text, "route": route, "at": day(line.at, now)})


def _row(tracked: TrackedOrder, status: OrderStatus) -> Row:
    order = tracked.order
    sent, received = tracked.symbols
    return Row(
        tracked.service_id,
        {
            "id": Span(tracked.short_id, bold=True),
            "what": f"{tracker_amount(order.in_amount, 'pay')} {sent} → {received}",
            "state": Span(status.word, ROLE_OF_LEVEL[status.level]),
            "time": status.time.text,
        },
    )


def news_lines(
    events: Sequence[RecentEvent], markets: Sequence[TokenRow], now: datetime, width: int
) -> list[Line]:
    """Returns the lists of events and of market prices. A time on another day than ``now`` becomes
    a date."""
    rows: list[Line] = []
    if events:
        rows.append(section_line("Last events", "", width))
        rows += [_event(_time(event.at, now), event, width) for event in events]
    if markets:
        rows += [*([[]] if rows else []), section_line("Markets of your tokens", "USD", width)]
        rows += [_market(event, width) for event in markets]
    return rows


def _time(at: datetime, now: datetime) -> str:
    return clock_time(at) if at.date() == now.date() else day(at, now)


def _event(time: str, event: RecentEvent, width: int) -> Line:
    return cut(
        [
            *fill(Span(time, "muted"), _TIME),
            *fill(Span(event.order, bold=True), _ID),
            Span(event.word, ROLE_OF_LEVEL[event.level]),
        ],
        width,
    )


def _market(row: TokenRow, width: int) -> Line:
    role = "muted"
    if row.change:
        role = "amount-up" if row.change > 0 else "amount-down"
    line: Line = [
        *fill(Span(row.symbol), _SYMBOL),
        *push_right(Span(usd(row.price)), _PRICE),
        *push_right(Span(percent(row.change), role), _CHANGE),
    ]
    rest = width - _SYMBOL - _PRICE - _CHANGE - 2
    return [*line, Span("  "), *cut(Span(row.chain_name, "muted"), max(0, rest))]


def how_lines(width: int) -> list[Line]:
    """Returns examples of lines that can be typed, in two columns if ``width`` is at least
    :data:`TWO_FROM` cells."""
    if width < TWO_FROM:
        return [_example(line, means, 19) for line, means in EXAMPLES]
    column = width // 2
    return [
        [*fill(_example(*EXAMPLES[at], 17), column), *_example(*EXAMPLES[at + 1], 19)]
        for at in range(0, len(EXAMPLES), 2)
    ]


def _example(line: str, means: str, size: int) -> Line:
    return [Span(line.ljust(size)), Span(means, "muted")]
