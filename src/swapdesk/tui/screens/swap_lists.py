"""What stands below the line of the first screen: what was asked, what is open, how to write."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.home_news import MOST_EVENTS, MOST_MARKETS, HomeNews
from swapdesk.tui.widgets.how_to_write import HowToWrite
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.recent_lists import OpenOrders, RecentLines
from swapdesk.tui.widgets.section_label import SectionLabel
from swapdesk.tui.widgets.text_rows import TextRows

if TYPE_CHECKING:
    from swapdesk.flows.catalog.catalog import Catalog
    from swapdesk.flows.desk import Desk
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.quotes.recent import Recent
    from swapdesk.flows.tracking.tracking import Tracker

COLOURS_OFFERED = "Colours: ctrl+p, theme. beacon for low vision, iris for colour blindness."

NEWS_FROM = 160
MOST_OPEN = 50
"""Open orders listed here; the order table has them all."""


class SwapLists(Vertical):
    """Recent lines, open orders, examples, and a greeting where nothing happened yet."""

    DEFAULT_CSS = """
    SwapLists { height: auto; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._recent = RecentLines(id="recent")
        self._open = OpenOrders(id="open")
        self._open_label = SectionLabel("Open orders")
        self._news = HomeNews()
        self._asked: list[Intent] = []
        """What was confirmed at this desk, newest first."""
        self._welcome = TextRows(id="welcome")

    def compose(self) -> ComposeResult:
        yield Horizontal(
            Vertical(SectionLabel("Recent"), self._recent),
            Vertical(self._open_label, self._open),
            Vertical(self._news, id="news"),
            id="lists",
        )
        yield Vertical(SectionLabel("How to write it"), HowToWrite(), id="how")
        yield self._welcome

    @property
    def tables(self) -> tuple[LineTable, LineTable]:
        """Recent lines and open orders."""
        return self._recent, self._open

    @property
    def open_count(self) -> int:
        return len(self._open.rows)

    @property
    def filled(self) -> LineTable | None:
        """The first list that has rows."""
        return next((table for table in self.tables if table.rows), None)

    def chosen(self, key: str) -> Recent | None:
        """The recent line of a row."""
        return self._recent.chosen(key)

    def fill(self, tracker: Tracker | None, catalog: Catalog, now: datetime) -> int:
        """All rows anew; how many orders are known."""
        from swapdesk.flows.quotes.recent import newest_intents

        self._asked = [] if tracker is None else newest_intents(tracker.known())
        self._recent.fill(self._asked, catalog, now)
        if tracker is not None:
            self.show_open(tracker, now)
        count = 0 if tracker is None else tracker.open_count
        self._open_label.show("Open orders", f"{count:,}" if count else "")
        return 0 if tracker is None else tracker.count

    def tell(self, desk: Desk, now: datetime) -> None:
        """Last events and markets of the orders that were filled in, where the screen has a
        column for them."""
        if self.app.size.width < NEWS_FROM:
            return
        from swapdesk.flows.tracking.recent_activity import markets_of, recent_events

        events = recent_events(desk.journal, MOST_EVENTS, desk.link.tracker.get)
        self._news.show(events, markets_of(self._asked, desk.catalog, MOST_MARKETS), now)

    def show_open(self, tracker: Tracker, now: datetime) -> None:
        """The open orders alone: their countdowns."""
        self._open.show(tracker.nearest(MOST_OPEN), now)

    def greet(self, catalog: Catalog | None) -> None:
        """A sentence where nothing was asked yet; None for none."""
        if catalog is None:
            self._welcome.show([])
            return
        said = f"This is a sandbox with {len(catalog.chains())} chains and {catalog.count} tokens."
        self._welcome.show(
            [
                Span(f"{said} Nothing here is real money.", "muted"),
                Span(COLOURS_OFFERED, "muted"),
            ]
        )
