"""The review in words: each field, what was promised for it, and whether they agree.

Every leaf of a payload has its line. A field is equal only where a rule binds its meaning and
found nothing to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from swapdesk.agent.gate.bundle_words import BUNDLE_WORDS
from swapdesk.agent.gate.case import Case
from swapdesk.agent.gate.field_words import FIELD_WORDS, HARMLESS, FieldWords, of_no_rule, unbound
from swapdesk.agent.gate.registry import BUNDLE_RULES, RULES, WITHDRAWAL_RULES
from swapdesk.agent.gate.rules.gas import GAS
from swapdesk.agent.gate.withdrawal_words import WITHDRAWAL_WORDS
from swapdesk.agent.gate.words import COIN, amount
from swapdesk.agent.shapes.claim import Act, ClaimField
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Finding, Match, ReviewLine, Severity

BOUND = frozenset().union(*(rule.binds for rule in RULES))
"""Meanings that some rule holds to the promise."""
_BOUND_IN = {
    Act.BUNDLE: frozenset().union(*(rule.binds for rule in BUNDLE_RULES)),
    Act.WITHDRAW: frozenset().union(*(rule.binds for rule in WITHDRAWAL_RULES)),
}
"""The same of payloads with rules of their own."""

_AMOUNTS = frozenset(
    {
        Meaning.ALLOWED_UNITS,
        Meaning.SOLD_UNITS,
        Meaning.FEE_UNITS,
        Meaning.LEAST_UNITS,
        Meaning.VALUE,
        Meaning.NETWORK_FEE,
    }
)
_LESS = frozenset({"SOLD_BELOW", "ALLOWANCE_BELOW"})
"""Warnings of a field that says less than was promised, which harms nobody."""
_WORDS_OF: dict[Act, dict[Meaning, FieldWords]] = {
    Act.BUNDLE: BUNDLE_WORDS,
    Act.WITHDRAW: WITHDRAWAL_WORDS,
}


def lines_of(case: Case, findings: Iterable[Finding]) -> tuple[ReviewLine, ...]:
    """A line for each field of the claim, in its order."""
    refused = {one.field for one in findings if one.severity is Severity.REFUSE}
    warned = {one.field: one.code for one in findings if one.severity is Severity.WARN}
    lines = tuple(_line(case, one, refused, warned) for one in case.claim.fields)
    return lines + tuple(_gas(case))


def words_of(act: Act) -> dict[Meaning, FieldWords]:
    """The words of each meaning in a payload that does this."""
    return {**FIELD_WORDS, **_WORDS_OF.get(act, {})}


def _line(
    case: Case, field: ClaimField, refused: set[str | None], warned: Mapping[str | None, str]
) -> ReviewLine:
    act = case.claim.act
    signed, promised = words_of(act).get(field.meaning, unbound)(case, field)
    units = field.value if field.meaning in _AMOUNTS and type(field.value) is int else None
    if field.label in refused:
        return ReviewLine(field.label, signed, promised, Match.DIFFERS, True, units)
    if warned.get(field.label) in _LESS:
        return ReviewLine(field.label, signed, promised, Match.UNMATCHED, units=units)
    # What a document of unknown shape says is bound by nobody, its chain excepted.
    known = act is not Act.UNKNOWN or field.meaning is Meaning.CHAIN
    bound = _BOUND_IN.get(act, BOUND)
    if field.meaning in bound and known and not _free_memo(case, field):
        promised = f"{promised}, see below" if field.label in warned else promised
        return ReviewLine(field.label, signed, promised, Match.EQUAL, units=units)
    weight = field.meaning not in HARMLESS and field.meaning is not Meaning.TAG
    return ReviewLine(field.label, signed, of_no_rule(case, field), Match.UNMATCHED, weight, units)


def _gas(case: Case) -> Iterator[ReviewLine]:
    """The gas of an EVM transaction, which the signer adds to what it was given."""
    plan, bound = case.facts.gas, case.promise.gas_units
    if plan is not None and not case.claim.typed and not case.claim.solana:
        match = Match.EQUAL if plan.most <= bound else Match.DIFFERS
        yield ReviewLine(
            GAS,
            f"at most {amount(plan.most, COIN)}",
            f"{amount(bound, COIN)} at most",
            match,
            weight=match is Match.DIFFERS,
            units=plan.most,
        )


def _free_memo(case: Case, field: ClaimField) -> bool:
    """A memo is bound by a deposit alone; that of a swap is a label."""
    if field.meaning is not Meaning.TAG:
        return False
    deposit = case.promise.deposit
    if case.purpose is not Purpose.DEPOSIT or deposit is None:
        return True
    return field.value not in (deposit.tag, deposit.order_id)
