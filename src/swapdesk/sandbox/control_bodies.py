"""Bodies of the control operations: closed and strict (interfaces 2)."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from swapdesk.sandbox.node.params import (
    Address,
    Advance,
    CallData,
    ChainName,
    EvmAddress,
    Leg,
    PayerName,
    Speed,
    Times,
    Units,
    VenueCode,
)
from swapdesk.wire.encoding.ids import OrderId, QuoteId
from swapdesk.wire.encoding.numbers import BodyNumber
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.model import RequestModel


class ClockBody(RequestModel):
    """``advance`` in seconds of sandbox time, ``speed`` of the world."""

    advance: Advance | None = None
    speed: Speed | None = None


class DepositBody(RequestModel):
    """``payer`` names a customer of the sandbox, whose own account on the embedded EVM chain
    pays in place of the faucet; the first payment makes and fills it."""

    service_id: OrderId
    amount: Annotated[BodyNumber, Field(gt=0)] | None = None
    memo: Annotated[str, Identity(64)] | None = None
    payer: PayerName | None = None


class GiftBody(RequestModel):
    """``token`` is an id, a contract or a symbol of the chain; absent it is the chain's coin.
    ``amount`` is in units of the token."""

    chain: ChainName
    address: Address
    token: Annotated[str, Identity(200)] | None = None
    amount: Annotated[BodyNumber, Field(gt=0)]


class TransactionBody(RequestModel):
    """``customer`` names a customer of the sandbox, ``chain`` an embedded EVM chain; ``value`` is
    in wei, as decimal digits in a text. ``GET /customers`` tells the account, which is another
    one than that of a ``payer`` and begins with nothing."""

    customer: PayerName
    chain: ChainName
    to: EvmAddress
    data: CallData = "0x"
    value: Units = "0"


class TransferBody(RequestModel):
    hash: Annotated[str, Identity(200)]


class FaultBody(RequestModel):
    """One selector, one fault. ``times`` is how many requests, frames, legs or calls it spoils
    (1; what stays, as a node that is down, stays until faults are cleared); ``seconds`` how long
    it lasts, or what ``retry-after`` says (2)."""

    fault: Annotated[str, Identity(64)]
    operation: Annotated[str, Identity(200)] | None = None
    service_id: OrderId | None = None
    quote_id: QuoteId | None = None
    multi_id: OrderId | None = None
    venue: VenueCode | None = None
    chain: ChainName | None = None
    leg: Leg | None = None
    times: Times | None = None
    seconds: Annotated[BodyNumber, Field(ge=0, le=300)] | None = None
