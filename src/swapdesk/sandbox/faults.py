"""What a fault is: an object with its name, its effect in a sentence, what it is selected by, and
the code that applies it.

Each room has the table of its faults: ``answer_faults``, ``tampering``, ``venue_faults``,
``node.order_faults`` and ``node.chain_faults``. ``fault_choice`` joins them.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct

WIRE_NAMES = {
    "operation": "operation",
    "service_id": "serviceId",
    "multi_id": "multiId",
    "quote_id": "quoteId",
    "venue": "venue",
    "chain": "chain",
}
"""Every selector of a fault as a field of ``FaultBody``, with its name in JSON."""


@dataclass(frozen=True, eq=False)
class FaultKind:
    """One thing that can go wrong. ``selectors`` and ``takes`` are fields of ``FaultBody``."""

    SHOWN: ClassVar[tuple[str, ...]] = ()
    """The selectors that an active fault shows, also those that are not given."""

    name: str
    does: str
    """What happens, as one or two sentences of the reference."""
    _: KW_ONLY
    selectors: tuple[str, ...] = ()
    """Exactly one of these is given."""
    unselected: bool = False
    """Whether it also happens without a selector."""
    takes: frozenset[str] = frozenset({"times"})
    """What may be given beside the selector."""
    needs: str | None = None
    """What must be given beside the selector: ``depth`` or ``part``."""
    seconds: float = 2.0
    """How long it lasts where nothing is said."""


K_co = TypeVar("K_co", bound=FaultKind, covariant=True)
K = TypeVar("K", bound=FaultKind)


class ActiveFault(Struct, Generic[K_co]):
    """One fault with what is left of it. ``times`` None: until faults are cleared. ``seconds``:
    how long it lasts, or what ``retry-after`` says."""

    kind: K_co
    times: int | None
    seconds: float = 0.0
    operation: str | None = None
    service_id: str | None = None
    quote_id: str | None = None
    multi_id: str | None = None
    venue: str | None = None
    part: str | None = None
    told: list[dict[str, Any]] | None = None
    """The newest step of a chain without an end."""

    def as_json(self) -> dict[str, object]:
        chosen = {WIRE_NAMES[name]: getattr(self, name) for name in self.kind.SHOWN}
        return {"fault": self.kind.name, **chosen, "times": self.times}


class ActiveFaults(Generic[K]):
    """The active faults of one room, oldest first."""

    def __init__(self) -> None:
        self._active: list[ActiveFault[K]] = []

    @property
    def active(self) -> list[ActiveFault[K]]:
        return list(self._active)

    def add(self, fault: ActiveFault[K]) -> None:
        self._active.append(fault)

    def clear(self) -> None:
        self._active.clear()

    def spend(self, fault: ActiveFault[K]) -> None:
        """It happened once."""
        if fault.times is None:
            return
        fault.times -= 1
        if fault.times <= 0:
            self._active.remove(fault)
