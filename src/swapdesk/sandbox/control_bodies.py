"""Bodies of the control operations that ask more than the node is asked: closed and strict
(interfaces 2)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from swapdesk.sandbox.node.params import Address, ChainName, FaultAdd, PayerName
from swapdesk.wire.encoding.ids import OrderId, QuoteId
from swapdesk.wire.encoding.numbers import BodyNumber
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.model import RequestModel

Amount = Annotated[BodyNumber, Field(gt=0)]


class DepositBody(RequestModel):
    """``payer`` names a customer of the sandbox, whose own account on the embedded EVM chain
    pays in place of the faucet; the first payment makes and fills it."""

    service_id: OrderId
    amount: Amount | None = None
    memo: Annotated[str, Identity(64)] | None = None
    payer: PayerName | None = None


class GiftBody(RequestModel):
    """``token`` is an id, a contract or a symbol of the chain; absent it is the chain's coin.
    ``amount`` is in units of the token."""

    chain: ChainName
    address: Address
    token: Annotated[str, Identity(200)] | None = None
    amount: Amount


class FaultBody(FaultAdd):
    """One selector, one fault. ``times`` is how many requests, frames, legs or calls it spoils
    (1; what stays, as a node that is down, stays until faults are cleared); ``seconds`` how long
    it lasts, or what ``retry-after`` says (2)."""

    operation: Annotated[str, Identity(200)] | None = None
    quote_id: QuoteId | None = None
    multi_id: OrderId | None = None
    seconds: Annotated[BodyNumber, Field(ge=0, le=300)] | None = None
