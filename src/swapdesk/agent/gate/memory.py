"""What was signed before under the same intent."""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.agent.gate.taking import Taking
from swapdesk.agent.shapes.claim import Act


@dataclass(frozen=True)
class Signed:
    """One signature that was given out.

    ``content`` is ``Claim.content``. ``key``, ``step``, ``total`` and ``complete`` are those
    of its requirement, None for a transaction. ``spent`` tells that nothing can come of it any
    more: another transaction took its place, or it never left. ``taking`` is None where an earlier
    release did not keep it; ``nonce`` is that of an EVM transaction.
    """

    content: bytes
    act: Act
    quote_id: str | None
    chain_id: int | None
    owner: str
    token: str | None
    contract: str | None
    key: str | None = None
    step: int | None = None
    total: int | None = None
    complete: bool = False
    spent: bool = False
    taking: Taking | None = None
    nonce: int | None = None


Memory = tuple[Signed, ...]
"""Everything signed under one intent, in the order it was signed."""
