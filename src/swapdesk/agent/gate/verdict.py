"""The gate's verdict: judges a payload by every rule, in the order in which findings are shown.

The review has a line for every elementary value of a payload. A value agrees with the promise only
if a rule compares its meaning with the promise and no rule objects.

EVM addresses are compared in checksum form, because catalogues write some in lower case. An address
with a wrong checksum is not changed, so it equals nothing that is signed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.agent.gate.case import Case, Rule, spelled
from swapdesk.agent.gate.field_words import (
    BUNDLE_WORDS,
    FIELD_WORDS,
    HARMLESS,
    WITHDRAWAL_WORDS,
    FieldWords,
    of_no_rule,
    unbound,
)
from swapdesk.agent.gate.rules import amounts, bundle, deposit, envelope, parties, steps
from swapdesk.agent.gate.rules.amounts import GAS
from swapdesk.agent.gate.rules.envelope import LEAST_BLOCKS
from swapdesk.agent.gate.words import COIN, amount
from swapdesk.agent.shapes.claim import Act, Claim, ClaimField, Meaning, PayloadRefused
from swapdesk.wallet.answers import Match, Review, ReviewLine, RuleFinding, Severity
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wallet.rule_codes import CALL_PAYEE_CHANGED

RULES: tuple[Rule, ...] = (
    *envelope.CHAIN_RULES,
    *parties.ACCOUNT_RULES,
    *parties.CONTRACT_RULES,
    *parties.SPENDER_RULES,
    *amounts.AMOUNT_RULES,
    *parties.RECIPIENT_RULES,
    *deposit.DEPOSIT_RULES,
    *deposit.FUNDING_RULES,
    *bundle.DEPLOYMENT_RULES,
    *envelope.VALIDITY_RULES,
    *envelope.NONCE_RULES,
    *amounts.PERMIT_RULES,
    *steps.RULES,
    *envelope.REPLACING_RULES,
    *amounts.GAS_RULES,
    *amounts.SIMULATION_RULES,
)

OPERATION_RULES: tuple[Rule, ...] = (
    *envelope.CHAIN_RULES,
    parties.key_is_the_confirmed_account,
    parties.act_is_what_was_asked_for,
    parties.contract_has_code,
    amounts.amounts_are_counted_as_the_contract_does,
    amounts.token_is_called_so_by_its_contract,
    *bundle.GROUP_RULES,
    steps.all_of_it_together_is_within_what_was_confirmed,
)
"""The rules for a UserOperation, which is neither a transaction nor a document and makes several
payments."""

SOLANA_BUNDLE_RULES: tuple[Rule, ...] = (
    *envelope.CHAIN_RULES,
    parties.key_is_the_confirmed_account,
    parties.account_pays_the_fee,
    parties.further_signers_are_the_venues_makers,
    parties.counterparty_is_the_venues_maker,
    parties.act_is_what_was_asked_for,
    amounts.amounts_are_counted_as_the_contract_does,
    amounts.token_is_called_so_by_its_contract,
    *bundle.PAYMENT_RULES,
    *bundle.SOLANA_RULES,
    steps.all_of_it_together_is_within_what_was_confirmed,
    amounts.account_can_pay_the_gas,
)
"""The rules for a Solana transaction that makes several payments."""

WITHDRAWAL_RULES: tuple[Rule, ...] = (
    *envelope.CHAIN_RULES,
    parties.key_is_the_confirmed_account,
    parties.owner_is_the_account,
    parties.act_is_what_was_asked_for,
    bundle.sender_is_the_owners_account,
    parties.contract_has_code,
    amounts.amounts_are_counted_as_the_contract_does,
    amounts.token_is_called_so_by_its_contract,
    *deposit.WITHDRAWAL_RULES,
    amounts.coin_sent_along_is_the_confirmed_fee,
    steps.swap_is_paid_once,
    *envelope.REPLACING_RULES,
    *amounts.GAS_RULES,
    amounts.transaction_was_simulated,
    amounts.simulation_succeeds,
)
"""The rules for a call by which an owner withdraws what the smart account holds."""

BUNDLE_RULES: tuple[Rule, ...] = tuple(dict.fromkeys((*OPERATION_RULES, *SOLANA_BUNDLE_RULES)))


def rules_for(claim: Claim) -> tuple[Rule, ...]:
    if claim.act == "withdraw":
        return WITHDRAWAL_RULES
    if claim.act != "bundle":
        return RULES
    return SOLANA_BUNDLE_RULES if claim.solana else OPERATION_RULES


BOUND = frozenset().union(*(rule.binds for rule in RULES))
"""The meanings that at least one rule compares with the promise."""
_BOUND_IN = {
    "bundle": frozenset().union(*(rule.binds for rule in BUNDLE_RULES)),
    "withdraw": frozenset().union(*(rule.binds for rule in WITHDRAWAL_RULES)),
}
"""For each act with rules of its own, the meanings that these rules compare with the promise."""

_AMOUNTS = frozenset(
    {
        "allowed units",
        "sold units",
        "fee units",
        "least units",
        "value",
        "network fee",
    }
)
_LESS = frozenset({"SOLD_BELOW", "ALLOWANCE_BELOW"})
"""Codes of warnings that a signed amount is below the promised one, which harms nobody."""
_OF_WEIGHT = frozenset({"TOKEN_SYMBOL"})
"""Codes of warnings after which a person has to confirm that the field is what was promised."""
_WORDS_OF: dict[Act, dict[Meaning, FieldWords]] = {
    "bundle": BUNDLE_WORDS,
    "withdraw": WITHDRAWAL_WORDS,
}


def lines_of(case: Case, findings: Iterable[RuleFinding]) -> tuple[ReviewLine, ...]:
    refused = {finding.field for finding in findings if finding.severity is Severity.REFUSE}
    warned = {
        finding.field: finding.code for finding in findings if finding.severity is Severity.WARN
    }
    lines = tuple(_line(case, field, refused, warned) for field in case.claim.fields)
    return lines + tuple(_gas(case))


def words_of(act: Act) -> dict[Meaning, FieldWords]:
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
    if warned.get(field.label) in _OF_WEIGHT:
        return ReviewLine(
            field.label, signed, f"{promised}, see below", Match.UNMATCHED, True, units
        )
    # Of a document of unknown shape only the chain is bound by a rule.
    bindable = act != "unknown" or field.meaning == "chain"
    bound = _BOUND_IN.get(act, BOUND)
    if field.meaning in bound and bindable and not _free_memo(case, field):
        promised = f"{promised}, see below" if field.label in warned else promised
        return ReviewLine(field.label, signed, promised, Match.EQUAL, units=units)
    weight = field.meaning not in HARMLESS and field.meaning != "tag"
    return ReviewLine(field.label, signed, of_no_rule(case, field), Match.UNMATCHED, weight, units)


def _gas(case: Case) -> Iterator[ReviewLine]:
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
    if field.meaning != "tag":
        return False
    deposit = case.promise.deposit
    if case.purpose is not Purpose.DEPOSIT or deposit is None:
        return True
    return field.value not in (deposit.tag, deposit.order_id)


_ADDRESSES = frozenset({"account", "address", "contract", "known", "recipient", "refund"})
"""The names of the fields of promises and policies that hold addresses of accounts and
contracts."""


def spelled_in(value: Any, field: str = "") -> Any:
    """Returns ``value`` (a promise, a policy or a part of one) with every EVM address in checksum
    form. ``field`` names the field that holds ``value``, empty for a whole object."""
    if isinstance(value, str):
        return spelled(value) if field in _ADDRESSES else value
    if isinstance(value, tuple | frozenset):
        return type(value)(spelled_in(item, field) for item in value)
    if isinstance(value, Struct):
        names = value.__struct_fields__
        return replace(value, **{name: spelled_in(getattr(value, name), name) for name in names})
    return value


NOTHING_ALLOWED = "An approval of nothing: the allowance ends"
WEIGHT_PHRASE = "SIGN WHAT IS NOT IN THE QUOTE"
"""The phrase that the user has to type if a field that can move money is not in the quote."""


_BLOCK = timedelta(milliseconds=400)
"""The shortest time between two blocks of Solana."""


def judge(case: Case) -> Review:
    """Applies every rule of the gate to the payload, even after one has refused, and returns the
    review. The caller sets the review's ``id``."""
    case = replace(case, promise=spelled_in(case.promise), policy=spelled_in(case.policy))
    findings = tuple(
        RuleFinding(
            rule.code, rule.severity, finding.words, finding.field.label if finding.field else None
        )
        for rule in rules_for(case.claim)
        for finding in rule(case)
    )
    lines = lines_of(case, findings)
    phrase = None
    if case.claim.act == "unknown":
        phrase = "0x" + case.claim.content.hex()
    elif any(line.weight for line in lines):
        phrase = WEIGHT_PHRASE
    elif any(finding.code == CALL_PAYEE_CHANGED for finding in findings):
        phrase = "".join(payee[-4:] for _, payee in case.claim.texts("payee"))
    title = NOTHING_ALLOWED if case.claim.revokes else case.claim.title
    return Review(
        id="",
        title=title,
        account=case.promise.account,
        chain=case.promise.chain,
        digest=f"0x{case.claim.content.hex()}",
        lines=lines,
        findings=findings,
        simulation=case.facts.simulation,
        valid_until=_valid_until(case),
        phrase=phrase,
    )


def unreadable(refusal: PayloadRefused, promise: Promise, now: datetime) -> Review:
    """Returns the review of a payload that cannot be read. It refuses the payload, and its
    ``digest`` is empty."""
    finding = RuleFinding(refusal.code, Severity.REFUSE, refusal.words)
    title = "A payload that cannot be read"
    return Review("", title, promise.account, promise.chain, "", (), (finding,), None, now)


def _valid_until(case: Case) -> datetime:
    deposit = case.promise.deposit
    if case.purpose is Purpose.DEPOSIT and deposit is not None:
        last = deposit.expires
    elif case.purpose is Purpose.BUNDLE and case.promise.bundle is not None:
        last = min((deposit.expires for deposit in case.promise.bundled), default=case.facts.now)
    elif case.purpose in (Purpose.REVOKE, Purpose.CANCEL):
        last = case.facts.now + timedelta(minutes=5)
    else:
        last = case.promise.valid_until
    left = case.facts.blocks_left
    if case.claim.solana and left is not None:
        fresh = max(0, left - LEAST_BLOCKS) * _BLOCK
        last = min(last, case.facts.now + fresh)
    ends = [seconds for _, seconds in case.claim.numbers("ends")]
    if ends and min(ends) < last.timestamp():
        last = datetime.fromtimestamp(min(ends), UTC)
    return last
