"""What works on every page: opening pages, going back, hiding amounts, releasing the mouse."""

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
    """The controller that goes from page to page. ``first`` is the page that always stays open
    below the others."""

    def __init__(self, app: App[Any], session: Session, first: SwapScreen) -> None:
        self.app = app
        self.session = session
        self.first = first

    @property
    def page(self) -> Page | None:
        """The page in view, which may be under an overlay; None if there is none."""
        pages = (screen for screen in reversed(self.app.screen_stack) if isinstance(screen, Page))
        return next(pages, None)

    def tell_orders(self, ids: frozenset[str] = frozenset()) -> None:
        """Tells the page in view which orders changed (``ids``), so that it can redraw them. An
        empty set means that no order changed but the connection state or a create did, so the
        header is redrawn as well."""
        if (page := self.page) is not None and page.is_mounted:
            if not ids:
                page.refresh_frame()
            page.orders_changed(ids)
            page.see_moves()

    def open(self, verb: Verb) -> None:
        """Opens the page of ``verb``. If the page needs the desk and the desk is not open, a notice
        says so instead."""
        if not (self.session.opened or verb.before_opened):
            session = self.session
            failed = session.phase == "failed"
            self.app.notify(f"{NOT_STARTED} {session.reason}" if failed else STARTING)
            return
        module, _, name = verb.opens.rpartition(".")
        page: type[Page] = getattr(import_module(module), name)
        self.app.push_screen(page(self.session))

    async def back(self) -> None:
        """Goes to the page before; does nothing on the first page."""
        if len(self.app.screen_stack) > 1:
            await self.app.pop_screen()

    async def home(self) -> SwapScreen:
        """Closes all pages above the first one and returns the first page. The line typed there is
        kept."""
        while len(self.app.screen_stack) > 1:
            await self.app.pop_screen()
        return self.first

    async def begin_with(self, line: str) -> None:
        """Goes to the first page and writes this line of a swap there; makes no call."""
        (await self.home()).begin_with(line)

    async def write_token(self, spec: str) -> None:
        """Goes to the first page and writes a token into its line."""
        (await self.home()).write_token(spec)

    async def finish_with(self, page: Page) -> None:
        """Goes to the first page and empties its line, since the swap typed there is done. Then
        opens ``page``, which shows the result."""
        (await self.home()).begin(private=False)
        await self.app.push_screen(page)

    def open_order(self, service_id: str) -> None:
        from swapdesk.tui.screens.order import OrderScreen

        self.app.push_screen(OrderScreen(self.session, service_id))

    def open_demo(self, choice: DemoChoice) -> None:
        from swapdesk.tui.screens.demo import DemoScreen

        self.app.push_screen(DemoScreen(self.session, choice))

    def open_orders(self, filter_line: str) -> None:
        """Opens the tracker with this filter."""
        from swapdesk.flows.orders.order_listing import read_filter
        from swapdesk.tui.screens.orders import OrdersScreen

        self.app.push_screen(OrdersScreen(self.session, read_filter(filter_line)))


class Controller:
    """The base of the controllers, whose work continues whichever page is in view."""

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
    """The controller that hides amounts and releases the mouse. ``painting`` reads
    ``hides_amounts`` when it makes the cells of the screen."""

    def __init__(self, app: App[Any], session: Session) -> None:
        self._app = app
        self._session = session
        self._mouse_released = False
        self.hides_amounts = False

    def known_symbol(self, word: str) -> bool:
        """Returns True if ``word`` is the symbol of a token. A whole number before such a word is
        an amount and has to be hidden."""
        catalog = self._session.catalog
        return catalog is not None and bool(catalog.rows_of_symbol(word))

    def toggle_amounts(self) -> None:
        """Draws all amounts as ``•••``, or shows them again."""
        self.hides_amounts = not self.hides_amounts
        for screen in self._app.screen_stack:
            screen.refresh()
            for widget in screen.walk_children():
                widget.refresh()
        self._app.notify(HIDDEN if self.hides_amounts else SHOWN)

    def toggle_mouse(self) -> None:
        """Gives the mouse to the terminal, so that text can be selected, or takes it back."""
        name = "_enable_mouse_support" if self._mouse_released else "_disable_mouse_support"
        switch = getattr(self._app._driver, name, None)
        if switch is None:
            self._app.notify(NO_MOUSE, severity="warning")
            return
        switch()
        self._mouse_released = not self._mouse_released
        self._app.notify(RELEASED if self._mouse_released else TAKEN)
