"""The first screen: one line is enough to start; below it, what was done and what is open."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.events import Key
from textual.widget import Widget

from swapdesk.tui.commands.command import HIDDEN, READY, Command, Standing
from swapdesk.tui.commands.swap import (
    AskQuotes,
    Back,
    FindToken,
    Options,
    OtherChain,
    Retry,
    ToRecent,
)
from swapdesk.tui.messages import LimitsKnown
from swapdesk.tui.page import Page
from swapdesk.tui.screens.swap_line import SwapLine
from swapdesk.tui.screens.swap_lists import SwapLists
from swapdesk.tui.session import STEPS, Phase, Session
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.intent_line import HINT, IntentLine, IntentReading, Reading
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.tui.widgets.text_rows import TextRows

if TYPE_CHECKING:
    from textual.timer import Timer

    from swapdesk.flows.quote_wish import QuoteOptions


LIMITS_AFTER = 0.3
"""Seconds without a key before the limits of the pair are asked for."""
UPDATE_SECONDS = 0.1
"""Changes of orders within this time are shown as one."""
SWAP_LABEL = "What do you want to swap?"
SEND_LABEL = "What do you want to send privately?"
SEND_HINT = "amount   token   @name or address"


class SwapScreen(Page):
    """``begin`` empties the line for a new swap or private send."""

    NAME = "Swap"
    VERBS = (Retry, AskQuotes, ToRecent, OtherChain, FindToken, Options, Back)
    AUTO_FOCUS: ClassVar[str | None] = "TextField"

    def __init__(self, session: Session) -> None:
        super().__init__(session, classes="-empty")
        self.line = IntentLine()
        self.line.field.leaves = self._is_key
        self.private = False
        self._label = TextRows([Span(SWAP_LABEL, "muted")], classes="question")
        self._lists = SwapLists()
        self._read = SwapLine()
        self._limits_timer: Timer | None = None
        self._filling: Timer | None = None

    def compose_body(self) -> Iterable[Widget]:
        yield self._label
        yield self.line
        yield self._lists

    # from the application

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

    def orders_changed(self, ids: frozenset[str]) -> None:
        if self._filling is None:
            self._filling = self.set_timer(UPDATE_SECONDS, self._fill_lists)

    def on_tick(self) -> None:
        if self.session.opened and self.link is not None:
            self._lists.show_open(self.link.tracker, self.now())

    @property
    def counting(self) -> bool:
        return bool(self._lists.open_count)

    # keys

    def verb_standing(self, verb: type[Command]) -> Standing:
        failed = self.session.phase is Phase.FAILED
        if verb is Retry:
            return READY if failed and not self.line.value else HIDDEN
        if verb is AskQuotes:
            if self.session.ready and self._read.complete:
                both = self._options.fixed and self._options.floating
                return Standing(cost="2 quotes" if both and not self._read.receive else "1 quote")
            return HIDDEN
        if verb is OtherChain:
            several = self._read.several
            naming = "@" in self.line.value
            return (
                Standing(verb="complete @name" if naming else "") if several or naming else HIDDEN
            )
        if verb is FindToken:
            return READY if self.session.opened else HIDDEN
        if verb is Options:
            return READY if self.session.ready else HIDDEN
        if verb is ToRecent:
            return READY if self._lists.filled is not None else HIDDEN
        if verb is Back:
            return READY if self.line.value or self.private else HIDDEN
        return READY

    def do_ask_quotes(self) -> None:
        self._submit()

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
        from swapdesk.flows.quote_wish import PLAIN

        return self.session.quote_options or PLAIN

    def do_new_swap(self) -> None:
        self.begin(private=False)

    def do_private_send(self) -> None:
        self.begin(private=True)

    def do_retry(self) -> None:
        start = getattr(self.app, "start", None)
        if start is not None:
            start()

    def do_back(self) -> None:
        if not self.line.value and self.private:
            self.begin(private=False)
            return
        self.line.set_value("")
        self.line.field.focus()

    @on(TextField.Changed)
    def _typed(self) -> None:
        self._read.choose = 0
        self._understand()
        if self._limits_timer is not None:
            self._limits_timer.stop()
        self._limits_timer = self.set_timer(LIMITS_AFTER, self._ask_limits)

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.reason, "warning", about=self._subject())

    def _is_key(self, key: str) -> bool:
        """Whether a key on the empty line is a verb; everything else is the first character."""
        return key == "space" or self.is_verb_key(key)

    def on_key(self, event: Key) -> None:
        """While the line has text a character is typed, wherever the focus is."""
        field, character = self.line.field, event.character
        if field.value and not field.has_focus and event.is_printable and character:
            event.stop()
            field.focus()
            field.insert(character)

    def _subject(self) -> object:
        """What a notice of this screen speaks of."""
        return self.line.value, self._read.choose, self.private, self.session.phase

    @on(TextField.Submitted)
    def _submitted(self) -> None:
        self._submit()

    @on(LineTable.Chosen, "#recent")
    def _again(self, event: LineTable.Chosen) -> None:
        recent = self._lists.chosen(event.key)
        if recent is not None:
            self.begin(private=recent.private_send)
            self.line.set_value(recent.text)

    @on(LineTable.Chosen, "#open")
    def _open_order(self, event: LineTable.Chosen) -> None:
        opened = getattr(self.app, "open_order", None)
        if opened is not None:
            opened(event.key)

    # reading the line

    def _understand(self) -> None:
        """Read the line again and say so; no call is made."""
        if self.session.opened:
            said = self._read.read(self.line.value, self.desk, self.link, private=self.private)
            self.line.show(said)
        self.settle_notice(self._subject())
        self._say_money()
        self.refresh_keys()

    def _ask_limits(self) -> None:
        line = self._read.line
        if line is None or not line.ready or self._read.pair is None or self.link is None:
            return
        if self._read.known_limits(self.link) is None:
            self.run_worker(self._fetch_limits(), group="limits", exclusive=True,
                            exit_on_error=False)  # fmt: skip

    async def _fetch_limits(self) -> None:
        from swapdesk.client.errors import ClientError

        pair, link = self._read.pair, self.link
        if pair is None or link is None:
            return
        # Limits are a comfort: without them the quotes themselves say what is too small.
        with contextlib.suppress(ClientError):
            limits = await link.quotes.limits(*pair)
            self.post_message(LimitsKnown((pair[0].id, pair[1].id), limits))

    @on(LimitsKnown)
    def _limits_known(self, event: LimitsKnown) -> None:
        self._understand()

    def _submit(self) -> None:
        from swapdesk.flows.quote_wish import QuoteWish, WishRefused
        from swapdesk.tui.screens.quotes import QuotesScreen

        line = self._read.line
        if not self.line.value.strip():
            said = "Write an amount and two tokens, as 0.5 btc eth."
            self.show_notice(said, about=self._subject())
        elif not self.session.ready or line is None:
            said = "The desk is still starting. The line stays here."
            self.show_notice(said, "warning", about=self._subject())
        elif not line.ready:
            said = line.message or "The line is not complete."
            self.show_notice(said, "warning", about=self._subject())
        elif (outside := self._read.outside()) is not None:
            short = self._read.nearest()
            self.show_notice(outside, "warning", about=self._subject(), short=short)
        elif line.token_in is not None and line.token_out is not None and line.amount is not None:
            try:
                wish = QuoteWish.of(
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

    # what stands below

    def _fill_lists(self) -> None:
        self._filling = None
        if not self.session.opened:
            return
        tracker = self.link.tracker if self.link is not None else None
        known = self._lists.fill(tracker, self.desk.catalog, self.now())
        empty = not known and self.session.ready and not self.session.live
        self.set_class(empty, "-empty")
        self._lists.greet(self.desk.catalog if empty else None)
        self.refresh_keys()

    def _say_money(self) -> None:
        session = self.session
        where = "in your wallet. Nothing moves from this screen."
        if session.phase is Phase.FAILED:
            what = "the service" if session.live else "the sandbox"
            self.set_money("in your wallet.", f"you: r tries {what} again")
            self.line.show(IntentReading(Reading.REFUSED, session.reason))
        elif session.phase is Phase.STARTING:
            what = "connecting" if session.live else "starting the sandbox"
            self.set_money("in your wallet.", f"{what}, {session.done} of {STEPS} ready")
        elif self._read.complete:
            self.set_money(
                where, "you: press enter to ask for quotes", where_short="in your wallet."
            )
        elif self.private:
            self.set_money(where, "you: write what to send", where_short="in your wallet.")
        else:
            self.set_money(where, "you: write what to swap", where_short="in your wallet.")
