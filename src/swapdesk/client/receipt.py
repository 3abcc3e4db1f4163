"""What came of a create that was answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Receipt(Generic[T]):
    """``made`` is what the service created. ``request_id`` is its name for the request, which
    support asks for; None where it gave none."""

    made: T
    request_id: str | None
