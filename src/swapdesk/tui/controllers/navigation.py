"""The controllers of what works on every page: opening pages, going back, hiding amounts and
releasing the mouse."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from swapdesk.tui.page import Page

if TYPE_CHECKING:
    from textual.app import App

    from swapdesk.flows.demo.demonstration import DemoChoice
    from swapdesk.tui.commands.command import Verb
    from swapdesk.tui.screens.swap import SwapScreen
    from swapdesk.tui.session import Session

NOT_STARTED = "This page needs the desk, whose start failed."
STARTING = "The desk is starting. This is open in a moment."


class Navigation:
    """The controller that opens and closes pages. ``first`` always stays open below all other
    pages."""

    def __init__(self, app: App[Any], session: Session, first: SwapScreen) -> None:
        self.app = app
        self.session = session
        self.first = first

    @property
    def page(self) -> Page | None:
        """The uppermost page; None if no page is open."""
        pages = (screen for screen in reversed(self.app.screen_stack) if isinstance(screen, Page))
        return next(pages, None)

    def tell_orders(self, ids: frozenset[str] = frozenset()) -> None:
        """Tells the page in view that the orders with the service ids ``ids`` changed. Empty
        ``ids`` mean that the connection or a create request changed."""
        if (page := self.page) is not None and page.is_mounted:
            if not ids:
                page.refresh_frame()
            page.orders_changed(ids)
            page.see_moves()

    def open(self, verb: Verb) -> None:
        """Opens the page that ``verb`` names. Shows a notice instead if that page needs an open
        desk and the desk is not open."""
        if not (self.session.opened or verb.before_opened):
            session = self.session
            failed = session.phase == "failed"
            self.app.notify(f"{NOT_STARTED} {session.reason}" if failed else STARTING)
            return
        module, _, name = verb.opens.rpartition(".")
        page: type[Page] = getattr(import_module(module), name)
        self.app.push_screen(page(self.session))

    async def back(self) -> None:
        """Closes the page in view. Does nothing on the first page."""
        if len(self.app.screen_stack) > 1:
            await self.app.pop_screen()

    async def home(self) -> SwapScreen:
        """Closes all pages above the first one and returns the first page."""
        while len(self.app.screen_stack) > 1:
            await self.app.pop_screen()
        return self.first

    async def begin_with(self, line: str) -> None:
        """Goes to the first page and writes ``line``, such as ``0.5 btc eth``, into its field."""
        (await self.home()).begin_with(line)

    async def write_token(self, spec: str) -> None:
        """Goes to the first page and writes the token ``spec``, such as ``usdc.base``, into the
        line of the swap."""
        (await self.home()).write_token(spec)

    async def finish_with(self, page: Page) -> None:
        """Goes to the first page, empties its line and opens ``page``, which shows the result."""
        (await self.home()).begin(private=False)
        await self.app.push_screen(page)

    def open_order(self, service_id: str) -> None:
        from swapdesk.tui.screens.order import OrderScreen

        self.app.push_screen(OrderScreen(self.session, service_id))

    def open_demo(self, choice: DemoChoice) -> None:
        from swapdesk.tui.screens.demo import DemoScreen

        self.app.push_screen(DemoScreen(self.session, choice))

    def open_orders(self, filter_line: str) -> None:
        """Opens the page of all orders with a filter. ``filter_line`` is the filter as the user
        would type it."""
        from swapdesk.flows.orders.order_listing import read_filter
        from swapdesk.tui.screens.orders import OrdersScreen

        self.app.push_screen(OrdersScreen(self.session, read_filter(filter_line)))


class Controller:
    """The base of the controllers. Their work continues when the user goes to a different page."""

    def __init__(self, navigation: Navigation) -> None:
        self._navigation = navigation
        self._app = navigation.app
        self._session = navigation.session


HIDDEN = "Amounts are hidden; f9 shows them again. What is copied or sent is not changed."
SHOWN = "Amounts are shown."
RELEASED = "The mouse belongs to the terminal now; f8 takes it back."
TAKEN = "The mouse belongs to the desk again."
NO_MOUSE = "This terminal gives the desk no mouse."


class PrivacyMode:
    """The controller that hides amounts behind dots and gives the mouse to the desk or to the
    terminal."""

    def __init__(self, app: App[Any], session: Session) -> None:
        self._app = app
        self._session = session
        self._mouse_released = False
        self.hides_amounts = False

    def known_symbol(self, word: str) -> bool:
        """Returns True if ``word`` is the symbol of a token. A number right before such a word is
        an amount."""
        catalog = self._session.catalog
        return catalog is not None and bool(catalog.rows_of_symbol(word))

    def toggle_amounts(self) -> None:
        self.hides_amounts = not self.hides_amounts
        for screen in self._app.screen_stack:
            screen.refresh()
            for widget in screen.walk_children():
                widget.refresh()
        self._app.notify(HIDDEN if self.hides_amounts else SHOWN)

    def toggle_mouse(self) -> None:
        """Switches the mouse between the desk and the terminal, where the user can select text."""
        name = "_enable_mouse_support" if self._mouse_released else "_disable_mouse_support"
        switch = getattr(self._app._driver, name, None)
        if switch is None:
            self._app.notify(NO_MOUSE, severity="warning")
            return
        switch()
        self._mouse_released = not self._mouse_released
        self._app.notify(RELEASED if self._mouse_released else TAKEN)
