"""What to send, where and until when; it folds when the deposit is seen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.widget import Widget

from swapdesk.flows.deposit_money import deposit_money
from swapdesk.flows.notation import copied_amount
from swapdesk.flows.order_state import short_id
from swapdesk.tui.commands.command import HIDDEN, READY, Command, Standing
from swapdesk.tui.commands.deposit import (
    AcceptLower,
    CopyAddress,
    CopyAmount,
    CopyMemo,
    Follow,
    Fund,
)
from swapdesk.tui.page import Page
from swapdesk.tui.screens.deposit_facts import deposit_state, payment_of
from swapdesk.tui.screens.funding import NOT_THIS_ONE, fund_standing
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.deposit_card import DepositCard, DepositPhase, DepositState, Payment
from swapdesk.tui.widgets.typed_confirm import Question, TypedConfirm

if TYPE_CHECKING:
    from swapdesk.flows.create_outcome import Created
    from swapdesk.flows.tracked_order import TrackedOrder

ACCEPT = "accept"


class DepositScreen(Page):
    """The card of one order this desk knows."""

    NAME = "Deposit"
    SPENDS = "exchange"
    VERBS = (AcceptLower, Fund, CopyMemo, CopyAmount, CopyAddress, Follow)

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, context=f"order {short_id(service_id)}")
        self.service_id = service_id
        self._funding = False
        self._card = DepositCard(DepositState(DepositPhase.HIDDEN, ""))

    def compose_body(self) -> Iterable[Widget]:
        yield self._card

    def on_mount(self) -> None:
        super().on_mount()
        self._show()
        self.step_changed(self._step())

    @property
    def tracked(self) -> TrackedOrder | None:
        return self.link.tracker.get(self.service_id) if self.link is not None else None

    @property
    def counting(self) -> bool:
        return self._card.state.phase is DepositPhase.WAITING

    def on_tick(self) -> None:
        self._show()

    def orders_changed(self, ids: frozenset[str]) -> None:
        if not ids or self.service_id in ids:
            self._funding = False
            self._show()

    def session_changed(self) -> None:
        self._show()

    def _show(self) -> None:
        tracked = self.tracked
        if tracked is None:
            self.set_money("in your wallet.", "the desk: it connects to the service")
            return
        now = self.now()
        state = deposit_state(tracked, now)
        before = self._card.state
        self._card.show(state)
        if state.phase is not before.phase or state.payment != before.payment:
            self.step_changed(self._step())
        faucet = self.link.faucet if self.link is not None else None
        money = deposit_money(tracked, now, sent=faucet is not None and faucet.has_paid(tracked))
        self.set_money(money.where, money.next, urgent=money.urgent)
        self.refresh_keys()

    def _step(self) -> str:
        """What a money key of this card acts on."""
        payment = self._card.state.payment
        return f"{self._card.state.phase.value} {payment.address if payment else ''}"

    # keys

    def _payment(self) -> Payment | None:
        tracked = self.tracked
        return payment_of(tracked, self.now()) if tracked is not None else None

    def _created(self) -> Created | None:
        """The outcome whose lower amount may still be accepted."""
        created = self.session.created.get(self.service_id)
        if created is None or created.check.hard or created.check.lower_by is None:
            return None
        return created

    def verb_standing(self, verb: type[Command]) -> Standing:
        payment = self._payment()
        if verb is AcceptLower:
            tracked = self.tracked
            hidden = tracked is None or tracked.withheld is None or self._created() is None
            return HIDDEN if hidden else READY
        if verb is Fund:
            payable = payment is not None
            return fund_standing(self.link, self.tracked, payable=payable, paying=self._funding)
        if verb is CopyMemo:
            if payment is None or payment.memo is None:
                return HIDDEN
            return Standing(verb=f"copy {payment.memo_label.split()[-1].lower()}")
        if verb in (CopyAmount, CopyAddress):
            return READY if payment is not None else HIDDEN
        return READY

    def do_fund(self) -> None:
        tracked = self.tracked
        pay = getattr(self.app, "pay", None)
        if tracked is None or pay is None or not pay(tracked):
            self.show_notice(NOT_THIS_ONE, "warning")
            return
        self._funding = True
        self.step_changed("funding")

    def do_copy_memo(self) -> None:
        payment = self._payment()
        if payment is not None and payment.memo is not None:
            self._copy(payment.memo_label.lower(), payment.memo)

    def do_copy_amount(self) -> None:
        tracked = self.tracked
        if tracked is not None and self._payment() and tracked.order.in_amount is not None:
            self._copy("amount", copied_amount(tracked.order.in_amount))

    def do_copy_address(self) -> None:
        payment = self._payment()
        if payment is not None:
            self._copy("address", payment.address)

    def _copy(self, label: str, value: str) -> None:
        copy = getattr(self.app, "copy_value", None)
        if copy is not None:
            copy(label, value)

    def do_follow(self) -> None:
        open_order = getattr(self.app, "open_order", None)
        if open_order is not None:
            open_order(self.service_id)

    def do_accept_lower(self) -> None:
        created = self._created()
        if created is None or created.check.lower_by is None:
            return
        lower = f"This order gives {created.check.lower_by:.2f}% less than you confirmed."
        question = Question("Accept less", [lower, "Nothing was sent yet."], ACCEPT, "accept")

        def accepted(yes: bool | None) -> None:
            if yes and self.link is not None:
                self.session.created[self.service_id] = self.link.exchange.accept_lower(created)
                self.link.tracker.adopt(self.service_id)
                self._show()

        self.app.push_screen(TypedConfirm(question), accepted)
