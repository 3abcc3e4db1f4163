"""Frames of ``WS /ws`` (contract 11.3 to 11.8).

A client sends ``subscribe``, ``unsubscribe`` and ``ping``. ``subscribe`` with ids adds these orders
to the subscription; without ids it means all orders. The server sends ``welcome``, ``order_update``
(``data`` is an Order), ``subscribed``, ``unsubscribed``, ``pong`` and ``error``.
"""

from enum import IntEnum, StrEnum
from typing import Annotated

from pydantic import Field

from swapdesk.wire.encoding.dialect import alias
from swapdesk.wire.encoding.ids import OrderId
from swapdesk.wire.encoding.text import Display, Identity
from swapdesk.wire.model import RequestModel, WireModel
from swapdesk.wire.orders import Order

MAX_WATCHED = 1000
MAX_FRAME_BYTES = 64 * 1024
PING_SECONDS = 30
SLOW_READER_SECONDS = 30
SLOW_READER_FRAMES = 256
SLOW_READER_BYTES = 1024 * 1024
"""The service disconnects a reader of the stream for which this many bytes wait for
SLOW_READER_SECONDS."""
LAST_WORD_SECONDS = 5


class StreamError(StrEnum):
    AUTH_FAILED = "AUTH_FAILED"
    INVALID_JSON = "INVALID_JSON"
    INVALID_MESSAGE = "INVALID_MESSAGE"
    UNKNOWN_TYPE = "UNKNOWN_TYPE"
    ORDER_NOT_FOUND = "ORDER_NOT_FOUND"
    RATE_LIMIT_EXCEEDED = "RATE_LIMIT_EXCEEDED"
    SUBSCRIPTION_LIMIT = "SUBSCRIPTION_LIMIT"


class CloseCode(IntEnum):
    INTERNAL = 1011
    RESTART = 1012
    SLOW_READER = 1013
    PROTOCOL_ABUSE = 4400
    AUTH_FAILED = 4401
    FLOOD = 4429


class ClientFrame(RequestModel):
    """Any frame that a client may send. ``service_ids`` is used by ``subscribe`` and
    ``unsubscribe`` only."""

    type: Annotated[str, Identity(32)]
    service_ids: Annotated[list[OrderId], Field(max_length=MAX_WATCHED)] | None = Field(
        default=None, validation_alias=alias("serviceIds"), serialization_alias="serviceIds"
    )


class ServerFrame(WireModel):
    """Any frame of the stream. For a frame of an unknown type, only ``type`` is read."""

    type: Annotated[str, Identity(32)]
    partner_id: Annotated[str, Identity(64)] | None = None
    service_ids: list[OrderId] | None = Field(
        default=None, validation_alias=alias("serviceIds"), serialization_alias="serviceIds"
    )
    all: bool | None = None
    data: Order | None = None
    code: Annotated[str, Identity(64)] | None = None
    message: Annotated[str, Display(500)] | None = None
