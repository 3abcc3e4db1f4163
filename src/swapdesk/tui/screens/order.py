"""The page of one order: its stages, what happened when, and every fact. A deposit address that
must not be paid is never among the facts. The desk opens no link itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.containers import Horizontal
from textual.widget import Widget

from swapdesk.client.errors import ClientError, NotFound
from swapdesk.flows.intents.intent import NO_ADDRESS_TEXT, DepositRelease, Intent
from swapdesk.flows.notation import copied_amount, date, exact_amount, percent, tracker_amount
from swapdesk.flows.orders.deposit_destination import (
    DepositDestination,
    amount_to_pay,
    deposit_destination,
    deposit_known,
    kept_of,
    named_deposit,
    other_deposit,
    own_payment,
    sent_amounts,
    symbol_to_pay,
    token_to_pay,
)
from swapdesk.flows.orders.order_fields import (
    UNSAID,
    deposit_arrived,
    kept_by_provider,
    refund_chain,
    route_of,
    short_id,
    transaction_page,
)
from swapdesk.flows.orders.order_history import Leg, legs_of
from swapdesk.flows.orders.order_merge import display_of, linked_deposit, payout_hash
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.orders.order_transactions import OrderTransaction
from swapdesk.flows.orders.situations import COMPLETED
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.tracking.announcements import code_and_request, failure_of_error
from swapdesk.tui.commands.command import Standings
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
from swapdesk.tui.glyphs import REFUSED, UNKNOWN, VALID
from swapdesk.tui.page import SHOWN_BY_KEY, signing_standing
from swapdesk.tui.screens.order_actions import OneOrderPage
from swapdesk.tui.session import Session
from swapdesk.tui.spans import Line, LineLike, Span, width_of, wrapped
from swapdesk.tui.widgets.detail_rows import DetailRows, Fact
from swapdesk.tui.widgets.lines_view import FittedLines, HeadLine, LinesView, SectionLabel, TextRows
from swapdesk.tui.widgets.order_table import pair_spans, payout_memo, sign_span, stage_of
from swapdesk.tui.widgets.overlay import ReadingOverlay
from swapdesk.tui.widgets.stage_line import (
    timeline_lines,
    track_lines,
)
from swapdesk.wire.orders import DisplayStatus, Order
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.signing.signing_session import SigningSession

NARROW = 100
FORGOTTEN = "Neither this desk nor the service knows this order."
OLDER = "The service forgets an order after 48 hours. Another desk may still have it."
SANDBOX_ONLY = "sandbox transaction, no explorer knows it"
_LABELS = {
    "deposit": "Deposit tx",
    "bundle": "Bundle tx",
    "approve": "Approval tx",
    "reset": "Reset tx",
    "swap": "Swap tx",
}
_NOTES = {"sent": "sent", "failed": "failed"}
SHORT_STAGES = {
    "waiting": "wait",
    "exchange": "exch",
    "exchange 1": "exch 1",
    "to middle": "to mid",
    "at middle": "at mid",
    "exchange 2": "exch 2",
    "sending": "send",
}
NAME_CELLS = 10
_HARD = (DepositRelease.DIFFERS, DepositRelease.CONTRADICTS)


class OrderScreen(OneOrderPage):
    """The page of one order: its state, what happened when, and every fact."""

    NAME = "Order"
    SPENDS = "read"
    VERBS = (
        GO_ON_SIGNING, DEPOSIT_CARD, FUND, AGAIN, PUT_AWAY, OPEN_LINK, INSPECT, HISTORY, COPY_FACT,
        RAW_JSON, REFRESH, BACK,
    )  # fmt: skip
    AUTO_FOCUS: ClassVar[str | None] = ""
    DEFAULT_CSS = """
    OrderScreen #legs { height: auto; }
    OrderScreen #track { height: 2; }
    OrderScreen.-not-known .known { display: none; }
    """

    def __init__(self, session: Session, service_id: str) -> None:
        super().__init__(session, service_id, short_id(service_id))
        self._legs: tuple[Leg, ...] = ()
        self._made: tuple[OrderTransaction, ...] = ()
        self._legs_of: object = None
        self._said = TextRows(id="said")
        self._head = HeadLine(classes="known")
        self._check = TextRows(classes="known")
        self._track = FittedLines(id="track", classes="known")
        self._first, self._second = FittedLines(id="first"), FittedLines(id="second")
        self._facts_label = SectionLabel("Facts", classes="known")
        self._facts = DetailRows(classes="known")

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

    @property
    def counting(self) -> bool:
        tracked = self.current
        return tracked is not None and not order_status(tracked, self.service_time()).closed

    def on_resize(self) -> None:
        self.show()

    def session_changed(self) -> None:
        self.show()
        if self.current is None and not self.fetching:
            self.do_refresh()

    @property
    def signing(self) -> SigningSession[Any] | None:
        mine = (
            session
            for session in self.controls.signing.open_sessions
            if session.order_id == self.service_id
        )
        return next(mine, None)

    # drawing

    def show(self) -> None:
        if not self.is_mounted:
            return
        tracked = self.current
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
        sentence = check or told_line(summary)
        self._check.show([sentence] if sentence else [])
        names, short = stage_names(tracked, summary)
        self._track.show(partial(track_lines, stage_of(summary), names, short))
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
        if self._legs_of is not tracked:
            self._legs_of = tracked
            seen = self.desk.journal.orders.history.of(self.service_id)
            self._legs = legs_of(tracked.order, seen, now, tracked.recipient_label)
            self._made = self.desk.journal.orders.transactions_of(self.service_id)

    def _show_legs(self, tracked: TrackedOrder) -> None:
        now = self.service_time()
        created = tracked.order.created
        away = created is not None and created.date() != now.date()
        zone = "UTC" if not away or created is None else f"UTC, {date(created, now)}"
        first, *second = self._legs
        self._first.show(partial(timeline_lines, first, f"{first.word} · {zone}"))
        self._second.display = bool(second)
        for leg in second:
            self._second.show(partial(timeline_lines, leg, leg.word))

    def _show_unknown(self) -> None:
        self._said.display = True
        if self.fetching or self.link is None:
            self._said.show([[Span(f"Reading order {self.service_id}.", "muted")]])
            self.set_money("not known to this desk yet.", "the service: it answers")
        self.refresh_keys()

    # reading

    def do_refresh(self) -> None:
        if self.link is None or self.link.connection.read_only:
            return
        question = self.link.tracker.read(self.service_id)
        self.fetch("order-read", question, lambda _: self.show(), self._not_read)
        self.show()

    def _not_read(self, error: ClientError) -> None:
        self.show()
        failure = failure_of_error(error)
        if self.current is not None:
            self.show_failure(error)
        elif isinstance(error, NotFound):
            self._said.show([FORGOTTEN, [Span(OLDER, "muted")]])
            self.set_money("where you sent it, if you sent any.", "you: check the id")
        else:
            self._said.show([failure.cause, [Span(code_and_request(error), "muted")]])
            self.set_money("not known to this desk.", failure.next)

    # keys

    def standings(self) -> Standings:
        return {
            GO_ON_SIGNING: signing_standing(self.signing),
            OPEN_LINK: self.current is not None and self._link != "",
            REFRESH: self.refresh_standing(),
        }

    def standings_of(self, tracked: TrackedOrder) -> Standings:
        summary = order_status(tracked, self.service_time())
        return {
            **super().standings_of(tracked),
            DEPOSIT_CARD: summary.payable or (tracked.withheld is not None and not summary.ended),
            FUND: self.fund_standing(tracked, payable=summary.payable),
        }

    def do_copy_fact(self, tracked: TrackedOrder) -> None:
        """Copies the value of the fact under the cursor. If that fact has nothing to copy, copies
        the order id."""
        fact = self._facts.current
        if fact is not None and fact.copied:
            self.controls.copy_value(fact.label.lower(), fact.copied)
        else:
            self.controls.copy_value("order id", tracked.service_id)

    @property
    def _link(self) -> str:
        fact = self._facts.current
        return "" if fact is None else fact.link

    @on(DetailRows.Chosen)
    def do_open_link(self) -> None:
        """Copies the link of the fact under the cursor and shows the link in a panel. Opens no
        browser."""
        if link := self._link:
            self.controls.copy_value("link", link)
            self.app.push_screen(ReadingOverlay(partial(wrapped, link)))

    def do_go_on_signing(self) -> None:
        if self.signing is not None:
            self.controls.signing.open(self.signing)

    def do_inspect(self, tracked: TrackedOrder) -> None:
        from swapdesk.tui.screens.inspect import InspectScreen

        self.app.push_screen(InspectScreen(self.session, tracked.service_id))

    def do_history(self, tracked: TrackedOrder) -> None:
        from swapdesk.tui.screens.order_history import OrderHistoryScreen

        self.app.push_screen(OrderHistoryScreen(self.session, tracked.service_id))

    def do_deposit_card(self, tracked: TrackedOrder) -> None:
        from swapdesk.tui.screens.deposit import DepositScreen

        below = self.app.screen_stack[-2]
        if isinstance(below, DepositScreen) and below.service_id == tracked.service_id:
            self.app.pop_screen()
        else:
            self.app.push_screen(DepositScreen(self.session, tracked.service_id))

    def do_raw_json(self, tracked: TrackedOrder) -> None:
        from swapdesk.tui.screens.raw_order import RawOrderScreen

        self.app.push_screen(RawOrderScreen(self.session, tracked.service_id))


def transaction_facts(order: Order, made: Sequence[OrderTransaction], *, live: bool) -> list[Fact]:
    """Returns a fact for each transaction that this desk sent for the order, and a fact for a
    deposit that only the service names. ``live`` is True if explorers know the chains."""
    fact = partial(hash_fact, order.in_token, live=live)
    facts = [
        fact(
            _LABELS[transaction.role],
            transaction.hash,
            note=_NOTES.get(transaction.fate, ""),
            key=transaction.hash,
        )
        for transaction in made
        if transaction.own
    ]
    other = other_deposit(order, made)
    if other is not None:
        facts.append(fact("Service says", other, key=other))
    named = named_deposit(order, made)
    if own_payment(made) is None and named is not None and linked_deposit(order) is None:
        facts.append(fact(_LABELS["deposit"], named, key=named))
    return facts


def hash_fact(
    token: Token | None, label: str, hash_: str, *, live: bool, note: str = "", key: str = ""
) -> Fact:
    """Returns the fact about a transaction. If ``live`` is True, it has a link to the chain's
    explorer, otherwise a note that the transaction is simulated."""
    link = transaction_page(token, hash_) if live else ""
    below = () if live else (SANDBOX_ONLY,)
    return Fact(label, address=hash_, note=note, link=link, below=below, key=key)


def link_facts(order: Order, made: Sequence[OrderTransaction], *, live: bool) -> list[Fact]:
    """Returns the fact about the web link of the order (contract 8.1), which the desk never opens.
    In the sandbox, the fact shows the transaction's hash instead."""
    link = order.hash_url
    if not link or not link.startswith("https://"):
        return []
    if live:
        return [Fact("Link", [Span(link, "muted")], copy=link, link=link)]
    shown = [order.out_transaction_out_hash, order.in_transaction_out_hash, order.refund_hash]
    if any(one in link for one in (*shown, *(one.hash for one in made if one.own)) if one):
        return []
    paid = linked_deposit(order)
    if paid is not None and own_payment(made) is not None:
        # It stands beside the one that was sent.
        return []
    if paid is not None:
        return [hash_fact(None, "Deposit tx", paid, live=live, key="Link")]
    # Of which transaction it is nobody says.
    return [Fact("Link", [Span(SANDBOX_ONLY, "muted")])]


def withheld_line(tracked: TrackedOrder, summary: OrderStatus) -> Line:
    """Returns a row that says why the deposit address is hidden. Empty if the address is not
    hidden, or if the order has ended."""
    if tracked.withheld is None or summary.ended:
        return []
    hard = tracked.standing in _HARD
    glyph, role = (REFUSED, "status-trouble") if hard else (UNKNOWN, "status-waiting")
    reason = NO_ADDRESS_TEXT if tracked.awaits_address else tracked.withheld
    line = [Span(f"{glyph} {reason}", role, bold=hard)]
    if not hard:
        return line
    if display_of(tracked.order) == DisplayStatus.WAITING_FOR_DEPOSIT:
        return [*line, Span(" The deposit address is hidden. Nothing was sent.")]
    return [*line, Span(" The deposit address is hidden. Do not pay it again.")]


def told_line(summary: OrderStatus) -> Line:
    """Returns a row about what went wrong with an order; empty if nothing went wrong."""
    plain = summary.level in ("waiting", "moving") or summary.reported is COMPLETED
    if plain and not summary.notes:
        return []
    sign = sign_span(summary)
    return [Span(f"{sign.text} {summary.told}", sign.role)]


def head_line(tracked: TrackedOrder, summary: OrderStatus, *, narrow: bool) -> tuple[Line, Line]:
    """Returns the left and the right part of the first row: what is swapped and for whom, and the
    state with its time."""
    left = pair_spans(tracked)
    if label := tracked.recipient_label:
        left += [Span("   to ", "muted"), Span(label)]
    if not narrow:
        route = route_of(tracked.order)
        left += [Span("   "), Span(route, f"route-{route}")]
    sign = sign_span(summary)
    late = "status-trouble" if summary.time.late else "foreground"
    right: Line = [
        sign,
        Span(" "),
        Span(summary.word, sign.role, bold=True),
        Span("   "),
        Span(summary.time.short if narrow else summary.time.text, late),
    ]
    return left, right


def stage_names(tracked: TrackedOrder, summary: OrderStatus) -> tuple[list[str], list[str]]:
    """Returns the names of all stages and their short forms."""
    names = list(summary.stages)
    short = [SHORT_STAGES.get(name, name) for name in names]
    label = tracked.recipient_label
    if label and width_of(label) <= NAME_CELLS - 3:
        names[-2] = short[-2] = f"to {label}"
    return names, short


def order_facts(
    tracked: TrackedOrder,
    summary: OrderStatus,
    now: datetime,
    made: Sequence[OrderTransaction] = (),
    *,
    live: bool,
) -> list[Fact]:
    """Returns all facts of an order. ``made`` has the order's transactions in the journal. ``live``
    is True if explorers know the order's chains."""
    order, intent = tracked.order, tracked.intent
    facts = [Fact("Order id", order.service_id, copy=order.service_id)]
    facts += _deposit(tracked, summary, made)
    facts += transaction_facts(order, made, live=live)
    facts += _payout(order, summary, live=live)
    if order.receiver_address is not None:
        label = tracked.recipient_label
        note: LineLike = [Span(label, bold=True)] if label else ""
        facts.append(Fact("Pays", address=order.receiver_address, note=note))
    facts += payout_memo(order, intent)
    facts += _refund(tracked, made, live=live)
    facts += _executed(tracked)
    facts += _private(order, intent)
    facts += link_facts(order, made, live=live)
    facts.append(Fact("Known for", _known_for(tracked, now)))
    return facts


def _deposit(
    tracked: TrackedOrder, summary: OrderStatus, made: Sequence[OrderTransaction]
) -> list[Fact]:
    order, token, pay = tracked.order, token_to_pay(tracked), amount_to_pay(tracked)
    on = f"on {token.chain_name}" if token is not None else ""
    facts: list[Fact] = []
    if summary.payable and pay is not None:
        amount = f"{pay.shown} {symbol_to_pay(tracked)}"
        facts.append(Fact("Send", amount, note=on, copy=copied_amount(pay.exact), bold=True))
    elif deposit_arrived(order) or tracked.payments:
        facts += _sent(tracked, made)
    place = deposit_destination(tracked, made)
    if place is not None:
        return [*facts, *_paid(place, on)]
    if tracked.withheld is not None and not summary.ended:
        return [*facts, Fact("Deposit to", [Span("hidden, see above", "muted")])]
    if order.deposit_address is None:
        return facts
    if not summary.payable:
        waiting = display_of(order) == DisplayStatus.WAITING_FOR_DEPOSIT
        over = waiting or summary.level == "expired"
        why = "the deadline is over" if over else "the order awaits no deposit"
        why = "the order is closed" if summary.ended else why
        closed = [Span(f"not shown: {why}, do not send to it", "muted")]
        return [*facts, Fact("Deposit to", closed)]
    facts.append(Fact("Deposit to", address=order.deposit_address, note=on))
    if order.deposit_tag:
        facts.append(Fact("Deposit memo", order.deposit_tag, copy=order.deposit_tag, bold=True))
    return facts


def _paid(place: DepositDestination, on: str) -> list[Fact]:
    """Returns the address to which the deposit was sent, labelled as sent so that nobody pays
    twice. ``on`` is a note beside the address."""
    below = () if place.arrived else (place.warning,)
    facts = [Fact("Went to", address=place.address, note=on, below=below, key="Deposit to")]
    if place.memo:
        facts.append(Fact("Memo sent", place.memo, copy=place.memo, key="Deposit memo"))
    return facts


def _sent(tracked: TrackedOrder, made: Sequence[OrderTransaction]) -> list[Fact]:
    sent = sent_amounts(tracked, made)
    if len(sent) == 1 and tracker_amount(sent[0][1], "pay") == exact_amount(sent[0][1]):
        return []
    return [
        Fact(label, f"{exact_amount(amount)} {symbol}", copy=copied_amount(amount))
        for label, amount, symbol, _ in sent
    ]


def _payout(order: Order, summary: OrderStatus, *, live: bool) -> list[Fact]:
    paid = payout_hash(order)
    chain = order.out_token.chain_data.name if order.out_token else ""
    if paid:
        note = f"on {chain}" if chain else ""
        return [hash_fact(order.out_token, "Payout tx", paid, live=live, note=note)]
    waiting = display_of(order) == DisplayStatus.WAITING_FOR_DEPOSIT
    if waiting or (summary.ended and summary.level != "done"):
        return []
    state = "the service gives no hash" if summary.ended else "not sent yet"
    return [Fact("Payout tx", [Span(state, "muted")])]


def _refund(tracked: TrackedOrder, made: Sequence[OrderTransaction], *, live: bool) -> list[Fact]:
    order, (sent, _) = tracked.order, tracked.symbols
    facts: list[Fact] = []
    if order.refund_address is not None:
        facts.append(Fact("Refund to", address=order.refund_address))
    partly = order.refund_amount is not None or order.refund_hash is not None
    if display_of(order) != DisplayStatus.REFUNDED and not partly:
        return facts
    if order.refund_amount is not None:
        value: Line = [Span(f"{exact_amount(order.refund_amount)} {sent}", bold=True)]
        chain = refund_chain(order)
        if chain:
            value.append(Span(f" on {chain}", "muted"))
        kept = kept_of(order, deposit_known(tracked, made))
        missing = kept_by_provider(order) if kept is None else kept
        if missing and display_of(order) == DisplayStatus.REFUNDED:
            lost = f"{exact_amount(missing)} {sent}"
            less = kept is None
            words = f", {lost} less than asked for" if less else f", the provider kept {lost}"
            value.append(Span(words, "muted"))
        facts.append(Fact("Refunded", value, copy=copied_amount(order.refund_amount)))
    else:
        facts.append(Fact("Refunded", [Span(UNSAID, "muted")]))
    if order.refund_hash:
        facts.append(hash_fact(order.in_token, "Refund tx", order.refund_hash, live=live))
    else:
        facts.append(Fact("Refund tx", [Span("the service gives no hash", "muted")]))
    return facts


def _executed(tracked: TrackedOrder) -> list[Fact]:
    order, intent = tracked.order, tracked.intent
    quoted = order.quoted_out_amount or (intent.amount_out if intent else None)
    out = order.out_amount
    changed = order.rerouted is True
    if quoted is None or out is None or quoted <= 0 or (quoted == out and not changed):
        return []
    _, received = tracked.symbols
    by = f" at {intent.provider_name}" if intent and intent.provider_name else ""
    at = f" at {order.swap_name}" if order.swap_name else ""
    worth = percent((out - quoted) * Decimal(100) / quoted)
    # Before the end the amount is what the order promises, not what was traded.
    word = "executed" if display_of(order) == DisplayStatus.SWAP_COMPLETED else "the order says"
    text = f"{tracker_amount(quoted)}{by}, {word} {tracker_amount(out)} {received}{at} ({worth})"
    return [Fact("Quoted", text)]


def _private(order: Order, intent: Intent | None) -> list[Fact]:
    asked = intent is not None and intent.route == "private"
    if order.anonymous is True:
        words = "the service confirms two legs (anonymous: true)"
        return [Fact("Private", [Span(f"{VALID} ", "status-done"), Span(words)])]
    if not asked:
        return []
    words = "asked for a private route, the service says one leg"
    return [Fact("Private", [Span(f"{REFUSED} ", "status-trouble"), Span(words)])]


def _known_for(tracked: TrackedOrder, now: datetime) -> LineLike:
    if tracked.archived(now):
        return "from this desk's journal; the API no longer knows it"
    return [
        Span("the API forgets it ", "muted"),
        Span("48h"),
        Span(" after creation; the desk keeps it", "muted"),
    ]
