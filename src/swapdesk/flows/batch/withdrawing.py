"""Taking out what a smart account holds: its owner has it paid back, and nobody else is paid.

Looked at first: what the account has of the coin and of every token, and what the EntryPoint
keeps for its gas. Where the account does not stand yet, a transaction of its own makes it. Each
is in the journal before it is signed and in the wallet's records before a byte of it leaves; one
that an earlier run left open is finished instead of signed again.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from swapdesk.acts import State
from swapdesk.clock import Clock
from swapdesk.flows.batch.bundle_promise import group_name, relying, smart_accounts
from swapdesk.flows.catalog.catalog import native_coin
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.journal import payments
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import OPEN, ClaimTaken, Ledger, Operation
from swapdesk.flows.journal.payments import Bundle, Sum
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.signing.signing_session import (
    RunningSignings,
    SigningKind,
    SigningSession,
    transaction_brief,
)
from swapdesk.flows.signing.wallet_signing import (
    Sending,
    carried_out,
    carry_out,
    nothing_paid,
    token_facts,
)
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
from swapdesk.wallet.answers import Review, SignedTransaction, SmartAccount
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    Asset,
    Payload,
    Promise,
    Purpose,
    TakenOut,
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
            payload = held.deployment or await client.withdrawal(promise)
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
            if end is not None and end.final:
                code = None if end.state is State.DONE else end.word.upper()
                self._journal.ledger.move(act.id, end.state, code=code, hash=end.hash)

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


TakingBack = tuple[Account, ChainLink]
"""Everything of the smart account of an account, while it comes back to its owner."""
_AGAIN = "you: d on the smart account asks again"


async def take_back(session: SigningSession[TakingBack], wallet: LocalWallet) -> Outcome:
    """Take out everything; the first transaction of an account that does not stand makes it.
    Raises as :func:`carry_out` does."""
    taken: tuple[Sum, ...] | None = None
    withdrawing = Withdrawing(wallet, session.journal, session.clock, session)

    async def propose() -> Sending | Outcome:
        step = await withdrawing.propose(*session.about)
        if isinstance(step, Outcome):
            return step

        async def send() -> Outcome:
            nonlocal taken
            outcome = await withdrawing.send(step)
            taken = withdrawing.taken(step)
            return outcome

        return (step.proposal if isinstance(step, Withdrawal) else step), send

    outcome = await carry_out(session, propose)
    while outcome.done and taken is None:
        session.signed = session.payload = None
        session.started()
        outcome = await carry_out(session, propose)
    whole = ", ".join(f"{exact_amount(one.amount)} {one.symbol}" for one in taken or ())
    session.notice = f"is paid back: {whole or 'what it held'}."
    return outcome


def _whereabouts(session: SigningSession[TakingBack]) -> str:
    if session.outcome is not None and session.outcome.done:
        return session.kind.arrived
    away = transaction_brief(session)
    return "in your smart account" if away is None else "in your smart account, or back"


WITHDRAWAL = SigningKind[TakingBack](
    noun="withdrawal",
    promise="request",
    expired="NOT_CONFIRMED",
    done="What the smart account held is back in your wallet.",
    work=lambda desk, session: carried_out(
        desk, session, session.about[0], lambda: take_back(session, desk.wallet), _AGAIN
    ),
    pays=nothing_paid,
    whereabouts=_whereabouts,
    after="you",
    rank=3,
)


def begin_withdrawal(
    running: RunningSignings, account: Account, link: ChainLink
) -> SigningSession[TakingBack]:
    """The session of a withdrawal."""
    wallet, coin = running.desk.wallet, native_coin(running.desk.catalog, link.name)
    symbol = coin.symbol if coin is not None else ""
    token = token_facts(wallet, link, Asset(symbol, COIN_DECIMALS[link.kind], None))
    return running.begin(
        WITHDRAWAL,
        _name(Purpose.WITHDRAW, account, link),
        (account, link),
        token,
        wallet=account.name or account.address,
        called=f"smart account on {token.chain_name}",
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
