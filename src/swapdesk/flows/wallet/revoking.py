"""Ending an allowance: looked at first, signed once, sent until the chain has it.

The transaction is in the agent's records before a byte of it leaves, under a name that follows
from the allowance; one that an earlier run left open is finished instead of signed again.
"""

from __future__ import annotations

from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.transactions import (
    OWN,
    Outcome,
    Proposal,
    SignedAction,
    Transactor,
    UnderWay,
    Watch,
    under_way,
)
from swapdesk.flows.wallet.local_wallet import LocalWallet, own_promise
from swapdesk.wallet.accounts import Account, ChainLink, Kind
from swapdesk.wallet.answers import Allowance, Review
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Payload, Purpose, SolanaPayload, TransactionPayload

GAS_UNITS = {Kind.EVM: 10**16, Kind.SOLANA: 10**7}
"""Most that may be paid for gas: 0.01 of the chain's coin."""


class Revoking:
    """Of one wallet. Methods raise WalletError for what happened before anything was sent."""

    def __init__(self, wallet: LocalWallet, clock: Clock, watch: Watch | None = None) -> None:
        """``watch`` hears how it goes."""
        self._wallet = wallet
        self._clock = clock
        self._watch = watch

    async def propose(
        self, account: Account, link: ChainLink, allowance: Allowance
    ) -> Proposal | UnderWay:
        """The review of the revocation, or the one that is under way. Nothing is signed."""
        client = await self._wallet.client()
        name = revocation_id(account, link, allowance)
        earlier = [
            one for one in await client.transactions() if one.intent_id.rpartition("#")[0] == name
        ]
        pending = under_way(earlier, Purpose.REVOKE)
        if pending is not None:
            return UnderWay(pending)
        promise = own_promise(
            f"{name}#{len(earlier)}",
            account.address,
            link,
            allowance.token,
            self._clock.now(),
            GAS_UNITS[account.kind],
        )

        async def review() -> tuple[Payload, Review]:
            payload = await _payload(client, account, link, allowance)
            return payload, await client.review(payload, promise)

        action = SignedAction(Purpose.REVOKE, promise.intent_id, review)
        return await self._transactor(client).propose(action)

    async def send(self, step: Proposal | UnderWay, phrase: str | None = None) -> Outcome:
        """Sign what was proposed (nothing, where it was signed before), send it, and wait until
        it counts. Done: the allowance is over. Refused: it stands, and the ``hash`` is of a
        transaction that cost gas."""
        came = await self._transactor(await self._wallet.client()).send(step, phrase)
        stands = Failure(
            "The allowance stands.",
            "in your wallet; gas may have been paid",
            "you: look at wallet allowances",
        )
        meanwhile = "in your wallet; the allowance stands until it is confirmed"
        return came.outcome("NOT_REVOKED", stands, meanwhile)

    def _transactor(self, client: WalletClient) -> Transactor:
        return Transactor(client, self._clock, OWN, watch=self._watch)


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
