"""Ending an allowance: looked at first, signed once, sent until the chain has it.

The transaction is in the agent's records before a byte of it leaves, under a name that follows
from the allowance; one that an earlier run left open is finished instead of signed again.
"""

from __future__ import annotations

from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.transactions import Delivered, Outcome, Step, Watch, of_name, under_way
from swapdesk.flows.wallet.local_wallet import LocalWallet, own_promise
from swapdesk.wallet.accounts import Account, ChainLink, Kind
from swapdesk.wallet.answers import Allowance
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Purpose, SolanaPayload, TransactionPayload

GAS_UNITS = {Kind.EVM: 10**16, Kind.SOLANA: 10**7}
"""Most that may be paid for gas: 0.01 of the chain's coin."""


async def propose_revocation(
    wallet: LocalWallet,
    clock: Clock,
    account: Account,
    link: ChainLink,
    allowance: Allowance,
    watch: Watch | None = None,
) -> Step:
    """The revocation to sign, or the one that is under way. Sent and done, the allowance is over;
    refused, it stands, and the ``hash`` is of a transaction that cost gas. ``watch`` hears how it
    goes. Nothing is signed. Raises WalletError."""
    client = await wallet.client()
    name = revocation_id(account, link, allowance)
    earlier = of_name(await client.transactions(), name)
    step = Step(client=wallet.client, clock=clock, ended=_ended, watch=watch)
    pending = under_way(earlier, Purpose.REVOKE)
    if pending is not None:
        return replace(step, transaction=pending)
    gas, intent_id = GAS_UNITS[account.kind], f"{name}#{len(earlier)}"
    promise = own_promise(intent_id, account.address, link, allowance.token, clock.now(), gas)
    payload = await _payload(client, account, link, allowance)
    return replace(step, payload=payload, review=await client.review(payload, promise))


async def _ended(came: Delivered) -> Outcome:
    stands = Failure(
        "The allowance stands.",
        "in your wallet; gas may have been paid",
        "you: look at wallet allowances",
    )
    meanwhile = "in your wallet; the allowance stands until it is confirmed"
    return came.outcome("NOT_REVOKED", stands, meanwhile)


async def _payload(
    client: WalletClient, account: Account, link: ChainLink, allowance: Allowance
) -> TransactionPayload | SolanaPayload:
    """What ends the allowance; on Solana it ends whoever may take of the token, which is one."""
    token = allowance.token.contract or ""
    if account.kind is Kind.SOLANA:
        return await client.solana_revocation(account.address, link.name, token)
    return await client.revocation(token, allowance.spender, permit2=allowance.permit2)


def revocation_id(account: Account, link: ChainLink, allowance: Allowance) -> str:
    """``revoke 0x… base 0x… 0x…``, as the wallet's records name it."""
    kept = " permit2" if allowance.permit2 else ""
    token = allowance.token.contract
    return f"revoke {account.address} {link.name} {token} {allowance.spender}{kept}"
