"""Checks a create request and drafts the order of its quote (contract 7.3 to 7.9). Addresses must
satisfy this program's decoder, if there is one, and the chain's pattern (5.1)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal

from swapdesk.chain.addresses.checking import check_address, check_recipient, pattern_fits
from swapdesk.chain.addresses.kinds import KINDS
from swapdesk.chain.addresses.payments import check_memo, memo_label
from swapdesk.service.errors import ServiceError, VendorsRefusal, invalid
from swapdesk.service.orders.states import display, rank
from swapdesk.service.store.records import StoredOrder, StoredQuote, SwapTerms
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.ids import new_object_id, new_order_id
from swapdesk.wire.encoding.numbers import short
from swapdesk.wire.errors import ErrorCode, FieldProblem
from swapdesk.wire.exchanges import ExchangeRequest, PrivateSendRequest
from swapdesk.wire.orders import LegStatus, OrderStatusCode
from swapdesk.wire.tokens import Token


def check_destinations(request: PrivateSendRequest, token_in: Token, token_out: Token) -> None:
    """Raises VALIDATION_ERROR if a payout or refund address, or its memo, is not valid on the
    token's chain. A missing memo is valid."""
    _check_address("addressTo", request.address_to, token_out)
    if request.refund_address is not None:
        _check_address("refundAddress", request.refund_address, token_in)
    _check_memo("destinationTag", request.destination_tag, token_out)
    _check_memo("refundExtraId", request.refund_extra_id, token_in)


def is_address(text: str, token: Token) -> bool:
    """Returns True if the text has the form of a wallet address on the token's chain."""
    return _problem(text, token) is None


def _check_address(field: str, text: str, token: Token) -> None:
    problem = _problem(text, token)
    if problem is not None:
        raise invalid(field, problem, text)


def _problem(text: str, token: Token) -> str | None:
    chain = token.chain_data
    if chain.kind not in KINDS:
        if pattern_fits(chain.address_validation, text) is False:
            return f"Not an address of {chain.name}."
        return None
    verdict = check_recipient(
        chain.kind,
        text,
        chain.address_validation,
        chain_name=chain.name,
        symbol=token.symbol,
        contracts=() if token.address is None else (token.address,),
    )
    return None if verdict.ok else verdict.reason


def account_of(address: str, token: Token) -> str:
    """Returns the chain's kind and the canonical spelling of an address, separated by a space. If
    the address cannot be decoded, its spelling is unchanged."""
    kind = token.chain_data.kind
    verdict = check_address(kind, address, chain_name=token.chain_data.name)
    return f"{kind} {verdict.account if verdict.ok else address}"


def given_out(field: str, address: str) -> ServiceError:
    """Returns the VALIDATION_ERROR for a request whose ``field`` holds the deposit address of an
    order. Money sent there would go to that order or its venue."""
    reason = "is the deposit address of an order. Give an address of a wallet"
    code = "ADDRESS_TO_IN_DEPOSIT_LOG"
    vendors: VendorsRefusal | None = (code, {}) if field == "addressTo" else None
    return invalid(field, reason, address, vendors=vendors)


def _check_memo(field: str, text: str | None, token: Token) -> None:
    if not text:
        return
    chain = token.chain_data
    verdict = check_memo(chain.kind, text, False, chain_name=chain.name, symbol=token.symbol)
    if not verdict.ok:
        raise invalid(field, verdict.reason or "Not a memo of this chain.", text)
    if verdict.normalized != text:
        # The words that waive a memo are a desk's; what stands here would be sent.
        other = f"Write it as {verdict.normalized}." if verdict.normalized else "Leave it out."
        raise invalid(field, f"Not a {memo_label(chain.kind)} as it is sent. {other}", text)


Purpose = Literal["exchange", "private_send"]

RATE_ENDED = "The fixed rate was valid until a moment ago. Ask for a new quote."
"""Message of the error that is raised if a fixed rate has ended, in the quote or at the venue."""


def usable(quote: StoredQuote | None, purpose: Purpose, now: datetime) -> StoredQuote:
    """Returns the quote if it can be executed for ``purpose``. Raises FIXED_RATE_QUOTE_EXPIRED if
    its fixed rate has expired, INVALID_SWAP if it is unusable for another reason."""
    if quote is None or quote.filtered or quote.purpose not in (purpose, "private_send"):
        raise unusable()
    if quote.expires <= now:
        if quote.fixed:
            raise ServiceError(ErrorCode.FIXED_RATE_QUOTE_EXPIRED, RATE_ENDED)
        lasted = int((quote.expires - quote.created).total_seconds())
        raise unusable(f"Quote has expired, max age is {lasted} seconds")
    return quote


def unusable(ended: str | None = None) -> ServiceError:
    """Returns the INVALID_SWAP error for an unusable quote. ``ended`` is the message if the quote
    has expired; None if it is unusable for another reason."""
    fields = {} if ended is None else {"quoteId": FieldProblem(message=ended)}
    return ServiceError(
        ErrorCode.INVALID_SWAP,
        "This quote cannot be used. Ask for a new one.",
        vendors=(ErrorCode.VALIDATION_ERROR, fields) if fields else None,
    )


def check_refund(request: PrivateSendRequest, quote: StoredQuote) -> None:
    if request.refund_address is None:
        if quote.fixed:
            raise invalid("refundAddress", "is required for a fixed rate")
        if quote.requires_refund_address:
            raise invalid("refundAddress", "is required by this route")
        if request.refund_extra_id:
            raise invalid("refundExtraId", "belongs to a refundAddress", request.refund_extra_id)
    if request.intermediate_refund_address is not None and quote.route != "private":
        raise invalid(
            "intermediateRefundAddress",
            "only a private route has an intermediary",
            request.intermediate_refund_address,
        )


def digest_of(request: PrivateSendRequest, purpose: Purpose) -> str:
    """Returns a digest of a create request, as hex. Spelling, such as trailing zeros, does not
    change it."""
    body = request.model_dump(mode="python", by_alias=True, exclude_none=True)
    if not request.destination_tag:
        body.pop("destinationTag", None)
    for name, value in body.items():
        if isinstance(value, Decimal):
            body[name] = short(value)
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            body[name] = sorted(set(value))
    return hashlib.sha256(encode_json([purpose, dict(sorted(body.items()))])).hexdigest()


DEPOSIT_TIME = timedelta(minutes=30)
"""Time from an order's creation to ``expires``, the deadline of its deposit."""

_HEAD_START = timedelta(seconds=12)
# A create asks one venue for up to ten seconds; only then does the worker look.


def draft(
    quote: StoredQuote,
    request: ExchangeRequest | PrivateSendRequest,
    digest: str,
    now: datetime,
    rng: random.Random,
    notes: Mapping[str, str | bool | None] | None = None,
) -> StoredOrder:
    """Returns a new order, to be stored before any venue is asked. ``notes`` is the initial
    ``detail`` of a DEX order; None for other orders."""
    now = _to_milliseconds(now)
    shown = display(OrderStatusCode.INITIALIZING, LegStatus.NEW, None, quote.route)
    private = quote.route == "private"
    detail: dict[str, str | bool | None] = dict(notes or {})
    if private and request.intermediate_refund_address is not None:
        detail["intermediateRefundAddress"] = request.intermediate_refund_address
    terms = {name: getattr(quote, name) for name in SwapTerms.__struct_fields__}
    return StoredOrder(
        **terms | {"created": now, "expires": now + DEPOSIT_TIME},
        service_id=new_order_id(rng),
        record_id=new_object_id(rng),
        request_digest=digest,
        modified=now,
        status=int(OrderStatusCode.INITIALIZING),
        display_status=shown.value,
        rank=rank(shown),
        version=1,
        due_at=now + _HEAD_START,
        in_status=int(LegStatus.NEW),
        out_status=int(LegStatus.NEW) if private else None,
        receiver_address=request.address_to,
        receiver_tag=request.destination_tag or None,
        refund_address=request.refund_address or None,
        refund_tag=request.refund_extra_id or None,
        deposit_address=None,
        deposit_tag=None,
        detail=detail,
    )


def _to_milliseconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
