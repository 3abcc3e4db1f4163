"""Every rule, in the order in which findings are shown."""

from __future__ import annotations

from swapdesk.agent.gate.case import Rule
from swapdesk.agent.gate.rules import (
    account,
    amounts,
    cancel,
    chain,
    contract,
    deposit,
    gas,
    nonce,
    recipient,
    simulation,
    spender,
    steps,
    validity,
)

RULES: tuple[Rule, ...] = (
    *chain.RULES,
    *account.RULES,
    *contract.RULES,
    *spender.RULES,
    *amounts.RULES,
    *recipient.RULES,
    *deposit.RULES,
    *validity.RULES,
    *nonce.RULES,
    *steps.RULES,
    *cancel.RULES,
    *gas.RULES,
    *simulation.RULES,
)
