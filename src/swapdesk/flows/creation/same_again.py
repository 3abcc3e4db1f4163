"""What was asked for in an order that came to nothing, to be asked for again with the same input.

Nothing of the order is taken over but what was typed: the quotes are new, every field is checked
again, and it becomes an intent of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.creation.create_checks import TypedBefore
from swapdesk.flows.intents.intent import IntentKind
from swapdesk.flows.intents.standing import Standing
from swapdesk.flows.journal.folding import display_of
from swapdesk.flows.orders.swap_payment import SwapStage
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.quotes.quote_wish import QuoteOptions, QuoteWish
from swapdesk.wire.orders import DisplayStatus
from swapdesk.wire.tokens import Token

_NOTHING_CAME = frozenset(
    {
        DisplayStatus.EXPIRED,
        DisplayStatus.FAILED,
        DisplayStatus.REFUNDED,
        DisplayStatus.DELETED,
    }
)
_DEAD = frozenset({SwapStage.NOT_SIGNED, SwapStage.REVERTED, SwapStage.NOT_EXECUTED})
_REFUSED = frozenset({Standing.DIFFERS, Standing.CONTRADICTS})


class NotAgain(Exception):
    """It cannot be asked again; the text is a sentence."""


@dataclass(frozen=True)
class Again:
    """The question for quotes, and the fields of the create as they were typed."""

    wish: QuoteWish
    typed: TypedBefore


def came_to_nothing(tracked: TrackedOrder) -> bool:
    """Whether an order expired, failed, was refunded or deleted, was refused because it was not
    what was confirmed, or is a swap on chains that will not be executed."""
    swap = tracked.swap_payment
    return (
        display_of(tracked.order) in _NOTHING_CAME
        or (swap is not None and swap.at in _DEAD)
        or tracked.standing in _REFUSED
    )


def same_again(tracked: TrackedOrder, catalog: Catalog, options: QuoteOptions) -> Again:
    """``options`` are those of the next question. Raises NotAgain, WishRefused."""
    order, intent = tracked.order, tracked.intent
    if intent is not None:
        receive, send = intent.receive, intent.kind is IntentKind.PRIVATE_SEND
        wish = QuoteWish.of(
            options,
            _token(intent.token_in.id, catalog),
            _token(intent.token_out.id, catalog),
            intent.amount_out if receive else intent.amount_in,
            receive=receive,
            private_send=send,
        )
        label = intent.recipient_label or ""
        return Again(
            wish,
            TypedBefore(
                # A name of the address book stands for whom it names today.
                label if label.startswith("@") else intent.recipient,
                intent.memo or "",
                intent.refund_address or "",
                intent.refund_memo or "",
                intent.intermediate_refund or "",
            ),
        )
    if order.in_token_id is None or order.out_token_id is None or order.in_amount is None:
        raise NotAgain("The service does not say what this order was about.")
    wish = QuoteWish.of(
        options,
        _token(order.in_token_id, catalog),
        _token(order.out_token_id, catalog),
        order.in_amount,
    )
    return Again(
        wish,
        TypedBefore(
            order.receiver_address or "", order.receiver_tag or "", order.refund_address or ""
        ),
    )


def _token(token_id: str, catalog: Catalog) -> Token:
    found = resolve(token_id, catalog)
    if found.token is None:
        raise NotAgain(found.problem or "The service does not swap this token any more.")
    return found.token
