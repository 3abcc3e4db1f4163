"""The type of a row in the table of operations (:mod:`~swapdesk.wire.operations`)."""

from __future__ import annotations

import importlib
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

from swapdesk.wire.errors import ErrorCode as E
from swapdesk.wire.price_tiers import PriceTier

if TYPE_CHECKING:
    from pydantic import BaseModel


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
    """Limits the orders that are really created. Refused and repeated requests do not count."""
    ATTEMPT = "attempt"
    """Limits all requests to create orders, whatever their result. The limit equals that of READ,
    but is counted separately."""


class Operation(Struct, frozen=True):
    """One operation of the API. Fields such as ``body_name`` contain ``module:Name`` of a model,
    with ``[]`` for a list; the model is imported on first use. ``result_limit`` is in bytes,
    ``deadline`` in seconds. ``links`` names operations that may follow."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    summary: str
    access: Access
    rate_class: RateClass
    price_tier: PriceTier
    result_name: str
    path_name: str | None = None
    query_name: str | None = None
    body_name: str | None = None
    errors: tuple[E, ...] = ()
    result_limit: int = 1 << 20
    deadline: float = 10.0
    links: dict[str, dict[str, str]] = field(default_factory=dict)
    signed: bool = False
    """True if a signature over the body, instead of credentials, identifies the caller (contract
    15.2)."""

    @property
    def result(self) -> Any:
        return _PLAIN.get(self.result_name) or _named(self.result_name)

    @property
    def path_parameters(self) -> type[BaseModel] | None:
        return _named(self.path_name) if self.path_name is not None else None

    @property
    def query(self) -> type[BaseModel] | None:
        return _named(self.query_name) if self.query_name is not None else None

    @property
    def body(self) -> type[BaseModel] | None:
        return _named(self.body_name) if self.body_name is not None else None

    @property
    def writes(self) -> bool:
        return self.method == "POST"


_PLAIN = {"boolean": bool, "object": dict[str, Any]}
"""The results that need no model."""


@cache
def _named(name: str) -> Any:
    module, _, model = name.partition(":")
    kind: Any = getattr(
        importlib.import_module(f"{__package__}.{module}"), model.removesuffix("[]")
    )
    return list[kind] if model.endswith("[]") else kind
