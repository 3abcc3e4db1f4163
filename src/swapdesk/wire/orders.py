"""Orders, their states and lists (contract 8.1 to 8.22)."""

from enum import IntEnum, StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from swapdesk.wire.chains import Link, ProviderCode
from swapdesk.wire.choices import SortOrder
from swapdesk.wire.encoding.codec import Timestamp
from swapdesk.wire.encoding.dialect import VENDOR_NAMES, alias
from swapdesk.wire.encoding.ids import AskedId, ObjectId, OrderId
from swapdesk.wire.encoding.interning import Shared
from swapdesk.wire.encoding.numbers import Amount, WireInteger
from swapdesk.wire.encoding.query import QueryBoolean, QueryInteger, QueryTime
from swapdesk.wire.encoding.text import Display, Identity, OpenEnum
from swapdesk.wire.model import RequestModel, WireModel
from swapdesk.wire.tokens import Token


class OrderStatusCode(IntEnum):
    """The numeric state of an order; the member's name is its label."""

    INITIALIZING = -2
    NEW = -1
    WAITING = 0
    CONFIRMING = 1
    EXCHANGING = 2
    ANONYMIZING = 3
    FINISHED = 4
    EXPIRED = 5
    FAILED = 6
    REFUNDED = 7
    DELETED = 8


class DisplayStatus(StrEnum):
    WAITING_FOR_DEPOSIT = "WAITING_FOR_DEPOSIT"
    DEPOSIT_DETECTED = "DEPOSIT_DETECTED"
    EXCHANGE_IN_PROGRESS = "EXCHANGE_IN_PROGRESS"
    SENDING_TO_INTERMEDIARY = "SENDING_TO_INTERMEDIARY"
    REACHED_INTERMEDIARY = "REACHED_INTERMEDIARY"
    INITIATING_SECOND_EXCHANGE = "INITIATING_SECOND_EXCHANGE"
    SECOND_EXCHANGE_IN_PROGRESS = "SECOND_EXCHANGE_IN_PROGRESS"
    SENDING_TO_RECEIVER = "SENDING_TO_RECEIVER"
    SWAP_COMPLETED = "SWAP_COMPLETED"
    EXPIRED = "EXPIRED"
    FAILED = "FAILED"
    REFUNDED = "REFUNDED"
    DELETED = "DELETED"


class LegStatus(IntEnum):
    """The numeric state of one leg (a swap of the order); the member's name is its label."""

    NEW = 0
    WAITING = 1
    CONFIRMING = 2
    EXCHANGING = 3
    SENDING = 4
    FINISHED = 5
    FAILED = 6
    REFUNDED = 7
    VERIFYING = 8
    EXPIRED = 9
    FALLBACK = 10


def codes(known: type[IntEnum]) -> dict[str, JsonValue]:
    """Returns an addition to a field's JSON schema that lists the known codes. Unknown codes are
    accepted, too."""
    return {"enum": [int(code) for code in known]}


class Order(WireModel):
    """An order, in the same form in every answer. Pay in exactly ``in_amount``. ``expires`` is the
    deposit's deadline, not the end of a rate lock. Prefer ``display_status``, which only moves
    forward."""

    NULLABLE = frozenset({"receiverTag"})
    REQUIRED = frozenset({"serviceId", "status"})
    SHARED = frozenset({"in_token", "out_token"})
    JOINED: ClassVar[frozenset[str]] = frozenset({"is_dex", "deposit_address", "deposit_tag"})
    """Fields that must not be read separately: ``is_dex`` decides whether the deposit address and
    tag are kept."""

    service_id: OrderId = Field(
        validation_alias=alias("serviceId"), serialization_alias="serviceId"
    )
    id: Annotated[str, Identity(64)] | None = None
    created: Timestamp | None = None
    modified: Timestamp | None = None
    expires: Timestamp | None = None
    receiver_address: Annotated[str, Identity(200)] | None = None
    receiver_tag: Annotated[str, Identity(64)] | None = None
    deposit_address: Annotated[str, Identity(200)] | None = None
    deposit_tag: Annotated[str, Identity(64)] | None = Field(
        default=None, validation_alias=alias("depositTag"), serialization_alias="depositTag"
    )
    refund_address: Annotated[str, Identity(200)] | None = None
    intermediate_refund_address: Annotated[str, Identity(200)] | None = None
    status: WireInteger | None = Field(default=None, json_schema_extra=codes(OrderStatusCode))
    status_label: Annotated[str, Display(64)] | None = None
    display_status: Annotated[str, OpenEnum(DisplayStatus)] | None = None
    in_status: WireInteger | None = Field(default=None, json_schema_extra=codes(LegStatus))
    in_status_label: Annotated[str, Display(64)] | None = None
    in_created: Timestamp | None = None
    out_status: WireInteger | None = Field(default=None, json_schema_extra=codes(LegStatus))
    out_status_label: Annotated[str, Display(64)] | None = None
    out_created: Timestamp | None = None
    anonymous: bool | None = None
    is_dex: bool = False
    fixed: bool = False
    in_: ProviderCode | None = Field(default=None, alias="in")
    swap_name: Annotated[str, Display(100)] | None = None
    in_amount: Amount | None = None
    in_symbol: Annotated[str, Display(64)] | None = None
    in_amount_usd: Amount | None = None
    out_amount: Amount | None = None
    out_symbol: Annotated[str, Display(64)] | None = None
    out_amount_usd: Amount | None = None
    quoted_in_amount: Amount | None = None
    quoted_out_amount: Amount | None = None
    in_token_id: ObjectId | None = None
    out_token_id: ObjectId | None = None
    in_token: Annotated[Token, Shared()] | None = None
    out_token: Annotated[Token, Shared()] | None = None
    eta: Amount | None = None
    hash_url: Link | None = None
    in_transaction_out_hash: Annotated[str, Identity(200)] | None = Field(
        default=None,
        validation_alias=alias("inTransactionOutHash"),
        serialization_alias="inTransactionOutHash",
    )
    out_transaction_out_hash: Annotated[str, Identity(200)] | None = None
    order_finished_received: Timestamp | None = None
    action_required: bool | None = Field(
        default=None,
        validation_alias=alias("actionRequired"),
        serialization_alias="actionRequired",
    )
    non_refundable: bool | None = None
    rerouted: bool | None = Field(
        default=None, validation_alias=alias("rerouted"), serialization_alias="rerouted"
    )
    refund_hash: Annotated[str, Identity(200)] | None = None
    refund_chain: Annotated[str, Identity(64)] | None = None
    refund_amount: Amount | None = None
    multi_id: Annotated[str, Identity(64)] | None = None
    is_x402: bool | None = Field(default=None, alias="isX402")
    x402_payer_address: Annotated[str, Identity(64)] | None = Field(
        default=None, alias="x402PayerAddress"
    )
    metadata: Any | None = None

    @model_validator(mode="before")
    @classmethod
    def _null_hides_nothing(cls, raw: Any) -> Any:
        """Removes a field's null or empty value if the same field has a value under another of its
        names. Otherwise a deposit tag could be missed, and the money lost."""
        if not isinstance(raw, dict):
            return raw
        hiding = [
            name
            for name, others in _OTHER_NAMES
            if name in raw and raw[name] in (None, "") and any(raw.get(other) for other in others)
        ]
        if hiding:
            raw = {name: raw[name] for name in raw if name not in hiding}
        return _with_metadata(raw) if raw.get("isDex") is True else raw

    @model_validator(mode="after")
    def _nothing_to_deposit(self) -> Self:
        """Removes the deposit address of an on-chain swap. The service repeats the sender's address
        there, which must not be paid (contract 8.22)."""
        if self.is_dex and self.deposit_address is not None:
            object.__setattr__(self, "deposit_address", None)
            object.__setattr__(self, "deposit_tag", None)
        return self

    @model_serializer(mode="wrap")
    def _leave_out_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        stated = {k: v for k, v in written.items() if v is not None or k in self.NULLABLE}
        if self.status == OrderStatusCode.DELETED:
            for name in _STATED.keys() - self.model_fields_set:
                stated.pop(_STATED[name], None)
        return stated


_OTHER_NAMES = tuple(VENDOR_NAMES.items())


def _with_metadata(raw: dict[str, Any]) -> dict[str, Any]:
    sends, off_chain = raw.get("tx"), raw.get("offChain")
    if raw.get("metadata") or not (isinstance(sends, dict) or off_chain is True):
        return raw
    metadata = {**sends} if isinstance(sends, dict) else {}
    if off_chain is True:
        metadata["offChain"] = True
    return {**raw, "metadata": metadata}


_STATED = {"receiver_tag": "receiverTag", "is_dex": "isDex", "fixed": "fixed"}
"""Fields, with their names on the wire, that are written for every order that is not deleted."""


class OrderList(WireModel):
    orders: list[Order]
    total: WireInteger
    total_pages: WireInteger


class OrderRows(OrderList):
    """A page of orders that are still plain JSON values, not :class:`Order`."""

    orders: list[Any]


class OrderPath(RequestModel):
    service_id: AskedId


class OrderSort(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    AMOUNT = "amount"


class OrderQuery(RequestModel):
    """Filters of ``GET /orders``, which covers the last 48 hours. An earlier ``from`` means 48
    hours ago."""

    page: Annotated[QueryInteger, Field(ge=1, le=10000)] = 1
    page_size: Annotated[QueryInteger, Field(ge=1, le=100)] = 100
    multi_id: Annotated[str, Identity(64)] | None = None
    status: list[Annotated[QueryInteger, Field(ge=-2, le=8)]] | None = None
    from_: Annotated[QueryTime | None, Field(alias="from")] = None
    to: QueryTime | None = None
    sort_by: OrderSort = OrderSort.CREATED
    sort_order: SortOrder = SortOrder.DESC
    anonymous: QueryBoolean | None = None
    in_token_id: ObjectId | None = None
    out_token_id: ObjectId | None = None
