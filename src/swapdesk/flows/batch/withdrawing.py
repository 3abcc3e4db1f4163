"""Taking out what a smart account holds: its owner has it paid back, and nobody else is paid.

Looked at first: what the account has of the coin and of every token, and what the EntryPoint
keeps for its gas. Where the account does not stand yet, a transaction of its own makes it. Each
is in the journal before it is signed and in the wallet's records before a byte of it leaves; one
that an earlier run left open is finished instead of signed again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from swapdesk.clock import Clock
from swapdesk.flows.batch.bundle_promise import group_name, relying, smart_accounts
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.journal import payments
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import OPEN, ClaimTaken, Ledger, Operation, State
from swapdesk.flows.journal.payments import Bundle, Sum
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.signing.wallet_signing import RunningWallet, WalletSigning
from swapdesk.flows.transactions import (
    OWN,
    ActEntry,
    Entry,
    Outcome,
    Proposal,
    SignedAction,
    Transactor,
    UnderWay,
    Watch,
    decisive,
    refused,
    under_way,
)
from swapdesk.flows.wallet.local_wallet import LocalWallet, own_promise
from swapdesk.wallet.accounts import COIN_DECIMALS, Account, ChainLink
from swapdesk.wallet.answers import FINAL, Review, SignedTransaction, SmartAccount, TransactionState
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    Asset,
    Payload,
    Promise,
    Purpose,
    TakenOut,
    TransactionPayload,
    WithdrawalPromise,
)

GAS_UNITS = 10**16
"""Most that one transaction may pay for gas: 0.01 of the chain's coin."""
MOST_PAYMENTS = 50
"""In one call of a smart account."""
NOTHING_HELD = "NOTHING_HELD"
"""The smart account has nothing of what was asked for."""


class Withdrawal(Struct, frozen=True):
    """What would be taken out of the smart account ``sender``. ``proposal`` is of the withdrawal,
    or, where the account does not stand, of what makes it."""

    sender: str
    taken: tuple[Sum, ...]
    proposal: Proposal


class Withdrawing:
    """Of one wallet. Methods raise WalletError for what happened before anything was sent, and
    JournalUnavailable."""

    def __init__(
        self, wallet: LocalWallet, journal: Journal, clock: Clock, watch: Watch | None = None
    ) -> None:
        """``watch`` hears how it goes."""
        self._wallet = wallet
        self._journal = journal
        self._clock = clock
        self._watch = watch

    async def propose(
        self,
        account: Account,
        link: ChainLink,
        token: str | None = None,
        *,
        despite_bundle: bool = False,
    ) -> Withdrawal | UnderWay | Outcome:
        """The review of the next transaction, the one that is under way, or why there is none.
        ``token`` is a symbol or a contract, None for everything. Nothing is signed."""
        client = await self._wallet.client()
        withdraw = _name(Purpose.WITHDRAW, account, link)
        deploy = _name(Purpose.DEPLOY, account, link)
        earlier = await client.transactions()
        self._reconcile(account, link, earlier)
        own = [one for one in earlier if one.intent_id.rpartition("#")[0] in (withdraw, deploy)]
        pending = under_way(own, Purpose.WITHDRAW, Purpose.DEPLOY)
        if pending is not None:
            return UnderWay(pending, self._earlier(pending))
        held = await client.smart_account(
            account.address, link.name, await self._assets(account, link)
        )
        bundle = relying(self._journal, account.address, link.name, self._clock.now())
        if bundle is not None and not despite_bundle:
            return _needed(self._journal.ledger, held.address, bundle, link)
        taken = _taken(held, token)
        if not taken:
            return _nothing(held, token, link)
        purpose = Purpose.WITHDRAW if held.deployment is None else Purpose.DEPLOY
        name = withdraw if purpose is Purpose.WITHDRAW else deploy
        count = sum(one.intent_id.rpartition("#")[0] == name for one in own)
        intent_id = f"{name}#{count}"
        promise = self._promise(account, link, taken, intent_id, purpose)

        def begin() -> Operation:
            return payments.begin_withdrawal(
                self._journal.ledger, intent_id, account.address, held.address, link.name, taken
            )

        async def review() -> tuple[Payload, Review]:
            call = held.deployment or await client.withdrawal(promise)
            payload = TransactionPayload(purpose, call.to, call.data, 0)
            return payload, await client.review(payload, promise)

        # Making the account moves no money and is not journaled.
        journaled = purpose is Purpose.WITHDRAW
        entry = ActEntry(self._journal.ledger, begin) if journaled else Entry()
        action = SignedAction(purpose, intent_id, review, entry)
        proposal = await self._transactor(client).propose(action)
        return Withdrawal(held.address, taken, proposal)

    async def send(self, step: Withdrawal | UnderWay, phrase: str | None = None) -> Outcome:
        """Sign what was proposed (nothing, where it was signed before), send it, and wait until
        it counts. Done: it is back with the owner, or the account stands and what it holds can be
        taken out now. Refused: everything is where it was, and a ``hash`` is of what cost gas."""
        transactor = self._transactor(await self._wallet.client())
        signing = step.proposal if isinstance(step, Withdrawal) else step
        try:
            came = await transactor.send(signing, phrase)
        except ClaimTaken:
            return _taken_already()
        stays = Failure(
            "Nothing was taken out.",
            "in your smart account; gas may have been paid",
            "you: give the command again, which looks at it anew",
        )
        meanwhile = "in your smart account, or back in your wallet"
        return came.outcome("NOT_WITHDRAWN", stays, meanwhile)

    def _transactor(self, client: WalletClient) -> Transactor:
        return Transactor(client, self._clock, OWN, watch=self._watch)

    def taken(self, step: Withdrawal | UnderWay) -> tuple[Sum, ...] | None:
        """What a step takes out; None where it only makes the account. Raises
        JournalUnavailable."""
        if isinstance(step, Withdrawal):
            purpose, intent_id = step.proposal.action.purpose, step.proposal.action.intent_id
        else:
            purpose, intent_id = step.transaction.purpose, step.transaction.intent_id
        if purpose is not Purpose.WITHDRAW:
            return None
        act = payments.withdrawal_of(self._journal.ledger, intent_id)
        return () if act is None else payments.taken_of(act)

    def _earlier(self, signed: SignedTransaction) -> Entry:
        """The entry of a transaction that an earlier run signed."""
        act = payments.withdrawal_of(self._journal.ledger, signed.intent_id)
        if signed.purpose is not Purpose.WITHDRAW or act is None:
            return Entry()

        ledger, body, taken = self._journal.ledger, act.body, payments.taken_of(act)

        def begin() -> Operation:
            return payments.begin_withdrawal(
                ledger, signed.intent_id, body["account"], body["sender"], body["chain"], taken
            )

        return ActEntry(self._journal.ledger, begin, act)

    def _reconcile(
        self, account: Account, link: ChainLink, earlier: Sequence[SignedTransaction]
    ) -> None:
        """Commit what became of withdrawals that ended while nobody here looked."""
        for act in payments.withdrawals(self._journal.ledger, account.address, link.name, *OPEN):
            intent_id = payments.intent_of(act)
            same = [
                signed
                for signed in earlier
                if signed.intent_id == intent_id and signed.purpose is Purpose.WITHDRAW
            ]
            end = decisive(same)
            if end is None or end.state not in FINAL:
                continue
            if end.state is TransactionState.SUCCEEDED:
                self._journal.ledger.move(act.id, State.DONE, hash=end.hash)
            else:
                self._journal.ledger.move(
                    act.id, State.REFUSED, code=end.state.value.upper(), hash=end.hash
                )

    async def _assets(self, account: Account, link: ChainLink) -> list[Asset]:
        """The coin and the verified tokens of the chain, and whatever a bundle was to be paid
        with."""
        found = {one.contract: one for one in await self._wallet.tokens.assets(link.name)}
        for asset in smart_accounts(self._journal).get((account.address, link.name), ()):
            found.setdefault(asset.contract, asset)
        return list(found.values())

    def _promise(
        self,
        account: Account,
        link: ChainLink,
        taken: Sequence[Sum],
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


class WithdrawalSigning(WalletSigning):
    """Everything of a smart account, while it comes back to its owner."""

    NOUN = "withdrawal"
    DONE = "What the smart account held is back in your wallet."
    AGAIN = "you: d on the smart account asks again"

    def __init__(
        self,
        wallet: LocalWallet,
        journal: Journal,
        clock: Clock,
        account: Account,
        link: ChainLink,
        changed: Callable[[], None],
        *,
        coin: str = "",
    ) -> None:
        token = Asset(coin, COIN_DECIMALS[link.kind], None)
        super().__init__(wallet, clock, account, link, token, changed, coin=coin)
        self._withdrawing = Withdrawing(wallet, journal, clock, self)
        self._step: Withdrawal | UnderWay | None = None
        self.called = f"smart account on {self.token.chain_name}"

    @property
    def id(self) -> str:
        return _name(Purpose.WITHDRAW, self.account, self.link)

    @property
    def whereabouts(self) -> str:
        if self.outcome is not None and self.outcome.done:
            return self._arrived
        return "in your smart account" if self.brief is None else "in your smart account, or back"

    @property
    def _arrived(self) -> str:
        return "in your wallet"

    @property
    def notice(self) -> str:
        step = self._step
        taken = self._withdrawing.taken(step) if step is not None else None
        whole = ", ".join(f"{exact_amount(one.amount)} {one.symbol}" for one in taken or ())
        return f"is paid back: {whole or 'what it held'}."

    async def _propose(self) -> Proposal | UnderWay | Outcome:
        step = await self._withdrawing.propose(self.account, self.link)
        self._step = None if isinstance(step, Outcome) else step
        return step.proposal if isinstance(step, Withdrawal) else step

    async def _send(self, step: Proposal | UnderWay) -> Outcome:
        assert self._step is not None, "it was proposed"
        return await self._withdrawing.send(self._step)

    @property
    def _goes_on(self) -> bool:
        """The first transaction of an account that does not stand makes it."""
        return self._step is not None and self._withdrawing.taken(self._step) is None


def begin_withdrawal(running: RunningWallet, account: Account, link: ChainLink) -> WalletSigning:
    """The session of a withdrawal, the one there is while it is not over."""
    id_ = _name(Purpose.WITHDRAW, account, link)
    return running.begin(
        id_,
        lambda desk, changed, coin: WithdrawalSigning(
            desk.wallet, desk.journal, desk.clock, account, link, changed, coin=coin
        ),
        link,
    )


def _nothing(held: SmartAccount, token: str | None, link: ChainLink) -> Outcome:
    asked = [one for one in held.balances if token is None or _is(one.asset, token)]
    unread = [one.asset.symbol for one in asked if one.units is None]
    what = f"no {token}" if token else "nothing"
    said = f"Your smart account {held.address} on {link.name} holds {what}."
    if unread:
        said += f" {', '.join(unread)} did not answer."
    next_ = "you: swapdesk wallet balance shows what you have"
    return refused(NOTHING_HELD, Failure(said, "in your wallet", next_))


def _taken_already() -> Outcome:
    failure = Failure(
        "Another withdrawal from this smart account is under way.",
        "in your smart account, or back in your wallet",
        "you: let it end first, then give the command again",
    )
    return refused("OTHER_UNDER_WAY", failure)


def _needed(ledger: Ledger, sender: str, bundle: Bundle, link: ChainLink) -> Outcome:
    """A bundle counts on what the account holds; nothing is taken out beside it."""
    name = group_name(ledger, bundle)
    failure = Failure(
        f"What the smart account on {link.name} holds is for {name}, whose bundle is"
        f" {bundle.word}. Taken out, it would fail.",
        f"in your smart account {sender}",
        "you: let it end first, or take the money out all the same with --despite-bundle",
    )
    return refused("NEEDED_BY_BUNDLE", failure)


def _name(purpose: Purpose, account: Account, link: ChainLink) -> str:
    return f"{purpose} {account.address} {link.name}"


def _is(asset: Asset, token: str) -> bool:
    return token.lower() in (asset.symbol.lower(), (asset.contract or "").lower())


def _taken(held: SmartAccount, token: str | None) -> tuple[Sum, ...]:
    """Everything of it that was asked for, what is kept for gas last."""
    wanted = [one for one in held.balances if token is None or _is(one.asset, token)]
    taken = [
        Sum(one.asset.symbol, one.asset.decimals, one.asset.contract, one.units)
        for one in wanted
        if one.units
    ]
    coin = next((one.asset for one in wanted if one.asset.contract is None), None)
    if coin is None or not held.prepaid:
        return tuple(taken[:MOST_PAYMENTS])
    prepaid = Sum(coin.symbol, coin.decimals, None, held.prepaid, prepaid=True)
    return (*taken[: MOST_PAYMENTS - 1], prepaid)
