"""The two kinds of documents that a swap has signed (spec: POST /dex/approve)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PERMIT, ORDER = "permit", "order"
"""A permit only lets somebody take a token; an order is what the venue settles by itself."""


def signature_kind(document: Mapping[str, Any]) -> str:
    """:data:`PERMIT` or :data:`ORDER`, by the primary type of typed data as it came."""
    permits = str(document.get("primaryType") or "").startswith("Permit")
    return PERMIT if permits else ORDER
