"""Every rule, in the order in which findings are shown."""

from __future__ import annotations

from swapdesk.agent.gate.case import Rule
from swapdesk.agent.gate.rules import (
    account,
    amounts,
    bundle,
    chain,
    contract,
    deposit,
    funding,
    gas,
    nonce,
    recipient,
    replacing,
    simulation,
    spender,
    steps,
    validity,
)
from swapdesk.agent.shapes.claim import Act, Claim

RULES: tuple[Rule, ...] = (
    *chain.RULES,
    *account.RULES,
    *contract.RULES,
    *spender.RULES,
    *amounts.RULES,
    *recipient.RULES,
    *deposit.RULES,
    *funding.RULES,
    *validity.RULES,
    *nonce.RULES,
    *steps.RULES,
    *replacing.RULES,
    *gas.RULES,
    *simulation.RULES,
)

BUNDLE_RULES: tuple[Rule, ...] = (
    *chain.RULES,
    account.key_is_the_confirmed_account,
    contract.act_is_what_was_asked_for,
    contract.contract_has_code,
    *bundle.RULES,
)
"""Those that judge a UserOperation: it is no transaction and no document, and pays many."""


def rules_for(claim: Claim) -> tuple[Rule, ...]:
    return BUNDLE_RULES if claim.act is Act.BUNDLE else RULES
