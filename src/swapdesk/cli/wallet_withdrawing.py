"""Taking out what a smart account holds, on the command line."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from swapdesk.cli.command_error import CommandError, bad_input
from swapdesk.cli.consent import prepare, require_done
from swapdesk.cli.error_table import UNTOUCHED
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.session import CommandSession
from swapdesk.cli.wallet_session import account_on
from swapdesk.flows.batch.withdrawing import NOTHING_HELD, Withdrawal, Withdrawing
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.wallet_payment_log import Taken
from swapdesk.flows.notation import exact_amount, grouped_address
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.wallet.accounts import Account, ChainLink, Kind
from swapdesk.wallet.promise import Purpose


class WithdrawalDocument(Struct, frozen=True):
    """What came back to ``account``; ``deployment`` is the transaction that made the smart account,
    None where it stood before."""

    account: str
    chain: str
    withdrawn: Sequence[Taken]
    hash: str | None
    deployment: str | None


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
