"""Ending an allowance: looked at first, signed once, sent until the chain has it.

The transaction is in the agent's records before a byte of it leaves, under a name that follows
from the allowance; one that an earlier run left open is finished instead of signed again.
"""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.clock import Clock
from swapdesk.flows.transactions.delivery import OWN, OnItsWay, deliver
from swapdesk.flows.transactions.same_nonce import under_way
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.own_promise import own_promise
from swapdesk.wallet.accounts import Account, Kind
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.holdings import Allowance
from swapdesk.wallet.payload import SolanaPayload, TransactionPayload
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Review, Severity
from swapdesk.wallet.transactions import SignedTransaction, TransactionState

GAS_UNITS = {Kind.EVM: 10**16, Kind.SOLANA: 10**7}
"""Most that may be paid for gas: 0.01 of the chain's coin."""


@dataclass(frozen=True)
class Proposed:
    """What would be signed, and the agent's findings. ``review.refused``: nothing can be."""

    account: Account
    link: ChainLink
    allowance: Allowance
    review: Review

    @property
    def refusal(self) -> str | None:
        """Why a word typed by the trader does not sign it, in sentences; None where it does."""
        if not self.review.refused and self.review.phrase is None:
            return None
        found = sorted(self.review.findings, key=lambda one: one.severity is not Severity.REFUSE)
        return f"{found[0].words} Rule {found[0].code}." if found else "It is not understood."


@dataclass(frozen=True)
class Open:
    """An earlier run signed this revocation and it is not finished."""

    account: Account
    link: ChainLink
    allowance: Allowance
    transaction: SignedTransaction
    refusal = None


@dataclass(frozen=True)
class Revoked:
    """The allowance is over; it counts on the chain."""

    hash: str


@dataclass(frozen=True)
class NotRevoked:
    """The allowance stands. ``hash`` when gas was paid for a transaction that failed."""

    reason: str
    hash: str | None = None


Ended = Revoked | NotRevoked | OnItsWay


class Revoking:
    """Of one wallet. Methods raise WalletError for what happened before anything was sent."""

    def __init__(self, wallet: LocalWallet, clock: Clock) -> None:
        self._wallet = wallet
        self._clock = clock

    async def propose(
        self, account: Account, link: ChainLink, allowance: Allowance
    ) -> Proposed | Open:
        """The review of the revocation, or the one that is under way. Nothing is signed."""
        client = await self._wallet.client()
        name = _name(account, link, allowance)
        earlier = [
            one for one in await client.transactions() if one.intent_id.rpartition("#")[0] == name
        ]
        pending = under_way(earlier, Purpose.REVOKE)
        if pending is not None:
            return Open(account, link, allowance, pending)
        payload = await _payload(client, account, link, allowance)
        promise = own_promise(
            f"{name}#{len(earlier)}",
            account.address,
            link,
            allowance.token,
            self._clock.now(),
            GAS_UNITS[account.kind],
        )
        return Proposed(account, link, allowance, await client.review(payload, promise))

    async def revoke(self, proposed: Proposed | Open, phrase: str | None = None) -> Ended:
        """Sign what was proposed (nothing, where it was signed before), send it, and wait until
        it counts."""
        client = await self._wallet.client()
        if isinstance(proposed, Open):
            return await self._delivered(client, proposed.transaction)
        signed = await client.sign(proposed.review, phrase)
        if not isinstance(signed, SignedTransaction):
            return NotRevoked("The wallet signed something else than a transaction.")
        return await self._delivered(client, signed)

    async def _delivered(self, client: WalletClient, signed: SignedTransaction) -> Ended:
        came = await deliver(client, self._clock, signed, OWN)
        one = came.transaction
        if one.state is TransactionState.SUCCEEDED:
            return Revoked(one.hash)
        if came.final:
            return NotRevoked(f"The transaction is {one.state}.", one.hash)
        return OnItsWay(one.hash, came.reason)


async def _payload(
    client: WalletClient, account: Account, link: ChainLink, allowance: Allowance
) -> TransactionPayload | SolanaPayload:
    """What ends the allowance; on Solana it ends whoever may take of the token, which is one."""
    token = allowance.token.contract or ""
    if account.kind is Kind.SOLANA:
        made = await client.solana_revocation(account.address, link.name, token)
        return SolanaPayload(Purpose.REVOKE, made.transaction, made.last_valid_height)
    call = await client.revocation(token, allowance.spender, permit2=allowance.permit2)
    return TransactionPayload(Purpose.REVOKE, call.to, call.data, 0)


def _name(account: Account, link: ChainLink, allowance: Allowance) -> str:
    kept = " permit2" if allowance.permit2 else ""
    token = allowance.token.contract
    return f"revoke {account.address} {link.name} {token} {allowance.spender}{kept}"
