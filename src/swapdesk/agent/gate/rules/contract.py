"""The contract that checks or executes the payload, and what kind it is (checklist 3, 4, 12)."""

from __future__ import annotations

from swapdesk.agent.gate.case import Case, Objection, Objections, refuses, warns
from swapdesk.agent.gate.facts import domain_read
from swapdesk.agent.shapes.claim import Act, Target
from swapdesk.agent.shapes.meaning import Meaning
from swapdesk.chain.deployments import PERMIT2
from swapdesk.wallet.promise import Purpose

DELEGATED = bytes.fromhex("ef0100")
"""Code of an account that somebody holds the key of (EIP-7702)."""

ACTS = {
    Purpose.APPROVE: frozenset({Act.ALLOW}),
    Purpose.REVOKE: frozenset({Act.ALLOW}),
    Purpose.ORDER: frozenset({Act.ORDER}),
    Purpose.SWAP: frozenset({Act.SWAP}),
    Purpose.DEPOSIT: frozenset({Act.PAY}),
    Purpose.CANCEL: frozenset({Act.NOTHING}),
    Purpose.FUND: frozenset({Act.PAY}),
    Purpose.BUNDLE: frozenset({Act.BUNDLE}),
    Purpose.DEPLOY: frozenset({Act.DEPLOY}),
    Purpose.WITHDRAW: frozenset({Act.WITHDRAW}),
}


def is_contract(code: bytes | None) -> bool:
    """Whether code stands there that nobody can act for with a key."""
    return bool(code) and not (code or b"").startswith(DELEGATED)


@refuses("SHAPE_UNKNOWN")
def shape_is_known(case: Case) -> Objections:
    if case.claim.act is Act.UNKNOWN and not case.policy.blind:
        yield Objection("What this document does is not known here. It is never signed blindly.")


@warns("SHAPE_BLIND")
def blind_signing_is_told(case: Case) -> Objections:
    if case.claim.act is Act.UNKNOWN and case.policy.blind:
        yield Objection("What this document does is not known here. Type its digest to sign it.")


@refuses("PURPOSE_DIFFERS", Meaning.METHOD)
def act_is_what_was_asked_for(case: Case) -> Objections:
    claim = case.claim
    if claim.act is not Act.UNKNOWN and claim.act not in ACTS[case.purpose]:
        yield Objection(
            f"It is {claim.title[:1].lower()}{claim.title[1:]}, not what was asked for.",
            next(claim.of(Meaning.METHOD), None),
        )


@refuses("CONTRACT_UNKNOWN", Meaning.CONTRACT)
def contract_is_the_shapes_own(case: Case) -> Objections:
    claim = case.claim
    if claim.solana or claim.target is Target.PAYEE:
        return
    if claim.contract is None:
        yield Objection("It names no contract.")
        return
    own: dict[Target, set[str | None]] = {
        Target.TOKEN: {case.promise.sell.contract},
        Target.PERMIT2: {PERMIT2},
        Target.VENUE: {
            one.address
            for one in case.policy.contracts_of(case.promise.venue)
            if one.role in claim.roles
        },
        Target.FACTORY: {case.policy.accounts.address if case.policy.accounts else None},
        Target.ANY: {claim.contract},
    }
    if claim.contract not in own[claim.target]:
        said = {
            Target.TOKEN: "The contract is not the token that was confirmed.",
            Target.PERMIT2: "The contract is not Permit2.",
            Target.FACTORY: "It is not the factory of smart accounts of this profile.",
        }.get(claim.target, "The contract is none of the venue's for this.")
        yield Objection(said, next(claim.of(Meaning.CONTRACT), None))


@refuses("CONTRACT_WITHOUT_CODE", Meaning.CONTRACT)
def contract_has_code(case: Case) -> Objections:
    claim = case.claim
    if claim.contract is None:
        return
    field = next(claim.of(Meaning.CONTRACT), None)
    code = case.facts.code.get(claim.contract)
    if code is None:
        yield Objection("Whether the contract exists could not be read.", field)
    elif not is_contract(code):
        yield Objection("There is no contract at this address.", field)


@refuses("DOMAIN_DIFFERS", Meaning.DOMAIN)
def domain_is_the_contracts_own(case: Case) -> Objections:
    """The contract tells its domain, so a changed name or version is seen."""
    claim = case.claim
    if not claim.typed or claim.contract is None or claim.act is Act.UNKNOWN:
        return
    field = next(claim.of(Meaning.DOMAIN), None)
    own = case.facts.answers.get(domain_read(claim.contract))
    if own is None:
        yield Objection("The contract's own domain could not be read.", field)
    elif own != claim.domain_separator:
        yield Objection("The contract would not take this: its domain is another.", field)


RULES = (
    shape_is_known,
    blind_signing_is_told,
    act_is_what_was_asked_for,
    contract_is_the_shapes_own,
    contract_has_code,
    domain_is_the_contracts_own,
)
