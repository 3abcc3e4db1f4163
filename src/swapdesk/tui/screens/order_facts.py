"""The facts of one order and of its transactions. Pure.

A deposit address that must not be paid is never part of them. Where the chains are real, a
transaction has a link to its chain's explorer; nothing opens it by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from swapdesk.chain.addresses.payments import memo_label
from swapdesk.flows.intents.intent import NO_ADDRESS_TEXT, DepositRelease, Intent
from swapdesk.flows.journal.order_merge import display_of, linked_deposit, payout_hash
from swapdesk.flows.journal.transaction_log import Fate, OrderTransaction, TransactionRole
from swapdesk.flows.notation import copied_amount, exact_amount, percent, tracker_amount
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
    transaction_page,
)
from swapdesk.flows.orders.order_status import OrderStatus
from swapdesk.flows.orders.situations import Situation
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.tui.glyphs import REFUSED, UNKNOWN, VALID
from swapdesk.tui.spans import Line, LineLike, Span, width_of
from swapdesk.tui.widgets.detail_rows import Fact
from swapdesk.tui.widgets.order_table import pair_spans, sign_span
from swapdesk.wire.orders import DisplayStatus, Order

SANDBOX_ONLY = "sandbox transaction, no explorer knows it"
_LABELS = {
    TransactionRole.DEPOSIT: "Deposit tx",
    TransactionRole.BUNDLE: "Bundle tx",
    TransactionRole.APPROVE: "Approval tx",
    TransactionRole.RESET: "Reset tx",
    TransactionRole.SWAP: "Swap tx",
}
_NOTES = {Fate.SENT: "sent", Fate.FAILED: "failed"}


def transaction_facts(order: Order, made: Sequence[OrderTransaction], *, live: bool) -> list[Fact]:
    """What this desk sent for the order, each with its page; and what the service names as the
    deposit's transaction where that is another one, or is not in its link any more."""

    def fact(label: str, hash_: str, note: str = "") -> Fact:
        link = transaction_page(order.in_token, hash_) if live else ""
        below = below_hash(live=live)
        return Fact(label, address=hash_, note=note, link=link, below=below, key=hash_)

    facts = [fact(_LABELS[one.role], one.hash, _NOTES.get(one.fate, "")) for one in made if one.own]
    other = other_deposit(order, made)
    if other is not None:
        facts.append(fact("Service says", other))
    told = named_deposit(order, made)
    if own_payment(made) is None and told is not None and linked_deposit(order) is None:
        facts.append(fact(_LABELS[TransactionRole.DEPOSIT], told))
    return facts


def below_hash(*, live: bool) -> tuple[str, ...]:
    """What stands under a hash that no explorer has."""
    return () if live else (SANDBOX_ONLY,)


def link_facts(order: Order, made: Sequence[OrderTransaction], *, live: bool) -> list[Fact]:
    """A link as text: nothing opens it by itself (contract 8.1).

    In the sandbox no explorer has the transaction, so its page would be an empty one; the
    facts of payout and refund say so beside their hashes.
    """
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
        return [Fact("Deposit tx", address=paid, below=below_hash(live=live), key="Link")]
    # Of which transaction it is nobody says.
    return [Fact("Link", [Span(SANDBOX_ONLY, "muted")])]


def short_memo_label(label: str) -> str:
    """``Tag`` for ``destination tag``, ``Memo`` for ``memo``."""
    return label.split()[-1].capitalize()


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


def withheld_line(tracked: TrackedOrder, summary: OrderStatus) -> Line:
    """What must be read before anything else: why the address is hidden. Empty otherwise."""
    if tracked.withheld is None or summary.ended:
        return []
    hard = tracked.standing in _HARD
    glyph, role = (REFUSED, "status-trouble") if hard else (UNKNOWN, "status-waiting")
    said = NO_ADDRESS_TEXT if tracked.awaits_address else tracked.withheld
    line = [Span(f"{glyph} {said}", role, bold=hard)]
    if not hard:
        return line
    if display_of(tracked.order) == DisplayStatus.WAITING_FOR_DEPOSIT:
        return [*line, Span(" The deposit address is hidden. Nothing was sent.")]
    return [*line, Span(" The deposit address is hidden. Do not pay it again.")]


def told_line(summary: OrderStatus) -> Line:
    """What happened, where an order did not go its plain way. Empty otherwise."""
    plain = summary.level in ("waiting", "moving") or summary.said is Situation.COMPLETED
    if plain and not summary.notes:
        return []
    sign = sign_span(summary)
    return [Span(f"{sign.text} {summary.told}", sign.role)]


def head_line(tracked: TrackedOrder, summary: OrderStatus, *, narrow: bool) -> tuple[Line, Line]:
    """What is swapped for whom, and at the right the state with its time."""
    left = pair_spans(tracked)
    label = tracked.intent.recipient_label if tracked.intent else None
    if label:
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
    """The names under the dots and their short forms; a named recipient stands at the end."""
    names = list(summary.stages)
    short = [SHORT_STAGES.get(name, name) for name in names]
    label = tracked.intent.recipient_label if tracked.intent else None
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
    """Labels and values; ``copied`` of each is what the copy key takes.

    ``made``: the transactions of the order as the journal has them. ``live``: whether the chains
    are real, so that an explorer knows the transactions.
    """
    order, intent = tracked.order, tracked.intent
    facts = [Fact("Order id", order.service_id, copy=order.service_id)]
    facts += _deposit(tracked, summary, made)
    facts += transaction_facts(order, made, live=live)
    facts += _payout(order, summary, live=live)
    if order.receiver_address is not None:
        label = intent.recipient_label if intent else None
        facts.append(Fact("Pays", address=order.receiver_address, note=_bold(label)))
    facts += payout_memo(order, intent)
    facts += _refund(tracked, made, live=live)
    facts += _executed(tracked)
    facts += _private(order, intent)
    facts += link_facts(order, made, live=live)
    facts.append(Fact("Known for", _known_for(tracked, now)))
    return facts


def _bold(label: str | None) -> LineLike:
    return [Span(label, bold=True)] if label else ""


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
    """Where the deposit went is a fact, not an offer."""
    below = () if place.arrived else (place.warning,)
    facts = [Fact("Went to", address=place.address, note=on, below=below, key="Deposit to")]
    if place.memo:
        facts.append(Fact("Memo sent", place.memo, copy=place.memo, key="Deposit memo"))
    return facts


def _sent(tracked: TrackedOrder, made: Sequence[OrderTransaction]) -> list[Fact]:
    """The exact amounts, where the line above has another or has it rounded."""
    found = sent_amounts(tracked, made)
    if len(found) == 1 and tracker_amount(found[0][1], "pay") == exact_amount(found[0][1]):
        return []
    return [
        Fact(label, f"{exact_amount(amount)} {symbol}", copy=copied_amount(amount))
        for label, amount, symbol, _ in found
    ]


def payout_memo(order: Order, intent: Intent | None) -> list[Fact]:
    """The memo the payout goes out with, under the word of its chain."""
    kind = order.out_token.chain_data.kind if order.out_token is not None else None
    if kind is None:
        kind = intent.token_out.kind if intent is not None else ""
    label = f"With {short_memo_label(memo_label(kind)).lower()}"
    if order.receiver_tag:
        return [Fact(label, order.receiver_tag, copy=order.receiver_tag)]
    if intent is not None and intent.memo_waived:
        return [Fact(label, [Span("none, as you typed", "status-waiting")])]
    return []


def _payout(order: Order, summary: OrderStatus, *, live: bool) -> list[Fact]:
    paid = payout_hash(order)
    chain = order.out_token.chain_data.name if order.out_token else ""
    if paid:
        note = f"on {chain}" if chain else ""
        link = transaction_page(order.out_token, paid) if live else ""
        return [Fact("Payout tx", address=paid, note=note, link=link, below=below_hash(live=live))]
    waiting = display_of(order) == DisplayStatus.WAITING_FOR_DEPOSIT
    if waiting or (summary.ended and summary.level != "done"):
        return []
    said = "the service gives no hash" if summary.ended else "not sent yet"
    return [Fact("Payout tx", [Span(said, "muted")])]


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
            said = f", {lost} less than asked for" if less else f", the provider kept {lost}"
            value.append(Span(said, "muted"))
        facts.append(Fact("Refunded", value, copy=copied_amount(order.refund_amount)))
    else:
        facts.append(Fact("Refunded", [Span(UNSAID, "muted")]))
    if order.refund_hash:
        page = transaction_page(order.in_token, order.refund_hash) if live else ""
        below = below_hash(live=live)
        facts.append(Fact("Refund tx", address=order.refund_hash, link=page, below=below))
    else:
        facts.append(Fact("Refund tx", [Span("the service gives no hash", "muted")]))
    return facts


def _executed(tracked: TrackedOrder) -> list[Fact]:
    """Quoted against what the order says, and executed once it is complete, when they differ."""
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
    said = f"{tracker_amount(quoted)}{by}, {word} {tracker_amount(out)} {received}{at} ({worth})"
    return [Fact("Quoted", said)]


def _private(order: Order, intent: Intent | None) -> list[Fact]:
    asked = intent is not None and intent.route == "private"
    if order.anonymous is True:
        said = "the service confirms two legs (anonymous: true)"
        return [Fact("Private", [Span(f"{VALID} ", "status-done"), Span(said)])]
    if not asked:
        return []
    said = "asked for a private route, the service says one leg"
    return [Fact("Private", [Span(f"{REFUSED} ", "status-trouble"), Span(said)])]


def _known_for(tracked: TrackedOrder, now: datetime) -> LineLike:
    if tracked.archived(now):
        return "from this desk's journal; the API no longer knows it"
    return [
        Span("the API forgets it ", "muted"),
        Span("48h"),
        Span(" after creation; the desk keeps it", "muted"),
    ]
