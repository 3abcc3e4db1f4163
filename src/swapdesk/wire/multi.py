"""Groups of orders, and the bundles that fund them (contract 9.1 to 9.19).

All orders of a group sell on one chain. The deposits are paid by UserOperations of ERC-4337 on an
EVM chain, by ordinary transactions on Solana, or one by one. What a wallet is asked to sign comes
from the service and is not trusted: the process that holds the keys computes it again.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StrictBool

from swapdesk.wire.dex import EVM_ADDRESS_PATTERN, Calldata
from swapdesk.wire.encoding.dialect import alias
from swapdesk.wire.encoding.ids import AskedId, ObjectId, OrderId
from swapdesk.wire.encoding.numbers import BodyInteger, BodyNumber, WireInteger
from swapdesk.wire.encoding.text import Display, Identity, OpenEnum
from swapdesk.wire.errors import FieldProblem
from swapdesk.wire.exchanges import Address, Memo
from swapdesk.wire.model import RequestModel, WireModel
from swapdesk.wire.orders import Order
from swapdesk.wire.quotes import ProviderCodes

MOST_ORDERS = 50
"""The largest number of orders in one group."""

MOST_DEPOSITS = 10
"""The most deposits in one Solana transaction (contract 9.15)."""

MOST_BATCHES = 50
"""The largest number of batches in a bundle. A submission with more signatures is refused."""

Hash32 = Annotated[str, Identity(66, pattern=r"^0x[0-9a-fA-F]{64}$")]
EvmAddress = Annotated[str, Identity(42, pattern=EVM_ADDRESS_PATTERN)]
Quantity = Annotated[str, Identity(66, pattern=r"^0x[0-9a-fA-F]{1,64}$")]
Units = Annotated[str, Identity(78, pattern=r"^(0|[1-9][0-9]{0,77})$")]
"""A whole number of a coin's or token's smallest unit, in decimal digits."""

SerializedTransaction = Annotated[str, Identity(4096, pattern=r"^(?!0x)[A-Za-z0-9+/]+={0,2}$")]
"""A Solana transaction in base64; hexadecimal calldata does not match."""

Sender = Annotated[str, Identity(64, pattern=r"^[0-9A-Za-z]{1,64}$")]
Signature = Annotated[str, Identity(4096, pattern=r"^0x([0-9a-fA-F]{2})+$")]


class LegProviders(RequestModel):
    """Providers that one leg of a private route may use, or must not use."""

    include: ProviderCodes | None = None
    exclude: ProviderCodes | None = None


class RouteFilters(RequestModel):
    """Filters for the routes of an order or a whole group; an order's own filters take precedence.
    ``only_swaps`` lists the only allowed providers. ``in_leg``, ``out_leg`` and rotation apply to
    private routes."""

    only_swaps: ProviderCodes | None = None
    rotate_payout_wallets: StrictBool | None = None
    deviation_threshold: Annotated[BodyNumber, Field(ge=0, le=100)] | None = None
    rotation_lookback: Annotated[BodyInteger, Field(ge=1, le=100)] | None = None
    in_leg: LegProviders | None = None
    out_leg: LegProviders | None = None


class MultiOrderRequest(RequestModel):
    """One order of a group. ``amount`` is the amount to send. ``anonymous`` asks for a private
    route. ``fixed`` requires ``refund_address``."""

    from_: Annotated[ObjectId, Field(alias="from")]
    to: ObjectId
    amount: Annotated[BodyNumber, Field(gt=0)]
    address_to: Annotated[str, Identity(200, pattern=r"^[!-~]+$")]
    anonymous: StrictBool | None = None
    destination_tag: Memo | None = None
    use_xmr: StrictBool | None = None
    wallet_info: Annotated[str, Identity(256)] | None = None
    filters: RouteFilters | None = None
    fixed: StrictBool | None = None
    refund_address: Address | None = None
    refund_extra_id: Memo | None = None


class MultiExchangeRequest(RequestModel):
    """Body of ``POST /exchanges/multi``. All orders must sell on one chain."""

    orders: Annotated[list[MultiOrderRequest], Field(min_length=1, max_length=MOST_ORDERS)]
    filters: RouteFilters | None = None


class MultiOrderError(WireModel):
    """Why one order of a group was not created. Decide by ``code``. ``fields`` maps the order's
    inputs to their problems."""

    message: Annotated[str, Display(1000)]
    code: Annotated[str, Identity(64)] | None = None
    fields: dict[str, FieldProblem] | None = None


class MultiOrderResult(WireModel):
    """The result for one order of a group: the created order, or the error."""

    order: Order | None = None
    error: MultiOrderError | None = None


class MultiExchange(WireModel):
    """Answer of ``POST /exchanges/multi``; ``orders`` are in the order of the request."""

    multi_id: OrderId
    orders: list[MultiOrderResult]


class BundleStatus(StrEnum):
    """State of the newest bundle of a group (contract 9.8)."""

    PENDING = "pending"
    """The bundle was built, but not submitted yet."""
    SUBMITTED = "submitted"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"
    """The funds in the smart account were returned to its owner."""


class MultiExchangeStatus(WireModel):
    """Answer of ``GET /exchanges/multi/{multiId}``. ``tx_hash`` is null until the bundle is
    confirmed. A deleted order has only its id and status 8."""

    NULLABLE = frozenset({"txHash"})

    multi_id: OrderId
    orders: list[Order]
    bundle_status: Annotated[str, OpenEnum(BundleStatus)] | None = None
    tx_hash: Hash32 | None = None
    failure_reason: Annotated[str, Display(500)] | None = None


class MultiPath(RequestModel):
    multi_id: AskedId


class MultiSenderQuery(RequestModel):
    """Parameters of ``GET /exchanges/multi/{multiId}/tx``. ``sender`` is the wallet that signs and
    pays."""

    sender: Sender


class MultiBuildRequest(RequestModel):
    """Body of ``POST /exchanges/multi/{multiId}/tx/build``, which builds the transactions that pay
    deposits. ``sender`` is the wallet that signs and pays. If ``service_ids`` is None, every order
    of the group is paid."""

    sender: Sender
    service_ids: Annotated[list[OrderId], Field(min_length=1, max_length=MOST_ORDERS)] | None = (
        Field(default=None, validation_alias=alias("serviceIds"), serialization_alias="serviceIds")
    )


class UserOperation(WireModel):
    """A UserOperation in the form that bundlers use, without its signature (ERC-4337, v0.7 and
    later)."""

    sender: EvmAddress
    nonce: Quantity
    factory: EvmAddress | None = None
    factory_data: Calldata | None = None
    call_data: Calldata
    call_gas_limit: Quantity
    verification_gas_limit: Quantity
    pre_verification_gas: Quantity
    max_fee_per_gas: Quantity
    max_priority_fee_per_gas: Quantity


class EvmTransactionData(WireModel):
    """What a wallet signs to have deposits paid, and the call (``to``, ``data``, ``value`` in wei)
    that funds the smart account. The wallet must compute the hash of ``user_operation`` itself and
    must not trust ``user_op_hash``."""

    user_op_hash: Hash32
    to: EvmAddress
    data: Calldata
    value: Units
    chain_id: WireInteger
    token_amount: Units | None = None
    entry_point: EvmAddress | None = None
    entry_point_version: Annotated[str, Identity(16)] | None = None
    user_operation: UserOperation | None = None


class SolanaTransactionData(WireModel):
    """A serialized transaction that the sender signs and sends."""

    data: SerializedTransaction


class MultiTransaction(WireModel):
    """One batch: the orders whose deposits it pays, and the transaction or operation to sign."""

    service_ids: list[OrderId] = Field(
        validation_alias=alias("serviceIds"), serialization_alias="serviceIds"
    )
    tx_data: EvmTransactionData | SolanaTransactionData


class MultiTransactions(WireModel):
    """The transactions that were built. On EVM chains, ``deposit_needed`` is the amount that the
    smart account lacks, and ``sa_current_balance`` the amount that it has, in the sold token's
    smallest unit."""

    multi_id: OrderId
    chain: Annotated[str, Identity(16)]
    transactions: list[MultiTransaction]
    deposit_needed: Units | None = None
    sa_current_balance: Units | None = None


class MultiSubmitRequest(RequestModel):
    """Body of ``POST /exchanges/multi/{multiId}/tx``: one signature for each batch, in the order
    of the build answer."""

    signatures: Annotated[list[Signature], Field(min_length=1, max_length=MOST_BATCHES)]


class MultiSubmission(WireModel):
    """The hashes of all UserOperations that were handed to the bundler."""

    user_op_hashes: list[Hash32]
