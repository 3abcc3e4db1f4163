"""The page of one order: its stages, what happened when, and every fact."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Horizontal
from textual.widget import Widget

from swapdesk.client.errors import ClientError, NotFound
from swapdesk.flows.notation import date
from swapdesk.flows.orders.order_fields import route_of, short_id
from swapdesk.flows.orders.order_history import Leg, legs_of
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.tracking.announcements import code_and_request, failure_of_error
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.commands.order import (
    BACK,
    COPY_FACT,
    DEPOSIT_CARD,
    FUND,
    HISTORY,
    INSPECT,
    OPEN_LINK,
    RAW_JSON,
    REFRESH,
)
from swapdesk.tui.commands.orders import AGAIN, PUT_AWAY
from swapdesk.tui.commands.swap import GO_ON_SIGNING
from swapdesk.tui.page import SHOWN_BY_KEY, Page, signing_standing
from swapdesk.tui.screens.order_actions import (
    again_standing,
    ask_again,
    begin_funding,
    fund_standing,
    put_away,
    put_away_standing,
)
from swapdesk.tui.screens.order_facts import (
    head_line,
    order_facts,
    stage_names,
    told_line,
    withheld_line,
)
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Span
from swapdesk.tui.widgets.detail_rows import DetailRows
from swapdesk.tui.widgets.lines_view import HeadLine, LinesView, SectionLabel, TextRows
from swapdesk.tui.widgets.order_table import stage_of
from swapdesk.tui.widgets.overlay import SpokenOverlay
from swapdesk.tui.widgets.stage_line import StageMark, StageState, StageTrack, Timeline, TrackState

if TYPE_CHECKING:
    from swapdesk.flows.journal.transaction_log import OrderTransaction
    from swapdesk.flows.orders.tracked_order import TrackedOrder
    from swapdesk.flows.signing.signing_session import SigningSession


NARROW = 100
FORGOTTEN = "Neither this desk nor the service knows this order."
OLDER = "The service forgets an order after 48 hours. Another desk may still have it."


class OrderScreen(Page):
    """One order: how far it is, what happened when, every fact; its deposit card is a key away.

    ``service_id`` may be an order that only the service knows: it is read first.
    """

    NAME = "Order"
    SPENDS = "read"
    VERBS = (
        GO_ON_SIGNING, DEPOSIT_CARD, FUND, AGAIN, PUT_AWAY, OPEN_LINK, INSPECT, HISTORY, COPY_FACT,
        RAW_JSON, REFRESH, BACK,
    )  # fmt: skip
    AUTO_FOCUS: ClassVar[str | None] = ""
    DEFAULT_CSS = """
    OrderScreen #legs { height: auto; }
    OrderScreen #legs Timeline { width: 1fr; }
    OrderScreen.-not-known .known { display: none; }
    """

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, context=short_id(service_id))
        self.service_id = service_id
        self._reading = False
        self._paying = False
        self._legs: tuple[Leg, ...] = ()
        self._made: tuple[OrderTransaction, ...] = ()
        self._legs_of: object = None
        self._said = TextRows(id="said")
        self._head = HeadLine(classes="known")
        self._check = TextRows(classes="known")
        self._track = StageTrack(
            TrackState(StageState(0, 5, StageMark.WAITING), [""] * 5), classes="known"
        )
        self._first, self._second = Timeline(id="first"), Timeline(id="second")
        self._facts_label = SectionLabel("Facts", classes="known")
        self._facts = DetailRows(selectable=True, classes="known")

    def compose_body(self) -> Iterable[Widget]:
        yield self._said
        yield self._head
        yield self._check
        yield LinesView(classes="gap known")
        yield self._track
        yield LinesView(classes="gap known")
        yield Horizontal(self._first, self._second, id="legs", classes="known")
        yield LinesView(classes="gap known")
        yield self._facts_label
        yield self._facts

    def on_mount(self) -> None:
        # The top of the order stays in view, with what must be read first.
        self._facts.focus(scroll_visible=False)
        self._show()
        if self.tracked is None:
            self._begin_reading()

    @property
    def tracked(self) -> TrackedOrder | None:
        return self.link.tracker.recall(self.service_id) if self.link is not None else None

    @property
    def counting(self) -> bool:
        tracked = self.tracked
        return tracked is not None and not order_status(tracked, self.service_time()).closed

    def on_tick(self) -> None:
        self._show()

    def on_resize(self) -> None:
        self._show()

    def orders_changed(self, ids: frozenset[str]) -> None:
        if not ids or self.service_id in ids:
            self._paying = self._paying and self.service_id not in ids
            self._show()

    def session_changed(self) -> None:
        self._show()
        if self.tracked is None and self.link is not None and not self._reading:
            self._begin_reading()

    def work_failed(self, group: str) -> None:
        self._reading = False
        self._show()

    @property
    def signing(self) -> SigningSession | None:
        """What is signed for this order at this desk and not over."""
        mine = (
            one for one in self.controls.signing.open_sessions if one.order_id == self.service_id
        )
        return next(mine, None)

    # drawing

    def _show(self) -> None:
        if not self.is_mounted:
            return
        tracked = self.tracked
        self.set_class(tracked is None, "-not-known")
        if tracked is None:
            self._show_unknown()
            return
        now = self.service_time()
        self._look_into_journal(tracked, now)
        summary = order_status(tracked, now, self._made)
        self._said.display = False
        route = route_of(tracked.order)
        context = f"{tracked.service_id} · {route}"
        if context != self.context:
            self.context = context
            self.refresh_frame()
        self._head.show(*head_line(tracked, summary, narrow=self.app.size.width < NARROW))
        check = withheld_line(tracked, summary)
        # Why an address is hidden comes before everything else and says it all.
        said = check or told_line(summary)
        self._check.show([said] if said else [])
        names, short = stage_names(tracked, summary)
        self._track.show(TrackState(stage_of(summary), names, short))
        self._show_legs(tracked)
        facts = order_facts(tracked, summary, now, self._made, live=self.session.live)
        self._facts.show(facts)
        next_ = summary.brief if self.app.size.width < NARROW else summary.next
        signing = self.signing
        if signing is not None and signing.waits:
            # The service waits for the chain, and the chain for the trader.
            next_ = SHOWN_BY_KEY
        self.set_money(
            summary.money,
            next_,
            where_short=summary.place,
            next_short=next_ if next_ is SHOWN_BY_KEY else summary.brief,
            urgent=summary.urgent,
        )
        step = f"{summary.word} {summary.payable}"
        self.step_is(step)

    def _look_into_journal(self, tracked: TrackedOrder, now: datetime) -> None:
        """Once for every state of the order, and not for every second of it."""
        if self._legs_of is not tracked:
            self._legs_of = tracked
            seen = self.desk.journal.orders.events(self.service_id)
            label = tracked.intent.recipient_label if tracked.intent is not None else None
            self._legs = legs_of(tracked.order, seen, now, label)
            self._made = self.desk.journal.transactions.of(self.service_id)

    def _show_legs(self, tracked: TrackedOrder) -> None:
        now = self.service_time()
        created = tracked.order.created
        away = created is not None and created.date() != now.date()
        zone = "UTC" if not away or created is None else f"UTC, {date(created, now)}"
        second = self._legs[1] if len(self._legs) > 1 else None
        first = self._legs[0]
        self._first.show(first, f"{first.word} · {zone}")
        self._second.display = second is not None
        self._second.show(second, second.word if second is not None else "")

    def _show_unknown(self) -> None:
        self._said.display = True
        if self._reading or self.link is None:
            self._said.show([[Span(f"Reading order {self.service_id}.", "muted")]])
            self.set_money("not known to this desk yet.", "the service: it answers")
        self.refresh_keys()

    # reading

    def _begin_reading(self) -> None:
        if self.link is None or self.link.connection.read_only:
            return
        self._reading = True
        self.run_worker(self._read(), group="order-read", exclusive=True, exit_on_error=False)
        self._show()

    async def _read(self) -> None:
        try:
            await self.desk.link.tracker.read(self.service_id)
        except ClientError as error:
            self.call_later(self._answered, error)
        else:
            self.call_later(self._answered)

    def _answered(self, error: ClientError | None = None) -> None:
        self._reading = False
        self.refresh_frame()
        self._show()
        if error is None:
            return
        failure = failure_of_error(error)
        if self.tracked is not None:
            self.show_failure(error)
        elif isinstance(error, NotFound):
            self._said.show([FORGOTTEN, [Span(OLDER, "muted")]])
            self.set_money("where you sent it, if you sent any.", "you: check the id")
        else:
            self._said.show([failure.cause, [Span(code_and_request(error), "muted")]])
            self.set_money("not known to this desk.", failure.next)

    # keys

    def verb_standing(self, verb: Verb) -> CommandState:
        tracked, link = self.tracked, self.link
        if verb is REFRESH:
            if link is None or link.connection.read_only:
                return HIDDEN
            return CommandState(locked="reading") if self._reading else CommandState(cost="1 read")
        if verb is BACK or verb.everywhere:
            return READY
        if verb is GO_ON_SIGNING:
            return signing_standing(self.signing)
        if tracked is None or link is None:
            return HIDDEN
        if verb is AGAIN:
            return again_standing(self, tracked)
        if verb is PUT_AWAY:
            return put_away_standing(tracked)
        summary = order_status(tracked, self.service_time())
        withheld = tracked.withheld is not None and not summary.ended
        shown = {
            COPY_FACT: self._copied() is not None,
            OPEN_LINK: self._linked() is not None,
            DEPOSIT_CARD: summary.payable or withheld,
        }
        if verb is not FUND:
            return READY if shown.get(verb, True) else HIDDEN
        return fund_standing(
            self.desk.deposit_ways,
            link,
            tracked,
            payable=summary.payable,
            paying=self._paying,
            brief=True,
        )

    def _copied(self) -> tuple[str, str] | None:
        """Label and value of the fact under the cursor; the id when it has none to copy."""
        fact = self._facts.current
        if fact is not None and fact.copied:
            return fact.label.lower(), fact.copied
        return ("order id", self.service_id) if self.tracked is not None else None

    def do_copy_fact(self) -> None:
        value = self._copied()
        if value is not None:
            self.controls.copy_value(*value)

    def _linked(self) -> str | None:
        fact = self._facts.current
        return fact.link if fact is not None and fact.link else None

    @on(DetailRows.Chosen)
    def do_open_link(self) -> None:
        """Nothing is opened: the link is shown in full, and copied."""
        link = self._linked()
        if link is None:
            return
        self.controls.copy_value("link", link)
        self.app.push_screen(SpokenOverlay(link))

    def do_go_on_signing(self) -> None:
        if self.signing is not None:
            self.controls.signing.open(self.signing)

    def do_again(self) -> None:
        ask_again(self, self.tracked)

    def do_put_away(self) -> None:
        put_away(self, self.tracked)

    def do_inspect(self) -> None:
        from swapdesk.tui.screens.inspect import InspectScreen

        self.app.push_screen(InspectScreen(self.session, self.service_id))

    def do_history(self) -> None:
        from swapdesk.tui.screens.order_history import OrderHistoryScreen

        self.app.push_screen(OrderHistoryScreen(self.session, self.service_id))

    def do_fund(self) -> None:
        if begin_funding(self, self.desk.deposit_ways, self.tracked):
            self._paying = True
            self.step_changed("funding")

    def do_deposit_card(self) -> None:
        from swapdesk.tui.screens.deposit import DepositScreen

        below = self.app.screen_stack[-2]
        if isinstance(below, DepositScreen) and below.service_id == self.service_id:
            self.app.pop_screen()
        else:
            self.app.push_screen(DepositScreen(self.session, self.service_id))

    def do_raw_json(self) -> None:
        from swapdesk.tui.screens.raw_order import RawOrderScreen

        self.app.push_screen(RawOrderScreen(self.session, self.service_id))

    def do_refresh(self) -> None:
        self._begin_reading()
