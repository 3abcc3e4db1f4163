"""Every method but ``sendTransaction``, by its name; and the history of an address."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from swapdesk.chain.solana.instructions import MEMO
from swapdesk.chain.solana.transaction import read_transaction
from swapdesk.sandbox.node.solana.chain import SolanaChain
from swapdesk.sandbox.node.solana.chain_methods import (
    account_info,
    balance,
    block_height,
    fee_for_message,
    genesis_hash,
    health,
    is_blockhash_valid,
    latest_blockhash,
    rent_exemption,
    seen,
    slot,
    token_account_balance,
    token_accounts_by_owner,
    version,
)
from swapdesk.sandbox.node.solana.machine import Instant
from swapdesk.sandbox.node.solana.params import Params, as_signature, commitment_of
from swapdesk.sandbox.node.solana.problem import Code, Problem, bad_params
from swapdesk.sandbox.node.solana.store import Record
from swapdesk.sandbox.node.solana.terms import SKIPPED_SLOTS
from swapdesk.sandbox.node.solana.transaction_methods import (
    level_of,
    signature_statuses,
    simulate_transaction,
    transaction,
)

MOST = 1_000
"""Transactions of one answer."""


def signatures_for_address(chain: SolanaChain, given: Any) -> list[dict[str, Any]]:
    """The newest first, older than ``before`` and newer than ``until``."""
    params = Params(given, 2)
    address, options = params.pubkey(0), params.options(1)
    if commitment_of(options) == "processed":
        raise bad_params("Method does not support commitment below `confirmed`")
    at, limit = seen(chain, options), options.get("limit", MOST)
    if type(limit) is not int or not 0 < limit <= MOST:
        raise bad_params(f"Invalid limit; max {MOST}")
    bounds = (_signature(options.get(name)) for name in ("before", "until"))
    before, until = bounds
    found = chain.store.naming(
        bytes(address), at_most=at.height, before=before, until=until, limit=limit
    )
    return [_entry(record, chain.slots.now()) for record in found]


def _signature(text: Any) -> bytes | None:
    return None if text is None else bytes(as_signature(text))


def _entry(record: Record, now: Instant) -> dict[str, Any]:
    transaction = read_transaction(record.raw)
    return {
        "signature": str(transaction.signatures[0]),
        "slot": record.height + SKIPPED_SLOTS,
        "err": json.loads(record.meta)["err"],
        "memo": _memo(record.raw),
        "blockTime": record.seconds,
        "confirmationStatus": level_of(record, now.height),
    }


def _memo(raw: bytes) -> str | None:
    """As nodes write it: each memo with the number of its bytes."""
    message = read_transaction(raw).message
    keys = message.account_keys
    memos = [bytes(one.data) for one in message.instructions if keys[one.program_id_index] == MEMO]
    return "; ".join(f"[{len(one)}] {one.decode(errors='replace')}" for one in memos) or None


METHODS: dict[str, Callable[[SolanaChain, Any], Any]] = {
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


def answer(chain: SolanaChain, method: str, params: Any) -> Any:
    """Raises Problem."""
    handler = METHODS.get(method)
    if handler is None:
        raise Problem("Method not found", Code.NO_METHOD)
    return handler(chain, params)
