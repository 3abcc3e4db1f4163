"""What the card of a deposit and its code have in common: one order, its payment, its copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.flows.deposits.deposit_code import DepositCode, deposit_codes
from swapdesk.flows.deposits.deposit_money import deposit_money
from swapdesk.flows.notation import copied_amount
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.deposit import CopyAddress, CopyAmount, CopyMemo
from swapdesk.tui.page import Page
from swapdesk.tui.screens.deposit_facts import memo_label_of, payment_of
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.deposit_card import Payment

if TYPE_CHECKING:
    from swapdesk.flows.orders.tracked_order import TrackedOrder


"""Cells below which there is no room for both halves of the money line."""


class DepositPage(Page):
    """Subclasses draw in :meth:`show`, which is called whenever something may have changed."""

    SPENDS = "exchange"

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, context=f"order {short_id(service_id)}")
        self.service_id = service_id

    def show(self) -> None:
        """Draw what stands now."""

    @property
    def tracked(self) -> TrackedOrder | None:
        return self.link.tracker.recall(self.service_id) if self.link is not None else None

    def on_tick(self) -> None:
        self.show()

    def orders_changed(self, ids: frozenset[str]) -> None:
        if not ids or self.service_id in ids:
            self.show()

    def session_changed(self) -> None:
        self.show()

    def say_money(self, tracked: TrackedOrder) -> None:
        """Where the money is and who acts next."""
        ways = self.desk.deposit_ways
        sent, begun = ways.paid(tracked), ways.under_way(tracked)
        money = deposit_money(tracked, self.now(), sent=sent, begun=begun)
        self.set_money(
            money.where,
            money.next,
            where_short=money.place,
            next_short=money.brief,
            urgent=money.urgent,
        )

    def payment(self) -> Payment | None:
        """What may be sent now; None when nothing may."""
        tracked = self.tracked
        return payment_of(tracked, self.now()) if tracked is not None else None

    def codes(self) -> tuple[DepositCode, ...]:
        """What can be scanned now, the fullest first."""
        tracked = self.tracked
        if tracked is None:
            return ()
        return deposit_codes(tracked, self.now(), memo_word(memo_label_of(tracked)))

    def copy_standing(self, verb: type[Command]) -> CommandState:
        payment = self.payment()
        if verb is CopyMemo:
            if payment is None or payment.memo is None:
                return HIDDEN
            return CommandState(verb=f"copy {memo_word(payment.memo_label)}")
        if verb in (CopyAmount, CopyAddress):
            return READY if payment is not None else HIDDEN
        return READY

    def do_copy_memo(self) -> None:
        payment = self.payment()
        if payment is not None and payment.memo is not None:
            self.controls.copy_value(payment.memo_label.lower(), payment.memo)

    def do_copy_amount(self) -> None:
        payment = self.payment()
        if payment is not None:
            self.controls.copy_value("amount", copied_amount(payment.exact))

    def do_copy_address(self) -> None:
        payment = self.payment()
        if payment is not None:
            self.controls.copy_value("address", payment.address)


def memo_word(label: str) -> str:
    """``tag`` for ``Destination tag``."""
    return label.split()[-1].lower()
