"""Every method but ``sendTransaction``, by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from swapdesk.sandbox.node.solana import (
    account_methods,
    chain_methods,
    history_methods,
    transaction_methods,
)
from swapdesk.sandbox.node.solana.chain import Chain
from swapdesk.sandbox.node.solana.problem import Code, Problem

METHODS: dict[str, Callable[[Chain, Any], Any]] = {
    "getHealth": chain_methods.health,
    "getVersion": chain_methods.version,
    "getGenesisHash": chain_methods.genesis_hash,
    "getBlockHeight": chain_methods.block_height,
    "getSlot": chain_methods.slot,
    "getLatestBlockhash": chain_methods.latest_blockhash,
    "isBlockhashValid": chain_methods.is_blockhash_valid,
    "getMinimumBalanceForRentExemption": chain_methods.rent_exemption,
    "getFeeForMessage": chain_methods.fee_for_message,
    "getBalance": account_methods.balance,
    "getAccountInfo": account_methods.account_info,
    "getTokenAccountBalance": account_methods.token_account_balance,
    "getTokenAccountsByOwner": account_methods.token_accounts_by_owner,
    "simulateTransaction": transaction_methods.simulate_transaction,
    "getSignatureStatuses": transaction_methods.signature_statuses,
    "getTransaction": transaction_methods.transaction,
    "getSignaturesForAddress": history_methods.signatures_for_address,
}


def answer(chain: Chain, method: str, params: Any) -> Any:
    """Raises Problem."""
    handler = METHODS.get(method)
    if handler is None:
        raise Problem("Method not found", Code.NO_METHOD)
    return handler(chain, params)
