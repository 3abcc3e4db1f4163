"""Addresses and memos of a create request, checked against the chains they are for.

The local decoder decides, narrowed by the chain's own pattern; a kind of chain without a
decoder is left to the pattern alone (``addressValidation``, contract 5.1).
"""

from __future__ import annotations

from swapdesk.chain.addresses.checking import ServerPattern, check_recipient
from swapdesk.chain.addresses.kinds import KINDS
from swapdesk.chain.addresses.memos import check_memo, memo_label
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.wire.exchanges import PrivateSendRequest
from swapdesk.wire.tokens import Token


def check_destinations(request: PrivateSendRequest, token_in: Token, token_out: Token) -> None:
    """Raise VALIDATION_ERROR naming the field that no payout or refund could reach.

    A chain that needs a memo does not force one here: an own wallet may have none.
    """
    _check_address("addressTo", request.address_to, token_out)
    if request.refund_address is not None:
        _check_address("refundAddress", request.refund_address, token_in)
    _check_memo("destinationTag", request.destination_tag, token_out)
    _check_memo("refundExtraId", request.refund_extra_id, token_in)


def is_address(text: str, token: Token) -> bool:
    """Whether a wallet on the token's chain could have this address."""
    return _problem(text, token) is None


def _check_address(field: str, text: str, token: Token) -> None:
    problem = _problem(text, token)
    if problem is not None:
        raise _refusal(field, problem, text)


def _problem(text: str, token: Token) -> str | None:
    chain = token.chain_data
    if chain.kind not in KINDS:
        if ServerPattern(chain.address_validation).matches(text) is False:
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


def _check_memo(field: str, text: str | None, token: Token) -> None:
    if not text:
        return
    chain = token.chain_data
    verdict = check_memo(chain.kind, text, False, chain_name=chain.name, symbol=token.symbol)
    if not verdict.ok:
        raise _refusal(field, verdict.reason or "Not a memo of this chain.", text)
    if verdict.normalized != text:
        # The words that waive a memo are a desk's; what stands here would be sent.
        other = f"Write it as {verdict.normalized}." if verdict.normalized else "Leave it out."
        raise _refusal(field, f"Not a {memo_label(chain.kind)} as it is sent. {other}", text)


def _refusal(field: str, reason: str, text: str) -> ServiceError:
    return invalid(field, reason, text)
