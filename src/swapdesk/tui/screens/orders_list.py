"""The tracker as it is drawn: which orders, in place, and the pane of the one under the cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from textual import on
from textual.containers import VerticalScroll
from textual.widget import Widget

from swapdesk.flows.data_age import stale_words
from swapdesk.flows.orders.order_listing import EVERYTHING, FilterLine, Sorting, sort_orders
from swapdesk.flows.orders.order_sentence import created_words
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.tui.page import Page
from swapdesk.tui.screens.order_facts import order_facts
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.form_fields import FilterField
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import SectionLabel
from swapdesk.tui.widgets.order_list import STEP, OrderList, Shown
from swapdesk.tui.widgets.order_pane import OrderPane, OrderSide

if TYPE_CHECKING:
    from textual.timer import Timer

    from swapdesk.flows.orders.tracked_order import TrackedOrder

UPDATE_SECONDS = 0.1
"""Changes within this time are drawn together."""
SETTLE_SECONDS = 0.06
"""How long the cursor rests on a row before the pane speaks of it."""
AT_ONCE = 2 * STEP
"""Orders that are laid out without a breath between."""
AGES = 5
"""Seconds after which a filter by age is asked again."""
ROOMY = 120
NARROW = 100
WIDE = 160
CONTEXT = "last 48 h and this desk's journal"


class OrdersList(Page):
    """Rows are laid out in steps and their cells change in place; the keys are the screen's."""

    def __init__(self, session: Session, kept: FilterLine = EVERYTHING) -> None:
        """``kept``: the filter it begins with."""
        super().__init__(session, context=CONTEXT)
        self._table = OrderList(self.now)
        self._field = FilterField(id="filter")
        self._label = SectionLabel("", id="label")
        self._pane = OrderPane(id="pane")
        self._side = OrderSide()
        self._filter: FilterLine = kept
        self._sorting = Sorting.DEADLINE
        self._changed: set[str] = set()
        self._ticks = 0
        self._filling: asyncio.Task[None] | None = None
        self._update: Timer | None = None
        self._settle: Timer | None = None
        self._reading = False
        self._begun = False
        """Filled when it came on the screen, which resumes it for the first time, too."""
        self._paying: set[str] = set()

    def compose_body(self) -> Iterable[Widget]:
        yield self._field
        yield self._table
        yield self._label
        yield self._pane

    def compose_side(self) -> Iterable[Widget]:
        yield VerticalScroll(self._side, classes="side", can_focus=False)

    def on_mount(self) -> None:
        self._fit()
        if not self._filter.empty:
            self._field.open()
            self._field.set_value(self._filter.text)
        self._table.focus()
        self._begun = True
        self._fill()

    def on_resize(self) -> None:
        if self._fit():
            self._fill()
        # The pane has another place on a wide screen, and stays on no other.
        self._show_pane()

    def on_unmount(self) -> None:
        if self._filling is not None:
            self._filling.cancel()

    def _fit(self) -> bool:
        """The form for this size; True when the rows are due."""
        size = self.app.size
        self._pane.set_class(size.height >= 36, "-roomy")
        return self._table.set_wide(size.width >= ROOMY)

    # from the application

    @property
    def counting(self) -> bool:
        return self._table.running

    def on_tick(self) -> None:
        """Times of the open orders in view, the labels and the pane."""
        self._ticks += 1
        if not self._filter.empty and self._ticks % AGES == 0:
            self._fill()
        else:
            self._redraw(self._table.running_in_view())

    def orders_changed(self, ids: frozenset[str]) -> None:
        self._changed |= ids
        self._paying -= ids
        if self._update is None:
            self._update = self.set_timer(UPDATE_SECONDS, self._flush)

    def session_changed(self) -> None:
        if self._begun:
            self._begun = False
        else:
            self._fill()

    # the table

    def _flush(self) -> None:
        """Draw what changed: in place, or anew when an order came, ended or moved."""
        self._update = None
        if self._filling is not None:
            # The rows are being laid out; what changed meanwhile is drawn after them.
            self._update = self.set_timer(UPDATE_SECONDS, self._flush)
            return
        changed, self._changed = self._changed, set()
        if changed and not self._filter.empty:
            self._fill()
        else:
            self._redraw(changed)

    def _redraw(self, keys: Collection[str]) -> None:
        """These orders, the label, and the pane when it speaks of one of them or of none; all
        rows when one of them changes its group."""
        found = [one for one in map(self._tracked, keys) if one is not None]
        skipped = self.link.tracker.skipped if self.link is not None else 0
        if self._filling is None and not self._table.redraw(found, self.now(), skipped):
            self._fill()
            return
        self._table.relabel(self._stale())
        current = self._table.cursor_key
        if current is None or current in keys:
            self._show_pane()

    def _fill(self) -> None:
        link = self.link
        if link is None:
            self._table.say("The desk is connecting. Orders appear then.")
            self._show_pane()
            return
        tracker = link.tracker
        orders = tracker.orders()
        if self._sorting is not Sorting.DEADLINE:
            orders = sort_orders(orders, self._sorting)
        shown = Shown(
            orders,
            self._filter,
            tracker.counts(),
            self._stale(),
            whole=tracker.past_known,
            skipped=tracker.skipped,
        )
        if self._filling is not None:
            self._filling.cancel()
            self._filling = None
        if len(orders) <= AT_ONCE:
            self._table.fill(shown, self.now())
            self._show_pane()
        else:
            filling = self.session.background.once("filling the list", self._fill_in_steps(shown))
            self._filling = asyncio.create_task(filling, name="order rows")

    async def _fill_in_steps(self, shown: Shown) -> None:
        for _ in self._table.filling(shown, self.now()):
            await asyncio.sleep(0)
        self._filling = None
        self._show_pane()

    def _stale(self) -> str:
        link = self.link
        if link is None or link.connection.read_only:
            return ""
        return stale_words(link.tracker.stream_state, link.tracker.stream_age())

    # the order under the cursor

    def _tracked(self, key: str | None) -> TrackedOrder | None:
        link = self.link
        return link.tracker.get(key) if link is not None and key is not None else None

    @property
    def current(self) -> TrackedOrder | None:
        return self._tracked(self._table.cursor_key)

    def _summary(self) -> OrderStatus | None:
        tracked = self.current
        return order_status(tracked, self.now()) if tracked is not None else None

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        if self._settle is not None:
            self._settle.stop()
        self._settle = self.set_timer(SETTLE_SECONDS, self._show_pane)

    def _show_pane(self) -> None:
        """The pane and the money line speak of the order under the cursor."""
        tracked, now = self.current, self.now()
        if tracked is None:
            self._label.display = self._pane.display = False
            self._side.clear()
            funds = self.funds()
            self.set_money(funds.where, "you: n starts a swap", where_short=funds.short)
            self.step_changed("none")
            return
        summary = order_status(tracked, now)
        wide = self.app.size.width >= WIDE
        created = created_words(tracked, summary, now)
        self._label.display = self._pane.display = not wide
        if wide:
            facts = order_facts(tracked, summary, now, live=self.session.live)
            self._side.show(tracked, summary, created, facts)
        else:
            self._label.show(tracked.short_id, created)
            self._pane.show(tracked, summary)
        self.set_money(
            f"{tracked.short_id}: {summary.money}",
            summary.brief if self.app.size.width < NARROW else summary.next,
            where_short=summary.place,
            next_short=summary.brief,
            urgent=summary.urgent,
        )
        self.step_is(f"{tracked.service_id} {summary.payable}")
