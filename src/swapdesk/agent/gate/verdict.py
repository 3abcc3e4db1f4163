"""The gate: what every rule says of a payload, and what a screen shows of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from swapdesk.agent.gate.case import Case
from swapdesk.agent.gate.lines import lines_of
from swapdesk.agent.gate.registry import rules_for
from swapdesk.agent.gate.rules.validity import LEAST_BLOCKS
from swapdesk.agent.gate.spelling import spelled_policy, spelled_promise
from swapdesk.agent.shapes.claim import Act, PayloadRefused
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Finding, ReviewLine, Severity

NOTHING_ALLOWED = "An approval of nothing: the allowance ends"
WEIGHT_PHRASE = "SIGN WHAT IS NOT IN THE QUOTE"
"""Typed where a field that can move money stands in no quote."""


_BLOCK = timedelta(milliseconds=400)
"""Between two blocks of Solana; it is never less."""


@dataclass(frozen=True)
class Verdict:
    """``content`` is what would be signed (``Claim.content``), None where nothing could be read.

    ``phrase`` has to be typed before signing; None when a key is enough. ``valid_until`` is
    when the review itself is worth nothing any more.
    """

    title: str
    findings: tuple[Finding, ...]
    lines: tuple[ReviewLine, ...]
    valid_until: datetime
    content: bytes | None = None
    phrase: str | None = None

    @property
    def refused(self) -> bool:
        return any(one.severity is Severity.REFUSE for one in self.findings)


def judge(case: Case) -> Verdict:
    """Every rule is asked, also after one has refused, so that all reasons are seen."""
    case = replace(case, promise=spelled_promise(case.promise), policy=spelled_policy(case.policy))
    findings = tuple(
        Finding(rule.code, rule.severity, said.words, said.field.label if said.field else None)
        for rule in rules_for(case.claim)
        for said in rule(case)
    )
    lines = lines_of(case, findings)
    phrase = None
    if case.claim.act is Act.UNKNOWN:
        phrase = "0x" + case.claim.content.hex()
    elif any(one.weight for one in lines):
        phrase = WEIGHT_PHRASE
    title = NOTHING_ALLOWED if case.claim.revokes else case.claim.title
    return Verdict(title, findings, lines, _valid_until(case), case.claim.content, phrase)


def unreadable(refusal: PayloadRefused, now: datetime) -> Verdict:
    """The verdict on a payload that says nothing that could be judged."""
    finding = Finding(refusal.code, Severity.REFUSE, refusal.words)
    return Verdict("A payload that cannot be read", (finding,), (), now)


def _valid_until(case: Case) -> datetime:
    """The earliest of all ends, of which the promise's own always exists."""
    deposit = case.promise.deposit
    if case.purpose is Purpose.DEPOSIT and deposit is not None:
        last = deposit.expires
    elif case.purpose is Purpose.BUNDLE and case.promise.bundle is not None:
        last = min((one.expires for one in case.promise.bundle.deposits), default=case.facts.now)
    elif case.purpose in (Purpose.REVOKE, Purpose.CANCEL):
        last = case.facts.now + timedelta(minutes=5)
    else:
        last = case.promise.valid_until
    left = case.facts.blocks_left
    if case.claim.solana and left is not None:
        fresh = max(0, left - LEAST_BLOCKS) * _BLOCK
        last = min(last, case.facts.now + fresh)
    ends = [seconds for _, seconds in case.claim.numbers(Meaning.ENDS)]
    if ends and min(ends) < last.timestamp():
        last = datetime.fromtimestamp(min(ends), UTC)
    return last
