"""Two pages about the deposit of one order: the card that says what to send, and the code to
scan."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from functools import partial

from textual.containers import Horizontal
from textual.geometry import Size
from textual.widget import Widget

from swapdesk.chain.addresses.payments import memo_label, short_memo_label
from swapdesk.flows.check_line import CheckLine
from swapdesk.flows.creation.order_verification import lower_output, moved_output
from swapdesk.flows.deposits.deposit_phase import (
    DepositCode,
    DepositPhase,
    deposit_codes,
    deposit_money,
    deposit_phase,
)
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.intents.intent import DepositRelease
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.notation import (
    clock_time,
    copied_amount,
    countdown,
    expected,
    expected_minutes,
    table_amount,
)
from swapdesk.flows.orders.deposit_destination import amount_to_pay, symbol_to_pay, token_to_pay
from swapdesk.flows.orders.order_fields import (
    UNSAID,
    get_label,
    refund_chain,
    route_of,
    short_id,
    unsaid,
)
from swapdesk.flows.orders.order_merge import payout_hash
from swapdesk.flows.orders.order_status import OrderStatus, order_status, reported_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.tui.commands.command import HIDDEN, CommandState, Standings, Verb
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
from swapdesk.tui.glyphs import ABOUT, DONE, REFUSED, TROUBLE, VALID
from swapdesk.tui.screens.order_actions import OneOrderPage
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, LineLike, Span, joined
from swapdesk.tui.widgets.deposit_card import DepositCard, DepositState, Payment
from swapdesk.tui.widgets.detail_rows import Fact, facts_lines
from swapdesk.tui.widgets.lines_view import TextRows
from swapdesk.tui.widgets.order_table import payout_memo, stage_mark
from swapdesk.tui.widgets.overlay import Question
from swapdesk.tui.widgets.qr_code import CodePanel, QrCode, code_size
from swapdesk.tui.widgets.quote_table import route_word
from swapdesk.tui.widgets.stage_line import StageMark, StageState, stage_spans

STEP = 3
"""Number of rows that one key press scrolls."""
ACCEPT = "accept"
FACTS = 34
"""Width in cells beside the code that is kept free for the facts about it."""
NOT_YET = "Do not pay before you accept that. A deposit already sent goes on at this rate."
COMPARED = "recipient, amount, tokens are as confirmed"
FLOATING_NOTE = "for the deposit; the rate may still move"
FIXED_NOTE = "for the deposit; the fixed rate holds for a deposit in time"
SETTING_UP = "The service sets up the deposit address."
CODE_FACTS = 30
CODE_LABEL = 10
"""Width in cells of the labels beside a code, out of :data:`CODE_FACTS` cells for labels and values
together."""


class DepositPage(OneOrderPage):
    """The base of the pages about the deposit of an order. :meth:`show` is called whenever
    something may have changed."""

    SPENDS = "exchange"
    NAMES_PAYER = True

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, service_id, f"order {short_id(service_id)}")

    def say_money(self, tracked: TrackedOrder) -> None:
        begun = self.desk.deposit_ways.payment(tracked.service_id)
        money = deposit_money(tracked, self.service_time(), begun)
        self.set_money(
            money.where,
            money.next,
            where_short=money.place,
            next_short=money.brief,
            urgent=money.urgent,
        )

    def payment(self) -> Payment | None:
        tracked = self.current
        return payment_of(tracked, self.service_time()) if tracked is not None else None

    def codes(self) -> tuple[DepositCode, ...]:
        """Returns the codes to scan for the deposit, beginning with the code that has the most
        data. Empty if there is nothing to pay now."""
        tracked = self.current
        if tracked is None:
            return ()
        return deposit_codes(tracked, self.service_time(), memo_word(memo_label_of(tracked)))

    def copied(self, part: str) -> tuple[str, str] | None:
        """Returns the label and the value that a copy key copies for ``part``, which is ``memo``,
        ``amount`` or ``address``. None if there is no such value."""
        payment = self.payment()
        if payment is None or (part == "memo" and payment.memo is None):
            return None
        label = payment.memo_label.lower() if part == "memo" else part
        amount = copied_amount(payment.exact)
        return label, {"memo": payment.memo or "", "amount": amount}.get(part, payment.address)

    def standings(self) -> Standings:
        return {verb: self._copying(verb) for verb in (COPY_MEMO, COPY_AMOUNT, COPY_ADDRESS)}

    def _copying(self, verb: Verb) -> CommandState:
        copied = self.copied(str(verb.given[0]))
        return HIDDEN if copied is None else CommandState(verb=f"copy {memo_word(copied[0])}")

    def do_copy(self, part: str) -> None:
        copied = self.copied(part)
        if copied is not None:
            self.controls.copy_value(*copied)


def memo_word(label: str) -> str:
    """Returns the last word of a memo's label in lower case, as ``tag`` for ``Destination tag``."""
    return label.split()[-1].lower()


def reading_standings(body: Widget) -> Standings:
    """Returns the states of the keys that scroll ``body``."""
    at = body.scroll_offset.y
    return {READ_ON: at < body.max_scroll_y, READ_BACK: at > 0}


class DepositScreen(DepositPage):
    """The page that says what to send, where and until when. Once the deposit is seen, it shows
    only the state of the order."""

    NAME = "Deposit"
    VERBS = (
        ACCEPT_LOWER, FUND, READ_ON, COPY_MEMO, COPY_AMOUNT, COPY_ADDRESS, SHOW_CODE,
        FOLLOW, READ_BACK,
    )  # fmt: skip

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, service_id)
        self._card = DepositCard(DepositState(DepositPhase.HIDDEN, ""))
        self._code = CodePanel(classes="beside")

    def compose_body(self) -> Iterable[Widget]:
        return (self._card,)

    def compose_side(self) -> Iterable[Widget]:
        return (self._code,)

    def on_resize(self) -> None:
        self.show()
        # Whether the card has room is known once it is laid out.
        self.call_after_refresh(self.refresh_keys)

    @property
    def counting(self) -> bool:
        return self._card.state.phase is DepositPhase.WAITING

    def show(self) -> None:
        if not self.query("#body"):
            # A state of the order may come before the widgets are there; mounting draws it.
            return
        tracked = self.current
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
        self._card.show(state)
        self.settle_notice(state.phase)
        captions = [(code.text, *code_caption(code, tracked)) for code in self.codes()]
        self._code.show(captions, self.app.size)
        self.say_money(tracked)
        # What a money key of this card acts on.
        funding = "funding" if self.service_id in self.paying else ways.of(tracked)
        self.step_is(f"{state.phase.value} {state.payment} {funding}")

    # keys

    def standings(self) -> Standings:
        return {
            **super().standings(),
            **reading_standings(self.query_one("#body")),
            SHOW_CODE: bool(self.codes()),
        }

    def standings_of(self, tracked: TrackedOrder) -> Standings:
        return {
            ACCEPT_LOWER: lower_output(tracked) is not None,
            FUND: self.fund_standing(tracked, payable=self.payment() is not None),
        }

    def do_scroll(self, by: int) -> None:
        self.query_one("#body").scroll_relative(y=by * STEP, animate=False)
        self.call_after_refresh(self.refresh_keys)

    def do_show_code(self) -> None:
        self.app.push_screen(DepositCodeScreen(self.session, self.service_id))

    def do_follow(self) -> None:
        self.controls.navigation.open_order(self.service_id)

    def do_accept_lower(self, tracked: TrackedOrder) -> None:
        if (lower := lower_output(tracked)) is not None:
            given, sentences = lower
            question = Question("Accept less", sentences, ACCEPT, "accept")
            self.confirm(question, partial(self._accept, given))

    def _accept(self, given: Decimal) -> None:
        link = self.link
        if link is None:
            return
        try:
            self.desk.journal.orders.accept_output(self.service_id, given)
        except JournalUnavailable:
            self.show_notice(f"{NO_JOURNAL.cause} Nothing was accepted.", "error")
            return
        link.tracker.adopt(self.service_id)
        self.show()


class DepositCodeScreen(DepositPage):
    """The page with a code to scan for a deposit, and what to type by hand. The key ``v`` switches
    between payment link and plain address."""

    NAME = "Deposit code"
    VERBS = (NEXT_CODE, COPY_MEMO, COPY_AMOUNT, COPY_ADDRESS)
    DEFAULT_CSS = """
    DepositCodeScreen #code { height: auto; }
    DepositCodeScreen QrCode { margin: 0 0 0 2; }
    """

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, service_id)
        self._wanted = ""
        """Name of the code that the user chose; empty if the user chose none."""
        self._code = QrCode()
        self._facts = TextRows()

    def compose_body(self) -> Iterable[Widget]:
        return (Horizontal(self._code, self._facts, id="code"),)

    def on_resize(self) -> None:
        self.show()

    @property
    def counting(self) -> bool:
        return bool(self._code.text)

    @property
    def shown(self) -> str:
        return self._code.text

    def show(self) -> None:
        tracked, code = self.current, next(iter(self._ordered), None)
        if tracked is None:
            return
        self.say_money(tracked)
        if code is None:
            self._code.show("")
            self._facts.show(no_code_lines(tracked, self.service_time()))
        elif not self._code.fits(code.text, self._room()):
            self._code.show("")
            needs = code_size(code.text, halves=self._code.halves)
            self._facts.show(too_large_lines(code, needs, self._room()))
        else:
            self._code.show(code.text)
            self._facts.show(code_facts(code, tracked, self.service_time()))
        self.refresh_keys()

    def _room(self) -> Size:
        size = self.app.size
        around = 4 if size.height < 28 else 6
        return Size(size.width - FACTS - 2, size.height - around)

    @property
    def _ordered(self) -> list[DepositCode]:
        codes, room = self.codes(), self._room()
        fitting = [code for code in codes if self._code.fits(code.text, room)]
        chosen = [code for code in codes if code.name == self._wanted]
        shown = next(iter([*chosen, *fitting, *codes]), None)
        return sorted(codes, key=lambda code: code is not shown)

    def standings(self) -> Standings:
        others = self._ordered[1:]
        following = CommandState(verb=f"next: {others[0].name}") if others else HIDDEN
        return {**super().standings(), NEXT_CODE: following}

    def do_next_code(self) -> None:
        self._wanted = self._ordered[1].name
        self.show()


def payment_of(tracked: TrackedOrder, now: datetime, *, simulated: bool = False) -> Payment | None:
    """Returns what the user has to send and to which address. None unless the order waits for its
    deposit and its address may be shown. ``simulated`` is True for a chain of the sandbox."""
    order = tracked.order
    if deposit_phase(tracked, now) is not DepositPhase.WAITING:
        return None
    payable = amount_to_pay(tracked)
    if order.deposit_address is None or payable is None:
        return None
    return Payment(
        network=network_of(tracked),
        amount=f"{payable.shown} {symbol_to_pay(tracked)}",
        address=order.deposit_address,
        memo=order.deposit_tag or None,
        memo_label=memo_label_of(tracked),
        exact=payable.exact,
        note=payable.note or "",
        simulated=simulated,
    )


def memo_label_of(tracked: TrackedOrder) -> str:
    """Returns the word for a memo on the chain of the deposit, such as ``Destination tag``."""
    label = memo_label(tracked.intent.token_in.kind if tracked.intent else "")
    return label[:1].upper() + label[1:]


def network_of(tracked: TrackedOrder) -> str:
    """Returns the name of the chain on which the deposit is paid; ``?`` if it is unknown."""
    token = token_to_pay(tracked)
    return token.chain_name if token is not None else "?"


def deposit_state(
    tracked: TrackedOrder, now: datetime, *, simulated: bool = False, lack: str | None = None
) -> DepositState:
    """Returns what the deposit card shows. ``simulated`` is True for a chain of the sandbox.
    ``lack`` is why the wallet cannot pay; None if it can."""
    phase = deposit_phase(tracked, now)
    state = reported_status(tracked.order, tracked.intent, now=now)
    order = tracked.order
    facts = tuple(_facts(tracked, state))
    if phase is DepositPhase.HIDDEN:
        reason = None if tracked.awaits_address else tracked.withheld
        lower = tracked.standing is DepositRelease.LOWER
        never = NOT_YET if lower else "Nothing was sent. Do not pay this order."
        nothing = CheckLine("refuse", never)
        waits = CheckLine("unknown", "Nothing was sent. The address appears here.")
        refused = tracked.withheld is not None and not tracked.being_confirmed
        verdict = nothing if refused else waits
        return DepositState(phase, reason or SETTING_UP, facts=facts, matches=verdict)
    if phase is DepositPhase.EXPIRED:
        if order.deposit_address is None:
            return DepositState(phase, state.cause, facts=facts)
        head: LineLike = "Expired"
        verdict = CheckLine("warn", f"{order_status(tracked, now).cause}.")
        return DepositState(phase, head, facts=facts, matches=verdict)
    if phase is DepositPhase.SEEN:
        return DepositState(phase, _seen_head(state), facts=facts)
    payment = payment_of(tracked, now, simulated=simulated)
    if lack is not None:
        facts = (Fact("Wallet", Span(lack, "status-waiting")), *facts)
    created = f"created {clock_time(order.created)}" if order.created is not None else ""
    compared = CheckLine("ok", COMPARED) if tracked.intent is not None else None
    return DepositState(
        phase,
        f"Send this, once, on {network_of(tracked)}",
        created,
        payment,
        _deadline(state, now),
        deadline_note=FIXED_NOTE if order.fixed else FLOATING_NOTE,
        left_part=_left_part(tracked, now),
        facts=facts,
        matches=compared,
    )


def code_caption(code: DepositCode, tracked: TrackedOrder) -> tuple[LineLike, list[LineLike]]:
    """Returns the line above a code, which names the data in the code, and the lines below the
    code: what to type by hand, and the deadline."""
    held = ", ".join(word for word, inside in code.holds if inside)
    head: Line = [Span("Scan", bold=True), Span(f"  {held}", "muted")]
    expires = tracked.order.expires
    until = clock_time(expires) if expires is not None else "the end"
    rows: list[LineLike] = [_by_hand(code, tracked)] if code.by_hand else []
    return head, [
        *rows,
        [Span("The code goes away at ", "muted"), Span(until), Span(".", "muted")],
        Span("Do not send after the deadline.", "muted"),
    ]


def code_facts(code: DepositCode, tracked: TrackedOrder, now: datetime) -> list[LineLike]:
    """Returns the lines beside a code: what to pay, the deadline, and which data the code
    contains."""
    payment, state = (
        payment_of(tracked, now),
        reported_status(tracked.order, tracked.intent, now=now),
    )
    if payment is None or state.deadline is None:
        return []
    facts = [Fact("Network", payment.network, bold=True)]
    held = _held(code)
    if payment.memo is not None:
        facts.append(Fact(short_memo_label(payment.memo_label), payment.memo, bold=True))
    facts += [
        Fact("Amount", payment.amount, bold=True),
        Fact("Address", address=payment.address),
        Fact(),
        Fact(
            "Deadline",
            [
                Span(countdown((state.deadline - now).total_seconds()), bold=True),
                Span(" left", "muted"),
            ],
            below=[clock_time(state.deadline, zone=True)],
        ),
        Fact(),
        Fact("In code", held[0], below=held[1:]),
    ]
    rows: list[LineLike] = list(facts_lines(facts, CODE_FACTS, CODE_LABEL))
    rows.append("")
    if code.by_hand:
        rows.append(_by_hand(code, tracked))
    elif payment.memo is not None:
        word = short_memo_label(payment.memo_label).lower()
        rows.append(
            Span(
                f"{TROUBLE} check the {word} in your wallet before you press send", "status-waiting"
            )
        )
    return rows


def too_large_lines(code: DepositCode, needs: tuple[int, int], room: Size) -> list[LineLike]:
    """Returns the sentences that replace a code too large for ``room``. ``needs`` is the width and
    the height of the code. All sizes are in cells."""
    text = f"The code with the {code.name} needs {needs[0]} x {needs[1]} cells; here are "
    return [
        Span(f"{text}{max(0, room.width)} x {max(0, room.height)}.", "status-waiting"),
        "Make the window larger, or copy the parts with the keys below.",
    ]


def no_code_lines(tracked: TrackedOrder, now: datetime) -> list[LineLike]:
    """Returns the sentences that replace the code when there is nothing to pay."""
    phase = deposit_phase(tracked, now)
    state = reported_status(tracked.order, tracked.intent, now=now)
    if phase is DepositPhase.EXPIRED:
        cause = f"{order_status(tracked, now).cause}."
        return [Span("The code is gone.", bold=True), Span(cause, "status-waiting")]
    if phase is DepositPhase.SEEN:
        return [Span("The code is gone.", bold=True), _seen_head(state)]
    return [Span(tracked.withheld or "There is no deposit address yet.", "status-waiting")]


def _held(code: DepositCode) -> list[Line]:
    marks: list[Line] = []
    for word, inside in code.holds:
        glyph, role = (VALID, "status-done") if inside else (REFUSED, "status-waiting")
        marks.append([Span(f"{glyph} ", role), Span(word)])
    return [joined(marks[at : at + 2], " ") for at in range(0, len(marks), 2)]


def _by_hand(code: DepositCode, tracked: TrackedOrder) -> Span:
    memo = tracked.order.deposit_tag or ""
    word = short_memo_label(memo_label_of(tracked)).lower()
    parts = [f"{word} {memo}" if part == word else f"the {part}" for part in code.by_hand]
    return Span(f"{TROUBLE} not in the code, enter by hand: {', '.join(parts)}", "status-waiting")


def _mark(state: OrderStatus) -> StageMark:
    return StageMark.ENDED if state.level == "back" else stage_mark(state.level)


def _seen_head(state: OrderStatus) -> Line:
    mark = _mark(state)
    glyph = DONE if mark is StageMark.MOVING else mark.glyph
    return [Span(f"{glyph} ", mark.role), Span(state.cause)]


def _deadline(state: OrderStatus, now: datetime) -> Line:
    assert state.deadline is not None
    left = countdown((state.deadline - now).total_seconds())
    until = clock_time(state.deadline, zone=True)
    return [Span(left, "foreground", bold=True), Span(f" left, until {until}", "muted")]


def _left_part(tracked: TrackedOrder, now: datetime) -> float:
    order = tracked.order
    if order.expires is None or order.created is None or order.expires <= order.created:
        return 0.0
    return (order.expires - now) / (order.expires - order.created)


def _facts(tracked: TrackedOrder, state: OrderStatus) -> list[Fact]:
    order, intent = tracked.order, tracked.intent
    kind = route_of(order)
    provider = order.swap_name or (intent.provider_name if intent else None) or "two legs"
    if kind == "private":
        provider = "two legs"
    eta = expected_minutes(order.eta)
    mark = _mark(state)
    facts = [_proceeds(tracked, state)]
    if order.receiver_address is not None:
        label = tracked.recipient_label
        below: list[LineLike] = [Span(label, bold=True)] if label else []
        facts.append(Fact("To", address=order.receiver_address, below=below))
    facts += payout_memo(order, intent)
    route: Line = [route_word(kind), Span(f"  {provider}   "),
                   Span(f"{eta} after the deposit", "muted")]  # fmt: skip
    facts.append(Fact("Route", route))
    now_line: Line = [
        *stage_spans(StageState(state.stage, len(state.stages), mark)),
        Span(f"  {mark.glyph} ", mark.role),
        Span(state.cause, mark.role),
    ]
    facts.append(Fact("Now", now_line))
    if state.elapsed is not None and state.deadline is None and state.level != "expired":
        wait = expected(state.expected.total_seconds() if state.expected else None)
        time = f"{expected(state.elapsed.total_seconds()).removeprefix('~')} of {wait}"
        facts.append(Fact("Time", time))
    paid = payout_hash(order)
    if paid:
        facts.append(Fact("Payout tx", paid))
    return facts


def _proceeds(tracked: TrackedOrder, state: OrderStatus) -> Fact:
    order, intent, proceeds = tracked.order, tracked.intent, tracked.proceeds
    theirs = intent is not None and intent.kind == "private_send"
    if proceeds.outcome == "came back":
        chain, rate = refund_chain(order), ""
    else:
        chain = order.out_token.chain_data.name if order.out_token is not None else ""
        rate = "" if state.ended else ", rate fixed" if order.fixed else ", floating"
    about = "" if state.ended or order.fixed else f"{ABOUT} "
    got = (
        f"the {proceeds.symbol}"
        if unsaid(proceeds)
        else f"{table_amount(proceeds.amount)} {proceeds.symbol}"
    )
    place = f" on {chain}{rate}" if chain else ""
    value: Line = [
        Span(f"{about}{got}", bold=True),
        Span(f"{place}; {UNSAID}" if unsaid(proceeds) else place, "muted"),
    ]
    agreed = moved_output(tracked)
    was = f"{table_amount(agreed)} when you agreed" if agreed is not None else ""
    return Fact(get_label(proceeds.outcome, theirs=theirs), value, was=was)
