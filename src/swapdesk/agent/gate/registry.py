"""Every rule, in the order in which findings are shown."""

from __future__ import annotations

from swapdesk.agent.gate.case import Rule
from swapdesk.agent.gate.rules import (
    account,
    amounts,
    bundle,
    chain,
    contract,
    deployment,
    deposit,
    funding,
    gas,
    nonce,
    permit,
    recipient,
    replacing,
    simulation,
    solana_bundle,
    spender,
    steps,
    validity,
    withdrawal,
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
    *deployment.RULES,
    *validity.RULES,
    *nonce.RULES,
    *permit.RULES,
    *steps.RULES,
    *replacing.RULES,
    *gas.RULES,
    *simulation.RULES,
)

OPERATION_RULES: tuple[Rule, ...] = (
    *chain.RULES,
    account.key_is_the_confirmed_account,
    contract.act_is_what_was_asked_for,
    contract.contract_has_code,
    *bundle.RULES,
    steps.all_of_it_together_is_within_what_was_confirmed,
)
"""Those that judge a UserOperation: it is no transaction and no document, and pays many."""

SOLANA_BUNDLE_RULES: tuple[Rule, ...] = (
    *chain.RULES,
    account.key_is_the_confirmed_account,
    account.account_pays_the_fee,
    account.further_signers_are_the_venues_makers,
    account.counterparty_is_the_venues_maker,
    contract.act_is_what_was_asked_for,
    *bundle.PAYMENT_RULES,
    *solana_bundle.RULES,
    steps.all_of_it_together_is_within_what_was_confirmed,
    gas.account_can_pay_the_gas,
)
"""Those that judge a transaction on Solana that pays many."""

WITHDRAWAL_RULES: tuple[Rule, ...] = (
    *chain.RULES,
    account.key_is_the_confirmed_account,
    account.owner_is_the_account,
    contract.act_is_what_was_asked_for,
    bundle.sender_is_the_owners_account,
    contract.contract_has_code,
    *withdrawal.RULES,
    amounts.coin_sent_along_is_the_confirmed_fee,
    steps.swap_is_paid_once,
    *replacing.RULES,
    *gas.RULES,
    simulation.transaction_was_simulated,
    simulation.simulation_succeeds,
)
"""Those that judge a call by which an owner takes out what the smart account holds."""

BUNDLE_RULES: tuple[Rule, ...] = tuple(dict.fromkeys((*OPERATION_RULES, *SOLANA_BUNDLE_RULES)))


def rules_for(claim: Claim) -> tuple[Rule, ...]:
    if claim.act is Act.WITHDRAW:
        return WITHDRAWAL_RULES
    if claim.act is not Act.BUNDLE:
        return RULES
    return SOLANA_BUNDLE_RULES if claim.solana else OPERATION_RULES
