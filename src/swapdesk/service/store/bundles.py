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

    ``operation`` is its form in JSON-RPC, without signature; ``needs`` is what the account must
    hold before it is sent on, in smallest units by contract, the chain's own coin under "".
    """

    service_ids: tuple[str, ...]
    operation: dict[str, Any]
    hash: str
    entry_point: str
    needs: dict[str, int]
    signature: str | None = None


@dataclass(frozen=True)
class StoredBundle:
    """What was built to fund a group, and how far it came; ``number`` 0 until it is stored."""

    number: int
    multi_id: str
    partner_id: str
    created: datetime
    modified: datetime
    state: BundleState
    owner: str
    batches: tuple[StoredBatch, ...]
    tx_hash: str | None = None
    failure_reason: str | None = None

    @property
    def service_ids(self) -> frozenset[str]:
        """Every order that it pays."""
        return frozenset(each for batch in self.batches for each in batch.service_ids)


class BundleUnderWay(Exception):
    """Another bundle pays some of these orders already."""
