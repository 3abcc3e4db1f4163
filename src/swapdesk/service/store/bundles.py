"""Groups of orders and the bundles that fund them, as the store keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

BundleState = Literal["pending", "submitted", "confirmed", "failed", "withdrawn"]


@dataclass(frozen=True)
class StoredGroup:
    """Orders that were created together; ``chain`` is the one they all sell on, by short name."""

    multi_id: str
    partner_id: str
    created: datetime
    chain: str


@dataclass(frozen=True)
class StoredBatch:
    """One UserOperation of a bundle and the orders whose deposits it pays.

    ``operation`` is its form in JSON-RPC, without signature; ``version`` is that of the
    EntryPoint, by which ``hash`` is signed. ``paid`` once its calls were made.
    """

    service_ids: tuple[str, ...]
    operation: dict[str, Any]
    hash: str
    entry_point: str
    version: str
    signature: str | None = None
    paid: bool = False


@dataclass(frozen=True)
class StoredBundle:
    """What was built to fund a group, and how far it came; ``number`` 0 until it is stored.

    ``owner`` signs for the smart account; ``expires`` is when the first of its orders does.
    """

    number: int
    multi_id: str
    partner_id: str
    chain: str
    created: datetime
    modified: datetime
    expires: datetime
    state: BundleState
    owner: str
    batches: tuple[StoredBatch, ...]
    tx_hash: str | None = None
    failure_reason: str | None = None

    @property
    def service_ids(self) -> frozenset[str]:
        """Every order that it pays."""
        return frozenset(each for batch in self.batches for each in batch.service_ids)

    @property
    def claimed(self) -> frozenset[str]:
        """Orders that no other bundle may pay: this one has, or still may."""
        if self.state in ("submitted", "confirmed"):
            return self.service_ids
        return frozenset(each for batch in self.batches if batch.paid for each in batch.service_ids)


class BundleUnderWay(Exception):
    """Another bundle pays some of these orders already."""
