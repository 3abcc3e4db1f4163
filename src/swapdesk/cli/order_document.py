"""An order as commands write it: exact, with what it means, and without an address that must
not be paid."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from swapdesk.cli.output import Exact
from swapdesk.flows.journal.order_merge import display_of, payout_hash
from swapdesk.flows.journal.transaction_log import Fate, OrderTransaction, TransactionRole
from swapdesk.flows.notation import Moment, day, elapsed, grouped_address
from swapdesk.flows.orders.deposit_destination import (
    DepositDestination,
    amount_to_pay,
    deposit_destination,
    deposit_hash,
    named_deposit,
    other_deposit,
    own_payment,
    sent_amounts,
    symbol_to_pay,
    token_to_pay,
)
from swapdesk.flows.orders.order_fields import (
    UNSAID,
    Proceeds,
    ProceedsOutcome,
    deposit_arrived,
    get_label,
    route_of,
    shown,
    shown_order,
    unsaid,
)
from swapdesk.flows.orders.order_sentence import order_sentence, sent_amount
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token

__all__ = [
    "deposit_facts",
    "deposit_of",
    "order_document",
    "order_facts",
    "order_row",
    "order_sentence",
    "shown_order",
]


class DepositFacts(Struct, frozen=True):
    """What is to be paid, where, until when. ``note`` is a sentence where the service says another
    amount."""

    amount: Decimal
    note: str | None
    symbol: str
    chain: str | None
    address: str | None
    memo: str | None
    expires: Moment | None


class OrderDocument(Struct, frozen=True, rename="camel"):
    """One order with its state: where the money is, who acts next and by when. ``deposit`` is None
    when nothing is to be paid or it must not be, and ``withheld`` says why it must not."""

    service_id: str
    display_status: str | None
    status: int | None
    state: str
    ended: bool
    put_away: bool
    at: Moment
    money: str
    next: str
    by: str
    cause: str
    intent_id: str | None
    deposit: DepositFacts | None
    paid_to: DepositDestination | None
    deposit_hash: str | None
    transactions: tuple[OrderTransaction, ...]
    withheld: str | None
    order: Order


def order_document(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> OrderDocument:
    """One order with its state: where the money is, who acts next, and the whole order. ``made``
    are its transactions as the journal has them."""
    order, summary = tracked.order, order_status(tracked, now, made)
    return OrderDocument(
        service_id=order.service_id,
        display_status=display_of(order),
        status=order.status,
        state=summary.word,
        ended=tracked.ended,
        put_away=tracked.put_away,
        at=now,
        money=summary.money,
        next=summary.next,
        by=summary.by,
        cause=summary.told,
        intent_id=tracked.intent.id if tracked.intent else None,
        deposit=deposit_of(tracked, now, made),
        paid_to=deposit_destination(tracked, made),
        deposit_hash=deposit_hash(order, made),
        transactions=tuple(made),
        withheld=tracked.withheld,
        order=shown_order(order, withheld=tracked.withheld),
    )


def deposit_of(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> DepositFacts | None:
    """What to pay, where, until when; None when nothing is to be paid or it must not be."""
    order, pay = tracked.order, amount_to_pay(tracked)
    if not order_status(tracked, now, made).payable or pay is None:
        return None
    return DepositFacts(
        amount=pay.exact,
        note=pay.note,
        symbol=symbol_to_pay(tracked),
        chain=_chain(tracked),
        address=order.deposit_address,
        memo=order.deposit_tag,
        expires=order.expires,
    )


def order_facts(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> list[tuple[str, str]]:
    """Labels and values to read; ``made`` are the transactions of the order."""
    order, summary = tracked.order, order_status(tracked, now, made)
    got = tracked.proceeds
    back = got.outcome is ProceedsOutcome.CAME_BACK
    theirs = tracked.intent is not None and tracked.intent.kind == "private_send"
    spent = ""
    stages = summary.stages
    if summary.elapsed is not None:
        expected = summary.expected.total_seconds() if summary.expected else None
        spent = elapsed(summary.elapsed.total_seconds(), expected).text
    rows = [
        ("Order", order.service_id),
        ("State", summary.told.rstrip(".")),
        ("Stage", f"{stages[summary.stage]} ({summary.stage + 1} of {len(stages)})"),
        ("Money", summary.money),
        ("Next", summary.next),
        ("By", summary.by),
        *(
            (label, f"{amount:,f} {symbol}{f' on {chain}' if chain else ''}")
            for label, amount, symbol, chain in sent_amounts(tracked, made)
        ),
        (
            get_label(got.outcome, theirs=theirs),
            _came_back(order, got) if back else _side(got.amount, got.symbol, order.out_token),
        ),
        ("Route", "private" if order.anonymous else f"standard {order.swap_name or ''}".strip()),
        ("Recipient", grouped_address(order.receiver_address) if order.receiver_address else ""),
        ("Memo", Exact(order.receiver_tag or "")),
        ("Created", day(order.created, now) if order.created else ""),
        ("Elapsed", spent),
        *_paid_facts(tracked, made),
        *_hash_facts(order, made),
        ("Payout hash", payout_hash(order) or ""),
        ("Refund to", grouped_address(order.refund_address) if order.refund_address else ""),
        ("Refund hash", order.refund_hash or ""),
    ]
    if tracked.withheld is not None:
        return [*rows, ("Do not pay", tracked.withheld)]
    return rows + deposit_facts(tracked, now, made)


def _paid_facts(tracked: TrackedOrder, made: Sequence[OrderTransaction]) -> list[tuple[str, str]]:
    """Where the deposit went, in words that nobody takes for where to pay."""
    place = deposit_destination(tracked, made)
    if place is None:
        return []
    return [
        ("Was paid to", grouped_address(place.address)),
        ("Paid with memo", Exact(place.memo or "")),
        ("Do not pay again", place.warning),
    ]


def _hash_facts(order: Order, made: Sequence[OrderTransaction]) -> list[tuple[str, str]]:
    """The transactions that this desk sent, with what is known of each; else the deposit's as the
    service names it."""
    rows = [(_HASHES[one.role], f"{one.hash}{_fate(order, one)}") for one in made if one.own]
    if own_payment(made) is None:
        return [*rows, ("Deposit hash", named_deposit(order, made) or "")]
    return [*rows, ("Service names", other_deposit(order, made) or "")]


_HASHES = {
    TransactionRole.DEPOSIT: "Deposit hash",
    TransactionRole.BUNDLE: "Bundle hash",
    TransactionRole.APPROVE: "Approval hash",
    TransactionRole.RESET: "Reset hash",
    TransactionRole.SWAP: "Swap hash",
}


def _fate(order: Order, one: OrderTransaction) -> str:
    """What is to be known of a transaction that is not simply done."""
    if one.fate is Fate.FAILED:
        return ", failed and moved nothing but its gas"
    return ", sent" if one.fate is Fate.SENT and not deposit_arrived(order) else ""


def deposit_facts(
    tracked: TrackedOrder,
    now: datetime,
    made: Sequence[OrderTransaction] = (),
    *,
    grouped: bool = True,
) -> list[tuple[str, str]]:
    """The deposit card in words: exact amount, whole address, memo, deadline; empty when
    nothing is to be paid."""
    deposit = deposit_of(tracked, now, made)
    if deposit is None:
        return []
    address, expires = deposit.address or "", tracked.order.expires
    on = f" on {deposit.chain}" if deposit.chain else ""
    return [
        ("Pay", f"{deposit.amount:f} {deposit.symbol}{on}"),
        ("Note", (deposit.note or "").rstrip(".")),
        ("To", grouped_address(address) if grouped else address),
        ("With memo", Exact(deposit.memo or "")),
        ("Before", f"{expires:%Y-%m-%d %H:%M:%S} UTC" if expires else ""),
    ]


def order_row(
    tracked: TrackedOrder, now: datetime, made: Sequence[OrderTransaction] = ()
) -> tuple[str, ...]:
    """One line of the list."""
    order, summary = tracked.order, order_status(tracked, now, made)
    (sent, _), got = tracked.symbols, shown(tracked.proceeds)
    return (
        tracked.short_id,
        summary.word,
        sent_amount(tracked, summary),
        sent,
        *got,
        route_of(order).value,
        day(order.created, now) if order.created else "",
        summary.next,
    )


def _chain(tracked: TrackedOrder) -> str | None:
    """Where to pay: as it was confirmed, else as the order says."""
    token = token_to_pay(tracked)
    return token.chain if token is not None else None


def _came_back(order: Order, found: Proceeds) -> str:
    """What a refund returned, and on which chain."""
    said = _side(found.amount, found.symbol, order.in_token)
    if not unsaid(found):
        return said
    return f"the {found.symbol}{_on(order.in_token)}; {UNSAID}"


def _side(amount: Decimal | None, symbol: str, token: Token | None) -> str:
    return f"{amount:,f} {symbol}{_on(token)}" if amount is not None else ""


def _on(token: Token | None) -> str:
    return f" on {token.chain_data.name}" if token else ""
