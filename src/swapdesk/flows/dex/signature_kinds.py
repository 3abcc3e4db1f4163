"""The two kinds of documents that a swap has signed (contract 10.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PERMIT, ORDER = "permit", "order"
"""A permit only lets somebody take a token; an order is what the venue settles by itself."""
_WITH_ORDER = frozenset({"PermitWitnessTransferFrom", "PermitBatchWitnessTransferFrom"})
"""A permit of Permit2 that carries the order with it."""


def signature_kind(document: Mapping[str, Any]) -> str:
    """:data:`PERMIT` or :data:`ORDER`, by the primary type of typed data as it came."""
    name = str(document.get("primaryType") or "")
    return PERMIT if name.startswith("Permit") and name not in _WITH_ORDER else ORDER
