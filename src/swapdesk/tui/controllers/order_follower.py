"""Passes changes of orders on to the page in view and announces orders that ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from swapdesk.tui.controllers.navigation import Controller
from swapdesk.tui.spans import printable

if TYPE_CHECKING:
    from swapdesk.flows.connected_desk import ConnectedDesk
    from swapdesk.flows.creation.resume import ResumeReport
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.tui.controllers.navigation import Navigation


class OrderFollower(Controller):
    """The controller that follows the orders of the connected desk. ``ends`` is the bell that
    announces ended orders in the terminal."""

    def __init__(self, navigation: Navigation, ends: EndBell) -> None:
        super().__init__(navigation)
        self.ends = ends

    def follow(self, link: ConnectedDesk) -> None:
        """Begins to pass changed orders to the page in view. First shows what became of orders that
        an earlier run left unfinished."""
        self.ends.begin(link.tracker.orders())
        link.on_settled = partial(self._app.call_later, self._settled)
        link.on_past_known = partial(self._app.call_later, self._past_known)
        link.tracker.on_change = partial(self._app.call_later, self._orders_changed)
        self._tell_unfinished()

    def _tell_unfinished(self) -> None:
        report = self._session.report
        if report is None or report.empty:
            return
        from swapdesk.tui.screens.unfinished import UnfinishedScreen

        if len(self._app.screen_stack) == 1:
            self._app.push_screen(UnfinishedScreen(self._session))
        else:
            self._app.notify("The desk settled what was left open. o shows the orders.")

    def _past_known(self) -> None:
        if (link := self._session.link) is not None:
            self.ends.begin(link.tracker.orders())
        if (page := self._navigation.page) is not None:
            page.refresh_frame()
            page.session_changed()

    def _settled(self, report: ResumeReport) -> None:
        from swapdesk.flows.tracking.open_business import settled_words

        for words in settled_words(report):
            self._app.notify(words, severity="warning")
        self._navigation.tell_orders()

    def _orders_changed(self, ids: frozenset[str]) -> None:
        link = self._session.link
        tracked = map(link.tracker.get, ids) if link is not None else ()
        changed = [order for order in tracked if order is not None]
        sentences = self.ends.changed(changed, self._session.service_clock.now())
        for sentence in sentences:
            self._app.notify(sentence)
        # What was paid out or came back may be in the own wallet.
        self._session.moves += bool(sentences)
        self._navigation.tell_orders(ids)


LONGEST = 120


class EndBell:
    """Announces ended orders by the terminal's bell and a sentence. The setting is ``always``,
    ``off`` (never) or ``away`` (only while the terminal does not have the focus)."""

    def __init__(self, choice: str, tell: Callable[[str], None]) -> None:
        self._choice = choice
        self._tell = tell
        self._told: dict[str, str] = {}
        self.focused = False
        """True if the terminal reported that it has the focus. Some terminals never report it."""

    def begin(self, orders: Iterable[TrackedOrder]) -> None:
        """Marks all ``orders`` that have ended as announced, so that :meth:`changed` passes over
        them."""
        self._told |= {order.service_id: _end(order) for order in orders if order.ended}

    def changed(self, orders: Iterable[TrackedOrder], now: datetime) -> list[str]:
        """Announces each order in ``orders`` that has newly ended. Returns a sentence for each,
        even if the user's setting kept the terminal silent."""
        ended = (order for order in orders if order.ended)
        news = [order for order in ended if self._told.get(order.service_id) != _end(order)]
        self.begin(news)
        sentences = [end_sentence(order, now) for order in news]
        away = not self.focused or self._choice == "always"
        if sentences and away and self._choice != "off":
            several = f"{len(sentences)} orders ended. " if len(sentences) > 1 else ""
            self._tell(f"{several}{sentences[0]}")
        return sentences


def end_sentence(tracked: TrackedOrder, now: datetime) -> str:
    """Returns a sentence such as ``Order m1Xc7D, BTC to ETH: completed.`` Amounts are left out,
    because the terminal may show the sentence outside the desk."""
    # Orders and their models load after the first frame.
    from swapdesk.flows.orders.order_status import order_status

    sent, received = tracked.symbols
    word = order_status(tracked, now).word
    return f"Order {tracked.short_id}, {sent} to {received}: {word[:1].lower()}{word[1:]}."


def terminal_notice(text: str) -> str:
    """Returns the escape sequences that ring the terminal's bell and show ``text``, cut to 120
    characters, as a notification (OSC 9)."""
    safe = "".join(char for char in printable(text) if char.isprintable())[:LONGEST]
    return f"\a\x1b]9;{safe}\x1b\\"


def _end(tracked: TrackedOrder) -> str:
    # As above.
    from swapdesk.flows.orders.order_merge import display_of

    return display_of(tracked.order) or ""
