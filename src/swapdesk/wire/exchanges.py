"""The request bodies that create an order (contract 7.1 to 7.3)."""

from typing import Annotated

from pydantic import Field, field_validator

from swapdesk.wire.dex import GivenSignature
from swapdesk.wire.encoding.ids import QuoteId
from swapdesk.wire.encoding.numbers import BodyNumber
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.quotes import LegFilters

Address = Annotated[str, Identity(200)]
Memo = Annotated[str, Identity(64)]


class PrivateSendRequest(LegFilters):
    """Body of ``POST /exchanges/private-send``. If its options differ from the quote's, a floating
    quote is priced anew and a fixed one refused (contract 7.11)."""

    quote_id: QuoteId
    address_to: Annotated[str, Identity(200, pattern=r"^[!-~]+$")]
    destination_tag: Memo | None = None
    refund_address: Address | None = None
    refund_extra_id: Memo | None = None
    intermediate_refund_address: Address | None = None
    wallet_info: Annotated[str, Identity(256)] | None = None
    markup: Annotated[BodyNumber, Field(ge=0, le=4)] | None = None


class ExchangeRequest(PrivateSendRequest):
    """Body of ``POST /exchanges``. DEX routes require ``address_from`` and may need ``signatures``;
    other routes ignore both. An empty list of signatures counts as absent."""

    address_from: Address | None = None
    signatures: Annotated[list[GivenSignature], Field(max_length=8)] | None = None

    @field_validator("signatures")
    @classmethod
    def _none(cls, given: list[GivenSignature] | None) -> list[GivenSignature] | None:
        return given or None
