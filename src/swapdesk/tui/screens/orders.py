"""The tracker: every order this desk knows, open ones first."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widget import Widget

from swapdesk.client.errors import ClientError
from swapdesk.client.stream_events import StreamState
from swapdesk.flows.announcements import code_and_request, failure_of_error
from swapdesk.flows.notation import age
from swapdesk.flows.order_filter import matches
from swapdesk.flows.order_summary import OrderSummary, created_words, summarise
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import HIDDEN, READY, Command, Standing
from swapdesk.tui.commands.orders import (
    Back,
    CopyAddress,
    FilterRows,
    Fund,
    OpenOrder,
    Refresh,
)
from swapdesk.tui.messages import OrdersRead
from swapdesk.tui.page import Page
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.empty_state import Nothing, empty_line
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.order_table import order_columns, order_pane, order_row
from swapdesk.tui.widgets.section_label import SectionLabel
from swapdesk.tui.widgets.table_layout import Blank, Row, Section, TableRow
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
NONE_YET = Nothing("No orders yet.", "n", "starts a swap")


class OrdersScreen(Page):
    """Rows keep their place while their cells change; the cursor stays on its order."""

    NAME = "Orders"
    SPENDS = "read"
    VERBS = (OpenOrder, CopyAddress, Fund, FilterRows, Refresh, Back)
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    DEFAULT_CSS = """
    OrdersScreen #filter { display: none; }
    OrdersScreen #filter.-open { display: block; }
    OrdersScreen #label { margin: 1 0 0 0; }
    OrdersScreen #pane { height: 2; }
    OrdersScreen.-short #label { margin: 0; }
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, context="last 48 h and this desk's journal")
        self._wide = False
        self._table = LineTable(order_columns(wide=False))
        self._field = TextField(prompt="/", limit=60, id="filter")
        self._label = SectionLabel("", id="label")
        self._pane = TextRows(id="pane")
        self._drawn: dict[str, tuple[TrackedOrder, Row, bool]] = {}
        """What stands in the table: the order, its row, and whether it has ended."""
        self._changed: set[str] = set()
        self._update: Timer | None = None
        self._settle: Timer | None = None
        self._total = (0, 0)
        """Open orders and all orders, without the filter."""
        self._reading = False
        self._paying: set[str] = set()

    def compose_body(self) -> Iterable[Widget]:
        yield self._field
        yield self._table
        yield self._label
        yield self._pane

    def on_mount(self) -> None:
        super().on_mount()
        self._wide = self.app.size.width >= WIDE
        self._table.set_columns(order_columns(wide=self._wide))
        self._table.focus()
        self._fill()

    def on_resize(self) -> None:
        super().on_resize()
        wide = self.app.size.width >= WIDE
        if wide != self._wide:
            self._wide = wide
            self._drawn.clear()
            self._table.set_columns(order_columns(wide=wide))
            self._fill()

    # from the application

    @property
    def counting(self) -> bool:
        return any(not ended for _, _, ended in self._drawn.values())

    def on_tick(self) -> None:
        """Times of the open orders in view, the labels and the pane."""
        now = self.now()
        for key in self._table.visible_keys():
            known = self._drawn.get(key)
            if known is not None and not known[2]:
                self._redraw(key, now)
        self._relabel()
        self._show_pane()

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
        link = self.link
        if link is None:
            return
        now = self.now()
        for key in changed:
            tracked = link.tracker.get(key)
            known = self._drawn.get(key)
            if tracked is None:
                continue
            if known is None or self._field.value or known[2] != tracked.state(now).ended:
                self._fill()
                return
            self._redraw(key, now)
        self._relabel()
        self._show_pane()

    def _redraw(self, key: str, now: datetime) -> None:
        tracked = self._tracked(key)
        if tracked is None:
            return
        summary = summarise(tracked, now)
        row = order_row(tracked, summary, wide=self._wide)
        self._drawn[key] = (tracked, row, summary.ended)
        self._table.update_row(row)

    def _fill(self) -> None:
        link = self.link
        if link is None:
            self._drawn.clear()
            self._table.set_empty("The desk is connecting. Orders appear then.")
            self._table.set_rows([])
            self._show_pane()
            return
        now = self.now()
        text = self._field.value.strip()
        open_: list[TableRow] = []
        finished: list[TableRow] = []
        drawn: dict[str, tuple[TrackedOrder, Row, bool]] = {}
        orders = link.tracker.orders()
        for tracked in orders:
            known = self._drawn.get(tracked.service_id)
            # Rows of an unchanged order are kept: the tick brings their times up to date.
            if known is None or known[0] is not tracked or text:
                summary = summarise(tracked, now)
                if text and not matches(text, tracked, summary, now):
                    continue
                row = order_row(tracked, summary, wide=self._wide)
                known = (tracked, row, summary.ended)
            drawn[tracked.service_id] = known
            (finished if known[2] else open_).append(known[1])
        self._drawn = drawn
        self._total = (link.tracker.open_count, len(orders))
        self._table.set_empty(
            f"No order matches {text!r}. esc clears the filter." if orders else empty_line(NONE_YET)
        )
        self._table.set_rows(self._grouped(open_, finished))
        self._show_pane()

    def _grouped(self, open_: list[TableRow], finished: list[TableRow]) -> list[TableRow]:
        rows: list[TableRow] = []
        if open_:
            rows += [self._section("open", len(open_)), *open_]
        if finished:
            rows += [Blank("gap")] if open_ else []
            rows += [self._section("finished", len(finished)), *finished]
        return rows

    def _section(self, key: str, shown: int) -> Section:
        running, known = self._total
        whole = running if key == "open" else known - running
        fact = str(shown) if shown == whole else f"{shown} of {whole}"
        stale = self._stale() if key == "open" else ""
        return Section(f"section {key}", key.capitalize(), fact, stale)

    def _stale(self) -> str:
        """``41s old, polling`` while the stream does not tell of changes."""
        link = self.link
        if link is None or link.connection.read_only:
            return ""
        state = link.tracker.stream_state
        if state is StreamState.LIVE:
            return ""
        seconds = link.tracker.stream_age()
        old = f"{age(seconds)} old, " if seconds < 1e9 else ""
        return f"{old}{state.name.lower()}"

    def _relabel(self) -> None:
        row = self._table.rows[0] if self._table.rows else None
        stale = self._stale()
        if isinstance(row, Section) and row.key == "section open" and row.stale != stale:
            self._table.update_row(Section(row.key, row.label, row.fact, stale))

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
        if step != self.guard.step:
            self.step_changed(step)
        else:
            self.refresh_keys()

    # keys

    def verb_standing(self, verb: type[Command]) -> Standing:
        if verb is everywhere.Orders:
            return HIDDEN
        typing = self._field.has_focus
        if verb is Back:
            return Standing(verb="clear the filter") if self._filtering else READY
        if verb in (OpenOrder, CopyAddress, Fund) and self.current is None:
            return HIDDEN
        if verb is CopyAddress:
            summary = self._summary()
            return READY if summary is not None and summary.payable and not typing else HIDDEN
        if verb is Fund:
            return HIDDEN if typing else self._fund_standing()
        if verb is Refresh:
            if typing or self.link is None or self.link.connection.read_only:
                return HIDDEN
            return Standing(locked="reading") if self._reading else Standing(cost="1 read")
        if verb is FilterRows:
            return READY if (self._drawn or self._filtering) and not typing else HIDDEN
        return Standing(verb="to the list") if typing and verb is OpenOrder else READY

    def _fund_standing(self) -> Standing:
        tracked, link = self.current, self.link
        if tracked is None or link is None or link.faucet is None:
            return HIDDEN
        summary = summarise(tracked, self.now())
        if not summary.payable:
            return HIDDEN
        if tracked.service_id in self._paying:
            return Standing(locked="on its way")
        refusal = link.faucet.refusal(tracked)
        return READY if refusal is None else Standing(locked=refusal.rstrip(".").lower())

    def do_open_order(self) -> None:
        key = self._table.cursor_key
        opened = getattr(self.app, "open_order", None)
        if key is not None and opened is not None:
            opened(key)

    @on(LineTable.Chosen)
    def _chosen_row(self) -> None:
        self.do_open_order()

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
            self.show_notice("A deposit is being paid. This one was not.", "warning")
            return
        self._paying.add(tracked.service_id)
        self.step_changed("funding")

    # the filter

    @property
    def _filtering(self) -> bool:
        return self._field.has_class("-open")

    def do_filter_rows(self) -> None:
        self._field.add_class("-open")
        self._field.focus()
        self.refresh_keys()

    def do_back(self) -> None:
        if not self._filtering:
            self.post_message(self.Go(everywhere.Back))
            return
        self._field.remove_class("-open")
        self._field.set_value("")
        self._table.focus()
        self._fill()

    @on(TextField.Changed)
    def _typed(self) -> None:
        if self._filtering:
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
            self.show_notice(f"{self._total[1]} orders, read now.")
        else:
            cause = failure_of_error(event.error).cause
            self.show_notice(f"{cause} {code_and_request(event.error)}", "error")
