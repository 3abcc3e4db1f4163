"""The first screen: one line is enough to start; below it, what was done and what is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.events import Key

from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.swap import (
    AskQuotes,
    Back,
    FindToken,
    GoOnSigning,
    Options,
    OtherChain,
    OtherChainSold,
    Retry,
    ToRecent,
)
from swapdesk.tui.screens.open_signing_key import signing_standing
from swapdesk.tui.screens.swap_view import SwapView
from swapdesk.tui.session import Phase
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from swapdesk.flows.quotes.quote_request import QuoteOptions

NOTHING_SWAPPED = "Write an amount and two tokens, as 0.5 btc eth."
NOTHING_SENT = "Write an amount, a token and whom to pay, as 0.5 eth @bob."


class SwapScreen(SwapView):
    """``begin`` empties the line for a new swap or private send."""

    NAME = "Swap"
    VERBS = (
        Retry,
        GoOnSigning,
        AskQuotes,
        ToRecent,
        OtherChain,
        OtherChainSold,
        FindToken,
        Options,
        Back,
    )
    AUTO_FOCUS: ClassVar[str | None] = "TextField"

    # keys

    def verb_standing(self, verb: type[Command]) -> CommandState:
        failed = self.session.phase is Phase.FAILED
        if verb is Retry:
            return READY if failed and not self.line.value else HIDDEN
        if verb is GoOnSigning:
            return signing_standing(None if self.line.value else self.signing)
        if verb is AskQuotes:
            if self.session.ready and self._read.complete:
                return CommandState(cost=self._cost())
            return HIDDEN
        if verb is OtherChain:
            several = self._read.several
            naming = "@" in self.line.value
            return (
                CommandState(verb="complete @name" if naming else "")
                if several or naming
                else HIDDEN
            )
        if verb is OtherChainSold:
            return READY if self._read.sold_elsewhere else HIDDEN
        if verb is FindToken:
            return READY if self.session.opened else HIDDEN
        if verb is Options:
            return READY if self.session.ready else HIDDEN
        if verb is ToRecent:
            return READY if self._lists.filled is not None else HIDDEN
        if verb is Back:
            return READY if self.line.value or self.private else HIDDEN
        return READY

    def do_go_on_signing(self) -> None:
        if self.signing is not None:
            self.controls.signing.open(self.signing)

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
        self.line.field.focus()

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.reason, "warning", about=self._subject())

    def on_key(self, event: Key) -> None:
        """While the line has text a character is typed, wherever the focus is."""
        field, character = self.line.field, event.character
        if field.value and not field.has_focus and event.is_printable and character:
            event.stop()
            field.focus()
            field.insert(character)

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
        self.controls.navigation.open_order(event.key)

    def _submit(self) -> None:
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
            self.line.field.action_edit("home")
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
