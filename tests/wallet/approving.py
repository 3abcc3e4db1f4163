"""An allowance as a swap leaves it behind: approved, signed and sent through the agent."""

from __future__ import annotations

from datetime import timedelta

from swapdesk.clock import Clock
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.accounts import Account, ChainLink
from swapdesk.wallet.promise import Asset, Promise, Purpose, TransactionPayload


async def approve(
    wallet: LocalWallet,
    clock: Clock,
    account: Account,
    link: ChainLink,
    token: Asset,
    spender: str,
    units: int,
) -> None:
    """Approve Fathom's ``spender``; returns when a node has the transaction."""
    client = await wallet.client()
    end = await client.revocation(token.contract or "", spender)
    # The same call with an amount in its last word.
    data = end.data[:-64] + f"{units:064x}"
    promise = Promise(
        intent_id="allow",
        account=account.address,
        chain=link.name,
        chain_id=link.chain_id,
        sell=token,
        sell_units=units,
        buy=token,
        chain_out=link.name,
        least_units=1,
        quoted_units=1,
        recipient=account.address,
        venue="fa",
        quote_id="q",
        valid_until=clock.now() + timedelta(minutes=10),
        gas_units=10**16,
    )
    review = await client.review(TransactionPayload(Purpose.APPROVE, end.to, data, 0), promise)
    signed = await client.sign(review)
    await client.broadcast(signed.hash)
