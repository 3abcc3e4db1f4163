"""Orders of the running desk: who is told of them, and how their ends are announced."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual import on

from swapdesk.tui.end_bell import EndBell, terminal_notice
from swapdesk.tui.messages import BusinessSettled, OrdersChanged, PastKnown
from swapdesk.tui.places import Places

if TYPE_CHECKING:
    from swapdesk.flows.creation.resume import ResumeReport
    from swapdesk.flows.link import Link


class Following(Places):
    """The half of the application that hands what becomes of orders to the page in view."""

    _ends: EndBell

    def follow(self, link: Link) -> None:
        """Tell of the orders of a connected desk, of what the start found out first."""
        self._ends.begin(link.tracker.orders())
        link.on_settled = self._settled
        link.on_past_known = self._past_known
        background = self.session.background
        told = background.keep("telling of orders", partial(self._follow_orders, link))
        self.run_worker(told, group="orders", exclusive=True, exit_on_error=False)
        self._tell_unfinished()

    async def _follow_orders(self, link: Link) -> None:
        async for ids in link.tracker.changes():
            self.post_message(OrdersChanged(ids))

    def _tell_unfinished(self) -> None:
        """What the start found out; in the middle of something else only as a notice."""
        report = self.session.report
        if report is None or report.empty:
            return
        from swapdesk.tui.screens.unfinished import UnfinishedScreen

        if len(self.screen_stack) == 1:
            self.push_screen(UnfinishedScreen(self.session))
        else:
            self.notify("The desk settled what was left open. o shows the orders.")

    def _settled(self, report: ResumeReport) -> None:
        self.post_message(BusinessSettled(report))

    def _past_known(self) -> None:
        self.post_message(PastKnown())

    @on(PastKnown)
    def _past_came(self) -> None:
        if (link := self.session.link) is not None:
            self._ends.begin(link.tracker.orders())
        if (page := self.page) is not None:
            page.refresh_frame()
            page.session_changed()

    @on(BusinessSettled)
    def _business_settled(self, event: BusinessSettled) -> None:
        from swapdesk.flows.tracking.open_business import settled_words

        for said in settled_words(event.report):
            self.notify(said, severity="warning")
        if (page := self.page) is not None:
            page.orders_changed(frozenset())

    @on(OrdersChanged)
    def _orders_changed(self, event: OrdersChanged) -> None:
        # What was paid out or came back may be in the own wallet.
        self.session.moves += self._tell_ends(event.ids)
        if (page := self.page) is not None:
            page.refresh_frame()
            page.orders_changed(event.ids)
            page.see_moves()

    def _tell_ends(self, ids: frozenset[str]) -> bool:
        """Whether an order ended."""
        if (link := self.session.link) is None:
            return False
        found = [one for one in map(link.tracker.get, ids) if one is not None]
        sentences = self._ends.changed(found, self.session.now_clock.now())
        for said in sentences:
            self.notify(said)
        return bool(sentences)

    def _tell_terminal(self, text: str) -> None:
        if self._driver is not None:
            self._driver.write(terminal_notice(text))

    def on_app_focus(self) -> None:
        self._ends.focused = True

    def on_app_blur(self) -> None:
        self._ends.focused = False
