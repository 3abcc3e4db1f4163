"""Finds what the wallet can pay a plan with: on each chain the paying account, its tokens and its
native coin.

This is read from the wallet's process once a plan is known. If a balance is too small, the plan has
a problem (:func:`~swapdesk.flows.batch.plan.against_means`). A balance that cannot be read is shown
as unknown.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from swapdesk.flows.batch.plan import BatchPlan, Means, Total
from swapdesk.flows.catalog.catalog import native_coin
from swapdesk.flows.dex.swap_account import NoSwapAccount, SwapAccount, find_account
from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.wallet.accounts import Kind, has_smart_accounts
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import Refused, WalletError
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


async def means_of(desk: Desk, plan: BatchPlan) -> AsyncIterator[tuple[Means, ...]]:
    """Yields the accounts that can pay a plan, one for each chain, with more and more balances
    known. A chain that cannot be read has a ``problem``; WalletError is never raised."""
    means: dict[str, Means] = {}
    for chain, totals in _by_chain(plan.totals).items():
        async for read in _on_chain(desk, chain, totals):
            means[chain] = read
            yield tuple(means.values())
    yield tuple(means.values())


async def means_of_command(desk: Desk, plan: BatchPlan, payer: str = "") -> tuple[Means, ...]:
    """Returns the accounts that can pay a plan, one for each chain. An empty ``payer`` means each
    chain's first account with enough money. Never raises WalletError. Starts no process if there
    are no keys."""
    keys = desk.settings.places.keys
    found: list[Means] = []
    for chain, totals in _by_chain(plan.totals).items():
        if not any(keys.glob("*-*.json")):
            found.append(Means(chain, problem="This wallet has no accounts yet."))
            continue
        names = [payer] if payer else await _own(desk, totals[0].token)
        best: Means | None = None
        for name in names or [""]:
            means = Means(chain)
            async for read in _on_chain(desk, chain, totals, payer=name, fill=False):
                means = read
            enough = not any(means.missing(total) for total in totals)
            best = means if best is None or enough else best
            if enough:
                break
        if best is not None:
            found.append(best)
    return tuple(found)


async def _own(desk: Desk, token: Token) -> list[str]:
    try:
        accounts = (await desk.wallet.accounts()).accounts
    except WalletError:
        return []
    return [
        account.address for account in accounts if account.kind is KINDS.get(token.chain_data.kind)
    ]


async def _on_chain(
    desk: Desk, chain: str, totals: Sequence[Total], *, payer: str = "", fill: bool = True
) -> AsyncIterator[Means]:
    coin = native_coin(desk.catalog, chain)
    means = Means(chain, coin_symbol=coin.symbol if coin is not None else "")
    if desk.wallet.link(chain) is None:
        # Asking for an account would start the wallet's process for nothing.
        name = totals[0].token.chain_data.name
        yield replace(means, problem=f"No node of {name} is connected.")
        return
    try:
        for total in totals:
            token = total.token
            async for account in find_account(desk, token, token, payer=payer, fill=fill):
                means = _with(means, token.id, account)
                if means.missing(total) is not None:
                    means = await _with_smart_account(desk, means, token, account)
                yield means
            if means.problem:
                return
    except NoSwapAccount as error:
        yield replace(means, problem=str(error))
    except WalletError as error:
        yield replace(means, problem=failure_of_wallet(error).cause)


async def _with_smart_account(
    desk: Desk, means: Means, token: Token, account: SwapAccount
) -> Means:
    own = account.account
    if own.kind is not Kind.EVM or not has_smart_accounts(live=desk.settings.live):
        return means
    asset = Asset("" if token.address is None else token.symbol, token.decimals, token.address)
    client = await desk.wallet.client()
    try:
        smart = await client.smart_account(own.address, token.chain_data.short_name, [asset])
    except Refused:
        return means
    (held,) = (balance for balance in smart.balances if balance.asset.contract == token.address)
    if not held.units:
        return means
    has = short(from_base_units(held.units, held.asset.decimals))
    return replace(means, in_smart_account={**means.in_smart_account, token.id: has})


def _with(means: Means, token_id: str, account: SwapAccount) -> Means:
    held = means.held
    if account.balance is not None or account.unread is not None:
        held = {**held, token_id: account.balance}
    unread = f"It could not be read: {account.unread}." if account.unread is not None else ""
    return replace(
        means,
        wallet=account.name,
        address=account.account.address,
        held=held,
        coin=account.coin if account.coin is not None else means.coin,
        filling=account.filling,
        problem=unread,
    )


def _by_chain(totals: Sequence[Total]) -> dict[str, list[Total]]:
    chains: dict[str, list[Total]] = {}
    for total in totals:
        chains.setdefault(total.token.chain_data.short_name, []).append(total)
    return chains
