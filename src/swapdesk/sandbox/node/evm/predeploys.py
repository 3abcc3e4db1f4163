"""The first state of each chain: the sandbox's own money, and contracts at fixed addresses."""

from __future__ import annotations

from swapdesk.sandbox.evm_world.genesis import world_contracts
from swapdesk.sandbox.node.evm.genesis import Allocation, Genesis
from swapdesk.sandbox.node.evm.sandbox_keys import FAUCET, OPERATOR, genesis_mark, sandbox_key
from swapdesk.sandbox.node.evm.terms import ChainTerms

FAUCET_WEI = 10**9 * 10**18
OPERATOR_WEI = 10**6 * 10**18


def first_state(terms: ChainTerms, key: bytes) -> Genesis:
    """Block 0 of a chain in the sandbox with this ``sandbox.key``.

    Whoever changes what it returns makes another world, which refuses the data of the one before.
    """
    faucet, operator = sandbox_key(key, FAUCET), sandbox_key(key, OPERATOR)
    accounts = {
        faucet.address: Allocation(balance=FAUCET_WEI),
        operator.address: Allocation(balance=OPERATOR_WEI),
        **world_contracts(terms.short_name, key),
    }
    return Genesis(accounts, genesis_mark(key))
