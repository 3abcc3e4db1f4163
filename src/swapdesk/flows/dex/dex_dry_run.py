"""A swap on chains up to its first signature, without one: what a wallet would be asked to sign.

Nothing is written to the journal, created, signed or sent. The service is asked what it still
needs (``POST /dex/approve`` changes nothing), and the wallet agent judges the first step on the
chain as it is. What comes after a signature or an order cannot be known before it, and is named.
"""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.client.api import PartnerApi
from swapdesk.flows.creation.dex_transaction import approval_of
from swapdesk.flows.dex.dex_permission import payload_of
from swapdesk.flows.dex.dex_plan import MOST_APPROVALS, MOST_STEPS, missing_permission
from swapdesk.flows.dex.dex_promise import promise_of
from swapdesk.flows.intents.intent import Intent
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.payload import TransactionPayload, TypedDataPayload
from swapdesk.wallet.promise import Promise
from swapdesk.wallet.review import Review
from swapdesk.wire.dex import ApproveRequest

ORDER_UNKNOWN = (
    "The order and what is to be sent for it: the service makes both when the order is created,"
    " and that uses the quote up."
)
LATER_APPROVAL = "It is judged on the chain as the step before it leaves it."


@dataclass(frozen=True)
class DryStep:
    """One payload that would be signed. ``review`` is None where ``unjudged`` says why."""

    name: str
    payload: TransactionPayload | TypedDataPayload
    review: Review | None = None
    unjudged: str | None = None


@dataclass(frozen=True)
class DryRun:
    """``unknown`` are sentences on what comes later, ``asked`` the calls of the service that
    this took beside the quote's."""

    intent: Intent
    promise: Promise
    steps: tuple[DryStep, ...]
    unknown: tuple[str, ...]
    asked: tuple[str, ...]

    @property
    def refused(self) -> bool:
        """Whether the gate refuses a step: the swap would end there."""
        return any(one.review is not None and one.review.refused for one in self.steps)


async def dry_run(api: PartnerApi, wallet: WalletClient, intent: Intent) -> DryRun:
    """Raises ClientError, WalletError, NoDexSwap, and NotThisSwap for an approval that is none
    of this swap."""
    promise = promise_of(intent)
    if promise.chain_id is None:
        # Both sides pay in the order's transaction: nothing is permitted before it.
        return DryRun(intent, promise, (), (ORDER_UNKNOWN,), ())
    request = ApproveRequest(quote_id=intent.quote_id, address_from=promise.account)
    missing = await missing_permission(api, request)
    found: list[tuple[str, TransactionPayload | TypedDataPayload]] = [
        (f"approve {place}", approval_of(one, promise))
        for place, one in enumerate(missing.approvals[:MOST_APPROVALS], 1)
    ]
    unknown = []
    if missing.approvals and missing.signatures:
        unknown.append("Signatures: they are asked for again once the approval is mined.")
    for one in missing.signatures[:MOST_STEPS]:
        found.append((f"sign {one.key} {one.step + 1} of {one.total_steps}", payload_of(one)))
        if one.total_steps > one.step + 1:
            unknown.append(
                f"Signatures {one.step + 2} to {one.total_steps} of {one.key!r}: the service hands"
                " each out against the signature before it."
            )
    steps = []
    for place, (name, payload) in enumerate(found):
        if place and isinstance(payload, TransactionPayload):
            steps.append(DryStep(name, payload, unjudged=LATER_APPROVAL))
        else:
            steps.append(DryStep(name, payload, await wallet.review(payload, promise)))
    return DryRun(intent, promise, tuple(steps), (*unknown, ORDER_UNKNOWN), ("POST /dex/approve",))
