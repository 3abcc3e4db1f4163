"""What an order exchanges: the two tokens by name, and what came, or was to come, of it.

A token is called as it was confirmed at this desk, from its own catalogue; the words the service
puts beside a token are used only for orders that were not confirmed here, or that name another
token than was confirmed (contract 8.22).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from swapdesk.flows.intents.intent import Intent, TokenFacts
from swapdesk.flows.journal.folding import display_of, ended
from swapdesk.flows.notation import NOTHING, tracker_amount
from swapdesk.flows.orders.order_case import deposit_arrived
from swapdesk.wire.orders import DisplayStatus, Order
from swapdesk.wire.tokens import Token

UNNAMED = "?"


class Outcome(Enum):
    """Whether what there is to get is ahead, was got, was to be got, or the deposit came back."""

    AHEAD = "ahead"
    GOT = "got"
    MISSED = "missed"
    CAME_BACK = "came back"


@dataclass(frozen=True)
class Proceeds:
    """``amount`` of ``symbol``: of the bought token, or of the sold one that came back. None
    where the service does not say how much."""

    outcome: Outcome
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
        return Proceeds(Outcome.CAME_BACK, order.refund_amount, sent)
    if display == DisplayStatus.SWAP_COMPLETED:
        return Proceeds(Outcome.GOT, order.out_amount, received)
    outcome = Outcome.MISSED if ended(display) else Outcome.AHEAD
    return Proceeds(outcome, order.out_amount, received)


def get_label(outcome: Outcome, *, theirs: bool = False) -> str:
    """``You get``, ``You were to get``; ``theirs`` where another person is paid."""
    if outcome is Outcome.CAME_BACK:
        return "Came back"
    verb = {Outcome.AHEAD: "get", Outcome.GOT: "got", Outcome.MISSED: "were to get"}[outcome]
    return f"{'They' if theirs else 'You'} {verb}"


def send_label(order: Order, outcome: Outcome, *, doubted: bool = False) -> str:
    """``You send``, ``You sent``, ``You were to send``: only what arrived was sent. ``doubted``:
    what was asked for may not be what arrived."""
    if deposit_arrived(order):
        return "Asked for" if doubted else "You sent"
    return "You were to send" if outcome is Outcome.MISSED else "You send"


UNSAID = "the service does not say how much"
"""Of a refund without an amount."""


def unsaid(found: Proceeds) -> bool:
    """Whether something came back and nobody says how much."""
    return found.outcome is Outcome.CAME_BACK and found.amount is None


def shown(found: Proceeds) -> tuple[str, str]:
    """Amount and symbol for a list of orders; a dash where nothing comes and nothing came back."""
    nothing = found.outcome is Outcome.MISSED or found.amount is None
    return (NOTHING, "") if nothing else (tracker_amount(found.amount), found.symbol)


def _symbol(
    token: Token | None, token_id: str | None, said: str | None, confirmed: TokenFacts | None
) -> str:
    named = token.id if token is not None else token_id
    if confirmed is not None and (named is None or named.lower() == confirmed.id):
        return confirmed.symbol
    return (token.symbol if token is not None else said) or UNNAMED
