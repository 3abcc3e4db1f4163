"""What a row of the table of operations says (:mod:`~swapdesk.wire.operations`)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from msgspec import Struct, field
from pydantic import BaseModel

from swapdesk.wire.errors import ErrorCode as E
from swapdesk.wire.price_tiers import PriceTier


class Access(StrEnum):
    """Who may call (contract 2.1 to 2.3)."""

    OPEN = "open"
    READ = "read"
    """API key or ``partner-id``."""
    KEY = "key"
    """API key only."""


class RateClass(StrEnum):
    NONE = "none"
    READ = "read"
    QUOTE = "quote"
    EXCHANGE = "exchange"
    """Exchanges that are begun: a refused create or a repeat of one begins none."""
    ATTEMPT = "attempt"
    """Requests to create, whatever becomes of them; bounded as reads are, counted apart."""


class Operation(Struct, frozen=True):
    """One row. ``result`` is anything a pydantic TypeAdapter takes; ``result_limit`` the largest
    answer a client reads, in bytes; ``deadline`` the client's total time for a call, in seconds.

    ``links`` names the rows that may follow, and for each of their inputs the place in this
    row's result that it is taken from, as a JSON pointer.
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
    """A signature over the body says who calls, in place of credentials (contract 15.2)."""

    @property
    def writes(self) -> bool:
        return self.method == "POST"
