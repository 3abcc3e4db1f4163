"""What the token search asks the service for, each by a key at its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from swapdesk.flows.catalog.token_pair import pair_for_limits
from swapdesk.tui.commands.key_names import shown_key
from swapdesk.tui.commands.tokens import AskLimits
from swapdesk.tui.messages import LimitsAsked, UnlistedFound
from swapdesk.tui.page import Page
from swapdesk.tui.screens.token_facts import limits_line
from swapdesk.tui.spans import Line, Span

if TYPE_CHECKING:
    from swapdesk.client.errors import ClientError
    from swapdesk.flows.catalog.search import TokenRow
    from swapdesk.wire.tokens import Token


class TokenAsking(Page):
    """Limits of the token under the cursor, and contracts that no list has."""

    beside: Token | None = None
    """The token that stands in the line already: it is sold for the one chosen."""
    asking = False

    @property
    def row(self) -> TokenRow | None:
        """The token under the cursor."""
        return None

    @property
    def written(self) -> str:
        """The text of the field."""
        return ""

    def fill(self) -> None:
        """All rows anew."""

    def show_pane(self) -> None:
        """What is known of the token under the cursor."""

    def _pair(self, token: Token) -> tuple[Token, Token] | None:
        return pair_for_limits(token, self.beside, self.desk.catalog)

    def limits_of(self, token: Token) -> Line:
        """What is known without a call, else the key that asks."""
        pair = self._pair(token)
        if pair is None or self.link is None:
            return []
        known = self.link.quotes.known_limits(*pair)
        if known is not None:
            return limits_line(pair, known)
        if self.asking:
            return [Span("asking", "status-moving")]
        key = shown_key(AskLimits.KEY)
        return [Span(key, "accent", bold=True), Span(" asks the service, 1 read", "muted")]

    def do_ask_limits(self) -> None:
        row = self.row
        token = self.desk.catalog.token(row.id) if row is not None else None
        pair = self._pair(token) if token is not None else None
        if pair is None or self.asking:
            return
        self.asking = True
        self.run_worker(self._fetch_limits(*pair), group="limits", exclusive=True,
                        exit_on_error=False)  # fmt: skip
        self.show_pane()

    async def _fetch_limits(self, sold: Token, bought: Token) -> None:
        from swapdesk.client.errors import ClientError

        try:
            await self.desk.link.quotes.limits(sold, bought)
        except ClientError as error:
            self.post_message(LimitsAsked(error))
        else:
            self.post_message(LimitsAsked())

    @on(LimitsAsked)
    def _limits_asked(self, event: LimitsAsked) -> None:
        self.asking = False
        if event.error is not None:
            self._say(event.error, "warning")
        self.refresh_frame()
        self.show_pane()

    def work_failed(self, group: str) -> None:
        self.asking = False
        self.show_pane()

    def do_fetch_unlisted(self) -> None:
        self.run_worker(self._fetch(self.written), group="tokens", exclusive=True,
                        exit_on_error=False)  # fmt: skip

    async def _fetch(self, address: str) -> None:
        from swapdesk.client.errors import ClientError

        try:
            found = await self.desk.catalog.fetch_by_address(self.desk.link.api, address)
        except (ClientError, OSError) as error:
            self.post_message(UnlistedFound(0, error))
        else:
            self.post_message(UnlistedFound(len(found)))

    @on(UnlistedFound)
    def _unlisted(self, event: UnlistedFound) -> None:
        if isinstance(event.error, OSError):
            why = event.error.strerror
            self.show_notice(f"The list of tokens cannot be written: {why}; make room.", "error")
        elif event.error is not None:
            self._say(event.error, "error")
        elif (gap := self.desk.catalog.gap) is not None:
            self.show_notice(f"{gap}.", "warning")
        elif not event.count:
            self.show_notice("The service does not know this contract either.", "warning")
        self.fill()

    def _say(self, error: ClientError, severity: str) -> None:
        from swapdesk.flows.tracking.announcements import code_and_request, failure_of_error

        self.show_notice(f"{failure_of_error(error).cause} {code_and_request(error)}", severity)
