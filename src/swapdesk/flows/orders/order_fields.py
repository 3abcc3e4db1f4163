"""Pure functions over an order and the intent confirmed for it: tokens, amounts, legs, times.

The service reports what it asked for and what it pays, not what arrived (contract 8.1). What it
does not report is not guessed. A token has the symbol that was confirmed at this desk; the symbol
the service sends is used only for orders that were not confirmed here, or that name another token
than was confirmed (contract 8.22).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal

from msgspec import Struct

from swapdesk.chain.addresses.display import transaction_link
from swapdesk.flows.intents.intent import Intent, TokenFacts
from swapdesk.flows.notation import NOTHING, tracker_amount
from swapdesk.flows.orders.order_merge import PROGRESS, display_of, ended
from swapdesk.wire.encoding.numbers import ROUGH
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order
from swapdesk.wire.quotes import RouteType
from swapdesk.wire.tokens import Token

SHORT_ID = 6
"""Characters of an order id in lists."""

NOTICED = Decimal(1)
"""Percent from which on a payout that differs from what was confirmed is reported."""

MOST_REFUND_FEE = Decimal(5)
"""Percent of a deposit up to which what a refund lacks counts as the provider's fee."""

_PAID = frozenset(PROGRESS[1:]) | {DisplayStatus.SWAP_COMPLETED, DisplayStatus.REFUNDED}
"""States that no order reaches without its deposit."""

_ARRIVED = frozenset(
    {
        LegStatus.CONFIRMING,
        LegStatus.EXCHANGING,
        LegStatus.SENDING,
        LegStatus.FINISHED,
        LegStatus.REFUNDED,
        LegStatus.VERIFYING,
        LegStatus.FALLBACK,
    }
)
_PAST_WAITING = frozenset(status for status in LegStatus if status >= LegStatus.CONFIRMING)

UNNAMED = "?"
"""Shown where neither side names a symbol."""

UNSAID = "the service does not say how much"
"""Said of a refund without an amount."""


def short_id(service_id: str) -> str:
    return service_id[:SHORT_ID]


def route_of(order: Order) -> RouteType:
    """Returns ``isDex`` and ``anonymous`` as one word (contract 8.1)."""
    if order.is_dex:
        return RouteType.DEX
    return RouteType.PRIVATE if order.anonymous else RouteType.STANDARD


def deposit_arrived(order: Order) -> bool:
    """True if the service reports a deposit: by the state, whatever the legs say, or by a leg or a
    hash."""
    traces = order.action_required or order.refund_hash or order.out_transaction_out_hash
    paid = display_of(order) in _PAID or second_leg_paid(order)
    return paid or bool(traces) or order.in_status in _ARRIVED


def on_hold(order: Order) -> bool:
    return LegStatus.VERIFYING in (order.in_status, order.out_status) and not ended(
        display_of(order)
    )


def second_leg_paid(order: Order) -> bool:
    """True if the payout leg is past waiting; an unknown leg status proves nothing."""
    return order.out_status in _PAST_WAITING


def in_second_leg(order: Order) -> bool:
    return order.anonymous is True and second_leg_paid(order)


def expected_end(order: Order) -> datetime | None:
    """Returns when the service expects to be done (contract 8.17); None if it gives no estimate."""
    if order.created is None or order.eta is None:
        return None
    try:
        return order.created + timedelta(minutes=float(order.eta))
    except OverflowError:
        return None


def promised(order: Order, intent: Intent | None) -> Decimal | None:
    if order.quoted_out_amount is not None:
        return order.quoted_out_amount
    return intent.amount_out if intent is not None else None


def against_promise(order: Order, intent: Intent | None) -> Decimal | None:
    """Returns by how many percent the payout exceeds the promise; negative if it pays less."""
    quoted = promised(order, intent)
    if quoted is None or quoted <= 0 or order.out_amount is None:
        return None
    return ROUGH.divide(ROUGH.subtract(order.out_amount, quoted) * 100, quoted)


def pays_otherwise(order: Order, intent: Intent | None) -> Decimal | None:
    """Returns :func:`against_promise` if it exceeds ``NOTICED`` after the deposit arrived and no
    other provider took over; None otherwise."""
    against = against_promise(order, intent)
    moved = deposit_arrived(order) and not order.rerouted
    known = display_of(order) not in (DisplayStatus.FAILED, DisplayStatus.REFUNDED)
    noticed = against is not None and abs(against) > NOTICED
    return against if moved and known and noticed else None


def deposit_doubted(order: Order, intent: Intent | None) -> bool:
    """True if the payout or refund suggests that another amount arrived than the order asked for:
    the service names only what it asked for (contract 8.1)."""
    if order.is_dex:
        return False
    if display_of(order) == DisplayStatus.REFUNDED:
        # Much of what was asked for may never have been sent.
        kept, asked = kept_by_provider(order), order.in_amount
        return kept is not None and asked is not None and kept * 100 > asked * MOST_REFUND_FEE
    return pays_otherwise(order, intent) is not None


def kept_by_provider(order: Order) -> Decimal | None:
    """Returns the part of the deposit that was not refunded; None if the service names no
    amount."""
    if order.refund_amount is None or order.in_amount is None:
        return None
    return max(Decimal(0), ROUGH.subtract(order.in_amount, order.refund_amount))


def refund_chain(order: Order) -> str:
    """Returns the chain of the refund: its full name if it is that of the sent token."""
    named, token = order.refund_chain, order.in_token
    if named and token is not None and named in (token.chain, token.chain_data.short_name):
        return token.chain_data.name
    return named or ""


def transaction_page(token: Token | None, transaction: str) -> str:
    """Returns the explorer's page of a transaction; empty if the chain has no safe pattern."""
    chain = token.chain_data if token is not None else None
    if chain is None:
        return ""
    return transaction_link(chain.hash_url or chain.explorer_url, transaction) or ""


ProceedsOutcome = Literal["ahead", "got", "missed", "came back"]
"""The payout is still to come, was received, will not come, or the deposit was refunded."""


class Proceeds(Struct, frozen=True):
    """``amount`` is in the bought token, or in the sold one that was refunded; None if the service
    does not say how much."""

    outcome: ProceedsOutcome
    amount: Decimal | None
    symbol: str


def symbols(order: Order, intent: Intent | None = None) -> tuple[str, str]:
    sent, received = (intent.token_in, intent.token_out) if intent is not None else (None, None)
    return (
        _symbol(order.in_token, order.in_token_id, order.in_symbol, sent),
        _symbol(order.out_token, order.out_token_id, order.out_symbol, received),
    )


def proceeds(order: Order, intent: Intent | None = None) -> Proceeds:
    sent, received = symbols(order, intent)
    display = display_of(order)
    if display == DisplayStatus.REFUNDED:
        return Proceeds("came back", order.refund_amount, sent)
    outcome: ProceedsOutcome = "missed" if ended(display) else "ahead"
    if display == DisplayStatus.SWAP_COMPLETED:
        outcome = "got"
    return Proceeds(outcome, order.out_amount, received)


def get_label(outcome: ProceedsOutcome, *, theirs: bool = False) -> str:
    """``You get``, ``You were to get``; ``theirs`` where another person is paid."""
    verb = {"ahead": "get", "got": "got", "missed": "were to get"}.get(outcome)
    return f"{'They' if theirs else 'You'} {verb}" if verb else "Came back"


def send_label(order: Order, outcome: ProceedsOutcome) -> str:
    """``You send``, ``You were to send``, ``Asked for``: of a deposit that arrived the service
    names only what it asked for (contract 8.1), unless a swap on a chain sent it."""
    if deposit_arrived(order):
        return "You sent" if order.is_dex else "Asked for"
    return "You were to send" if outcome == "missed" else "You send"


def unsaid(result: Proceeds) -> bool:
    return result.outcome == "came back" and result.amount is None


def shown(result: Proceeds) -> tuple[str, str]:
    """Returns amount and symbol for a list of orders; a dash if there is no payout or refund."""
    nothing = result.outcome == "missed" or result.amount is None
    return (NOTHING, "") if nothing else (tracker_amount(result.amount), result.symbol)


def _symbol(
    token: Token | None, token_id: str | None, symbol: str | None, confirmed: TokenFacts | None
) -> str:
    named = token.id if token is not None else token_id
    if confirmed is not None and (named is None or named.lower() == confirmed.id):
        return confirmed.symbol
    return (token.symbol if token is not None else symbol) or UNNAMED


_NOWHERE = {"deposit_address": None, "deposit_tag": None}


def shown_order(order: Order, *, withheld: str | None) -> Order:
    """Returns the order, without its deposit address and memo if they are withheld."""
    return order if withheld is None else order.model_copy(update=_NOWHERE)
