"""The tracker: every order this desk knows, open ones first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.flows.announcements import code_and_request, failure_of_error
from swapdesk.flows.order_summary import OrderSummary, created_words, summarise
from swapdesk.flows.stream_words import stale_words
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import HIDDEN, READY, Command, Standing
from swapdesk.tui.commands.orders import Back, CopyAddress, FilterRows, Fund, OpenOrder, Refresh
from swapdesk.tui.messages import OrdersRead
from swapdesk.tui.page import Page
from swapdesk.tui.screens.funding import NOT_THIS_ONE, fund_standing
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.filter_field import FilterField
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.order_list import OrderList
from swapdesk.tui.widgets.order_table import order_pane
from swapdesk.tui.widgets.section_label import SectionLabel
from swapdesk.tui.widgets.text_field import TextField
from swapdesk.tui.widgets.text_rows import TextRows

if TYPE_CHECKING:
    from textual.timer import Timer

    from swapdesk.flows.tracked_order import TrackedOrder

UPDATE_SECONDS = 0.1
"""Changes within this time are drawn together."""
SETTLE_SECONDS = 0.06
"""How long the cursor rests on a row before the pane speaks of it."""
WIDE = 120
NARROW = 100


class OrdersScreen(Page):
    """Rows keep their place while their cells change; the cursor stays on its order."""

    NAME = "Orders"
    SPENDS = "read"
    VERBS = (OpenOrder, CopyAddress, Fund, FilterRows, Refresh, Back)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    DEFAULT_CSS = """
    OrdersScreen #label { margin: 1 0 0 0; }
    OrdersScreen #pane { height: 2; }
    OrdersScreen.-short #label { margin: 0; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, context="last 48 h and this desk's journal")
        self._table = OrderList()
        self._field = FilterField(id="filter")
        self._label = SectionLabel("", id="label")
        self._pane = TextRows(id="pane")
        self._changed: set[str] = set()
        self._update: Timer | None = None
        self._settle: Timer | None = None
        self._reading = False
        self._paying: set[str] = set()

    def compose_body(self) -> Iterable[Widget]:
        yield self._field
        yield self._table
        yield self._label
        yield self._pane

    def on_mount(self) -> None:
        super().on_mount()
        self._table.set_wide(self.app.size.width >= WIDE)
        self._table.focus()
        self._fill()

    def on_resize(self) -> None:
        super().on_resize()
        if self._table.set_wide(self.app.size.width >= WIDE):
            self._fill()

    # from the application

    @property
    def counting(self) -> bool:
        return self._table.running

    def on_tick(self) -> None:
        """Times of the open orders in view, the labels and the pane."""
        self._redraw(self._table.running_in_view())

    def orders_changed(self, ids: frozenset[str]) -> None:
        self._changed |= ids
        self._paying -= ids
        if self._update is None:
            self._update = self.set_timer(UPDATE_SECONDS, self._flush)

    def session_changed(self) -> None:
        self._fill()

    def work_failed(self, group: str) -> None:
        self._reading = False
        self.refresh_keys()

    # the table

    def _flush(self) -> None:
        """Draw what changed: in place, or anew when an order came, ended or moved."""
        self._update = None
        changed, self._changed = self._changed, set()
        if changed and self._field.value:
            self._fill()
        else:
            self._redraw(changed)

    def _redraw(self, keys: Iterable[str]) -> None:
        """These orders, the label and the pane; all rows when one of them changes its group."""
        now = self.now()
        for key in keys:
            tracked = self._tracked(key)
            if tracked is not None and not self._table.redraw(tracked, now):
                self._fill()
                return
        self._table.relabel(self._stale())
        self._show_pane()

    def _fill(self) -> None:
        link = self.link
        if link is None:
            self._table.say("The desk is connecting. Orders appear then.")
        else:
            tracker = link.tracker
            self._table.fill(
                tracker.orders(),
                self._field.text,
                self.now(),
                running=tracker.open_count,
                stale=self._stale(),
            )
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

    def _summary(self) -> OrderSummary | None:
        tracked = self.current
        return summarise(tracked, self.now()) if tracked is not None else None

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
            self.set_money("in your wallet.", "you: n starts a swap")
            self.step_changed("none")
            return
        summary = summarise(tracked, now)
        self._label.display = self._pane.display = True
        self._label.show(tracked.short_id, created_words(tracked, summary, now))
        self._pane.show(order_pane(tracked, summary, now))
        self.set_money(
            f"{tracked.short_id}: {summary.money}",
            summary.brief if self.app.size.width < NARROW else f"{summary.actor}: {summary.due}",
            where_short=summary.place,
            urgent=summary.urgent,
        )
        step = f"{tracked.service_id} {summary.payable}"
        self.step_is(step)

    # keys

    def verb_standing(self, verb: type[Command]) -> Standing:
        if verb is everywhere.Orders:
            return HIDDEN
        typing = self._field.has_focus
        if verb is Back:
            return Standing(verb="clear the filter") if self._field.opened else READY
        if verb in (OpenOrder, CopyAddress, Fund) and self.current is None:
            return HIDDEN
        summary = self._summary()
        payable = summary is not None and summary.payable and not typing
        if verb is CopyAddress:
            return READY if payable else HIDDEN
        if verb is Fund:
            paying = self._table.cursor_key in self._paying
            return fund_standing(self.link, self.current, payable=payable, paying=paying)
        if verb is Refresh:
            if typing or self.link is None or self.link.connection.read_only:
                return HIDDEN
            return Standing(locked="reading") if self._reading else Standing(cost="1 read")
        if verb is FilterRows:
            rows = self._table.rows or self._field.opened
            return READY if rows and not typing else HIDDEN
        return Standing(verb="to the list") if typing and verb is OpenOrder else READY

    @on(LineTable.Chosen)
    def do_open_order(self) -> None:
        key = self._table.cursor_key
        opened = getattr(self.app, "open_order", None)
        if key is not None and opened is not None:
            opened(key)

    def do_copy_address(self) -> None:
        tracked, summary = self.current, self._summary()
        copy = getattr(self.app, "copy_value", None)
        if tracked is None or summary is None or not summary.payable or copy is None:
            return
        copy("address", tracked.order.deposit_address)

    def do_fund(self) -> None:
        tracked = self.current
        pay = getattr(self.app, "pay", None)
        if tracked is None or pay is None or not pay(tracked):
            self.show_notice(NOT_THIS_ONE, "warning")
            return
        self._paying.add(tracked.service_id)
        self.step_changed("funding")

    # the filter

    def do_filter_rows(self) -> None:
        self._field.open()
        self.refresh_keys()

    def do_back(self) -> None:
        if not self._field.opened:
            self.post_message(self.Go(everywhere.Back))
            return
        self._field.close()
        self._table.focus()
        self._fill()

    @on(TextField.Changed)
    def _typed(self) -> None:
        if self._field.opened:
            self._fill()

    @on(TextField.Submitted)
    def _submitted(self) -> None:
        self._table.focus()
        self.refresh_keys()

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.reason, "warning")

    # reading again

    def do_refresh(self) -> None:
        if self.link is None:
            return
        self._reading = True
        self.run_worker(self._read(), group="orders-read", exclusive=True, exit_on_error=False)
        self.refresh_keys()

    async def _read(self) -> None:
        try:
            await self.desk.link.tracker.sweep()
        except ClientError as error:
            self.post_message(OrdersRead(error))
        else:
            self.post_message(OrdersRead())

    @on(OrdersRead)
    def _orders_read(self, event: OrdersRead) -> None:
        self._reading = False
        self.refresh_frame()
        self._fill()
        if event.error is None:
            self.show_notice(f"{self._table.known} orders, read now.")
        else:
            cause = failure_of_error(event.error).cause
            self.show_notice(f"{cause} {code_and_request(event.error)}", "error")
