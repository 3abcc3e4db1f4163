"""Bodies that create an order (spec: Exchanges and batch swaps; wire decisions 2.6, 2.7)."""

from __future__ import annotations

from typing import Annotated

from swapdesk.wire.encoding.ids import QuoteId
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.model import RequestModel

Address = Annotated[str, Identity(200)]
Memo = Annotated[str, Identity(64)]


class PrivateSendRequest(RequestModel):
    """Body of ``POST /exchanges/private-send``; ``quote_id`` comes from a private-send quote."""

    quote_id: QuoteId
    address_to: Annotated[str, Identity(200, pattern=r"^[!-~]+$")]
    destination_tag: Memo | None = None
    refund_address: Address | None = None
    refund_extra_id: Memo | None = None
    intermediate_refund_address: Address | None = None
    wallet_info: Annotated[str, Identity(256)] | None = None


class ExchangeRequest(PrivateSendRequest):
    """Body of ``POST /exchanges``. ``address_from`` is ignored on centralized routes."""

    address_from: Address | None = None
