"""What to send, where and until when; it folds when the deposit is seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.widget import Widget

from swapdesk.flows.creation.minimum_received import lower_output
from swapdesk.flows.deposits.deposit_phase import DepositPhase
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.deposit import (
    AcceptLower,
    CopyAddress,
    CopyAmount,
    CopyMemo,
    Follow,
    Fund,
    ReadBack,
    ReadOn,
    ShowCode,
)
from swapdesk.tui.screens.deposit_facts import code_caption, deposit_state
from swapdesk.tui.screens.deposit_page import DepositPage
from swapdesk.tui.screens.funding import begin_funding, fund_standing
from swapdesk.tui.scroll_body import BodyReading
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.code_panel import CodePanel, CodePanelState
from swapdesk.tui.widgets.deposit_card import DepositCard, DepositState
from swapdesk.tui.widgets.typed_confirm import Question, TypedConfirm

if TYPE_CHECKING:
    from swapdesk.flows.deposits.deposit_ways import PayBy

ACCEPT = "accept"


class DepositScreen(DepositPage):
    """The card of one order this desk knows; the code to scan beside it where there is room."""

    NAME = "Deposit"
    VERBS = (
        AcceptLower, Fund, ReadOn, CopyMemo, CopyAmount, CopyAddress, ShowCode, Follow, ReadBack,
    )  # fmt: skip

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, service_id)
        self._funding = False
        self._payer: PayBy | None = None
        self._card = DepositCard(DepositState(DepositPhase.HIDDEN, ""))
        self._code = CodePanel(classes="beside")

    def compose_body(self) -> Iterable[Widget]:
        yield self._card

    def compose_side(self) -> Iterable[Widget]:
        yield self._code

    def on_mount(self) -> None:
        self.show()
        self.step_changed(self._step())

    def on_resize(self) -> None:
        self.show()
        # Whether the card has room is known once it is laid out.
        self.call_after_refresh(self.refresh_keys)

    @property
    def counting(self) -> bool:
        return self._card.state.phase is DepositPhase.WAITING

    def orders_changed(self, ids: frozenset[str]) -> None:
        if not ids or self.service_id in ids:
            self._funding = False
        super().orders_changed(ids)

    def show(self) -> None:
        if not self.query("#body"):
            # A state of the order may come before the widgets are there; mounting draws it.
            return
        tracked = self.tracked
        if tracked is None:
            self.set_money("in your wallet.", "the desk: it connects to the service")
            return
        ways = self.desk.deposit_ways
        state = deposit_state(
            tracked, self.now(), simulated=ways.simulated(tracked), lack=ways.lack_of(tracked)
        )
        before = self._card.state
        self._card.show(state)
        self.settle_notice(state.phase)
        payer = ways.of(tracked)
        same = payer is self._payer and state.payment == before.payment
        if state.phase is not before.phase or not same:
            self._payer = payer
            self.step_changed(self._step())
        captions = [CodePanelState(one.text, *code_caption(one, tracked)) for one in self.codes()]
        self._code.show(captions, self.app.size)
        self.say_money(tracked)
        self.refresh_keys()

    def _step(self) -> str:
        """What a money key of this card acts on."""
        payment = self._card.state.payment
        payer = self._payer.value if self._payer is not None else ""
        return f"{self._card.state.phase.value} {payment.address if payment else ''} {payer}"

    # keys

    def verb_standing(self, verb: type[Command]) -> CommandState:
        if verb is AcceptLower:
            lower = lower_output(self.tracked)
            return READY if lower is not None else HIDDEN
        if verb is Fund:
            if self.link is None:
                return HIDDEN
            return fund_standing(
                self.desk.deposit_ways,
                self.link,
                self.tracked,
                payable=self.payment() is not None,
                paying=self._funding,
            )
        if verb is ReadOn:
            return self._reading.below
        if verb is ReadBack:
            return self._reading.above
        if verb is ShowCode:
            return READY if self.codes() else HIDDEN
        return self.copy_standing(verb)

    def do_fund(self) -> None:
        if begin_funding(self, self.desk.deposit_ways, self.tracked):
            self._funding = True
            self.step_changed("funding")

    @property
    def _reading(self) -> BodyReading:
        return BodyReading(self.query_one("#body"))

    def do_read_on(self) -> None:
        self._reading.on()
        self.call_after_refresh(self.refresh_keys)

    def do_read_back(self) -> None:
        self._reading.back()
        self.call_after_refresh(self.refresh_keys)

    def do_show_code(self) -> None:
        from swapdesk.tui.screens.deposit_code import DepositCodeScreen

        self.app.push_screen(DepositCodeScreen(self.session, self.service_id))

    def do_follow(self) -> None:
        self.controls.navigation.open_order(self.service_id)

    def do_accept_lower(self) -> None:
        lower = lower_output(self.tracked)
        if lower is None:
            return
        question = Question("Accept less", lower.said, ACCEPT, "accept")

        def accepted(yes: bool | None) -> None:
            if not yes or self.link is None:
                return
            try:
                self.link.exchange.accept_output(self.service_id, lower.given)
            except JournalUnavailable:
                self.show_notice(f"{NO_JOURNAL.cause} Nothing was accepted.", "error")
                return
            self.link.tracker.adopt(self.service_id)
            self.show()

        self.app.push_screen(TypedConfirm(question), accepted)
