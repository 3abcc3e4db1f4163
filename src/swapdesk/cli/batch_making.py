"""Orders of a file, created and paid group after group: ``batch create|build|sign|submit``, ``batch
run`` and ``batch resume``.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import get_args

from swapdesk.cli.batch_report import (
    arrives_words,
    ask_orders,
    group_words,
    next_words,
    planned,
    planned_sheet,
    require_batch,
    sells_words,
    tell_batch,
    tell_plan,
    without_rows,
)
from swapdesk.cli.command_error import (
    CommandError,
    Exit,
    bad_input,
    exit_of,
    not_confirmed,
    of_client_error,
    of_wallet_error,
    own_refusal,
)
from swapdesk.cli.output import Output
from swapdesk.cli.session import CommandSession
from swapdesk.cli.wallet_session import consent, make_ready, says_yes, unlock
from swapdesk.client.errors import ClientError
from swapdesk.flows.batch.batches import Batch
from swapdesk.flows.batch.creation import BatchCreation
from swapdesk.flows.batch.group_payment import (
    group_account,
    payment_of_group,
    require_payers,
)
from swapdesk.flows.batch.group_status import (
    GroupStanding,
    Stopped,
    Until,
    group_standing,
    outcome_of,
    signs,
    standings,
)
from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.batch.progress import failed_sheet
from swapdesk.flows.batch.rows import Became, Group
from swapdesk.flows.failure_messages import IN_WALLET, NO_JOURNAL, money_with_payment
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import ClaimTaken, Operation, State
from swapdesk.flows.notation import counted, exact_amount
from swapdesk.flows.transactions import Agreed, Outcome, Pace, Turn, Watch
from swapdesk.wallet.answers import Review, SignedTransaction
from swapdesk.wallet.protocol import WalletError

HOME = "in your wallet; no deposit was paid"


async def create_batch(
    session: CommandSession,
    what: str | None,
    sell: str,
    decimal_comma: bool,
    skip: tuple[int, ...],
    yes: bool,
    accept_warnings: bool,
    again: bool,
    failed: bool,
) -> int:
    """Create every group of a file, or the rows of a batch that ``failed``, and print. Raises
    CommandError."""
    if failed:
        name, plan = await _failed_rows(session, what, sell, skip)
    elif what is not None:
        name = Path(what).name
        plan = await planned(session, Path(what), sell, decimal_comma, skip)
    else:
        raise bad_input("NO_FILE", "Name a file, or --failed.", field="file")
    question = "Create these orders?"
    await require_agreed(session, name, plan, question, yes=yes, accept_warnings=accept_warnings)
    batch, stopped = await created(session, plan, again=again)
    tell_batch(session, batch)
    if stopped is not None:
        raise stopped
    return creation_exit(session, batch)


async def _failed_rows(
    session: CommandSession, named: str | None, sell: str, skip: tuple[int, ...]
) -> tuple[str, BatchPlan]:
    """The plan of the failed rows of a batch, of the newest where none is named."""
    batch = require_batch(session, named or None)
    name = f"batch {batch.id[:8]}"
    sheet = failed_sheet(batch)
    if sheet is None:
        raise own_refusal(
            "NO_FAILED_ROWS",
            f"No row of {name} is known to have failed.",
            next=f"you: swapdesk batch status {batch.id[:8]}",
        )
    return name, await planned_sheet(session, without_rows(sheet, skip), sell)


async def require_agreed(
    session: CommandSession,
    name: str,
    plan: BatchPlan,
    question: str,
    *,
    yes: bool,
    accept_warnings: bool,
) -> None:
    """Show the plan of ``name`` to the trader, who says yes to it. Raises CommandError: exit 2 for
    problems, 9 for what is doubted and nobody agreed to."""
    output = session.call.output
    await session.link.learn_rate_limits()
    if not plan.creatable:
        tell_plan(session, plan)
        if plan.unasked is not None:
            raise plan.unasked
        count = len(plan.problems)
        said = f"{count} row{'' if count == 1 else 's'} of {name} cannot be created."
        if not count:
            said = f"Every row of {name} is skipped."
        raise CommandError(
            Exit.BAD_INPUT,
            "BATCH_PROBLEMS",
            said,
            f"{IN_WALLET}; nothing was created",
            "you: correct these rows, or leave them out with --skip; the plan says how"
            if plan.comma_problem is None
            else "you: correct these rows, or read them so with --decimal-comma",
            fields={"file": {"message": said}},
        )
    if not yes:
        require_yes(session, yes=yes)
        tell_plan(session, plan, output.before_a_question)
        if not says_yes(output, question):
            raise not_confirmed("Nothing was created.")
    elif plan.doubts and not accept_warnings:
        tell_plan(session, plan)
        raise own_refusal(
            plan.doubted[0][1].code,
            f"{plan.doubts[0]}{_and_more(len(plan.doubts) - 1)}",
            next="you: correct these rows, or add --accept-warnings if you mean them",
        )


def require_yes(session: CommandSession, *, yes: bool, money: str = "") -> None:
    """Where nobody can be asked, nobody has said yes."""
    if not (yes or session.call.interactive):
        said = "Without a terminal this needs --yes."
        raise bad_input("NEEDS_YES", said, field="yes", money=money)


def _and_more(count: int) -> str:
    """``And 2 more rows are doubted.`` behind the first of them."""
    if not count:
        return ""
    return f" And {count} more {'row is' if count == 1 else 'rows are'} doubted."


async def created(
    session: CommandSession, plan: BatchPlan, *, again: bool, payer: str | None = None
) -> tuple[Batch, CommandError | None]:
    """Journal the plan and create its groups; with a ``payer`` they are paid afterwards, also by
    whoever goes on with it. The batch, and why not all of it was created."""
    creation = BatchCreation(session.link.api, session.desk.journal, session.desk.clock)
    output = session.call.output
    try:
        # Whoever has the plan from ``require_agreed`` was asked, or agreed in advance.
        batch_id = creation.write(plan, agreed=True, again=again, payer=payer)
        output.talk(
            *(group_words(group) for group in plan.groups),
            f"Sells {sells_words(plan)}; arrives {arrives_words(plan)}.",
        )
        return await gone_on(session, batch_id)
    except ClaimTaken as error:
        raise _before(error.holder) from None
    except JournalUnavailable:
        raise CommandError(
            Exit.OWN_REFUSAL, "NO_JOURNAL", NO_JOURNAL.cause, HOME, NO_JOURNAL.next
        ) from None


async def gone_on(session: CommandSession, batch_id: str) -> tuple[Batch, CommandError | None]:
    """Look for what is unknown, and create what never left; as :func:`created`."""
    creation = BatchCreation(session.link.api, session.desk.journal, session.desk.clock)
    stopped: ClientError | None = None
    async for group, error in creation.run(batch_id):
        _say(session.call.output, group)
        stopped = stopped or error
    batch = require_batch(session, batch_id)
    return batch, _creation_error(batch, stopped)


def _before(batch: Operation) -> CommandError:
    """A twin that is open is gone on with, one that was created is asked for on purpose."""
    name = batch.id[:8]
    go_on = f"you: swapdesk batch resume {name} goes on with it"
    anew = f"you: swapdesk batch status {name}; add --again to create all of it once more"
    return own_refusal(
        "CREATED_BEFORE",
        f"The same rows are batch {name} already.",
        next=go_on if batch.open else anew,
    )


def _say(output: Output, group: Group) -> None:
    counts = Counter(row.became for row in group.rows)
    told = ", ".join(f"{counts[word]} {word}" for word in get_args(Became) if counts[word])
    name = f" {group.multi_id}" if group.multi_id else ""
    output.talk(f"Group {group.number}{name}: {told}.")


def _creation_error(batch: Batch, stopped: ClientError | None) -> CommandError | None:
    """Why the groups were not all created: exit 8 when one is unknown, else what stopped it."""
    unknown = any(row.became == "unknown" for row in batch.rows)
    if unknown or any(group.act.left for group in batch.groups):
        return CommandError(
            Exit.UNKNOWN,
            "OUTCOME_UNKNOWN",
            "Whether a group was created is not known.",
            money=HOME,
            next=f"you: swapdesk batch resume {batch.id[:8]} looks for it; it is never sent twice",
        )
    if stopped is not None:
        failed = of_client_error(stopped)
        failed.money = money_with_payment(HOME, stopped)
        if any(group.act.state is State.PREPARED for group in batch.groups):
            failed.next += f"; swapdesk batch resume {batch.id[:8]} goes on with what is left"
        return failed
    differs = [row for row in batch.rows if row.became == "differs"]
    if differs:
        return CommandError(
            Exit.OWN_REFUSAL,
            "ORDER_DIFFERS",
            f"Row {differs[0].number}: {differs[0].reason}",
            money=HOME,
            next="you: report it to the service with the order's id",
        )
    return None


def creation_exit(session: CommandSession, batch: Batch) -> int:
    """Exit 4 when the service refused rows, and how they are asked for again; the others stand."""
    failed = sum(row.became == "failed" for row in batch.rows)
    if not failed:
        return Exit.DONE
    rows = "1 row was" if failed == 1 else f"{failed} rows were"
    again = f"swapdesk batch create --failed {batch.id[:8]}"
    session.call.output.talk(f"{rows} refused: {again} asks again with the same input.")
    return Exit.REFUSED


PAY = "Create and pay these orders?"
_ENDS = {
    "NOT_CONFIRMED": Exit.INTERRUPTED,
    "BUNDLE_FAILED": Exit.ENDED_OTHERWISE,
    "WITHDRAWN": Exit.ENDED_OTHERWISE,
    "ON_ITS_WAY": Exit.UNKNOWN,
    "NOT_FINAL": Exit.UNKNOWN,
    "AGENT_GONE": Exit.UNKNOWN,
    "CHAIN_UNREACHABLE": Exit.UNREACHABLE,
    "NO_ACCOUNT": Exit.NOT_FOUND,
}
"""Ends by code; every other one is the desk's or the wallet's own refusal."""


async def pay_group(
    session: CommandSession,
    name: str | None,
    group: int | None,
    account: str = "",
    yes: bool = False,
    *,
    until: Until,
) -> None:
    """Take one group of a batch as far as asked, and print it: the first that is not over where no
    number is given. ``account`` is a name or an address, empty for the first one of each chain.
    Raises CommandError."""
    found = require_batch(session, name)
    await _ready(session)
    standing = _chosen(session, found, group)
    _refuse_early(standing, until)
    outcome = await _Work(session, account, yes=yes).settled(standing, until)
    await _tell_paid(session, found)
    _end(session, standing, outcome)


build_group = partial(pay_group, until=Until.BUILT)
sign_group = partial(pay_group, until=Until.SIGNED)
submit_group = partial(pay_group, until=Until.SETTLED)


async def run_batch(
    session: CommandSession,
    file: Path,
    sell: str,
    decimal_comma: bool,
    skip: tuple[int, ...],
    account: str,
    yes: bool,
    accept_warnings: bool,
    again: bool,
) -> int:
    """Plan, create, and pay each group after the one before. Raises CommandError."""
    require_yes(session, yes=yes)
    plan = await planned(session, file, sell, decimal_comma, skip, payer=account)
    await require_agreed(session, file.name, plan, PAY, yes=yes, accept_warnings=accept_warnings)
    await _ready(session)
    await _require_payers(session, plan, account)
    batch, stopped = await created(session, plan, again=again, payer=account)
    if stopped is not None:
        tell_batch(session, batch)
        raise stopped
    return await _all_groups(session, batch, account, yes=yes)


async def resume_batch(session: CommandSession, name: str | None, account: str, yes: bool) -> int:
    """Go on with a batch: what is unknown is looked for, what never left is created, and what
    was begun to be paid is paid. Raises CommandError."""
    found = require_batch(session, name)
    journal = session.desk.journal
    if not journal.ledger.take_over(found.id):
        groups = standings(journal, found.id)
        at = next((one for one in groups if one.begun), groups[0])
        raise _owned(at)
    await _ready(session)
    batch, stopped = await gone_on(session, found.id)
    if stopped is not None:
        tell_batch(session, batch)
        raise stopped
    payer = found.payer
    if payer is None and not any(one.begun for one in standings(journal, found.id)):
        tell_batch(session, batch)
        if [one.word for one in batch.groups] == [one.word for one in found.groups]:
            _refuse_idle(session, batch)
        return creation_exit(session, batch)
    return await _all_groups(session, batch, account or payer or "", yes=yes, begun=payer is None)


def _refuse_idle(session: CommandSession, batch: Batch) -> None:
    """Raises CommandError for a batch of which nothing was interrupted and a group is unpaid: it
    failed, or the trader has not begun to pay it."""
    found = standings(session.desk.journal, batch.id)
    due = next((one for one in found if not one.over and one.next is not None), None)
    if due is None:
        return
    if due.bundle is not None and due.bundle.over:
        outcome = outcome_of(due.bundle, due)
        if outcome.failure is not None:
            failure, end = outcome.failure, _ENDS.get(outcome.code, Exit.OWN_REFUSAL)
            raise CommandError(end, outcome.code, failure.cause, failure.money, next_words(due))
    raise CommandError(
        Exit.OWN_REFUSAL,
        "NOT_BEGUN",
        f"Nothing was interrupted: group {due.group.number} is {due.word}, and nothing of it is"
        " signed.",
        due.whereabouts,
        next_words(due),
    )


async def _all_groups(
    session: CommandSession, batch: Batch, account: str, *, yes: bool, begun: bool = False
) -> int:
    """Pay one group after another, with ``begun`` those of which something was signed. The first
    that stops stops all."""
    work = _Work(session, account, yes=yes)
    for one in standings(session.desk.journal, batch.id):
        if one.over or one.next is None or (begun and not one.begun):
            continue
        outcome = await work.settled(one, Until.SETTLED)
        if outcome.failure is not None:
            await _tell_paid(session, batch)
            _end(session, one, outcome)
    again = require_batch(session, batch.id)
    await _tell_paid(session, again)
    return creation_exit(session, again)


async def _tell_paid(session: CommandSession, batch: Batch) -> None:
    """How the batch stands, with the orders of paid groups asked after once. That a deposit was
    paid is what the command ends with, whether or not the service can say more of it."""
    paid = {one.group.number for one in standings(session.desk.journal, batch.id) if one.over}
    tell_batch(session, batch, await ask_orders(session, batch, lambda one: one.number in paid))


class _Work:
    """One command's work on groups: keys are opened once, when they are first needed."""

    def __init__(self, session: CommandSession, account: str, *, yes: bool) -> None:
        self._session = session
        self._account = account
        self._yes = yes
        self._unlocked = False

    async def settled(self, standing: GroupStanding, until: Until) -> Outcome:
        """Raises CommandError for what cannot be begun."""
        session, desk = self._session, self._session.desk
        try:
            if not desk.journal.ledger.take_over(standing.batch_id):
                raise _owned(standing)
            account = await group_account(desk, standing, self._account)
            if signs(standing, until):
                require_yes(session, yes=self._yes, money=standing.whereabouts)
            if signs(standing, until) and not self._unlocked:
                await unlock(session)
                self._unlocked = True
            payment = await payment_of_group(
                desk,
                standing,
                account,
                self._look,
                pace=Pace(),
                watch=_Progress(session.call.output, standing),
            )
            return await payment.advance(until)
        except Stopped as error:
            raise _not_settled(error, standing.whereabouts) from None
        except WalletError as error:
            failed = of_wallet_error(error)
            failed.money = standing.whereabouts
            raise failed from None
        except JournalUnavailable:
            raise CommandError(
                Exit.OWN_REFUSAL,
                "NO_JOURNAL",
                NO_JOURNAL.cause,
                f"when this began: {standing.whereabouts}",
                NO_JOURNAL.next,
            ) from None

    async def _look(self, review: Review) -> Agreed | None:
        return await consent(self._session.call.output, review, yes=self._yes)


class _Progress(Watch):
    """Says what goes on, each thing once."""

    def __init__(self, output: Output, standing: GroupStanding) -> None:
        self._output = output
        self._group = standing.group.number
        self._seen: set[str] = set()

    def turns_to(self, turn: Turn) -> None:
        deposits = f"{turn.payees} deposit{'' if turn.payees == 1 else 's'}"
        what = f"{exact_amount(turn.need.amount)} {turn.need.symbol}"
        whom = "the smart account" if turn.funding else deposits
        self._output.talk(f"Group {self._group}: {what} to {whom}, {turn.number} of {turn.total}.")

    def seen(self, signed: SignedTransaction) -> None:
        if signed.hash not in self._seen:
            self._seen.add(signed.hash)
            self._output.talk(f"Group {self._group}: transaction {signed.hash} is on its way.")


async def _ready(session: CommandSession) -> None:
    await session.load_catalog()
    await make_ready(session)


async def _require_payers(session: CommandSession, plan: BatchPlan, account: str) -> None:
    """What could not be paid from here is not created."""
    try:
        await require_payers(session.desk, plan, account)
    except Stopped as error:
        raise _not_settled(error, f"{IN_WALLET}; nothing was created") from None


def _owned(standing: GroupStanding) -> CommandError:
    """Exit 9. Its money is wherever that desk is with it."""
    return CommandError(
        Exit.OWN_REFUSAL,
        "OWNED",
        "Another desk that runs now works on this batch.",
        f"as far as the journal has it: {standing.whereabouts}",
    )


def _not_settled(error: Stopped, money: str) -> CommandError:
    end = _ENDS.get(error.code, Exit.OWN_REFUSAL)
    return CommandError(end, error.code, str(error), money, error.next)


def _chosen(session: CommandSession, batch: Batch, number: int | None) -> GroupStanding:
    found = standings(session.desk.journal, batch.id)
    if number is None:
        return next((one for one in found if not one.over and one.next is not None), found[-1])
    if not 1 <= number <= len(found):
        raise bad_input("NO_GROUP", f"The batch has {counted(len(found), 'group')}.", field="group")
    return found[number - 1]


def _refuse_early(standing: GroupStanding, until: Until) -> None:
    """``submit`` signs nothing, and ``sign`` builds nothing: each command does its own step."""
    if standing.next is not None and standing.next < until:
        raise CommandError(
            Exit.OWN_REFUSAL,
            "NOT_YET",
            f"Group {standing.group.number} is {standing.word}.",
            standing.whereabouts,
            next_words(standing),
        )


def _end(session: CommandSession, standing: GroupStanding, outcome: Outcome) -> None:
    """Raises CommandError for an outcome that is none of those that were asked for."""
    failure = outcome.failure
    if failure is None:
        return
    now = group_standing(session.desk.journal, standing.group)
    end = _ENDS.get(outcome.code, Exit.OWN_REFUSAL)
    if (now.bundle is not None and now.bundle.under_way) or any(one.open for one in now.payments):
        end = Exit.UNKNOWN
    elif outcome.error is not None:
        end = exit_of(outcome.error)
    raise CommandError(end, outcome.code, failure.cause, failure.money, failure.next)
