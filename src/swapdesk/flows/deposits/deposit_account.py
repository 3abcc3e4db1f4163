"""The account that pays a deposit, and what it lacks for it, said exactly."""

from __future__ import annotations

from swapdesk.flows.dex.swap_account import SwapAccount
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.numbers import ROUGH

OTHER_DESK = "Another desk has the wallet: sign there, or close it."


def lack_of(found: SwapAccount, tracked: TrackedOrder, coin: str) -> str | None:
    """Why this account cannot pay the order, in sentences; None where nothing speaks against
    it. ``coin`` is the symbol of what gas is paid in. The review judges the gas itself."""
    intent, amount = tracked.intent, tracked.order.in_amount
    if intent is None or amount is None:
        return "The order does not say what is to be paid."
    token = intent.token_in
    gas = "gas" if token.kind == "evm" else "fee"
    symbol, chain, wallet = token.symbol, token.chain_name, f"Wallet {found.name}"
    asked = f"{exact_amount(amount)} {symbol}"
    if found.unread is not None:
        return f"{chain} could not be read: {found.unread}."
    if found.balance is None:
        return f"How much {symbol} wallet {found.name} has on {chain} could not be read."
    if found.balance < amount:
        short_of = f"{exact_amount(ROUGH.subtract(amount, found.balance))} {symbol}"
        return (
            f"{wallet} has {exact_amount(found.balance)} {symbol} on {chain} and is short of"
            f" {short_of}: the order asks for {asked}."
        )
    if token.contract is None and found.balance == amount:
        return f"{wallet} has exactly {asked} on {chain} and nothing more for {gas}."
    if not found.coin:
        return f"{wallet} has no {coin or 'coin'} on {chain} to pay the {gas} with."
    return None
