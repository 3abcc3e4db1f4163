"""The places of the desk: which page a verb of everywhere opens, and the way back."""

from __future__ import annotations

from textual import on

from swapdesk.tui.batching import Batching
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import Command
from swapdesk.tui.messages import TokenChosen
from swapdesk.tui.page import Page
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.session import Session


class Places(Batching):
    """The half of the application that goes from page to page; it returns to ``_home``."""

    session: Session
    _home: SwapScreen

    @property
    def page(self) -> Page | None:
        """The page in view, under an overlay if one is open."""
        return next((one for one in reversed(self.screen_stack) if isinstance(one, Page)), None)

    async def go_to(self, verb: type[Command]) -> None:
        """Do a verb of everywhere that leads to a page. The list of tokens is filled when it is
        there; other pages open with the desk."""
        if verb is everywhere.Back:
            await self.back()
        elif verb is everywhere.NewSwap:
            await self.home()
            self._home.begin(private=False)
        elif verb is everywhere.PrivateSend:
            await self.home()
            self._home.begin(private=True)
        elif verb is everywhere.Tokens:
            self.open_tokens()
        elif not self.session.opened:
            self.notify("The desk is starting. This is open in a moment.")
        elif verb is everywhere.Orders:
            self.open_orders()
        elif verb is everywhere.AddressBook:
            self.open_address_book()
        elif verb is everywhere.Wallets:
            self.open_wallets()
        elif verb is everywhere.Batch:
            self.open_batch()
        elif verb is everywhere.Requests:
            self.open_requests()

    @on(TokenChosen)
    async def _token_chosen(self, event: TokenChosen) -> None:
        await self.home()
        self._home.write_token(event.spec)

    async def back(self) -> None:
        """The page before; the first page stays."""
        if len(self.screen_stack) > 1:
            await self.pop_screen()

    async def home(self) -> None:
        """The first page; what was typed on it is kept."""
        while len(self.screen_stack) > 1:
            await self.pop_screen()

    def open_tokens(self) -> None:
        from swapdesk.tui.screens.tokens import TokensScreen

        self.push_screen(TokensScreen(self.session))

    def open_address_book(self) -> None:
        from swapdesk.tui.screens.address_book import AddressBookScreen

        self.push_screen(AddressBookScreen(self.session))

    def open_orders(self, kept: str = "") -> None:
        """The tracker; ``kept`` is the filter line it begins with."""
        from swapdesk.flows.orders.order_filter import read_filter
        from swapdesk.tui.screens.orders import OrdersScreen

        self.push_screen(OrdersScreen(self.session, read_filter(kept)))

    def open_wallets(self) -> None:
        from swapdesk.tui.screens.wallets import WalletsScreen

        self.push_screen(WalletsScreen(self.session))

    def open_batch(self) -> None:
        from swapdesk.tui.screens.batch import BatchScreen

        self.push_screen(BatchScreen(self.session, self.batch))

    def open_requests(self) -> None:
        from swapdesk.tui.screens.request_log import RequestLogScreen

        self.push_screen(RequestLogScreen(self.session))

    def open_order(self, service_id: str) -> None:
        from swapdesk.tui.screens.order import OrderScreen

        self.push_screen(OrderScreen(self.session, service_id))
