"""All that a rule may look at, and the form of a rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from swapdesk.agent.gate.facts import Facts
from swapdesk.agent.gate.memory import Memory
from swapdesk.agent.gate.policy import Policy
from swapdesk.agent.shapes.claim import Claim, ClaimField
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.wallet.payload import ChainStep
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wallet.review import Severity


@dataclass(frozen=True)
class Case:
    """A claim beside everything it is held against. ``step`` is None for transactions, and
    ``replaces`` the hash of the one whose nonce it takes; ``nonce`` is that of an EVM
    transaction."""

    claim: Claim
    purpose: Purpose
    step: ChainStep | None
    promise: Promise
    policy: Policy
    facts: Facts
    memory: Memory = ()
    replaces: str | None = None
    nonce: int | None = None


@dataclass(frozen=True)
class Objection:
    """What a rule has to say, in words, and about which field if about one."""

    words: str
    field: ClaimField | None = None


Objections = Iterator[Objection]


@dataclass(frozen=True)
class Rule:
    """``code`` names it for ever. ``binds`` are the meanings whose fields it holds to the
    promise: a field that no rule binds is shown as not in the quote."""

    code: str
    severity: Severity
    binds: frozenset[Meaning]
    check: Callable[[Case], Objections]

    def __call__(self, case: Case) -> tuple[Objection, ...]:
        return tuple(self.check(case))


def refuses(code: str, *binds: Meaning) -> Callable[[Callable[[Case], Objections]], Rule]:
    """Makes a rule that refuses out of a function that yields objections."""
    return lambda check: Rule(code, Severity.REFUSE, frozenset(binds), check)


def warns(code: str, *binds: Meaning) -> Callable[[Callable[[Case], Objections]], Rule]:
    """Makes a rule that warns."""
    return lambda check: Rule(code, Severity.WARN, frozenset(binds), check)
