"""Takes money out of a smart account and sends it to the account's owner, and to nobody else.

The balances are read first: the native coin, every token, and what the EntryPoint contract keeps
for the account's gas. If the smart account is not deployed yet, a separate transaction deploys it.
Each withdrawal is journaled before it is signed, and is in the wallet's records before it is sent.
A withdrawal that an earlier run left open is continued and not signed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from swapdesk.acts import State
from swapdesk.clock import Clock
from swapdesk.flows.batch import bundles
from swapdesk.flows.batch.bundles import Bundle, group_name, relying, smart_accounts
from swapdesk.flows.catalog.catalog import native_coin
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import OPEN, ClaimTaken, Ledger
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.payments import Sum
from swapdesk.flows.signing.signing_session import (
    RunningSignings,
    SigningKind,
    SigningSession,
    transaction_brief,
)
from swapdesk.flows.signing.wallet_signing import (
    carried_out,
    carry_out,
    nothing_paid,
    token_facts,
)
from swapdesk.flows.transactions import (
    ActEntry,
    Delivered,
    Entry,
    Outcome,
    Step,
    Watch,
    decisive,
    of_name,
    refused,
    under_way,
)
from swapdesk.flows.wallet.local_wallet import LocalWallet, own_promise
from swapdesk.wallet.accounts import COIN_DECIMALS, ChainLink
from swapdesk.wallet.answers import Balance, SignedTransaction, SmartAccount
from swapdesk.wallet.promise import (
    Asset,
    Promise,
    Purpose,
    TakenOut,
    WithdrawalPromise,
)

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

GAS_UNITS = 10**16
"""The most that one transaction may cost for gas: 0.01 of the chain's native coin, in base
units."""
MOST_PAYMENTS = 50
"""The most payments in one call of a smart account."""
NOTHING_HELD = "NOTHING_HELD"
"""The code of a refused withdrawal for which the smart account holds nothing."""
_EITHER = "in your smart account, or back in your wallet"


class Withdrawal(Step, frozen=True, kw_only=True):
    """A transaction that moves ``taken`` from the smart account ``sender`` to its owner. If its
    purpose is DEPLOY, it only deploys the account, and ``taken`` can be withdrawn afterwards."""

    sender: str = ""
    taken: tuple[Sum, ...] = ()

    async def send(self, phrase: str | None = None) -> Outcome:
        """Sends the transaction. If the outcome is refused, no money moved; its ``hash`` then names
        a failed transaction that cost gas. Raises JournalUnavailable and the errors of
        :meth:`Step.send`."""
        try:
            return await super().send(phrase)
        except ClaimTaken:
            return _taken_already()


async def propose_withdrawal(
    wallet: LocalWallet,
    journal: Journal,
    clock: Clock,
    account: str,
    link: ChainLink,
    token: str | None = None,
    despite_bundle: bool = False,
    watch: Watch | None = None,
) -> Withdrawal | Outcome:
    """Returns the next transaction to sign or follow, or an outcome if there is none. Signs
    nothing. ``token`` None means all tokens. ``despite_bundle`` True allows taking out what a
    bundle needs. Raises WalletError and JournalUnavailable."""
    ledger, client = journal.ledger, await wallet.client()
    earlier = await client.transactions()
    _reconcile(ledger, account, link, earlier)
    purposes = Purpose.WITHDRAW, Purpose.DEPLOY
    own = of_name(earlier, *(_name(purpose, account, link) for purpose in purposes))
    step = _step(wallet, clock, watch)
    pending = under_way(own, *purposes)
    if pending is not None:
        return _resumed(step, ledger, pending)
    assets = await _assets(wallet, journal, account, link)
    held = await client.smart_account(account, link.name, assets)
    bundle = relying(journal, account, link.name, clock.now())
    if bundle is not None and not despite_bundle:
        return _needed(ledger, held.address, bundle, link)
    balances = [balance for balance in held.balances if token is None or _is(balance.asset, token)]
    taken = _taken(held, balances)
    if not taken:
        return _nothing(held, balances, token, link)
    purpose = Purpose.WITHDRAW if held.deployment is None else Purpose.DEPLOY
    name = _name(purpose, account, link)
    intent_id = f"{name}#{len(of_name(own, name))}"
    promise = _promise(account, link, taken, intent_id, purpose, clock.now())
    payload = held.deployment or await client.withdrawal(promise)
    entry = Entry()
    # Making the account moves no money and is not journaled.
    if purpose is Purpose.WITHDRAW:
        names = intent_id, account, held.address, link.name, taken
        entry = ActEntry(ledger, partial(bundles.begin_withdrawal, ledger, *names))
    review = await client.review(payload, promise)
    proposed = replace(step, payload=payload, review=review, entry=entry)
    return replace(proposed, sender=held.address, taken=taken)


def _step(wallet: LocalWallet, clock: Clock, watch: Watch | None) -> Withdrawal:
    return Withdrawal(client=wallet.client, clock=clock, ended=_ended, watch=watch)


async def _ended(came: Delivered) -> Outcome:
    stays = Failure(
        "Nothing was taken out.",
        "in your smart account; gas may have been paid",
        "you: give the command again, which looks at it anew",
    )
    return came.outcome("NOT_WITHDRAWN", stays, _EITHER)


def _resumed(step: Withdrawal, ledger: Ledger, signed: SignedTransaction) -> Withdrawal:
    step = replace(step, transaction=signed)
    act = bundles.withdrawal_of(ledger, signed.intent_id)
    if signed.purpose is not Purpose.WITHDRAW or act is None:
        return step
    body, taken = act.body, bundles.taken_of(act)
    names = signed.intent_id, body["account"], body["sender"], body["chain"], taken
    begin = partial(bundles.begin_withdrawal, ledger, *names)
    return replace(step, entry=ActEntry(ledger, begin, act), taken=taken)


def _reconcile(
    ledger: Ledger, account: str, link: ChainLink, earlier: Sequence[SignedTransaction]
) -> None:
    for act in bundles.withdrawals(ledger, account, link.name, *OPEN):
        name = bundles.signed_under(act), Purpose.WITHDRAW
        end = decisive(
            [
                transaction
                for transaction in earlier
                if (transaction.intent_id, transaction.purpose) == name
            ]
        )
        if end is not None and end.final:
            code = None if end.state is State.DONE else end.word.upper()
            ledger.move(act.id, end.state, code=code, hash=end.hash)


async def _assets(
    wallet: LocalWallet, journal: Journal, account: str, link: ChainLink
) -> list[Asset]:
    assets = {one.contract: one for one in await wallet.tokens.assets(link.name)}
    for asset in smart_accounts(journal).get((account, link.name), ()):
        assets.setdefault(asset.contract, asset)
    return list(assets.values())


def _promise(
    account: str,
    link: ChainLink,
    taken: Sequence[Sum],
    intent_id: str,
    purpose: Purpose,
    now: datetime,
) -> Promise:
    first = taken[0]
    sell = Asset(first.symbol, first.decimals, first.contract)
    withdrawal = None
    if purpose is Purpose.WITHDRAW:
        withdrawal = WithdrawalPromise(
            tuple(
                TakenOut(Asset(amount.symbol, amount.decimals, amount.contract), amount.units)
                for amount in taken
                if not amount.prepaid
            ),
            sum(amount.units for amount in taken if amount.prepaid),
        )
    return own_promise(intent_id, account, link, sell, now, GAS_UNITS, withdrawal)


TakingBack = tuple[str, ChainLink]
"""What a withdrawal session is about: the owner's address and the chain of the smart account."""
_AGAIN = "you: d on the smart account asks again"


async def _work(desk: Desk, session: SigningSession[TakingBack]) -> Outcome | None:
    work = take_back if session.asked else _followed
    owner = session.about[0]
    return await carried_out(desk, session, owner, lambda: work(session, desk.wallet), _AGAIN)


async def _followed(session: SigningSession[TakingBack], wallet: LocalWallet) -> Outcome | None:
    accounts, (owner, link) = await wallet.accounts(), session.about
    if accounts.read_only:
        return None
    name = next((account.name for account in accounts.accounts if account.address == owner), "")
    session.says("", wallet=name)
    client, ledger = await wallet.client(), session.journal.ledger
    for act in bundles.withdrawals(ledger, owner, link.name, *OPEN):
        signed = await client.transactions(bundles.signed_under(act))
        decides = decisive(
            [transaction for transaction in signed if transaction.purpose is Purpose.WITHDRAW]
        )
        if decides is not None:
            step = _step(wallet, session.clock, session)
            step = _resumed(step, ledger, decides)
            session.notice = _notice(step.taken)
            return await step.send()
    return None


async def take_back(session: SigningSession[TakingBack], wallet: LocalWallet) -> Outcome:
    """Takes everything out of the smart account, which is deployed first if necessary. Raises
    WalletError, NotAgreed, NotSignable and JournalUnavailable."""
    step: Withdrawal | Outcome = Outcome()

    async def propose() -> Withdrawal | Outcome:
        nonlocal step
        journal, clock = session.journal, session.clock
        step = await propose_withdrawal(wallet, journal, clock, *session.about, watch=session)
        return step

    outcome = await carry_out(session, propose)
    while outcome.done and isinstance(step, Withdrawal) and step.purpose is Purpose.DEPLOY:
        session.signed = session.payload = None
        session.started()
        outcome = await carry_out(session, propose)
    session.notice = _notice(step.taken if isinstance(step, Withdrawal) else ())
    return outcome


def _notice(taken: Sequence[Sum]) -> str:
    whole = ", ".join(f"{exact_amount(amount.amount)} {amount.symbol}" for amount in taken)
    return f"is paid back: {whole or 'what it held'}."


def _whereabouts(session: SigningSession[TakingBack]) -> str:
    if session.outcome is not None and session.outcome.done:
        return session.kind.arrived
    known = session.asked or session.signed is not None
    return "in your smart account" if known and transaction_brief(session) is None else _EITHER


WITHDRAWAL = SigningKind[TakingBack](
    noun="withdrawal",
    promise="request",
    expired="NOT_CONFIRMED",
    done="What the smart account held is back in your wallet.",
    work=_work,
    pays=nothing_paid,
    whereabouts=_whereabouts,
    after="you",
    rank=3,
)


def begin_withdrawal(
    running: RunningSignings, account: str, link: ChainLink, wallet: str = "", *, asked: bool = True
) -> SigningSession[TakingBack]:
    """Begins the session of a withdrawal. ``account`` is the owner's address, ``wallet`` its name.
    ``asked`` is False if an earlier run left the withdrawal open."""
    coin = native_coin(running.desk.catalog, link.name)
    symbol = coin.symbol if coin is not None else ""
    token = token_facts(running.desk.wallet, link, Asset(symbol, COIN_DECIMALS[link.kind], None))
    return running.begin(
        WITHDRAWAL,
        _name(Purpose.WITHDRAW, account, link),
        (account, link),
        token,
        wallet=wallet or account,
        asked=asked,
        called=f"smart account on {token.chain_name}",
    )


def withdrawals_left_open(running: RunningSignings) -> None:
    """Begins a session for each open withdrawal that this process is not working on. Raises
    JournalUnavailable."""
    for act in bundles.open_withdrawals(running.desk.journal.ledger):
        account, link = act.body["account"], running.desk.wallet.link(act.body["chain"])
        if link is not None and running.get(_name(Purpose.WITHDRAW, account, link)) is None:
            begin_withdrawal(running, account, link, asked=False)


def _nothing(
    held: SmartAccount, asked: Sequence[Balance], token: str | None, link: ChainLink
) -> Outcome:
    unread = [balance.asset.symbol for balance in asked if balance.units is None]
    what = f"no {token}" if token else "nothing"
    cause = f"Your smart account {held.address} on {link.name} holds {what}."
    if unread:
        cause += f" {', '.join(unread)} did not answer."
    next_ = "you: swapdesk wallet balance shows what you have"
    return refused(NOTHING_HELD, Failure(cause, "in your wallet", next_))


def _taken_already() -> Outcome:
    failure = Failure(
        "Another withdrawal from this smart account is under way.",
        _EITHER,
        "you: let it end first, then give the command again",
    )
    return refused("OTHER_UNDER_WAY", failure)


def _needed(ledger: Ledger, sender: str, bundle: Bundle, link: ChainLink) -> Outcome:
    name = group_name(ledger, bundle)
    failure = Failure(
        f"What the smart account on {link.name} holds is for {name}, whose bundle is"
        f" {bundle.word}. Taken out, it would fail.",
        f"in your smart account {sender}",
        "you: let it end first, or take the money out all the same with --despite-bundle",
    )
    return refused("NEEDED_BY_BUNDLE", failure)


def _name(purpose: Purpose, account: str, link: ChainLink) -> str:
    return f"{purpose} {account} {link.name}"


def _is(asset: Asset, token: str) -> bool:
    return token.lower() in (asset.symbol.lower(), (asset.contract or "").lower())


def _taken(held: SmartAccount, asked: Sequence[Balance]) -> tuple[Sum, ...]:
    taken = [
        Sum(balance.asset.symbol, balance.asset.decimals, balance.asset.contract, balance.units)
        for balance in asked
        if balance.units
    ]
    coin = next((balance.asset for balance in asked if balance.asset.contract is None), None)
    if coin is None or not held.prepaid:
        return tuple(taken[:MOST_PAYMENTS])
    prepaid = Sum(coin.symbol, coin.decimals, None, held.prepaid, prepaid=True)
    return (*taken[: MOST_PAYMENTS - 1], prepaid)
