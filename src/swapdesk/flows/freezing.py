"""The moment of confirmation: one immutable intent from a quote and checked inputs."""

from __future__ import annotations

from swapdesk.clock import Clock
from swapdesk.flows.exchange import new_intent_id
from swapdesk.flows.intent import Intent, IntentKind, Route, TokenFacts
from swapdesk.flows.quoting import QuoteBoard
from swapdesk.flows.ranking import RankedQuote
from swapdesk.flows.recipients import MemoCheck, RecipientCheck
from swapdesk.wire.quotes import RouteType


class NotFreezable(ValueError):
    """Something is not as it must be before a confirmation; the text says what."""


def freeze(
    kind: IntentKind,
    ranked: RankedQuote,
    board: QuoteBoard,
    recipient: RecipientCheck,
    memo: MemoCheck,
    refund: RecipientCheck | None,
    clock: Clock,
) -> Intent:
    """The intent of ``ranked`` as it is now. Raises NotFreezable when a check refused.

    What is paid in is the amount that was asked for; the quote's own ``amountIn`` may be a
    rounding of it. ``refund`` brings its memo along, as ``check_refund`` read it.
    """
    quote = ranked.quote
    for check in (recipient, memo, refund):
        if check is not None and not check.ok:
            raise NotFreezable(check.problem or "an input is not valid")
    if not recipient.address:
        raise NotFreezable("the recipient is missing")
    if quote.type not in (RouteType.STANDARD, RouteType.PRIVATE) or quote.amount_out is None:
        raise NotFreezable("this desk does not create orders of this route")
    if "refund address" in ranked.badges and (refund is None or not refund.address):
        raise NotFreezable("this route needs a refund address")
    route: Route = "private" if quote.type == RouteType.PRIVATE else "standard"
    return Intent(
        id=new_intent_id(),
        kind=kind,
        frozen_at=clock.now(),
        token_in=TokenFacts.of(board.token_in),
        token_out=TokenFacts.of(board.token_out),
        amount_in=board.amount,
        amount_out=quote.amount_out,
        net_amount_out=ranked.key,
        route=route,
        provider=quote.swap,
        provider_name=quote.swap_name,
        quote_id=ranked.quote_id,
        valid_until=ranked.expires_at,
        minutes=quote.duration,
        recipient=recipient.address,
        recipient_label=recipient.label,
        memo=memo.memo,
        memo_waived=memo.waived,
        refund_address=refund.address or None if refund is not None else None,
        refund_memo=refund.memo if refund is not None and refund.address else None,
    )
