"""Which page is in view, how another one opens, and the way back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from swapdesk.tui.page import Page

if TYPE_CHECKING:
    from swapdesk.tui.commands.command import EverywhereCommand
    from swapdesk.tui.controllers.host import DeskHost
    from swapdesk.tui.screens.swap import SwapScreen

STARTING = "The desk is starting. This is open in a moment."


class Navigation:
    """Goes from page to page; the first page, ``first``, is never left for good."""

    def __init__(self, host: DeskHost, first: SwapScreen) -> None:
        self._host = host
        self._session = host.session
        self.first = first

    @property
    def page(self) -> Page | None:
        """The page in view, under an overlay if one is open."""
        pages = (screen for screen in reversed(self._host.screen_stack) if isinstance(screen, Page))
        return next(pages, None)

    def open(self, verb: type[EverywhereCommand]) -> None:
        """Open the page that a verb names, once the desk is open or where the page needs none."""
        if not (self._session.opened or verb.BEFORE_OPENED):
            self._host.notify(STARTING)
            return
        module, _, name = verb.OPENS.rpartition(".")
        page: type[Page] = getattr(import_module(module), name)
        self.push(page(self._session))

    def push(self, page: Page) -> None:
        self._host.push_screen(page)

    async def back(self) -> None:
        """The page before; the first page stays."""
        if len(self._host.screen_stack) > 1:
            await self._host.pop_screen()

    async def home(self) -> None:
        """The first page; what was typed on it is kept."""
        while len(self._host.screen_stack) > 1:
            await self._host.pop_screen()

    async def begin_swap(self, *, private: bool) -> None:
        """The first page with an empty line."""
        await self.home()
        self.first.begin(private=private)

    async def write_token(self, spec: str) -> None:
        """Put a token that was chosen on another page into the line of the first one."""
        await self.home()
        self.first.write_token(spec)

    async def finish_with(self, page: Page) -> None:
        """What the first page asked for is done: it is emptied, and ``page`` shows the result."""
        await self.home()
        self.first.finished()
        await self._host.push_screen(page)

    def open_order(self, service_id: str) -> None:
        from swapdesk.tui.screens.order import OrderScreen

        self.push(OrderScreen(self._session, service_id))

    def open_orders(self, filter_line: str) -> None:
        """The tracker, which begins with this filter line."""
        from swapdesk.flows.orders.order_listing import read_filter
        from swapdesk.tui.screens.orders import OrdersScreen

        self.push(OrdersScreen(self._session, read_filter(filter_line)))
