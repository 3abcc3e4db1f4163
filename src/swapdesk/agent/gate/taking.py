"""What a signature lets be taken of the token sold, and how much several of them let be taken.

A permit, an approval, an order, a transfer and a swap may each be within what was confirmed and
exceed it together. What is the same money counts once: a contract that was allowed an amount and
takes it by the order that was signed for it, and documents of which the chain executes one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from swapdesk.agent.shapes.claim import Act, Claim, Meaning, NonceKind, Target
from swapdesk.chain.deployments import PERMIT2
from swapdesk.wallet.promise import Promise

MOVING = frozenset({Act.ALLOW, Act.ORDER, Act.SWAP, Act.PAY, Act.BUNDLE})
"""What may take the token sold from its owner. A withdrawal pays the owner."""


@dataclass(frozen=True)
class Taking:
    """``units`` of the token sold that ``by`` may take by one signature; ``by`` is empty where they
    leave by the signature alone.

    ``grants``: the signature itself lets ``by`` take them. Otherwise ``by`` takes them out of
    what it is granted elsewhere. Of signatures with the same ``once`` one is ever executed; it is
    None where that follows from nothing but the content. The rest is of documents alone:
    ``kind`` and ``nonce`` say where the chain keeps whether it was used, and after ``ends``, in
    Unix seconds, an unused one never will be.
    """

    units: int
    by: str = ""
    grants: bool = True
    once: str | None = None
    kind: NonceKind = NonceKind.NONE
    nonce: int | bytes | None = None
    ends: int | None = None


def taking_of(claim: Claim, promise: Promise) -> Taking:
    """What a claim lets be taken; of 0 units for one that takes nothing of the token sold."""
    if claim.act not in MOVING:
        return Taking(0)
    by, grants = _taker(claim)
    if claim.target is Target.TOKEN and by == PERMIT2:
        # The way of what is signed for Permit2, which takes nothing without it.
        return Taking(0, by)
    allowed = sum(
        # Beyond every bound by typed consent: then it is what was confirmed.
        min(one.units, promise.sell_units)
        if promise.unlimited and one.units == claim.limitless
        else one.units
        for one in claim.allowed
    )
    leaving = sum(one.units for one in claim.outflows if one.field.meaning is not Meaning.VALUE)
    units = max(allowed, leaving)
    if not claim.typed:
        return Taking(units, by, grants)
    nonce = next(iter(claim.of(Meaning.NONCE)), None)
    value = None if nonce is None or isinstance(nonce.value, str) else nonce.value
    ends = [seconds for _, seconds in claim.numbers(Meaning.ENDS)]
    return Taking(
        units,
        by,
        grants,
        _once(claim, value, by),
        claim.nonce_kind,
        value,
        max(ends, default=None),
    )


def _taker(claim: Claim) -> tuple[str, bool]:
    """Who takes, nobody by name where the signature is all it needs, and whether the signature
    itself lets it."""
    if claim.act is Act.ALLOW:
        return next((text for _, text in claim.texts(Meaning.SPENDER)), ""), True
    if claim.act is Act.BUNDLE and not claim.solana:
        return next((text for _, text in claim.texts(Meaning.SMART_ACCOUNT)), ""), False
    if claim.act in (Act.ORDER, Act.SWAP) and claim.target is Target.VENUE and claim.contract:
        return claim.contract, False
    return "", True


def _once(claim: Claim, nonce: int | bytes | None, spender: str) -> str | None:
    if nonce is None or claim.nonce_kind is NonceKind.NONE:
        return None
    told = nonce.hex() if isinstance(nonce, bytes) else str(nonce)
    # Permit2 counts the nonces of each spender by themselves.
    whose = spender if claim.nonce_kind is NonceKind.PERMIT2_ALLOWANCE else ""
    return f"{claim.nonce_kind} {claim.contract} {whose} {told}"


def most_taken(signed: Iterable[tuple[str, Taking]]) -> int:
    """The most that can be taken by all of them, each with what makes it be executed once."""
    granted: dict[str, dict[str, int]] = defaultdict(dict)
    used: dict[str, dict[str, int]] = defaultdict(dict)
    for once, one in signed:
        way = granted[one.by] if one.grants else used[one.by]
        way[once] = max(one.units, way.get(once, 0))
    return sum(max(sum(granted[by].values()), sum(used[by].values())) for by in {*granted, *used})
