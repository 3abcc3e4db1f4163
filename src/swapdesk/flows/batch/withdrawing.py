"""Taking out what a smart account holds: its owner has it paid back, and nobody else is paid.

Looked at first: what the account has of the coin and of every token, and what the EntryPoint
keeps for its gas. Where the account does not stand yet, a transaction of its own makes it. Each
is in the journal before it is signed and in the wallet's records before a byte of it leaves; one
that an earlier run left open is finished instead of signed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swapdesk.clock import Clock
from swapdesk.flows.batch.shared_account import relying
from swapdesk.flows.batch.smart_accounts import bundle_assets
from swapdesk.flows.journal.bundle_records import JournaledBundle
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.withdrawal_log import Taken
from swapdesk.flows.transactions.delivery import OWN, OnItsWay, deliver
from swapdesk.flows.transactions.same_nonce import decisive, under_way
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.own_promise import own_promise
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.holdings import SmartAccount
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.promise import Asset, Promise, Purpose, TakenOut, WithdrawalPromise
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import FINAL, SignedTransaction, TransactionState

GAS_UNITS = 10**16
"""Most that one transaction may pay for gas: 0.01 of the chain's coin."""
MOST_PAYMENTS = 50
"""In one call of a smart account."""


@dataclass(frozen=True)
class Proposed:
    """What would be signed: a withdrawal of ``taken``, or, where the account does not stand, what
    makes it. ``review.refused``: nothing can be."""

    account: Account
    link: ChainLink
    sender: str
    taken: tuple[Taken, ...]
    review: Review
    purpose: Purpose
    intent_id: str


@dataclass(frozen=True)
class Open:
    """An earlier run signed this and it is not finished."""

    transaction: SignedTransaction


@dataclass(frozen=True)
class Nothing:
    """The smart account has nothing that was asked for. ``unread`` are the symbols of tokens that
    did not answer."""

    sender: str
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class NeededByBundle:
    """A bundle counts on what the account holds; nothing is taken out beside it."""

    sender: str
    bundle: JournaledBundle


@dataclass(frozen=True)
class Withdrawn:
    """It is back with the owner, and counts on the chain."""

    hash: str
    taken: tuple[Taken, ...]


@dataclass(frozen=True)
class Deployed:
    """The smart account stands; what it holds can be taken out now."""

    hash: str


@dataclass(frozen=True)
class NotWithdrawn:
    """Everything is where it was. ``hash`` when gas was paid for a transaction that failed."""

    reason: str
    hash: str | None = None


Step = Proposed | Open | Nothing | NeededByBundle
Ended = Withdrawn | Deployed | NotWithdrawn | OnItsWay


class Withdrawing:
    """Of one wallet. Methods raise WalletError for what happened before anything was sent, and
    JournalUnavailable."""

    def __init__(self, wallet: LocalWallet, journal: Journal, clock: Clock) -> None:
        self._wallet = wallet
        self._journal = journal
        self._clock = clock

    async def propose(
        self,
        account: Account,
        link: ChainLink,
        token: str | None = None,
        *,
        despite_bundle: bool = False,
    ) -> Step:
        """The review of the next transaction, or why there is none. ``token`` is a symbol or a
        contract, None for everything. Nothing is signed."""
        client = await self._wallet.client()
        withdraw = _name(Purpose.WITHDRAW, account, link)
        deploy = _name(Purpose.DEPLOY, account, link)
        earlier = await client.transactions()
        self._reconcile(account, link, earlier)
        own = [one for one in earlier if one.intent_id.rpartition("#")[0] in (withdraw, deploy)]
        pending = under_way(own, Purpose.WITHDRAW, Purpose.DEPLOY)
        if pending is not None:
            return Open(pending)
        held = await client.smart_account(
            account.address, link.name, await self._assets(account, link)
        )
        bundle = relying(self._journal, account.address, link.name, self._clock.now())
        if bundle is not None and not despite_bundle:
            return NeededByBundle(held.address, bundle)
        taken = _taken(held, token)
        if not taken:
            asked = [one for one in held.balances if token is None or _is(one.asset, token)]
            unread = tuple(one.asset.symbol for one in asked if one.units is None)
            return Nothing(held.address, unread)
        purpose = Purpose.WITHDRAW if held.deployment is None else Purpose.DEPLOY
        name = withdraw if purpose is Purpose.WITHDRAW else deploy
        count = sum(one.intent_id.rpartition("#")[0] == name for one in own)
        promise = self._promise(account, link, taken, f"{name}#{count}", purpose)
        call = held.deployment or await client.withdrawal(promise)
        review = await client.review(TransactionPayload(purpose, call.to, call.data, 0), promise)
        return Proposed(account, link, held.address, taken, review, purpose, promise.intent_id)

    async def send(self, step: Proposed | Open, phrase: str | None = None) -> Ended:
        """Sign what was proposed (nothing, where it was signed before), send it, and wait until
        it counts."""
        client = await self._wallet.client()
        if isinstance(step, Open):
            return await self._delivered(client, step.transaction)
        if step.purpose is Purpose.WITHDRAW:
            self._journal.withdrawals.begin(
                step.intent_id, step.account.address, step.sender, step.link.name, step.taken
            )
        signed = await client.sign(step.review, phrase)
        if not isinstance(signed, SignedTransaction):
            return NotWithdrawn("The wallet signed something else than a transaction.")
        return await self._delivered(client, signed)

    async def _delivered(self, client: WalletClient, signed: SignedTransaction) -> Ended:
        withdraws = signed.purpose is Purpose.WITHDRAW
        if withdraws:
            self._journal.withdrawals.sent(signed.intent_id, signed.hash)
        came = await deliver(client, self._clock, signed, OWN)
        one = came.transaction
        if not came.final:
            return OnItsWay(one.hash, came.reason)
        succeeded = one.state is TransactionState.SUCCEEDED
        if withdraws:
            self._journal.withdrawals.ended(signed.intent_id, one.hash, succeeded=succeeded)
        if not succeeded:
            return NotWithdrawn(f"The transaction is {one.state}.", one.hash)
        if not withdraws:
            return Deployed(one.hash)
        entry = self._journal.withdrawals.get(signed.intent_id)
        return Withdrawn(one.hash, entry.taken if entry is not None else ())

    def _reconcile(
        self, account: Account, link: ChainLink, earlier: Sequence[SignedTransaction]
    ) -> None:
        """Commit what became of withdrawals that ended while nobody here looked."""
        for entry in self._journal.withdrawals.open(account.address, link.name):
            same = [
                one
                for one in earlier
                if one.intent_id == entry.intent_id and one.purpose is Purpose.WITHDRAW
            ]
            found = decisive(same)
            if found is not None and found.state in FINAL:
                succeeded = found.state is TransactionState.SUCCEEDED
                self._journal.withdrawals.ended(entry.intent_id, found.hash, succeeded=succeeded)

    async def _assets(self, account: Account, link: ChainLink) -> list[Asset]:
        """The coin and the verified tokens of the chain, and whatever a bundle was to be paid
        with."""
        found = {one.contract: one for one in await self._wallet.tokens.assets(link.name)}
        for asset in bundle_assets(self._journal, account.address, link.name):
            found.setdefault(asset.contract, asset)
        return list(found.values())

    def _promise(
        self,
        account: Account,
        link: ChainLink,
        taken: Sequence[Taken],
        intent_id: str,
        purpose: Purpose,
    ) -> Promise:
        first = taken[0]
        sell = Asset(first.symbol, first.decimals, first.contract)
        withdrawal = None
        if purpose is Purpose.WITHDRAW:
            withdrawal = WithdrawalPromise(
                tuple(
                    TakenOut(Asset(one.symbol, one.decimals, one.contract), one.units)
                    for one in taken
                    if not one.prepaid
                ),
                sum(one.units for one in taken if one.prepaid),
            )
        return own_promise(
            intent_id, account.address, link, sell, self._clock.now(), GAS_UNITS, withdrawal
        )


def _name(purpose: Purpose, account: Account, link: ChainLink) -> str:
    return f"{purpose} {account.address} {link.name}"


def _is(asset: Asset, token: str) -> bool:
    return token.lower() in (asset.symbol.lower(), (asset.contract or "").lower())


def _taken(held: SmartAccount, token: str | None) -> tuple[Taken, ...]:
    """Everything of it that was asked for, what is kept for gas last."""
    wanted = [one for one in held.balances if token is None or _is(one.asset, token)]
    taken = [
        Taken(one.asset.symbol, one.asset.decimals, one.asset.contract, one.units)
        for one in wanted
        if one.units
    ]
    coin = next((one.asset for one in wanted if one.asset.contract is None), None)
    if coin is None or not held.prepaid:
        return tuple(taken[:MOST_PAYMENTS])
    prepaid = Taken(coin.symbol, coin.decimals, None, held.prepaid, prepaid=True)
    return (*taken[: MOST_PAYMENTS - 1], prepaid)
