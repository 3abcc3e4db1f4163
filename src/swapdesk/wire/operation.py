"""The type of a row in the table of operations (:mod:`~swapdesk.wire.operations`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct, field
from pydantic import BaseModel

from swapdesk.wire.errors import ErrorCode as E
from swapdesk.wire.price_tiers import PriceTier


class Access(StrEnum):
    """The credentials that a caller needs (contract 2.1 to 2.3)."""

    OPEN = "open"
    READ = "read"
    """An API key or a ``partner-id`` is needed."""
    KEY = "key"
    """An API key is needed."""


class RateClass(StrEnum):
    NONE = "none"
    READ = "read"
    QUOTE = "quote"
    EXCHANGE = "exchange"
    """Limits the orders that are really created. A request that is refused, or that repeats an
    earlier request, does not count."""
    ATTEMPT = "attempt"
    """Limits all requests to create orders, whatever their result. The limit is as high as the
    limit of READ, but is counted separately."""


class Operation(Struct, frozen=True):
    """One operation of the API. ``result`` is any type that a pydantic TypeAdapter accepts;
    ``result_limit`` is the largest answer that a client reads, in bytes; ``deadline`` is the
    client's total time for a call, in seconds.

    ``links`` maps each operation that may follow to its inputs that this operation provides. Each
    input is mapped to a JSON pointer into this operation's result.
    """

    name: str
    method: Literal["GET", "POST"]
    path: str
    summary: str
    access: Access
    rate_class: RateClass
    price_tier: PriceTier
    result: Any
    path_parameters: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    body: type[BaseModel] | None = None
    errors: tuple[E, ...] = ()
    result_limit: int = 1 << 20
    deadline: float = 10.0
    links: dict[str, dict[str, str]] = field(default_factory=dict)
    signed: bool = False
    """True if a signature over the body, instead of credentials, identifies the caller (contract
    15.2)."""

    @property
    def writes(self) -> bool:
        return self.method == "POST"
