"""What is posted for an intent, and nothing else (contract 7.1 and 7.3)."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.flows.intents.intent import Intent, IntentKind
from swapdesk.wire.dex import GivenSignature
from swapdesk.wire.exchanges import ExchangeRequest, PrivateSendRequest

CreateBody = ExchangeRequest | PrivateSendRequest


def dex_body(intent: Intent, signatures: Sequence[GivenSignature]) -> ExchangeRequest:
    """The body of a swap on chains: who pays, and what was signed for it."""
    return ExchangeRequest(
        quote_id=intent.quote_id,
        address_to=intent.recipient,
        address_from=None if intent.dex is None else intent.dex.sender,
        signatures=list(signatures) or None,
    )


def create_body(intent: Intent) -> CreateBody:
    """The body of the create call that the kind of intent leads to."""
    kind = ExchangeRequest if intent.kind is IntentKind.EXCHANGE else PrivateSendRequest
    return kind(
        quote_id=intent.quote_id,
        address_to=intent.recipient,
        destination_tag=intent.memo or None,
        refund_address=intent.refund_address or None,
        refund_extra_id=intent.refund_memo or None,
        intermediate_refund_address=intent.intermediate_refund or None,
        markup=intent.markup,
    )
