"""Parameters of the node's methods; unknown members and wrong types are refused."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field

from swapdesk.sandbox.node.world_clock import FASTEST, SLOWEST
from swapdesk.sandbox.tables import PAYOUT_WALLETS
from swapdesk.wire.encoding.codec import Timestamp
from swapdesk.wire.encoding.ids import ObjectId, OrderId
from swapdesk.wire.encoding.numbers import BodyInteger, BodyNumber
from swapdesk.wire.encoding.text import Identity
from swapdesk.wire.model import RequestModel

LONGEST_JUMP = Decimal(10 * 366 * 86_400)

Units = Annotated[str, Identity(60, pattern=r"^(0|[1-9][0-9]*)$")]
Address = Annotated[str, Identity(200, pattern=r"^[!-~]+$")]
Tag = Annotated[str, Identity(64)]
Key = Annotated[str, Identity(200)]
VenueCode = Annotated[str, Identity(32)]
ChainName = Annotated[str, Identity(64)]
Advance = Annotated[BodyNumber, Field(ge=0, le=LONGEST_JUMP)]
Speed = Annotated[BodyNumber, Field(ge=SLOWEST, le=FASTEST)]
Times = Annotated[BodyInteger, Field(ge=1, le=1_000_000)]
Leg = Literal["in", "out"]
PayerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9 ]{0,31}$")]


class NoParams(RequestModel):
    pass


class ClockSet(RequestModel):
    """Moves the sandbox's clock forward by ``advance`` seconds, or sets ``speed``, how many times
    faster world time runs."""

    advance: Advance | None = None
    speed: Speed | None = None


class TransferOf(RequestModel):
    hash: Annotated[str, Identity(200)]


class ChainOf(RequestModel):
    chain: ChainName


class FaucetPay(RequestModel):
    """Asks the faucet to pay.

    If ``payer`` names a customer, the customer's own account pays instead of the faucet.
    """

    key: Key
    token: ObjectId
    address: Address
    tag: Tag | None = None
    units: Units
    payer: PayerName | None = None


class AccountOf(RequestModel):
    venue: VenueCode
    key: Key


class LegsOf(RequestModel):
    legs: Annotated[list[AccountOf], Field(max_length=2)]


class OpenLeg(AccountOf):
    """One leg of an order at a venue, in smallest units. ``minimum`` is the least that the venue
    swaps. A ``fixed`` leg swaps no more than ``units_in``. ``payout_wallet`` is the hot wallet's
    number from 0; None means the first."""

    token_in: ObjectId
    token_out: ObjectId
    units_in: Units
    units_out: Units
    minimum: Units
    payout_address: Address
    payout_tag: Tag | None = None
    refund_address: Address | None = None
    refund_tag: Tag | None = None
    expires: Timestamp
    exchange_seconds: Annotated[BodyInteger, Field(ge=0, le=86_400)]
    fixed: bool = False
    payout_wallet: Annotated[BodyInteger, Field(ge=0, lt=PAYOUT_WALLETS)] | None = None


class SendOn(AccountOf):
    """Asks the venue to forward the deposit of a failed leg to this address."""

    address: Address
    tag: Tag | None = None


class FaultAdd(RequestModel):
    """A fault of an order, of a venue's next legs or of a chain's node. ``times`` is how often the
    fault happens. The default is once, but ``node_down`` lasts until faults are cleared."""

    fault: Annotated[str, Identity(64)]
    service_id: OrderId | None = None
    venue: VenueCode | None = None
    chain: ChainName | None = None
    leg: Leg | None = None
    times: Times | None = None


class Fund(RequestModel):
    """A gift on an embedded chain, in smallest units. ``token`` is a contract or mint, None for the
    chain's coin."""

    chain: ChainName
    address: Address
    units: Units
    token: Address | None = None
