"""What the fields of one order amount to: its tokens, its amounts, its legs, its times.

Pure readings of an order and of the intent that was confirmed for it. The service says what it
asked for and what it pays, not what arrived (contract 8.1); where it says nothing, neither does
a reading. A token is called as it was confirmed at this desk, from its own catalogue; the words
the service puts beside a token are used only for orders that were not confirmed here, or that
name another token than was confirmed (contract 8.22).
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
"""Percent by which a payout differs from what was confirmed before that is said."""

MOST_REFUND_FEE = Decimal(5)
"""Percent of a deposit up to which what is missing from a refund is called a provider's fee."""

_PAID = frozenset(PROGRESS[1:]) | {DisplayStatus.SWAP_COMPLETED, DisplayStatus.REFUNDED}
"""States that no order comes to without its deposit."""

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
"""Instead of a symbol that nobody names."""

UNSAID = "the service does not say how much"
"""Of a refund without an amount."""


def short_id(service_id: str) -> str:
    return service_id[:SHORT_ID]


def route_of(order: Order) -> RouteType:
    """``isDex`` and ``anonymous`` of the order as one word (contract 8.1)."""
    if order.is_dex:
        return RouteType.DEX
    return RouteType.PRIVATE if order.anonymous else RouteType.STANDARD


def deposit_arrived(order: Order) -> bool:
    """Whether the service says that money of this order reached it: by the state, whatever the
    legs are said to be, or by a leg or a hash."""
    if display_of(order) in _PAID:
        return True
    if order.action_required or order.refund_hash or order.out_transaction_out_hash:
        return True
    if second_leg_paid(order):
        return True
    return order.in_status is not None and order.in_status in _ARRIVED


def on_hold(order: Order) -> bool:
    """Leg status 8: a provider holds the money for a check."""
    return LegStatus.VERIFYING in (order.in_status, order.out_status) and not ended(
        display_of(order)
    )


def second_leg_paid(order: Order) -> bool:
    """Whether the payout leg is past waiting; a leg status that nobody knows says nothing."""
    return order.out_status in _PAST_WAITING


def in_second_leg(order: Order) -> bool:
    """Whether the funds of a private order left its first exchange."""
    return order.anonymous is True and second_leg_paid(order)


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
        # Much of what was asked for may never have been sent.
        kept, asked = kept_by_provider(order), order.in_amount
        return kept is not None and asked is not None and kept * 100 > asked * MOST_REFUND_FEE
    return pays_otherwise(order, intent) is not None


def kept_by_provider(order: Order) -> Decimal | None:
    """What of the deposit a refund leaves out; None when the service reports no amount."""
    if order.refund_amount is None or order.in_amount is None:
        return None
    return max(Decimal(0), ROUGH.subtract(order.in_amount, order.refund_amount))


def refund_chain(order: Order) -> str:
    """The chain a refund came back on, by its name where the sent token tells it."""
    named, token = order.refund_chain, order.in_token
    if named and token is not None and named in (token.chain, token.chain_data.short_name):
        return token.chain_data.name
    return named or ""


def transaction_page(token: Token | None, transaction: str) -> str:
    """The explorer's page by the pattern of the chain; empty when there is no safe one."""
    chain = token.chain_data if token is not None else None
    if chain is None:
        return ""
    return transaction_link(chain.hash_url or chain.explorer_url, transaction) or ""


ProceedsOutcome = Literal["ahead", "got", "missed", "came back"]
"""Whether what there is to get is ahead, was got, was to be got, or the deposit came back."""


class Proceeds(Struct, frozen=True):
    """``amount`` of ``symbol``: of the bought token, or of the sold one that came back. None
    where the service does not say how much."""

    outcome: ProceedsOutcome
    amount: Decimal | None
    symbol: str


def symbols(order: Order, intent: Intent | None = None) -> tuple[str, str]:
    """Symbols of the sent and the received token."""
    sent, received = (intent.token_in, intent.token_out) if intent is not None else (None, None)
    return (
        _symbol(order.in_token, order.in_token_id, order.in_symbol, sent),
        _symbol(order.out_token, order.out_token_id, order.out_symbol, received),
    )


def proceeds(order: Order, intent: Intent | None = None) -> Proceeds:
    """What came of ``order``, or is to come of it."""
    sent, received = symbols(order, intent)
    display = display_of(order)
    if display == DisplayStatus.REFUNDED:
        return Proceeds("came back", order.refund_amount, sent)
    if display == DisplayStatus.SWAP_COMPLETED:
        return Proceeds("got", order.out_amount, received)
    outcome: ProceedsOutcome = "missed" if ended(display) else "ahead"
    return Proceeds(outcome, order.out_amount, received)


def get_label(outcome: ProceedsOutcome, *, theirs: bool = False) -> str:
    """``You get``, ``You were to get``; ``theirs`` where another person is paid."""
    if outcome == "came back":
        return "Came back"
    verb = {
        "ahead": "get",
        "got": "got",
        "missed": "were to get",
    }[outcome]
    return f"{'They' if theirs else 'You'} {verb}"


def send_label(order: Order, outcome: ProceedsOutcome) -> str:
    """``You send``, ``You were to send``, ``Asked for``: what arrived the service does not say
    (contract 8.1), only what a swap on a chain sent."""
    if deposit_arrived(order):
        return "You sent" if order.is_dex else "Asked for"
    return "You were to send" if outcome == "missed" else "You send"


def unsaid(found: Proceeds) -> bool:
    """Whether something came back and nobody says how much."""
    return found.outcome == "came back" and found.amount is None


def shown(found: Proceeds) -> tuple[str, str]:
    """Amount and symbol for a list of orders; a dash where nothing comes and nothing came back."""
    nothing = found.outcome == "missed" or found.amount is None
    return (NOTHING, "") if nothing else (tracker_amount(found.amount), found.symbol)


def _symbol(
    token: Token | None, token_id: str | None, said: str | None, confirmed: TokenFacts | None
) -> str:
    named = token.id if token is not None else token_id
    if confirmed is not None and (named is None or named.lower() == confirmed.id):
        return confirmed.symbol
    return (token.symbol if token is not None else said) or UNNAMED


_NOWHERE = {"deposit_address": None, "deposit_tag": None}


def shown_order(order: Order, *, withheld: str | None) -> Order:
    """The order; a withheld one without where to pay."""
    return order if withheld is None else order.model_copy(update=_NOWHERE)
