"""The page with every order that this desk knows, and with a pane about the order under the
cursor."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.containers import VerticalScroll
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import counted
from swapdesk.flows.orders.order_listing import (
    EVERYTHING,
    FilterLine,
    FilterProblem,
    Sorting,
    left_out_words,
    read_filter,
    sort_orders,
    sorting_after,
    stale_words,
)
from swapdesk.flows.orders.order_sentence import created_words, order_sentence
from swapdesk.flows.orders.order_status import order_status
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import CommandState, Standings
from swapdesk.tui.commands.orders import (
    AGAIN,
    BACK,
    COPY_ADDRESS,
    EXPORT_ROWS,
    FILTER_ROWS,
    FUND,
    OPEN_ORDER,
    ORDERS,
    PUT_AWAY,
    REFRESH,
    SAY_ROW,
    SORT_ROWS,
)
from swapdesk.tui.glyphs import UNKNOWN
from swapdesk.tui.screens.order import order_facts
from swapdesk.tui.screens.order_actions import OrderActions, ask_export
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Span, wrapped
from swapdesk.tui.widgets.form_fields import FilterField
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.lines_view import FittedLines, SectionLabel
from swapdesk.tui.widgets.order_table import (
    STEP,
    OrderList,
    OrderPane,
    Shown,
    pane_lines,
    side_lines,
)
from swapdesk.tui.widgets.overlay import ReadingOverlay
from swapdesk.tui.widgets.text_field import TextField

if TYPE_CHECKING:
    from swapdesk.flows.orders.tracked_order import TrackedOrder


UPDATE_SECONDS = 0.1
"""Seconds during which changes of orders are collected, to be drawn together."""
SETTLE_SECONDS = 0.06
"""Seconds that the cursor has to rest on a row before the pane shows the order of that row."""
AT_ONCE = 2 * STEP
"""Most orders that are laid out without a pause for keys."""
AGES = 5
"""Seconds after which a filter is applied again, because a filter by age matches different orders
as time passes. After as many seconds the footer asks again what its keys do."""
ROOMY = 120
NARROW = 100
WIDE = 160
CONTEXT = "last 48 h and this desk's journal"


def not_read(kept: FilterLine) -> str:
    """Returns the note beside a filter that cannot be understood. The table still uses ``kept``,
    the last valid filter."""
    return f"{UNKNOWN} no filter; shown: {'all orders' if kept.empty else kept.text}"


class OrdersScreen(OrderActions):
    """A page with every order that this desk knows, open orders first."""

    NAME = "Orders"
    SPENDS = "read"
    VERBS = (
        OPEN_ORDER, COPY_ADDRESS, FUND, AGAIN, PUT_AWAY, FILTER_ROWS, SORT_ROWS, EXPORT_ROWS,
        SAY_ROW, REFRESH, BACK,
    )  # fmt: skip
    DEFAULT_CSS = """
    OrdersScreen #label { margin: 1 0 0 0; }
    OrdersScreen.-short #label { margin: 0; }
    OrdersScreen .side { display: none; width: 50; }
    OrdersScreen.-wide .side { display: block; }
    """

    def __init__(self, session: Session, kept: FilterLine = EVERYTHING) -> None:
        """Makes the page. ``kept`` is the filter that the page begins with; the default shows all
        orders."""
        super().__init__(session, context=CONTEXT)
        self._table = OrderList(self.service_time)
        self._field = FilterField(id="filter")
        self._label = SectionLabel("", id="label")
        self._pane = OrderPane(id="pane")
        self._side = FittedLines(id="side")
        self._filter: FilterLine = kept
        self._sorting: Sorting = "deadline"
        self._changed: set[str] = set()
        self._ticks = 0
        self._keys_about: object = None
        """What the footer was made from: the order under the cursor and the state of the
        journal."""
        self._filling: asyncio.Task[None] | None = None

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

    def on_resize(self) -> None:
        if self._fit():
            self.show()
        # The pane has another place on a wide screen, and stays on no other.
        self._show_pane()

    def on_unmount(self) -> None:
        if self._filling is not None:
            self._filling.cancel()

    def _fit(self) -> bool:
        size = self.app.size
        self._pane.set_class(size.height >= 36, "-roomy")
        return self._table.set_wide(size.width >= ROOMY)

    # from the application

    @property
    def counting(self) -> bool:
        return self._table.running

    def on_tick(self) -> None:
        """Redraws the times of the open orders in view."""
        self._ticks += 1
        aged = self._ticks % AGES == 0
        if not self._filter.empty and aged:
            self.show()
        else:
            self._redraw(self._table.running_in_view(), ticked=not aged)

    def orders_changed(self, ids: frozenset[str]) -> None:
        super().orders_changed(ids)
        self._changed |= ids
        self.soon("orders", UPDATE_SECONDS, self._flush)

    # the table

    def _flush(self) -> None:
        if self._filling is not None:
            # The rows are being laid out; what changed meanwhile is drawn after them.
            self.soon("orders", UPDATE_SECONDS, self._flush)
            return
        changed, self._changed = self._changed, set()
        if changed and not self._filter.empty:
            self.show()
        else:
            self._redraw(changed)

    def _redraw(self, keys: Collection[str], *, ticked: bool = False) -> None:
        changed = [tracked for tracked in map(self._tracked, keys) if tracked is not None]
        skipped = self.link.tracker.skipped if self.link is not None else 0
        if self._filling is None and not self._table.redraw(changed, skipped):
            self.show()
            return
        self._table.relabel(self._stale())
        current = self._table.cursor_key
        if not current or current in keys:
            self._show_pane(ticked=ticked)

    def show(self) -> None:
        link = self.link
        if link is None:
            self._table.say("The desk is connecting. Orders appear then.")
            self._show_pane()
            return
        tracker = link.tracker
        orders = tracker.orders()
        if self._sorting != "deadline":
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
            self._table.fill(shown)
            self._show_pane()
        else:
            filling = self.session.background.once("filling the list", self._fill_in_steps(shown))
            self._filling = asyncio.create_task(filling, name="order rows")

    async def _fill_in_steps(self, shown: Shown) -> None:
        for _ in self._table.filling(shown):
            await asyncio.sleep(0)
        self._filling = None
        self._show_pane()

    def _stale(self) -> str:
        link = self.link
        if link is None or link.connection.read_only:
            return ""
        return stale_words(link.tracker.stream_state, link.tracker.stream_age())

    # the order under the cursor

    def _tracked(self, key: str) -> TrackedOrder | None:
        return None if self.link is None else self.link.tracker.get(key)

    @property
    def current(self) -> TrackedOrder | None:
        return self._tracked(self._table.cursor_key)

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self.delay("pane", SETTLE_SECONDS, self._show_pane)

    def _show_pane(self, *, ticked: bool = False) -> None:
        tracked, now = self.current, self.service_time()
        if tracked is None:
            self._label.display = self._pane.display = False
            self._side.show(None)
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
            self._side.show(partial(side_lines, tracked, summary, created, facts))
        else:
            self._label.show(tracked.short_id, created)
            self._pane.show(lambda width: pane_lines(tracked, summary, width, self._pane.rows))
        self.set_money(
            f"{tracked.short_id}: {summary.money}",
            summary.brief if self.app.size.width < NARROW else summary.next,
            where_short=summary.place,
            next_short=summary.brief,
            urgent=summary.urgent,
        )
        step = f"{tracked.service_id} {summary.payable}"
        about = (tracked, self.desk.journal.version())
        if not ticked or step != self.guard.step or about != self._keys_about:
            self._keys_about = about
            self.step_is(step)

    # keys

    def standings(self) -> Standings:
        rows, field = bool(self._table.rows), self._field
        opens = "to the list" if field.has_focus else ""
        always: Standings = {
            ORDERS: False,
            BACK: CommandState(verb="clear the filter" if field.opened else ""),
            OPEN_ORDER: CommandState(verb=opens, hidden=self.current is None),
        }
        if field.has_focus:
            return {**dict.fromkeys(self.VERBS, False), **always}
        return {
            **always,
            FILTER_ROWS: rows or field.opened,
            SORT_ROWS: rows,
            EXPORT_ROWS: rows,
            REFRESH: self.refresh_standing(),
        }

    def standings_of(self, tracked: TrackedOrder) -> Standings:
        payable = order_status(tracked, self.service_time()).payable
        return {
            **super().standings_of(tracked),
            COPY_ADDRESS: payable,
            FUND: self.fund_standing(tracked, payable=payable),
        }

    @on(LineTable.Chosen)
    def do_open_order(self) -> None:
        if key := self._table.cursor_key:
            self.controls.navigation.open_order(key)

    def do_copy_address(self, tracked: TrackedOrder) -> None:
        if tracked.order.deposit_address is not None:
            self.controls.copy_value("address", tracked.order.deposit_address)

    def do_say_row(self, tracked: TrackedOrder) -> None:
        sentence = order_sentence(tracked, self.service_time())
        self.app.push_screen(ReadingOverlay(partial(wrapped, sentence)))

    # which orders, and in which sequence

    def do_sort_rows(self) -> None:
        self._sorting = sorting_after(self._sorting)
        self.show()
        plain = self._sorting == "deadline"
        self.context = CONTEXT if plain else f"by {self._sorting}"
        self.refresh_frame()
        self.show_notice(f"Sorted by {self._sorting}, open orders first.")

    def do_filter_rows(self) -> None:
        self._field.open()
        self.refresh_keys()

    def do_back(self) -> None:
        if not self._field.opened:
            self.post_message(self.Go(everywhere.BACK))
            return
        self._field.close()
        self._filter = EVERYTHING
        self._table.focus()
        self.show()

    @on(TextField.Changed)
    def _typed(self) -> None:
        if not self._field.opened:
            return
        try:
            self._filter = self._understood()
        except FilterProblem as problem:
            # A word that is being typed may not be one yet; the rows stay as they are.
            self._field.say(Span(not_read(self._filter), "status-waiting"))
            self.show_notice(f"{problem}", "warning", about="filter")
        else:
            self._field.say("")
            self.settle_notice("understood")
            self.show()

    def _understood(self) -> FilterLine:
        kept = read_filter(self._field.text)
        try:
            return kept.looked_up(self.desk.journal.orders.named, self.desk.book.labels())
        except JournalUnavailable as error:
            raise FilterProblem(f"The journal cannot be searched: {error}.") from None

    @on(TextField.Submitted)
    def _submitted(self) -> None:
        try:
            read_filter(self._field.text)
        except FilterProblem as problem:
            # Finished and still no filter: the rows are not those of this line.
            self.show_notice(f"{problem}", "error", about="filter")
            return
        self._table.focus()
        self.refresh_keys()

    # taking them along

    def do_export_rows(self) -> None:
        if self.link is not None and not self.link.tracker.past_known:
            self.show_notice("Older orders are still being read. Take them along in a moment.")
            return
        ask_export(self, self._table.shown, self.service_time())

    # reading again

    def do_refresh(self) -> None:
        if self.link is not None:
            question = self.link.tracker.sweep()
            self.fetch("orders-read", question, lambda _: self._read(), self._not_read)
            self.refresh_keys()

    def _read(self) -> None:
        self.show()
        tracker = self.desk.link.tracker
        left_out = left_out_words(tracker.skipped)
        self.show_notice(
            f"{counted(len(tracker.orders()), 'order')}, read now. {left_out}".rstrip(),
            "warning" if left_out else "information",
        )

    def _not_read(self, error: ClientError) -> None:
        self.show()
        self.show_failure(error)
