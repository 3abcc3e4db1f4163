"""The tracker: every order this desk knows, open ones first."""

from __future__ import annotations

from typing import ClassVar

from textual import on

from swapdesk.client.errors import ClientError
from swapdesk.flows.data_age import left_out_words
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.orders.order_listing import (
    EVERYTHING,
    FilterLine,
    FilterProblem,
    Sorting,
    read_filter,
)
from swapdesk.flows.orders.order_sentence import order_sentence
from swapdesk.flows.tracking.announcements import code_and_request, failure_of_error
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.orders import (
    Again,
    Back,
    CopyAddress,
    ExportRows,
    FilterRows,
    Fund,
    OpenOrder,
    Orders,
    PutAway,
    Refresh,
    SayRow,
    SortRows,
)
from swapdesk.tui.glyphs import UNKNOWN
from swapdesk.tui.messages import OrdersRead
from swapdesk.tui.order_export_action import ask_export
from swapdesk.tui.screens.funding import begin_funding, fund_standing
from swapdesk.tui.screens.order_ends import again_standing, ask_again, put_away, put_away_standing
from swapdesk.tui.screens.orders_list import CONTEXT, OrdersList
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.spoken_overlay import SpokenOverlay
from swapdesk.tui.widgets.text_field import TextField


def not_read(kept: FilterLine) -> str:
    """What stands beside a line that is no filter: whose rows these are."""
    rows = "all orders" if kept.empty else f"rows of {kept.text}"
    return f"{UNKNOWN} not read, {rows}"


class OrdersScreen(OrdersList):
    """Rows keep their place while their cells change; the cursor stays on its order."""

    NAME = "Orders"
    SPENDS = "read"
    VERBS = (
        OpenOrder, CopyAddress, Fund, Again, PutAway, FilterRows, SortRows, ExportRows, SayRow,
        Refresh, Back,
    )  # fmt: skip
    AUTO_FOCUS: ClassVar[str | None] = "LineTable"
    DEFAULT_CSS = """
    OrdersScreen #label { margin: 1 0 0 0; }
    OrdersScreen.-short #label { margin: 0; }
    OrdersScreen .side { display: none; width: 50; }
    OrdersScreen.-wide .side { display: block; }
    """

    def work_failed(self, group: str) -> None:
        self._reading = False
        self.refresh_keys()

    # keys

    def verb_standing(self, verb: type[Command]) -> CommandState:
        if verb is Orders:
            return HIDDEN
        typing = self._field.has_focus
        if verb is Back:
            return CommandState(verb="clear the filter") if self._field.opened else READY
        if verb in (OpenOrder, CopyAddress, Fund, SayRow) and self.current is None:
            return HIDDEN
        if verb is OpenOrder:
            return CommandState(verb="to the list") if typing else READY
        if typing and not verb.EVERYWHERE:
            return HIDDEN
        if verb in (CopyAddress, Fund):
            return self._paying_standing(verb)
        if verb is Again:
            return again_standing(self, self.current)
        if verb is PutAway:
            return put_away_standing(self.current)
        if verb is Refresh:
            if self.link is None or self.link.connection.read_only:
                return HIDDEN
            return CommandState(locked="reading") if self._reading else CommandState(cost="1 read")
        if verb is FilterRows:
            return READY if self._table.rows or self._field.opened else HIDDEN
        if verb in (SortRows, ExportRows):
            return READY if self._table.rows else HIDDEN
        return READY

    def _paying_standing(self, verb: type[Command]) -> CommandState:
        summary = self._summary()
        payable = summary is not None and summary.payable
        if verb is CopyAddress:
            return READY if payable else HIDDEN
        paying = self._table.cursor_key in self._paying
        ways = self.desk.deposit_ways
        return fund_standing(
            ways, self.link, self.current, payable=payable, paying=paying, brief=True
        )

    @on(LineTable.Chosen)
    def do_open_order(self) -> None:
        key = self._table.cursor_key
        if key is not None:
            self.controls.navigation.open_order(key)

    def do_copy_address(self) -> None:
        tracked, summary = self.current, self._summary()
        address = tracked.order.deposit_address if tracked is not None else None
        if summary is not None and summary.payable and address is not None:
            self.controls.copy_value("address", address)

    def do_fund(self) -> None:
        tracked = self.current
        if begin_funding(self, self.desk.deposit_ways, tracked) and tracked is not None:
            self._paying.add(tracked.service_id)
            self.step_changed("funding")

    def do_again(self) -> None:
        ask_again(self, self.current)

    def do_put_away(self) -> None:
        put_away(self, self.current)

    def do_say_row(self) -> None:
        tracked = self.current
        if tracked is not None:
            self.app.push_screen(SpokenOverlay(order_sentence(tracked, self.now())))

    # which orders, and in which sequence

    def do_sort_rows(self) -> None:
        self._sorting = self._sorting.after()
        self._fill()
        plain = self._sorting is Sorting.DEADLINE
        self.context = CONTEXT if plain else f"by {self._sorting}"
        self.refresh_frame()
        self.show_notice(f"Sorted by {self._sorting}, open orders first.")

    def do_filter_rows(self) -> None:
        self._field.open()
        self.refresh_keys()

    def do_back(self) -> None:
        if not self._field.opened:
            self.post_message(self.Go(everywhere.Back))
            return
        self._field.close()
        self._filter = EVERYTHING
        self._table.focus()
        self._fill()

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
            self._fill()

    def _understood(self) -> FilterLine:
        """The line as a filter. Raises FilterProblem."""
        kept = read_filter(self._field.text)
        try:
            return kept.looked_up(self.desk.journal.orders.index.named)
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

    @on(TextField.Refused)
    def _refused(self, event: TextField.Refused) -> None:
        self.show_notice(event.reason, "warning")

    # taking them along

    def do_export_rows(self) -> None:
        if self.link is not None and not self.link.tracker.past_known:
            self.show_notice("Older orders are still being read. Take them along in a moment.")
            return
        ask_export(self, self._table.shown, self.now())

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
            known = len(self.link.tracker.orders()) if self.link is not None else 0
            said = left_out_words(self.link.tracker.skipped) if self.link is not None else ""
            self.show_notice(
                f"{known} orders, read now. {said}".rstrip(), "warning" if said else "information"
            )
        else:
            cause = failure_of_error(event.error).cause
            self.show_notice(f"{cause} {code_and_request(event.error)}", "error")
