"""What a swap on chains will take, asked of the service before it is confirmed.

The same question opens the work itself (contract 10.3); asking it changes nothing. What the
service says here is only shown: what is signed is judged when it comes. Two kinds of documents
are signed (contract 10.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import OutcomeUnknown
from swapdesk.flows.journal.dex_log import SwapStep
from swapdesk.wire.dex import ApproveAnswer, ApproveRequest

PERMIT, ORDER = "permit", "order"
"""A permit only lets somebody take a token; an order is what the venue settles by itself."""
_WITH_ORDER = frozenset({"PermitWitnessTransferFrom", "PermitBatchWitnessTransferFrom"})
"""A permit of Permit2 that carries the order with it."""


def signature_kind(document: Mapping[str, Any]) -> str:
    """:data:`PERMIT` or :data:`ORDER`, by the primary type of typed data as it came."""
    name = str(document.get("primaryType") or "")
    return PERMIT if name.startswith("Permit") and name not in _WITH_ORDER else ORDER


MOST_APPROVALS = 4
"""A reset to nothing and the approval, for a token and for a contract between: no more."""
MOST_STEPS = 8
"""Signatures of a chain, and chains of a swap."""


RESET_FIRST = ("1/2 reset", "2/2 approve")
"""Two approvals: some tokens take another allowance only once the one before is nothing."""


@dataclass(frozen=True)
class SwapPlan:
    """``approvals`` are transactions that come first; ``signatures`` the kinds of documents to
    sign in their order, empty where a kind is not known yet. ``allows``: the venue takes the
    token; on Solana both sides pay in one transaction, and nothing is allowed before."""

    approvals: int = 0
    signatures: tuple[str, ...] = ()
    allows: bool = True

    @property
    def settles(self) -> bool:
        """Whether the venue will send the transaction, as far as is known: it does with an order
        that is signed."""
        return bool(self.signatures) and self.signatures[-1] != PERMIT

    @property
    def words(self) -> tuple[str, ...]:
        """``allowance ok``, ``sign 1/2 permit``, ``sign 2/2 order``, ``settle``, ``confirm``."""
        total = len(self.signatures)
        allowance: tuple[str, ...] = ("approve",) if self.approvals else ("allowance ok",)
        if self.approvals > 1:
            allowance = RESET_FIRST
        signs = (
            f"sign {at}/{total} {kind}".rstrip() for at, kind in enumerate(self.signatures, start=1)
        )
        first = allowance if self.allows else ()
        return (*first, *signs, "settle" if self.settles else "send", "confirm")

    def as_json(self) -> dict[str, Any]:
        """As the journal keeps it, with the step ``permission`` of the swap."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SwapPlan:
        return cls(int(data["approvals"]), tuple(data["signatures"]), bool(data["allows"]))


AT_ONCE = SwapPlan(allows=False)
"""Of a swap that is one transaction."""


async def ask_plan(api: PartnerApi, quote_id: str, account: str) -> SwapPlan:
    """Raises ClientError."""
    request = ApproveRequest(quote_id=quote_id, address_from=account)
    return plan_of(await missing_permission(api, request))


async def missing_permission(api: PartnerApi, request: ApproveRequest) -> ApproveAnswer:
    """What has to be approved or signed. Raises ClientError, and never OutcomeUnknown: asking
    creates nothing, whatever became of the answer."""
    try:
        return await api.dex_approve(request)
    except OutcomeUnknown as lost:
        raise lost.reason from None


def plan_of(missing: ApproveAnswer) -> SwapPlan:
    kinds: list[str] = []
    for first in missing.signatures[:MOST_STEPS]:
        later = min(max(first.total_steps - 1, 0), MOST_STEPS)
        # Later documents of a chain are not known; the last one is what the chain is for.
        kinds += [signature_kind(first.data), *[""] * (later - 1), *([ORDER] if later else [])]
    return SwapPlan(min(len(missing.approvals), MOST_APPROVALS), tuple(kinds))


def journaled_plan(steps: Sequence[SwapStep]) -> SwapPlan | None:
    """What was journaled of a swap's plan with its first step; None where nothing was."""
    told = steps[0].told.get("plan") if steps else None
    return SwapPlan.from_json(told) if isinstance(told, dict) else None
