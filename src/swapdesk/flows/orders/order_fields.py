"""Derives tokens, amounts, legs and times from an order and the intent confirmed for it.

The service reports what the order asked for and what it pays, not what arrived (contract 8.1). What
it does not report is not guessed. The symbol from the service is used only for orders that were not
confirmed here, or that name another token than was confirmed (contract 8.22).
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
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.numbers import ROUGH
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order
from swapdesk.wire.tokens import Token

SHORT_ID = 6
"""Number of characters of an order id that lists show."""

NOTICED = Decimal(1)
"""The payout is reported as different if it differs from the confirmed amount by more than this
many percent."""

MOST_REFUND_FEE = Decimal(5)
"""Largest missing part of a refund, in percent, that counts as the provider's fee."""

_PAID = frozenset(PROGRESS[1:]) | {DisplayStatus.SWAP_COMPLETED, DisplayStatus.REFUNDED}
"""Displayed states that no order reaches before its deposit arrived."""

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
"""Shown if neither the confirmed intent nor the service names a symbol."""

UNSAID = "the service does not say how much"
"""Shown for a refund without an amount."""


def short_id(service_id: str) -> str:
    return service_id[:SHORT_ID]


def route_of(order: Order) -> RouteType:
    """Returns the route type that the order's fields ``isDex`` and ``anonymous`` mean (contract
    8.1)."""
    if order.is_dex:
        return RouteType.DEX
    return RouteType.PRIVATE if order.anonymous else RouteType.STANDARD


def deposit_arrived(order: Order) -> bool:
    """Returns whether the displayed state, a leg, or the hash of a payout or refund shows that the
    deposit arrived."""
    traces = order.action_required or order.refund_hash or order.out_transaction_out_hash
    paid = display_of(order) in _PAID or second_leg_paid(order)
    return paid or bool(traces) or order.in_status in _ARRIVED


def on_hold(order: Order) -> bool:
    return LegStatus.VERIFYING in (order.in_status, order.out_status) and not ended(
        display_of(order)
    )


def second_leg_paid(order: Order) -> bool:
    """Returns whether the second leg (the payout) no longer waits for its money. An unknown status
    counts as waiting."""
    return order.out_status in _PAST_WAITING


def in_second_leg(order: Order) -> bool:
    return order.anonymous is True and second_leg_paid(order)


def expected_end(order: Order) -> datetime | None:
    """Returns when the service expects to complete the order (contract 8.17). None if the service
    gives no estimate."""
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
    """Returns by how many percent the payout is above the quoted amount; negative if below. None if
    either is unknown."""
    quoted = promised(order, intent)
    if quoted is None or quoted <= 0 or order.out_amount is None:
        return None
    return ROUGH.divide(ROUGH.subtract(order.out_amount, quoted) * 100, quoted)


def pays_otherwise(order: Order, intent: Intent | None) -> Decimal | None:
    """Returns by how many percent the payout differs from the quoted amount. None if by no more
    than ``NOTICED``, before the deposit arrived, after a failure or refund, or if another provider
    took over."""
    against = against_promise(order, intent)
    moved = deposit_arrived(order) and not order.rerouted
    known = display_of(order) not in (DisplayStatus.FAILED, DisplayStatus.REFUNDED)
    noticed = against is not None and abs(against) > NOTICED
    return against if moved and known and noticed else None


def deposit_doubted(order: Order, intent: Intent | None) -> bool:
    """Returns whether the payout or refund suggests that a different amount arrived than the order
    asked for. The service does not report what arrived (contract 8.1). False for a DEX swap."""
    if order.is_dex:
        return False
    if display_of(order) == DisplayStatus.REFUNDED:
        # Much of what was asked for may never have been sent.
        kept, asked = kept_by_provider(order), order.in_amount
        return kept is not None and asked is not None and kept * 100 > asked * MOST_REFUND_FEE
    return pays_otherwise(order, intent) is not None


def kept_by_provider(order: Order) -> Decimal | None:
    """Returns by how much the refund is below the amount that the order asked for, never negative.
    None if the service does not state both amounts."""
    if order.refund_amount is None or order.in_amount is None:
        return None
    return max(Decimal(0), ROUGH.subtract(order.in_amount, order.refund_amount))


def refund_chain(order: Order) -> str:
    """Returns the full name of the refund's chain if it is the chain of the sent token; otherwise
    the service's name for the chain, which may be empty."""
    named, token = order.refund_chain, order.in_token
    if named and token is not None and named in (token.chain, token.chain_data.short_name):
        return token.chain_data.name
    return named or ""


def transaction_page(token: Token | None, transaction: str) -> str:
    """Returns the URL of a transaction's page in the chain's explorer; empty if there is no safe
    link."""
    chain = token.chain_data if token is not None else None
    if chain is None:
        return ""
    return transaction_link(chain.hash_url or chain.explorer_url, transaction) or ""


ProceedsOutcome = Literal["ahead", "got", "missed", "came back"]
"""Whether the payout is to come, came, will not come, or was replaced by a refund."""


class Proceeds(Struct, frozen=True):
    """What an order pays to its owner, in the token bought or, after a refund, in the token sold.
    ``amount`` is None if the service does not state it."""

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
    """Returns the label for the result of an order, such as ``You get`` or, for another person,
    ``They get``."""
    verb = {"ahead": "get", "got": "got", "missed": "were to get"}.get(outcome)
    return f"{'They' if theirs else 'You'} {verb}" if verb else "Came back"


def send_label(order: Order, outcome: ProceedsOutcome) -> str:
    """Returns the label of an order's amount to send. Once the deposit arrived, the label is
    ``Asked for``, because the service does not say how much arrived (contract 8.1). For a DEX swap
    it is then ``You sent``."""
    if deposit_arrived(order):
        return "You sent" if order.is_dex else "Asked for"
    return "You were to send" if outcome == "missed" else "You send"


def unsaid(result: Proceeds) -> bool:
    return result.outcome == "came back" and result.amount is None


def shown(result: Proceeds) -> tuple[str, str]:
    """Returns the amount and the symbol that a list shows for an order's result; a dash and an
    empty symbol if there is none."""
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
    """Returns ``order`` as it may be shown: without deposit address and memo if ``withheld``, the
    reason to hide them, is not None."""
    return order if withheld is None else order.model_copy(update=_NOWHERE)
