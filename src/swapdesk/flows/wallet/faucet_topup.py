"""What the sandbox's faucet puts into a new wallet, so that there is something to swap."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from decimal import Decimal

from swapdesk.client.errors import ClientError
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.flows.wallet.chain_holdings import ChainHoldings
from swapdesk.flows.wallet.local_wallet import LocalWallet, is_first
from swapdesk.wallet.accounts import Kind

COINS = {Kind.EVM: Decimal(10), Kind.SOLANA: Decimal(100)}
DOLLARS = Decimal(10_000)
LOOKS = 3
GIVEN = ("USDC", "USDT")
"""Tokens beside the coin, where the chain has them."""


@dataclass(frozen=True)
class Gifts:
    """``given`` transactions are on their way; ``problems`` say what was not given, or perhaps
    not. Only money of the sandbox is in question, so it is simply looked for next time."""

    given: int = 0
    problems: tuple[str, ...] = ()


async def fill_wallet(wallet: LocalWallet, control: SandboxControl) -> Gifts:
    """Give to the first accounts on every chain where they have no coin. Asking again gives
    nothing twice: what is on its way is waited for, and seen on the chain. Raises WalletError."""
    if wallet.live:
        return Gifts()
    held = await _first_holdings(wallet)
    unread = [f"{one.chain_name} could not be read: {one.problem}" for one in held if one.problem]
    outcomes = await asyncio.gather(
        *(_give(wallet, control, one) for one in held if _is_empty(one))
    )
    return Gifts(
        sum(one.given for one in outcomes),
        (*unread, *(problem for one in outcomes for problem in one.problems)),
    )


async def _first_holdings(wallet: LocalWallet) -> list[ChainHoldings]:
    """Of the first accounts; chains that have only just started are read again."""
    for _ in range(LOOKS):
        held = [one for one in await wallet.holdings() if is_first(one.account)]
        if not any(one.problem for one in held):
            break
    return held


def _is_empty(held: ChainHoldings) -> bool:
    return held.problem is None and not any(one.amount for one in held.holdings)


async def _give(wallet: LocalWallet, control: SandboxControl, held: ChainHoldings) -> Gifts:
    """The coin first: without it no token can be moved."""
    account, given = held.account, 0
    problems: list[str] = []
    tokens = await wallet.tokens.called(held.chain, GIVEN)
    asked = [(COINS[account.kind], None), *((DOLLARS, one.contract) for one in tokens)]
    for amount, contract in asked:
        try:
            await control.give(held.chain, account.address, amount, contract)
        except ClientError as error:
            problems.append(f"The faucet gave nothing on {held.chain_name}: {error}")
        else:
            given += 1
            wallet.given(held, contract)
    return Gifts(given, tuple(problems))
