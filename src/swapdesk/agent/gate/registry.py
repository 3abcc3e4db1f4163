"""Every rule, in the order in which findings are shown."""

from __future__ import annotations

from swapdesk.agent.gate.case import Rule
from swapdesk.agent.gate.rules import (
    amounts,
    bundle,
    deposit,
    envelope,
    parties,
    simulation,
    steps,
    withdrawal,
)
from swapdesk.agent.shapes.claim import Act, Claim

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
    *simulation.RULES,
)

OPERATION_RULES: tuple[Rule, ...] = (
    *envelope.CHAIN_RULES,
    parties.key_is_the_confirmed_account,
    parties.act_is_what_was_asked_for,
    parties.contract_has_code,
    *bundle.GROUP_RULES,
    steps.all_of_it_together_is_within_what_was_confirmed,
)
"""Those that judge a UserOperation: it is no transaction and no document, and pays many."""

SOLANA_BUNDLE_RULES: tuple[Rule, ...] = (
    *envelope.CHAIN_RULES,
    parties.key_is_the_confirmed_account,
    parties.account_pays_the_fee,
    parties.further_signers_are_the_venues_makers,
    parties.counterparty_is_the_venues_maker,
    parties.act_is_what_was_asked_for,
    *bundle.PAYMENT_RULES,
    *bundle.SOLANA_RULES,
    steps.all_of_it_together_is_within_what_was_confirmed,
    amounts.account_can_pay_the_gas,
)
"""Those that judge a transaction on Solana that pays many."""

WITHDRAWAL_RULES: tuple[Rule, ...] = (
    *envelope.CHAIN_RULES,
    parties.key_is_the_confirmed_account,
    parties.owner_is_the_account,
    parties.act_is_what_was_asked_for,
    bundle.sender_is_the_owners_account,
    parties.contract_has_code,
    *withdrawal.RULES,
    amounts.coin_sent_along_is_the_confirmed_fee,
    steps.swap_is_paid_once,
    *envelope.REPLACING_RULES,
    *amounts.GAS_RULES,
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
