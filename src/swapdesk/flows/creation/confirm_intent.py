"""The moment of confirmation: one immutable intent from a quote and checked inputs.

What a person agrees to by typing before an order is created, or may not agree to at all.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.search import imitated_by
from swapdesk.flows.catalog.token_row import TokenRow
from swapdesk.flows.catalog.token_safety import check_token
from swapdesk.flows.creation.exchange import new_intent_id
from swapdesk.flows.intents.intent import DexTerms, Intent, IntentKind, Route, TokenFacts
from swapdesk.flows.notation import percent
from swapdesk.flows.payees.recipients import MemoCheck, RecipientCheck
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.quotes import RouteType
from swapdesk.wire.tokens import Token


class NotLockable(ValueError):
    """Something is not as it must be before a confirmation; the text says what."""


def lock_for_review(
    kind: IntentKind,
    ranked: RankedQuote,
    board: QuoteResult,
    recipient: RecipientCheck,
    memo: MemoCheck,
    refund: RecipientCheck | None,
    clock: Clock,
    *,
    intermediate: RecipientCheck | None = None,
    dex: DexTerms | None = None,
) -> Intent:
    """The intent of ``ranked`` as it is now. Raises NotLockable when a check refused.

    The stated side is what the user asked for; the quote's own writing of it may be rounded.
    In reverse what is paid in is the quote's answer. ``refund`` brings its memo along, as
    ``check_refund`` read it; ``intermediate`` is where a private swap may refund its middle.
    A swap on chains needs its terms.
    """
    quote = ranked.quote
    wish = board.wish
    for check in (recipient, memo, refund, intermediate):
        if check is not None and not check.ok:
            raise NotLockable(check.problem or "an input is not valid")
    if not recipient.address:
        raise NotLockable("the recipient is missing")
    made = (RouteType.STANDARD, RouteType.PRIVATE) if dex is None else (RouteType.DEX,)
    if quote.type not in made or quote.amount_out is None:
        raise NotLockable("this desk does not create orders of this route")
    if needs_refund_address(ranked) and (refund is None or not refund.address):
        raise NotLockable("this route needs a refund address")
    if wish.receive and (quote.amount_in is None or not quote.fixed):
        raise NotLockable("this route does not promise the amount you stated")
    if wish.receive and quote.amount_out < wish.amount:
        raise NotLockable("this route pays less than you stated")
    route: Route = "private" if quote.type == RouteType.PRIVATE else "standard"
    if dex is not None:
        route = "dex"
    amount_out = wish.amount if wish.receive else quote.amount_out
    return Intent(
        id=new_intent_id(),
        kind=kind,
        frozen_at=clock.now(),
        token_in=TokenFacts.of(board.token_in),
        token_out=TokenFacts.of(board.token_out),
        amount_in=board.amount_in(ranked),
        amount_out=amount_out,
        net_amount_out=amount_out if wish.receive else ranked.key,
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
        refund_address=_refund_of(refund)[0],
        refund_memo=_refund_of(refund)[1],
        fixed=quote.fixed,
        receive=wish.receive,
        markup=wish.markup,
        intermediate_refund=_refund_of(intermediate)[0],
        dex=dex,
    )


def still_stands(
    intent: Intent,
    recipient: RecipientCheck,
    memo: MemoCheck,
    refund: RecipientCheck | None,
    intermediate: RecipientCheck | None = None,
) -> bool:
    """Whether the inputs, checked again, are what was frozen. A name of the address book may mean
    another address by then, and what is shown is what is posted."""
    return (
        recipient.ok
        and memo.ok
        and intent.recipient == recipient.address
        and intent.memo == memo.memo
        and (intent.refund_address, intent.refund_memo) == _refund_of(refund)
        and intent.intermediate_refund == _refund_of(intermediate)[0]
    )


def _refund_of(check: RecipientCheck | None) -> tuple[str | None, str | None]:
    """The address and its memo as they are posted."""
    if check is None or not check.address:
        return None, None
    return check.address, check.memo


def needs_refund_address(ranked: RankedQuote) -> bool:
    """A fixed rate may fail and the money must come back (contract 7.4)."""
    return ranked.quote.fixed or bool(ranked.quote.requires_refund_address)


AGREED = "yes"
"""The phrase where no number is typed."""


class Consent(Struct, frozen=True):
    """``refused`` says why nothing can be created; else ``phrase`` is typed when not empty."""

    lines: tuple[str, ...] = ()
    phrase: str = ""
    refused: str | None = None

    def also(self, warning: str) -> Consent:
        """This consent with one more line to agree to."""
        return replace(self, lines=(*self.lines, warning), phrase=self.phrase or AGREED)


def consent_for(board: QuoteResult, row: RankedQuote, catalog: Catalog, now: datetime) -> Consent:
    """Both tokens and the value difference of a route.

    From 10 % of loss the percentage is typed, from 30 % the route is refused; a token with a
    warning, an unverified one, and a difference that cannot be known are agreed to.
    """
    lines: list[str] = []
    for token in {board.token_in.id: board.token_in, board.token_out.id: board.token_out}.values():
        check = check_token(token, now=now, imitates=_imitated(token, catalog))
        if not check.ok:
            return Consent(refused=next(one.text for one in check.lines if one.level == "refuse"))
        if check.needs_consent:
            lines += [one.text for one in check.lines if one.level == "warn"]
    value = board.value_difference(row)
    phrase = AGREED if lines else ""
    if value.level == "refused":
        return Consent(refused=f"This route loses {percent(value.percent)} of the value.")
    if value.typed_text is not None:
        phrase = value.typed_text
        lines.append(f"This route returns {percent(value.percent)} of value, fees included.")
    elif value.needs_consent:
        phrase = phrase or AGREED
        lines.append("No price is known for a token: the desk cannot say what this route costs.")
    return Consent(tuple(lines), phrase)


def _imitated(token: Token, catalog: Catalog) -> TokenRow | None:
    row = catalog.row(token.id)
    return imitated_by(row, catalog.rows.drawn_like(row)) if row is not None else None
