"""What a wallet does by one transaction of its own, asked for by name: an allowance ends, one that
waits is cancelled or pays more, a smart account is emptied; and the list of all that was signed.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from swapdesk.cli.command_error import UNTOUCHED, CommandError, Exit, bad_input
from swapdesk.cli.consent import prepare, require_done
from swapdesk.cli.session import CommandSession
from swapdesk.cli.wallet_chains import account_or_all
from swapdesk.cli.wallet_session import account_on
from swapdesk.flows.batch.withdrawing import NOTHING_HELD, Withdrawal, Withdrawing
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.wallet_payment_log import Taken
from swapdesk.flows.notation import exact_amount, grouped_address, iso
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import UnderWay
from swapdesk.flows.wallet.replacement import (
    GAS_UNITS,
    REVERTED,
    WAITS,
    Replacement,
    bumping,
    cancelling,
)
from swapdesk.flows.wallet.revoking import Revoking
from swapdesk.wallet.accounts import Account, ChainLink, Kind
from swapdesk.wallet.holdings import Allowance
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import FINAL, SignedTransaction

_NONE_WAITS = "No transaction still waits."
_NONE = (
    "No transaction was signed. Payments of calls, permits and orders are signatures alone: wallet"
    " policy show says how much of each limit they use."
)


class TransactionsDocument(Struct, frozen=True):
    """Oldest first."""

    transactions: tuple[SignedTransaction, ...]


class ReplacedDocument(Struct, frozen=True):
    """``hash`` is the transaction that took the place of the one ``bumped`` or ``cancelled``; None
    where none was needed."""

    hash: str | None
    bumped: str | UnsetType = UNSET
    cancelled: str | UnsetType = UNSET


class RevokedDocument(Struct, frozen=True):
    """An allowance that ended, and the transaction that ended it."""

    account: str
    chain: str
    token: str | None
    spender: str
    hash: str | None


class WithdrawalDocument(Struct, frozen=True):
    """What came back to ``account``; ``deployment`` is the transaction that made the smart account,
    None where it stood before."""

    account: str
    chain: str
    withdrawn: Sequence[Taken]
    hash: str | None
    deployment: str | None


async def list_transactions(session: CommandSession, waiting: bool) -> None:
    """Every transaction that was signed, oldest first, as the wallet's own records have it."""
    signed = await (await session.desk.wallet.client()).transactions()
    shown = [one for one in signed if not (waiting and one.state in FINAL)]
    session.call.output.table(
        ("signed", "chain", "for", "state", "nonce", "hash"),
        [
            (iso(one.created), one.chain, str(one.purpose), str(one.state),
             "" if one.nonce is None else str(one.nonce), one.hash)
            for one in shown
        ],
        plain=[f"{one.hash} on {one.chain}, to {one.purpose}, is {one.state}." for one in shown],
        document=TransactionsDocument(tuple(shown)),
    )  # fmt: skip
    if not shown:
        session.call.output.talk(_NONE_WAITS if waiting else _NONE)


async def cancel_transaction(session: CommandSession, hash_: str, yes: bool) -> None:
    replacement = cancelling(session.desk.wallet, session.desk.clock)
    await _replace(session, replacement, hash_, yes)


async def bump_transaction(session: CommandSession, hash_: str, gas: int | None, yes: bool) -> None:
    units = GAS_UNITS if gas is None else gas
    await _replace(session, bumping(session.desk.wallet, session.desk.clock, units), hash_, yes)


async def _replace(
    session: CommandSession, replacement: Replacement, hash_: str, yes: bool
) -> None:
    """Exit 0 once what was asked for holds, 10 where it was executed in vain, 9 where nothing
    takes its place, 8 while both wait."""
    words = replacement.words
    step = await replacement.propose(hash_)
    if not isinstance(step, Outcome):
        before = words.signed_before(step.transaction) if isinstance(step, UnderWay) else ""
        await prepare(session, step, yes=yes, before=before, money=WAITS)
        step = await replacement.replace(step)
    outcome, failure = step, step.failure
    if failure is not None and outcome.code == words.kept_code:
        cause = words.stays(outcome, hash_)
        outcome = replace(outcome, failure=replace(failure, cause=cause))
    in_vain = outcome.code == REVERTED
    require_done(outcome, refused=Exit.ENDED_OTHERWISE if in_vain else Exit.OWN_REFUSAL)
    document = ReplacedDocument(outcome.hash, **{words.done_code: hash_})
    session.call.output.say(*words.done(hash_, outcome.hash), document=document)


async def revoke_allowance(
    session: CommandSession,
    token: str,
    spender: str,
    chain: str,
    account: str | None,
    permit2: bool | None,
    yes: bool,
) -> None:
    """End the allowance of a token, by symbol or contract, to a spender, by address, or by code or
    name of its venue. ``permit2``: whether it was given in Permit2; None for either."""
    wallet = session.desk.wallet
    link = wallet.link(chain)
    if link is None:
        known = ", ".join(one.name for one in wallet.links)
        message = f"There is no node of {chain!r}; there are {known}."
        raise bad_input("NO_SUCH_CHAIN", message, field="chain")
    provider_name = session.desk.catalog.provider_name

    def fits(one: Allowance) -> bool:
        tokens = {one.token.symbol.lower(), (one.token.contract or "").lower()}
        names = (one.spender, one.venue, provider_name(one.venue))
        spenders = {name.lower() for name in names if name}
        kept = permit2 is None or permit2 is one.permit2
        return kept and token.lower() in tokens and spender.lower() in spenders

    # No other chain is read: that takes a node hundreds of calls.
    told = await wallet.allowances(await account_or_all(wallet, account), link)
    for one in told:
        if one.problem is not None:
            raise CommandError(
                Exit.UNREACHABLE, "UNREAD", f"{one.chain_name} could not be read: {one.problem}.",
            )  # fmt: skip
    found = [(one.account, each) for one in told for each in one.allowances if fits(each)]
    if not found:
        said = f"{spender} may take no {token} on {link.name}."
        raise CommandError(Exit.NOT_FOUND, "NO_ALLOWANCE", said)
    if len(found) > 1:
        several = "; ".join(
            f"{owner.name}: {each.token.contract} to {each.spender}"
            f"{' (--permit2)' if each.permit2 else ' (--direct)'}"
            for owner, each in found
        )
        raise bad_input("AMBIGUOUS", f"Several allowances fit: {several}.")
    [(owner, allowance)] = found
    revoking = Revoking(wallet, session.desk.clock)
    step = await revoking.propose(owner, link, allowance)
    before = "This revocation was signed before. The same transaction is sent again."
    await prepare(session, step, yes=yes, before=before)
    outcome = await revoking.send(step)
    require_done(outcome)
    contract, taker = allowance.token.contract, allowance.spender
    session.call.output.say(
        f"Revoked: {grouped_address(taker)} may take no {allowance.token.symbol}"
        f" of {owner.name} on {link.name} any more.",
        f"Transaction {outcome.hash}",
        document=RevokedDocument(owner.address, link.name, contract, taker, outcome.hash),
    )


async def withdraw(
    session: CommandSession,
    chain: str,
    token: str | None,
    account: str | None,
    despite_bundle: bool,
    yes: bool,
) -> None:
    """Take out ``token``, by symbol or contract, or everything. Exit 0 once it is back with the
    owner, 5 where there is nothing to take out, 9 where it is not to be taken out, 10 where a
    transaction failed, 8 while one is on its way."""
    wallet = session.desk.wallet
    link = wallet.link(chain)
    if link is None or link.kind is not Kind.EVM:
        known = ", ".join(one.name for one in wallet.links if one.kind is Kind.EVM)
        message = f"There are smart accounts on {known}, and none on {chain!r}."
        raise bad_input("NO_SUCH_CHAIN", message, field="chain")
    owner = account_on(await wallet.accounts(), link.kind, link.name, account, field="account")
    try:
        await _withdraw(session, owner, link, token, despite_bundle, yes)
    except JournalUnavailable:
        raise CommandError(
            Exit.OWN_REFUSAL, "NO_JOURNAL", NO_JOURNAL.cause, NO_JOURNAL.money, NO_JOURNAL.next
        ) from None


async def _withdraw(
    session: CommandSession,
    account: Account,
    link: ChainLink,
    token: str | None,
    despite_bundle: bool,
    yes: bool,
) -> None:
    output, deployment = session.call.output, None
    flow = Withdrawing(session.desk.wallet, session.desk.journal, session.desk.clock)
    before = "This was signed before. The same transaction is sent again."
    while True:
        step = await flow.propose(account, link, token, despite_bundle=despite_bundle)
        if isinstance(step, Outcome):
            nothing = step.code == NOTHING_HELD
            require_done(step, refused=Exit.NOT_FOUND if nothing else Exit.OWN_REFUSAL)
            raise AssertionError("there is nothing to do, and it is no refusal")
        money = UNTOUCHED
        if isinstance(step, Withdrawal):
            output.talk(*_plan(step, link))
            money = f"in your smart account {step.sender}"
        signing = step.proposal if isinstance(step, Withdrawal) else step
        await prepare(session, signing, yes=yes, before=before, money=money)
        outcome = await flow.send(step)
        require_done(outcome, refused=Exit.ENDED_OTHERWISE)
        taken = flow.taken(step)
        if taken is not None:
            break
        deployment = outcome.hash
        output.talk(f"The smart account exists now. Transaction {deployment}")
    whole = ", ".join(map(_words, taken)) or "What the smart account held"
    output.say(
        f"Withdrawn: {whole} on {link.name}, back in {account.name or account.address}.",
        f"Transaction {outcome.hash}",
        document=WithdrawalDocument(account.address, link.name, taken, outcome.hash, deployment),
    )


def _plan(step: Withdrawal, link: ChainLink) -> list[str]:
    """What the smart account holds, and what is signed for it."""
    where = f"Your smart account {grouped_address(step.sender)} on {link.name}"
    lines = [f"{where} holds:", *(f"  {_words(one)}" for one in step.taken)]
    if step.proposal.action.purpose is Purpose.DEPLOY:
        lines.append("It does not exist yet: one transaction makes it, and a second one pays you.")
    return lines


def _words(one: Taken) -> str:
    kept = ", prepaid for gas" if one.prepaid else ""
    return f"{exact_amount(one.amount)} {one.symbol}{kept}"
