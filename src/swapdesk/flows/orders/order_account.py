"""What one order means in full sentences: cause, place of the money, who acts, by when.

The words of its case (``order_words``) filled with the facts of the order and of what was
confirmed. Pure; text of the service is only ever a value, never a template.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.folding import display_of, ended
from swapdesk.flows.notation import clock_time, percent, short_address, short_clock
from swapdesk.flows.orders.order_case import Case, case_of, deposit_arrived, in_second_leg
from swapdesk.flows.orders.order_pair import symbols
from swapdesk.flows.orders.order_words import (
    ASKED_FOR,
    NOT_REFUNDABLE,
    OTHER_PROVIDER,
    PAYS_OTHERWISE,
    WORDS,
    Certainty,
)
from swapdesk.flows.wording import Level
from swapdesk.wire.encoding.numbers import ROUGH, plain
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order

SHORT_ID = 6
"""Characters of an order id in lists."""

NOTICED = Decimal(1)
"""Percent by which a payout differs from what was confirmed before that is said."""


MOST_REFUND_FEE = Decimal(5)
"""Percent of a deposit up to which what is missing from a refund is called a provider's fee."""


@dataclass(frozen=True)
class Account:
    """``cause`` and ``notes`` are sentences without their closing point, ``money`` is one with;
    it follows the word Funds. ``actor`` does ``act`` until ``by``."""

    case: Case
    short: str
    level: Level
    cause: str
    notes: tuple[str, ...]
    money: str
    actor: str
    act: str
    by: str
    certainty: Certainty


def account_of(order: Order, intent: Intent | None, *, now: datetime) -> Account:
    """What is to be said of ``order`` at ``now``; ``intent`` is what was confirmed here."""
    case = case_of(order)
    words = WORDS[case]
    facts = _facts(order, intent, case, now)
    return Account(
        case=case,
        short=words.short.format_map(facts),
        level=words.level,
        cause=words.cause.format_map(facts),
        notes=_notes(order, intent, case, facts),
        money=words.money.format_map(facts),
        actor=words.actor.format_map(facts),
        act=words.act.format_map(facts),
        by=words.by.format_map(facts),
        certainty=words.certainty,
    )


def short_id(service_id: str) -> str:
    return service_id[:SHORT_ID]


def kept_by_provider(order: Order) -> Decimal | None:
    """What of the deposit a refund leaves out; None when the service reports no amount."""
    if order.refund_amount is None or order.in_amount is None:
        return None
    return max(Decimal(0), ROUGH.subtract(order.in_amount, order.refund_amount))


def kept_as_fee(order: Order) -> bool:
    """Whether what a refund leaves out can be a fee. The service does not say how much was
    deposited (contract 8.1), so a large part may never have been sent."""
    kept = kept_by_provider(order)
    if kept is None or order.in_amount is None:
        return False
    return kept * 100 <= order.in_amount * MOST_REFUND_FEE


def refund_chain(order: Order) -> str:
    """The chain a refund came back on, by its name where the sent token tells it."""
    named, token = order.refund_chain, order.in_token
    if named and token is not None and named in (token.chain, token.chain_data.short_name):
        return token.chain_data.name
    return named or ""


def expected_end(order: Order) -> datetime | None:
    """When the service means to be done (contract 8.17); None when it does not say."""
    if order.created is None or order.eta is None:
        return None
    try:
        return order.created + timedelta(minutes=float(order.eta))
    except OverflowError:
        return None


def promised(order: Order, intent: Intent | None) -> Decimal | None:
    """What was to be paid out: as first quoted, else as confirmed at this desk."""
    if order.quoted_out_amount is not None:
        return order.quoted_out_amount
    return intent.amount_out if intent is not None else None


def against_promise(order: Order, intent: Intent | None) -> Decimal | None:
    """How much more (or, below zero, less) the order pays than promised, in percent."""
    quoted = promised(order, intent)
    if quoted is None or quoted <= 0 or order.out_amount is None:
        return None
    return ROUGH.divide(ROUGH.subtract(order.out_amount, quoted) * 100, quoted)


def pays_otherwise(order: Order, intent: Intent | None) -> Decimal | None:
    """By how much more (or, below zero, less) an order pays than was confirmed, in percent, where
    that is noticed and no other provider took over; None otherwise."""
    against = against_promise(order, intent)
    moved = deposit_arrived(order) and not order.rerouted
    known = display_of(order) not in (DisplayStatus.FAILED, DisplayStatus.REFUNDED)
    noticed = against is not None and abs(against) > NOTICED
    return against if moved and known and noticed else None


def deposit_doubted(order: Order, intent: Intent | None) -> bool:
    """Whether something else may have arrived than the order asked for, as what it pays or gave
    back tells. The service names only what it asked for (contract 8.1)."""
    if order.is_dex:
        return False
    if display_of(order) == DisplayStatus.REFUNDED:
        return bool(kept_by_provider(order)) and not kept_as_fee(order)
    return pays_otherwise(order, intent) is not None


def _facts(order: Order, intent: Intent | None, case: Case, now: datetime) -> dict[str, str]:
    sent, received = symbols(order, intent)
    paid, got = _amount(order.in_amount, sent), _amount(order.out_amount, received)
    display = display_of(order) or ""
    holder = _holder(order)
    second = in_second_leg(order)
    label = intent.recipient_label if intent is not None else None
    first = intent.provider_name if intent is not None and intent.provider_name else None
    refunded = case in (Case.REFUNDED, Case.REFUNDED_FIRST_TOKEN, Case.PART_RETURNED)
    back = _amount(order.refund_amount, sent) if order.refund_amount is not None else f"the {sent}"
    to = f" to {short_address(order.refund_address)}" if order.refund_address else ""
    on = refund_chain(order)
    chain = f" on {on}" if on else ""
    deadline = f"before {clock_time(order.expires)}" if order.expires is not None else ""
    # A service may close an order before its deadline.
    passed = order.expires is not None and order.expires <= now
    against = against_promise(order, intent)
    differs = f", {_versus(against)} than quoted" if against else ""
    return {
        "name": order.service_id,
        "paid": paid,
        "got": got,
        "moving": "the funds" if second else paid,
        "amount": "" if second else f"{paid}, ",
        "holder": holder,
        "Holder": _capital(holder),
        "recipient": label or "the recipient",
        "first": first or "the first provider",
        "First": _capital(first or "the first provider"),
        "finisher": order.swap_name or "another one",
        "compared": differs,
        "back": back,
        "Back": _capital(back),
        "to": to if refunded else "",
        "chain": chain,
        "chain_or_origin": chain or " on the chain it came from",
        "kept": _kept(order, sent),
        "refund_to": to,
        "before": f" {deadline}" if passed else "",
        "deadline": deadline or "no deadline is known",
        "expected": _expected(order, now),
        "state": display[:64],
        "state_short": display[:12],
    }


def _notes(
    order: Order, intent: Intent | None, case: Case, facts: dict[str, str]
) -> tuple[str, ...]:
    notes: list[str] = []
    over = ended(display_of(order))
    if order.rerouted and not over:
        notes.append(OTHER_PROVIDER.format_map(facts))
    if order.non_refundable and case is not Case.NOT_REFUNDABLE and not _settled(case):
        notes.append(NOT_REFUNDABLE)
    against = pays_otherwise(order, intent)
    if against is not None:
        pays = "paid" if over else "pays"
        notes.append(PAYS_OTHERWISE.format(pays=pays, differs=_versus(against)))
        if deposit_doubted(order, intent):
            notes.append(ASKED_FOR.format_map(facts))
    return tuple(notes)


def _settled(case: Case) -> bool:
    """Whether a refund is no question any more."""
    return case in (
        Case.COMPLETED,
        Case.REROUTED,
        Case.PAID_BY_FALLBACK,
        Case.PART_RETURNED,
        Case.REFUNDED,
        Case.REFUNDED_FIRST_TOKEN,
        Case.DELETED,
        Case.EXPIRED,
        Case.NEVER_SET_UP,
        Case.FAILED_BEFORE,
        Case.CHAIN_EXPIRED,
        Case.CHAIN_FAILED,
    )


def _kept(order: Order, sent: str) -> str:
    kept = kept_by_provider(order)
    if kept is None:
        return ". The service does not say how much"
    if not kept:
        return ""
    if kept_as_fee(order):
        return f". The provider kept {plain(kept)} {sent}"
    return f". That is {plain(kept)} {sent} less than the order asked for"


def _versus(against: Decimal) -> str:
    return f"{percent(abs(against)).lstrip('+')} {'less' if against < 0 else 'more'}"


def _expected(order: Order, now: datetime) -> str:
    end = expected_end(order)
    if end is None:
        return "the service names no time"
    return f"about {short_clock(end)}" if end > now else "the expected time has passed"


def _holder(order: Order) -> str:
    if order.anonymous:
        second = in_second_leg(order) or order.out_status in (LegStatus.FAILED, LegStatus.FALLBACK)
        return "the second exchange" if second else "the first exchange"
    return order.swap_name or "the exchange"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _amount(amount: Decimal | None, symbol: str) -> str:
    return f"{plain(amount) if amount is not None else '?'} {symbol}"
