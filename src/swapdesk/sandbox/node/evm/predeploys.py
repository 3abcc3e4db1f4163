"""The first state of each chain: the sandbox's own money, and contracts at fixed addresses."""

from __future__ import annotations

from swapdesk.sandbox.node.evm.genesis import Allocation, Genesis
from swapdesk.sandbox.node.evm.sandbox_keys import (
    FAUCET,
    OPERATOR,
    SandboxKey,
    genesis_mark,
    sandbox_key,
)
from swapdesk.sandbox.node.evm.terms import ChainTerms

FAUCET_WEI = 10**9 * 10**18
OPERATOR_WEI = 10**6 * 10**18


def contracts(terms: ChainTerms, operator: SandboxKey) -> dict[bytes, Allocation]:
    """Contracts of one chain by address, there before the first transaction.

    This is the place to add one: runtime code, storage words by slot. Whoever changes what it
    returns makes another world, which refuses the data of the one before.
    """
    return {}


def first_state(terms: ChainTerms, key: bytes) -> Genesis:
    """Block 0 of a chain in the sandbox with this ``sandbox.key``."""
    faucet, operator = sandbox_key(key, FAUCET), sandbox_key(key, OPERATOR)
    accounts = {
        faucet.address: Allocation(balance=FAUCET_WEI),
        operator.address: Allocation(balance=OPERATOR_WEI),
        **contracts(terms, operator),
    }
    return Genesis(accounts, genesis_mark(key))
