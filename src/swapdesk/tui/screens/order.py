"""The keys of one order: its card, what is copied, asked, explained and shown in full."""

from __future__ import annotations

from typing import ClassVar

from textual import on

from swapdesk.flows.orders.diagnosis import diagnose
from swapdesk.flows.orders.order_history import seen_since
from swapdesk.flows.orders.order_status import order_status
from swapdesk.tui.commands import everywhere
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.order import (
    Back,
    CopyFact,
    DepositCard,
    Diagnose,
    Fund,
    History,
    OpenLink,
    RawJson,
    Refresh,
)
from swapdesk.tui.commands.orders import Again, PutAway
from swapdesk.tui.commands.swap import GoOnSigning
from swapdesk.tui.screens.funding import begin_funding, fund_standing
from swapdesk.tui.screens.open_signing_key import signing_standing
from swapdesk.tui.screens.order_ends import again_standing, ask_again, put_away, put_away_standing
from swapdesk.tui.screens.order_view import OrderView
from swapdesk.tui.widgets.detail_rows import DetailRows
from swapdesk.tui.widgets.diagnosis_overlay import DiagnosisOverlay
from swapdesk.tui.widgets.spoken_overlay import SpokenOverlay


class OrderScreen(OrderView):
    """One order, its deposit card a key away."""

    VERBS = (
        GoOnSigning, DepositCard, Fund, Again, PutAway, OpenLink, Diagnose, History, CopyFact,
        RawJson, Refresh, Back,
    )  # fmt: skip
    AUTO_FOCUS: ClassVar[str | None] = ""

    def verb_standing(self, verb: type[Command]) -> CommandState:
        tracked, link = self.tracked, self.link
        if verb is Refresh:
            if link is None or link.connection.read_only:
                return HIDDEN
            return CommandState(locked="reading") if self._reading else CommandState(cost="1 read")
        if verb is Back or verb.EVERYWHERE:
            return READY
        if verb is GoOnSigning:
            return signing_standing(self.signing)
        if tracked is None or link is None:
            return HIDDEN
        if verb is CopyFact:
            return READY if self._copied() is not None else HIDDEN
        if verb in (RawJson, Diagnose, History):
            return READY
        if verb is Again:
            return again_standing(self, tracked)
        if verb is PutAway:
            return put_away_standing(tracked)
        if verb is OpenLink:
            return READY if self._linked() is not None else HIDDEN
        summary = order_status(tracked, self.now())
        if verb is DepositCard:
            shown = summary.payable or (tracked.withheld is not None and not summary.ended)
            return READY if shown else HIDDEN
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

    def do_diagnose(self) -> None:
        tracked = self.tracked
        if tracked is None:
            return
        request = self.desk.journal.create_requests.of(self.service_id)
        seen = self.desk.journal.orders.events(self.service_id)
        found = diagnose(tracked, self.now(), request_id=request, since=seen_since(seen))
        self.app.push_screen(DiagnosisOverlay(found))

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

    def do_back(self) -> None:
        self.post_message(self.Go(everywhere.Back))
