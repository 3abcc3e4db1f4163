"""Every method but ``sendTransaction``, by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from swapdesk.sandbox.node.solana.account_methods import (
    account_info,
    balance,
    token_account_balance,
    token_accounts_by_owner,
)
from swapdesk.sandbox.node.solana.chain import Chain
from swapdesk.sandbox.node.solana.chain_methods import (
    block_height,
    fee_for_message,
    genesis_hash,
    health,
    is_blockhash_valid,
    latest_blockhash,
    rent_exemption,
    slot,
    version,
)
from swapdesk.sandbox.node.solana.history_methods import signatures_for_address
from swapdesk.sandbox.node.solana.problem import Code, Problem
from swapdesk.sandbox.node.solana.transaction_methods import (
    signature_statuses,
    simulate_transaction,
    transaction,
)

METHODS: dict[str, Callable[[Chain, Any], Any]] = {
    "getHealth": health,
    "getVersion": version,
    "getGenesisHash": genesis_hash,
    "getBlockHeight": block_height,
    "getSlot": slot,
    "getLatestBlockhash": latest_blockhash,
    "isBlockhashValid": is_blockhash_valid,
    "getMinimumBalanceForRentExemption": rent_exemption,
    "getFeeForMessage": fee_for_message,
    "getBalance": balance,
    "getAccountInfo": account_info,
    "getTokenAccountBalance": token_account_balance,
    "getTokenAccountsByOwner": token_accounts_by_owner,
    "simulateTransaction": simulate_transaction,
    "getSignatureStatuses": signature_statuses,
    "getTransaction": transaction,
    "getSignaturesForAddress": signatures_for_address,
}


def answer(chain: Chain, method: str, params: Any) -> Any:
    """Raises Problem."""
    handler = METHODS.get(method)
    if handler is None:
        raise Problem("Method not found", Code.NO_METHOD)
    return handler(chain, params)
