"""Hands what becomes of orders to the page in view, and announces their ends."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from swapdesk.tui.messages import BusinessSettled, OrdersChanged, PastKnown

if TYPE_CHECKING:
    from swapdesk.flows.connected_desk import ConnectedDesk
    from swapdesk.flows.creation.resume import ResumeReport
    from swapdesk.tui.completion_notice import EndBell
    from swapdesk.tui.controllers.host import DeskHost
    from swapdesk.tui.controllers.navigation import Navigation


class OrderFollower:
    """``ends`` tells the terminal of orders that ended."""

    def __init__(self, host: DeskHost, navigation: Navigation, ends: EndBell) -> None:
        self._host = host
        self._session = host.session
        self._navigation = navigation
        self.ends = ends

    def follow(self, link: ConnectedDesk) -> None:
        """Tell of the orders of a connected desk, of what the start found out first."""
        self.ends.begin(link.tracker.orders())
        link.on_settled = self._settled
        link.on_past_known = self._tell_past_known
        told = self._session.background.keep(
            "telling of orders", partial(self._follow_orders, link)
        )
        self._host.run_worker(told, group="orders", exclusive=True, exit_on_error=False)
        self._tell_unfinished()

    async def _follow_orders(self, link: ConnectedDesk) -> None:
        async for ids in link.tracker.changes():
            self._host.post_message(OrdersChanged(ids))

    def _tell_unfinished(self) -> None:
        """What the start found out; in the middle of something else only as a notice."""
        report = self._session.report
        if report is None or report.empty:
            return
        from swapdesk.tui.screens.unfinished import UnfinishedScreen

        if len(self._host.screen_stack) == 1:
            self._navigation.push(UnfinishedScreen(self._session))
        else:
            self._host.notify("The desk settled what was left open. o shows the orders.")

    def _settled(self, report: ResumeReport) -> None:
        self._host.post_message(BusinessSettled(report))

    def _tell_past_known(self) -> None:
        self._host.post_message(PastKnown())

    def past_known(self) -> None:
        if (link := self._session.link) is not None:
            self.ends.begin(link.tracker.orders())
        if (page := self._navigation.page) is not None:
            page.refresh_frame()
            page.session_changed()

    def business_settled(self, event: BusinessSettled) -> None:
        from swapdesk.flows.tracking.open_business import settled_words

        for said in settled_words(event.report):
            self._host.notify(said, severity="warning")
        if (page := self._navigation.page) is not None:
            page.orders_changed(frozenset())

    def orders_changed(self, event: OrdersChanged) -> None:
        # What was paid out or came back may be in the own wallet.
        self._session.moves += self._tell_ends(event.ids)
        if (page := self._navigation.page) is not None:
            page.refresh_frame()
            page.orders_changed(event.ids)
            page.see_moves()

    def _tell_ends(self, ids: frozenset[str]) -> bool:
        """Whether an order ended."""
        if (link := self._session.link) is None:
            return False
        found = [one for one in map(link.tracker.get, ids) if one is not None]
        sentences = self.ends.changed(found, self._session.now_clock.now())
        for said in sentences:
            self._host.notify(said)
        return bool(sentences)
