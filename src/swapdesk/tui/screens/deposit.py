"""The deposit card of an order and the screen of its code.

Both are pages about one order with the same copy keys. Where the screen is too low for the card,
the arrows scroll it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.containers import Horizontal
from textual.geometry import Size
from textual.widget import Widget

from swapdesk.flows.creation.minimum_received import lower_output
from swapdesk.flows.deposits.deposit_phase import (
    DepositCode,
    DepositPhase,
    deposit_codes,
    deposit_money,
)
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import copied_amount
from swapdesk.flows.orders.order_fields import short_id
from swapdesk.tui.commands.command import HIDDEN, READY, CommandState, Verb
from swapdesk.tui.commands.deposit import (
    ACCEPT_LOWER,
    COPY_ADDRESS,
    COPY_AMOUNT,
    COPY_MEMO,
    FOLLOW,
    FUND,
    NEXT_CODE,
    READ_BACK,
    READ_ON,
    SHOW_CODE,
)
from swapdesk.tui.page import Page
from swapdesk.tui.screens.deposit_facts import (
    code_caption,
    code_facts,
    deposit_state,
    memo_label_of,
    no_code_lines,
    payment_of,
    too_large_lines,
)
from swapdesk.tui.screens.order_actions import begin_funding, fund_standing
from swapdesk.tui.session import Session
from swapdesk.tui.widgets.deposit_card import DepositCard, DepositState, Payment
from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.overlay import Question, TypedConfirm
from swapdesk.tui.widgets.qr_code import CodePanel, CodePanelState, QrCode, QrState, code_size

if TYPE_CHECKING:
    from swapdesk.flows.deposits.deposit_ways import PayBy
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
        money = deposit_money(tracked, self.service_time(), sent=sent, begun=begun)
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
        return payment_of(tracked, self.service_time()) if tracked is not None else None

    def codes(self) -> tuple[DepositCode, ...]:
        """What can be scanned now, the fullest first."""
        tracked = self.tracked
        if tracked is None:
            return ()
        return deposit_codes(tracked, self.service_time(), memo_word(memo_label_of(tracked)))

    def copy_standing(self, verb: Verb) -> CommandState:
        payment = self.payment()
        if verb is COPY_MEMO:
            if payment is None or payment.memo is None:
                return HIDDEN
            return CommandState(verb=f"copy {memo_word(payment.memo_label)}")
        if verb in (COPY_AMOUNT, COPY_ADDRESS):
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


STEP = 3
"""Rows one key scrolls."""


class BodyReading:
    """Where the body of a screen stands, and how it is scrolled."""

    def __init__(self, body: Widget) -> None:
        self._body = body

    def standing(self, verb: Verb) -> CommandState:
        """Whether something stands further down, or further up."""
        y, most = self._body.scroll_offset.y, self._body.max_scroll_y
        return READY if (y < most if verb is READ_ON else y > 0) else HIDDEN

    def scroll(self, by: int) -> None:
        self._body.scroll_relative(y=by * STEP, animate=False)


ACCEPT = "accept"


class DepositScreen(DepositPage):
    """What to send, where and until when; it folds when the deposit is seen.

    The code to scan stands beside the card where there is room.
    """

    NAME = "Deposit"
    VERBS = (
        ACCEPT_LOWER, FUND, READ_ON, COPY_MEMO, COPY_AMOUNT, COPY_ADDRESS, SHOW_CODE,
        FOLLOW, READ_BACK,
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
            tracked,
            self.service_time(),
            simulated=ways.simulated(tracked),
            lack=ways.lack_of(tracked),
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

    def verb_standing(self, verb: Verb) -> CommandState:
        if verb is ACCEPT_LOWER:
            lower = lower_output(self.tracked)
            return READY if lower is not None else HIDDEN
        if verb is FUND:
            if self.link is None:
                return HIDDEN
            return fund_standing(
                self.desk.deposit_ways,
                self.link,
                self.tracked,
                payable=self.payment() is not None,
                paying=self._funding,
            )
        if verb in (READ_ON, READ_BACK):
            return self._reading.standing(verb)
        if verb is SHOW_CODE:
            return READY if self.codes() else HIDDEN
        return self.copy_standing(verb)

    def do_fund(self) -> None:
        if begin_funding(self, self.desk.deposit_ways, self.tracked):
            self._funding = True
            self.step_changed("funding")

    @property
    def _reading(self) -> BodyReading:
        return BodyReading(self.query_one("#body"))

    def do_scroll(self, by: int) -> None:
        self._reading.scroll(by)
        self.call_after_refresh(self.refresh_keys)

    def do_show_code(self) -> None:

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


FACTS = 34
"""Cells beside the code for what it was made of."""


class DepositCodeScreen(DepositPage):
    """The code of a deposit on a screen of its own, with what it holds and what it does not.

    ``v`` goes from the payment link to the plain address and back.
    """

    NAME = "Deposit code"
    VERBS = (NEXT_CODE, COPY_MEMO, COPY_AMOUNT, COPY_ADDRESS)
    DEFAULT_CSS = """
    DepositCodeScreen #code { height: auto; }
    DepositCodeScreen QrCode { margin: 0 0 0 2; }
    """

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, service_id)
        self._at: int | None = None
        self._code = QrCode()
        self._facts = TextRows()

    def compose_body(self) -> Iterable[Widget]:
        yield Horizontal(self._code, self._facts, id="code")

    def on_mount(self) -> None:
        self.show()

    def on_resize(self) -> None:
        self.show()

    @property
    def counting(self) -> bool:
        return bool(self._code.state.text)

    @property
    def shown(self) -> str:
        """The text of the code in view, empty for none."""
        return self._code.state.text

    def show(self) -> None:
        tracked, codes = self.tracked, self.codes()
        if tracked is None:
            return
        self.say_money(tracked)
        code = self._current(codes)
        if code is None:
            self._code.show(QrState())
            self._facts.show(no_code_lines(tracked, self.service_time()))
        elif not self._code.fits(QrState(code.text), self._room()):
            self._code.show(QrState())
            needs = code_size(code.text, halves=self._code.halves)
            self._facts.show(too_large_lines(code, needs, self._room()))
        else:
            self._code.show(QrState(code.text))
            self._facts.show(code_facts(code, tracked, self.service_time()))
        self.refresh_keys()

    def _room(self) -> Size:
        """Cells that a code may take: the body without the facts beside it."""
        size = self.app.size
        around = 4 if size.height < 28 else 6
        return Size(size.width - FACTS - 2, size.height - around)

    def _current(self, codes: tuple[DepositCode, ...]) -> DepositCode | None:
        """The code chosen; at first the fullest one that fits."""
        if not codes:
            return None
        if self._at is None:
            fitting = (at for at, one in enumerate(codes)
                       if self._code.fits(QrState(one.text), self._room()))  # fmt: skip
            return codes[next(fitting, 0)]
        return codes[self._at % len(codes)]

    def verb_standing(self, verb: Verb) -> CommandState:
        if verb is NEXT_CODE:
            codes = self.codes()
            current = self._current(codes)
            if current is None or len(codes) < 2:
                return HIDDEN
            following = codes[(codes.index(current) + 1) % len(codes)]
            return CommandState(verb=f"next: {following.name}")
        return self.copy_standing(verb)

    def do_next_code(self) -> None:
        codes = self.codes()
        current = self._current(codes)
        if current is not None:
            self._at = (codes.index(current) + 1) % len(codes)
            self.show()
