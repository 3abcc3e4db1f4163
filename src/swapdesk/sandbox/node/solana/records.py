"""What is told of an executed or simulated transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from swapdesk.sandbox.node.solana.documents import (
    balances,
    inner_instructions,
    read_token_account,
    returned_data,
    token_amount,
)
from swapdesk.sandbox.node.solana.machine import Outcome

Decimals = Callable[[Pubkey], int | None]
"""Those of a mint, None when there is none."""

NO_ADDRESSES: dict[str, list[str]] = {"writable": [], "readonly": []}


def status_of(error: Any) -> dict[str, Any]:
    return {"Ok": None} if error is None else {"Err": error}


def record_meta(
    outcome: Outcome, transaction: VersionedTransaction, decimals: Decimals
) -> dict[str, Any]:
    """The ``meta`` of ``getTransaction``."""
    found = {
        **moved(outcome, transaction.message.account_keys, decimals),
        "err": outcome.error,
        "status": status_of(outcome.error),
        "fee": outcome.details.fee(),
        "logMessages": outcome.details.logs(),
        "innerInstructions": inner_instructions(outcome.details),
        "computeUnitsConsumed": outcome.details.compute_units_consumed(),
        "loadedAddresses": NO_ADDRESSES,
        "rewards": [],
    }
    returned = returned_data(outcome.details)
    return found if returned is None else {**found, "returnData": returned}


def moved(outcome: Outcome, keys: Sequence[Pubkey], decimals: Decimals) -> dict[str, Any]:
    """Balances before and after, of coins and of tokens."""
    return {
        "preBalances": balances(outcome.before),
        "postBalances": balances(outcome.after),
        "preTokenBalances": _tokens(outcome.before, decimals),
        "postTokenBalances": _tokens(outcome.after, decimals),
    }


def _tokens(accounts: Sequence[Account | None], decimals: Decimals) -> list[dict[str, Any]]:
    found = []
    for index, account in enumerate(accounts):
        token = read_token_account(account)
        if account is None or token is None:
            continue
        places = decimals(token.mint)
        if places is None:
            continue
        found.append(
            {
                "accountIndex": index,
                "mint": str(token.mint),
                "owner": str(token.owner),
                "programId": str(account.owner),
                "uiTokenAmount": token_amount(token.amount, places),
            }
        )
    return found
