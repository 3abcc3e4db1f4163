"""Taking out what a smart account holds, on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from swapdesk.cli.command_error import CommandError, bad_input
from swapdesk.cli.consent import require_consent
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.session import Session
from swapdesk.cli.wallet_session import account_named, unlock
from swapdesk.flows.batch.withdrawing import (
    Deployed,
    Ended,
    NeededByBundle,
    Nothing,
    NotWithdrawn,
    Open,
    Proposed,
    Withdrawing,
    Withdrawn,
)
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.withdrawal_log import Taken
from swapdesk.flows.notation import exact_amount, grouped_address
from swapdesk.flows.transactions.delivery import OnItsWay
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wording import NO_JOURNAL
from swapdesk.wallet.accounts import Account, Kind
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.promise import Purpose

_AGAIN = "you: give the same command again; the same transaction is sent, never a new one"


@dataclass(frozen=True)
class Wanted:
    """What is to be taken out: ``token`` by symbol or contract, everything where it is None."""

    chain: str
    token: str | None
    account: str | None
    despite_bundle: bool


async def withdraw(
    session: Session, wallet: LocalWallet, wanted: Wanted, descriptor: int | None, yes: bool
) -> int:
    """Exit 0 once it is back with the owner, 5 where there is nothing to take out, 9 where it is
    not to be taken out, 10 where a transaction failed, 8 while one is on its way."""
    link = wallet.link(wanted.chain)
    if link is None or link.kind is not Kind.EVM:
        known = ", ".join(one.name for one in wallet.links if one.kind is Kind.EVM)
        message = f"There are smart accounts on {known}, and none on {wanted.chain!r}."
        raise bad_input("NO_SUCH_CHAIN", message, field="chain")
    account = await _owner(wallet, wanted.account, link)
    flow = Withdrawing(wallet, session.desk.journal, session.desk.clock)
    try:
        return await _withdrawn(session, wallet, flow, account, link, wanted, descriptor, yes)
    except JournalUnavailable:
        raise CommandError(
            Exit.OWN_REFUSAL, "NO_JOURNAL", NO_JOURNAL.cause, NO_JOURNAL.money, NO_JOURNAL.next
        ) from None


async def _withdrawn(
    session: Session,
    wallet: LocalWallet,
    flow: Withdrawing,
    account: Account,
    link: ChainLink,
    wanted: Wanted,
    descriptor: int | None,
    yes: bool,
) -> int:
    output, deployment = session.call.output, None
    while True:
        step = await flow.propose(account, link, wanted.token, despite_bundle=wanted.despite_bundle)
        match step:
            case Nothing():
                raise _nothing(step, wanted, link)
            case NeededByBundle():
                raise _needed(step, link)
            case Open():
                output.talk("This was signed before. The same transaction is sent again.")
            case Proposed():
                output.talk(*_plan(step))
                money = f"in your smart account {step.sender}"
                require_consent(output, step.review, yes=yes, money=money)
                await unlock(session.call, wallet, descriptor)
        ended = await flow.send(step)
        if isinstance(ended, Withdrawn):
            return _told(session, account, link, ended, deployment)
        deployment = _stands(ended, link)
        output.talk(f"The smart account stands now. Transaction {deployment}")


async def _owner(wallet: LocalWallet, named: str | None, link: ChainLink) -> Account:
    accounts = await wallet.accounts()
    if named is not None:
        account = account_named(accounts, named)
        if account.kind is not link.kind:
            raise bad_input(
                "OTHER_CHAIN", f"{named!r} is no account of {link.name}.", field="account"
            )
        return account
    found = next((one for one in accounts.accounts if one.kind is link.kind), None)
    if found is None:
        raise CommandError(
            Exit.NOT_FOUND,
            "NO_ACCOUNT",
            f"This wallet has no account on {link.name}.",
            next="you: swapdesk wallet list shows the accounts",
        )
    return found


def _plan(step: Proposed) -> list[str]:
    """What the smart account holds, and what is signed for it."""
    where = f"Your smart account {grouped_address(step.sender)} on {step.link.name}"
    lines = [f"{where} holds:", *(f"  {_words(one)}" for one in step.taken)]
    if step.purpose is Purpose.DEPLOY:
        lines.append("It does not stand yet: one transaction makes it, and a second one pays you.")
    return lines


def _words(one: Taken) -> str:
    kept = ", prepaid for gas" if one.prepaid else ""
    return f"{exact_amount(one.amount)} {one.symbol}{kept}"


def _nothing(step: Nothing, wanted: Wanted, link: ChainLink) -> CommandError:
    what = wanted.token or "nothing"
    held = f"holds no {what}" if wanted.token else f"holds {what}"
    said = f"Your smart account {step.sender} on {link.name} {held}."
    if step.unread:
        said += f" {', '.join(step.unread)} did not answer."
    return CommandError(
        Exit.NOT_FOUND,
        "NOTHING_HELD",
        said,
        money="in your wallet",
        next="you: swapdesk wallet balance shows what you have",
    )


def _needed(step: NeededByBundle, link: ChainLink) -> CommandError:
    bundle = step.bundle
    name = f"group {bundle.group} of batch {bundle.batch_id[:8]}"
    return CommandError(
        Exit.OWN_REFUSAL,
        "NEEDED_BY_BUNDLE",
        f"What the smart account on {link.name} holds is for {name}, whose bundle is"
        f" {bundle.state}. Taken out, it would fail.",
        money=f"in your smart account {step.sender}",
        next="you: let it end first, or take the money out all the same with --despite-bundle",
    )


def _stands(ended: Ended, link: ChainLink) -> str:
    """The hash of what made the account. Raises CommandError for everything else."""
    if isinstance(ended, Deployed):
        return ended.hash
    if isinstance(ended, OnItsWay):
        raise CommandError(
            Exit.UNKNOWN,
            "ON_ITS_WAY",
            f"The transaction {ended.hash} is not confirmed yet. {ended.reason}".strip(),
            money="in your smart account, or back in your wallet",
            next=_AGAIN,
        )
    assert isinstance(ended, NotWithdrawn)
    raise CommandError(
        Exit.ENDED_OTHERWISE if ended.hash else Exit.OWN_REFUSAL,
        "NOT_WITHDRAWN",
        f"Nothing was taken out. {ended.reason}",
        money="in your smart account" + ("; gas may have been paid" if ended.hash else ""),
        next=f"you: swapdesk wallet withdraw --chain {link.name} looks at it anew",
    )


def _told(
    session: Session, account: Account, link: ChainLink, ended: Withdrawn, deployment: str | None
) -> int:
    output = session.call.output
    if output.json:
        output.document(
            {
                "account": account.address,
                "chain": link.name,
                "withdrawn": _json(ended.taken),
                "hash": ended.hash,
                "deployment": deployment,
            }
        )
    else:
        whole = ", ".join(map(_words, ended.taken)) or "What the smart account held"
        output.say(
            f"Withdrawn: {whole} on {link.name}, back in {account.name or account.address}.",
            f"Transaction {ended.hash}",
        )
    return Exit.DONE


def _json(taken: Sequence[Taken]) -> list[dict[str, Any]]:
    return [
        {
            "symbol": one.symbol,
            "contract": one.contract,
            "amount": one.amount,
            "prepaid": one.prepaid,
        }
        for one in taken
    ]
