"""Whether the wallet holds what a group needs of it, before anything is signed for the group."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.flows.batch.settle_words import Stopped
from swapdesk.flows.journal.batch_records import FundingNeed
from swapdesk.flows.notation import exact_amount
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Asset
from swapdesk.wire.encoding.numbers import from_base_units, short

NOT_ENOUGH = "NOT_ENOUGH"


async def require_held(
    client: WalletClient, account: Account, chain: str, needs: Sequence[FundingNeed]
) -> None:
    """Raises Stopped where the account has less of a token than is needed; a balance that cannot
    be read speaks against nothing, since the gate simulates what is signed. Raises WalletError."""
    sums: dict[str | None, FundingNeed] = {}
    for need in needs:
        before = sums.get(need.contract)
        units = need.units + (before.units if before is not None else 0)
        sums[need.contract] = FundingNeed(need.symbol, need.decimals, need.contract, units)
    if not sums:
        return
    assets = [Asset(one.symbol, one.decimals, one.contract) for one in sums.values()]
    told = await client.balances(account.address, chain, assets)
    held = {one.asset.contract: one.units for one in told.balances}
    said = []
    for need in sums.values():
        has_units = held.get(need.contract)
        if has_units is None or has_units >= need.units:
            continue
        has = short(from_base_units(has_units, need.decimals))
        lacking = short(from_base_units(need.units - has_units, need.decimals))
        said.append(
            f"{exact_amount(need.amount)} {need.symbol} are needed, and wallet"
            f" {account.name or account.address} has {exact_amount(has)}:"
            f" {exact_amount(lacking)} {need.symbol} are missing"
        )
    if said:
        next_ = f"you: send it to {account.address}, then sign"
        raise Stopped(NOT_ENOUGH, f"{'; '.join(said)}.", next_)
