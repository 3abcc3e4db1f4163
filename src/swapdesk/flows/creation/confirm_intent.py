"""Makes an immutable intent from a quote and checked inputs.

The fields of a create (the request that creates an order) are checked against the route, the
address book and earlier payments. If money may be lost, the user has to consent by typing a phrase,
or the create is refused. If the user asks again for an order that ended unpaid, only the typed
fields are reused: the quotes are new, every field is checked again, and the intent is a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.sol import NO_CHECKSUM
from swapdesk.clock import Clock
from swapdesk.flows.catalog.catalog import Catalog, resolve
from swapdesk.flows.catalog.search import imitated_by
from swapdesk.flows.catalog.token_list import TokenRow
from swapdesk.flows.catalog.token_safety import check_token
from swapdesk.flows.check_line import CheckLine, refusal, texts
from swapdesk.flows.creation.exchange import new_intent_id
from swapdesk.flows.intents.intent import (
    DepositRelease,
    DexTerms,
    Intent,
    IntentKind,
    Route,
    TokenFacts,
)
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.notation import percent
from swapdesk.flows.orders.order_merge import display_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.recipients import (
    NEVER_PAID,
    MemoCheck,
    RecipientCheck,
    check_memo_of,
    check_recipient,
    check_refund,
    own_deposits,
    paid_addresses,
    token_contracts,
)
from swapdesk.flows.quotes.quote_request import QuoteOptions, QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult, find_intermediate_token
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.wire.choices import RouteType
from swapdesk.wire.orders import DisplayStatus
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

_NOTHING_CAME = frozenset(
    {
        DisplayStatus.EXPIRED,
        DisplayStatus.FAILED,
        DisplayStatus.REFUNDED,
        DisplayStatus.DELETED,
    }
)
_REFUSED = frozenset({DepositRelease.DIFFERS, DepositRelease.CONTRADICTS})
AGREED = "yes"
"""The phrase that the user types to consent if no percentage of loss has to be typed."""


class TypedBefore(Struct):
    """The fields of an order form as the user typed them, saved while the user chooses another
    route."""

    recipient: str = ""
    memo: str = ""
    refund: str = ""
    refund_memo: str = ""
    intermediate: str = ""


class Checked(Struct, frozen=True):
    """The results of checking an order form. ``refund`` is None if the route needs none.
    ``intermediate`` is None if the token between the route's two legs is unknown."""

    recipient: RecipientCheck
    memo: MemoCheck
    refund: RecipientCheck | None
    intermediate: RecipientCheck | None = None

    @property
    def lines(self) -> tuple[CheckLine, ...]:
        checks = (self.recipient, self.memo, self.refund, self.intermediate)
        return tuple(line for check in checks if check is not None for line in check.lines)

    @property
    def problems(self) -> int:
        checks = (self.recipient, self.memo, self.refund, self.intermediate)
        return sum(check is not None and not check.ok for check in checks)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Sentences about doubtful fields, each of which needs the user's consent."""
        addresses = [check for check in (self.recipient, self.refund, self.intermediate) if check]
        doubts = [check.doubt for check in addresses] + [check.memo_doubt for check in addresses]
        return tuple(doubt for doubt in (self.memo.doubt, *doubts) if doubt)


class CreateChecks:
    """Checks an order form without calls to the service. ``middle`` is the token between the two
    legs of a private route, None if there is none or it is unknown."""

    def __init__(self, desk: Desk, result: QuoteResult, row: RankedQuote) -> None:
        self._book = desk.book
        self.sold, self.bought = result.token_in, result.token_out
        self.paid = paid_addresses(desk.journal)
        self.asks_refund = needs_refund_address(row)
        self.fixed = row.quote.fixed
        self.on_chain = row.on_chain
        self.own: Mapping[str, str] = {}
        """The names of this wallet's accounts, by their addresses."""
        self.middle: Token | None = find_intermediate_token(desk.catalog, result, row)
        self._arrives = result.amount if result.request.receive else row.key
        self._deposits = own_deposits(desk.journal)
        self._contracts = {
            token.id: token_contracts(desk.catalog, token) for token in (self.bought, self.sold)
        }

    def all(self, typed: TypedBefore) -> Checked:
        recipient = self.recipient(typed.recipient)
        return Checked(
            recipient,
            check_memo_of(recipient, typed.memo, False, self.bought, on_chain=self.on_chain),
            self.refund(typed.refund, typed.refund_memo) if self.asks_refund else None,
            self._intermediate(typed.intermediate),
        )

    def recipient(self, text: str) -> RecipientCheck:
        return self._of_wallet(self._checked(self._own_named(text.strip(), self._checked)))

    def _own_named(self, text: str, check: Callable[[str], RecipientCheck]) -> str:
        if not text.startswith("@") or self._book.entry(text) is not None:
            return text
        wanted = text[1:].casefold()
        named = [address for address, name in self.own.items() if name.casefold() == wanted]
        return next((address for address in named if check(address).ok), text)

    def own_names(self, *, refund: bool = False) -> Mapping[str, str]:
        """Returns addresses of the wallet's accounts by lower-case name: the accounts that can
        receive the token bought or, if ``refund`` is True, the token sold. An account whose name
        also stands in the address book is left out."""
        check = self._refund_checked if refund else self._checked
        named: dict[str, str] = {}
        for name in self.own.values():
            address = self._own_named(f"@{name}", check) if name else "@"
            if not address.startswith("@") and name.casefold() not in named:
                named[name.casefold()] = address
        return named

    def _of_wallet(self, check: RecipientCheck) -> RecipientCheck:
        """Returns the check. If the address is the wallet's own, a note with the account's name
        replaces the warnings about a first payment."""
        name = next((name for address, name in self.own.items() if address == check.address), None)
        if name is None or not check.ok:
            return check
        kept = [line for line in check.lines if line.text not in (NEVER_PAID, NO_CHECKSUM)]
        note = CheckLine("note", f"Your own wallet{f' {name}' if name else ''}.")
        return replace(check, first_use=False, lines=(*kept, note))

    def _checked(self, text: str) -> RecipientCheck:
        return check_recipient(
            text.strip(),
            self.bought,
            book=self._book,
            paid=self.paid,
            own_deposits=self._deposits,
            contracts=self._contracts[self.bought.id],
            arrives=self._arrives,
        )

    def refund(self, text: str, memo: str) -> RecipientCheck:
        """Returns the check of a refund address and of its memo. If ``memo`` is empty, the memo is
        not checked."""
        address = self._own_named(text.strip(), self._refund_checked)
        return self._of_wallet(self._refund_checked(address, memo))

    def _refund_checked(self, text: str, memo: str | None = "") -> RecipientCheck:
        return check_refund(
            text.strip(),
            self.sold,
            required=True,
            book=self._book,
            paid=self.paid,
            own_deposits=self._deposits,
            contracts=self._contracts[self.sold.id],
            memo=memo,
        )

    def memo_of_refund(self, text: str) -> str:
        """Returns the memo that comes with the refund address ``text`` in its payment link or
        address book entry; empty if none."""
        return self._refund_checked(text, None).memo or ""

    def _intermediate(self, text: str) -> RecipientCheck | None:
        if self.middle is None:
            return None
        return check_refund(
            text.strip(),
            self.middle,
            required=False,
            book=self._book,
            paid=self.paid,
            own_deposits=self._deposits,
            memo="",
        )


class NotAgain(Exception):
    """Raised if no new request can be made from an earlier order. The text is a sentence for the
    user."""


class Again(Struct, frozen=True):
    """A request for new quotes made from an earlier order, with the order form as the user typed it
    then."""

    request: QuoteRequest
    typed: TypedBefore


def came_to_nothing(tracked: TrackedOrder) -> bool:
    """True if the order ended without a payout, is not what the user confirmed, or is a swap that
    will not be executed."""
    swap = tracked.swap_payment
    return (
        display_of(tracked.order) in _NOTHING_CAME
        or (swap is not None and swap.state is State.REFUSED)
        or tracked.standing in _REFUSED
    )


def same_again(tracked: TrackedOrder, catalog: Catalog, options: QuoteOptions) -> Again:
    """Returns a request for new quotes from an earlier order. Raises NotAgain if that is
    impossible, and WishRefused if the options do not fit."""
    order, intent = tracked.order, tracked.intent
    if intent is not None:
        receive, send = intent.receive, intent.kind is IntentKind.PRIVATE_SEND
        request = QuoteRequest.of(
            options,
            _token(intent.token_in.id, catalog),
            _token(intent.token_out.id, catalog),
            intent.amount_out if receive else intent.amount_in,
            receive=receive,
            private_send=send,
        )
        label = intent.recipient_label or ""
        return Again(
            request,
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
    request = QuoteRequest.of(
        options,
        _token(order.in_token_id, catalog),
        _token(order.out_token_id, catalog),
        order.in_amount,
    )
    return Again(
        request,
        TypedBefore(
            order.receiver_address or "", order.receiver_tag or "", order.refund_address or ""
        ),
    )


def _token(token_id: str, catalog: Catalog) -> Token:
    resolution = resolve(token_id, catalog)
    if resolution.token is None:
        raise NotAgain(resolution.problem or "The service does not swap this token any more.")
    return resolution.token


class NotLockable(ValueError):
    """Raised if an input is missing or not valid; the text says which."""


def lock_for_review(
    kind: IntentKind,
    ranked: RankedQuote,
    result: QuoteResult,
    recipient: RecipientCheck,
    memo: MemoCheck,
    refund: RecipientCheck | None,
    clock: Clock,
    *,
    intermediate: RecipientCheck | None = None,
    dex: DexTerms | None = None,
) -> Intent:
    """Returns the intent of the chosen quote, with the amount as the user typed it.
    ``intermediate`` is the refund address for the token between a private swap's legs. ``dex`` has
    the terms of an on-chain swap. Raises NotLockable."""
    quote = ranked.quote
    request = result.request
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
    if request.receive and (quote.amount_in is None or not quote.fixed):
        raise NotLockable("this route does not promise the amount you stated")
    if request.receive and quote.amount_out < request.amount:
        raise NotLockable("this route pays less than you stated")
    route: Route = "private" if quote.type == RouteType.PRIVATE else "standard"
    if dex is not None:
        route = "dex"
    amount_out = request.amount if request.receive else quote.amount_out
    return Intent(
        id=new_intent_id(),
        kind=kind,
        frozen_at=clock.now(),
        token_in=TokenFacts.of(result.token_in),
        token_out=TokenFacts.of(result.token_out),
        amount_in=result.amount_in(ranked),
        amount_out=amount_out,
        net_amount_out=amount_out if request.receive else ranked.key,
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
        receive=request.receive,
        markup=request.markup,
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
    """True if the inputs, checked again, still equal the intent's. The address on the screen must
    be the address that is sent."""
    return (
        recipient.ok
        and memo.ok
        and intent.recipient == recipient.address
        and intent.memo == memo.memo
        and (intent.refund_address, intent.refund_memo) == _refund_of(refund)
        and intent.intermediate_refund == _refund_of(intermediate)[0]
    )


def _refund_of(check: RecipientCheck | None) -> tuple[str | None, str | None]:
    if check is None or not check.address:
        return None, None
    return check.address, check.memo


def needs_refund_address(ranked: RankedQuote) -> bool:
    """True if the quote asks for a refund address or its rate is fixed (contract 7.4)."""
    return ranked.quote.fixed or bool(ranked.quote.requires_refund_address)


class Consent(Struct, frozen=True):
    """The warnings that need consent. If ``refused`` is not empty, it says why no order can be
    created. Otherwise the user consents by typing ``phrase``; if that is empty, no consent is
    needed."""

    lines: tuple[str, ...] = ()
    phrase: str = ""
    refused: str = ""

    def also(self, warning: str) -> Consent:
        """Returns this consent with ``warning`` added. The user then types the existing phrase, or
        ``yes`` if there was none."""
        return replace(self, lines=(*self.lines, warning), phrase=self.phrase or AGREED)


def consent_for(result: QuoteResult, row: RankedQuote, catalog: Catalog, now: datetime) -> Consent:
    """Returns what the user has to consent to. For a loss of 10 %, the user types the percentage; a
    loss of 30 % is refused. A doubtful token or an unknown loss needs ``yes``."""
    lines: list[str] = []
    for token in {
        result.token_in.id: result.token_in,
        result.token_out.id: result.token_out,
    }.values():
        check = check_token(token, now=now, imitates=_imitated(token, catalog))
        if reason := refusal(check):
            return Consent(refused=reason)
        lines += texts(check, "warn")
    value = result.value_difference(row)
    phrase = AGREED if lines else ""
    if value.level == "refused":
        return Consent(refused=f"This route loses {percent(value.percent)} of the value.")
    if value.typed_text:
        phrase = value.typed_text
        lines.append(f"This route returns {percent(value.percent)} of value, fees included.")
    elif value.needs_consent:
        phrase = phrase or AGREED
        lines.append("No price is known for a token: the desk cannot say what this route costs.")
    return Consent(tuple(lines), phrase)


def _imitated(token: Token, catalog: Catalog) -> TokenRow | None:
    row = catalog.row(token.id)
    return imitated_by(row, catalog.rows.drawn_like(row)) if row is not None else None
