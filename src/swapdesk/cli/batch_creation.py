"""``batch create``: the orders of a file, or of the rows of a batch that failed."""

from __future__ import annotations

from pathlib import Path

from swapdesk.cli.batch_plan import (
    arrives_words,
    group_words,
    planned,
    planned_sheet,
    sells_words,
    tell_plan,
    without_rows,
)
from swapdesk.cli.batch_result import find_batch, tell_batch
from swapdesk.cli.command_error import (
    CommandError,
    Exit,
    bad_input,
    not_confirmed,
    of_client_error,
    own_refusal,
)
from swapdesk.cli.consent import says_yes
from swapdesk.cli.output import Output
from swapdesk.cli.session import CommandSession
from swapdesk.client.errors import ClientError
from swapdesk.flows.batch.creation import BatchCreation, GroupOutcome
from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.batch.progress import NoFailedRows, failed_sheet
from swapdesk.flows.failure_messages import IN_WALLET, NO_JOURNAL, money_with_payment
from swapdesk.flows.journal.batch_records import BatchCreatedBefore, JournaledBatch, RowState
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import StepState

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
    batch = find_batch(session, named or None)
    name = f"batch {batch.id[:8]}"
    try:
        sheet = failed_sheet(batch)
    except NoFailedRows:
        raise own_refusal(
            "NO_FAILED_ROWS",
            f"No row of {name} is known to have failed.",
            next=f"you: swapdesk batch status {batch.id[:8]}",
        ) from None
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
) -> tuple[JournaledBatch, CommandError | None]:
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
    except BatchCreatedBefore as error:
        raise _before(session, error.batch_id) from None
    except JournalUnavailable:
        raise CommandError(
            Exit.OWN_REFUSAL, "NO_JOURNAL", NO_JOURNAL.cause, HOME, NO_JOURNAL.next
        ) from None


async def gone_on(
    session: CommandSession, batch_id: str
) -> tuple[JournaledBatch, CommandError | None]:
    """Look for what is unknown, and create what never left; as :func:`created`."""
    creation = BatchCreation(session.link.api, session.desk.journal, session.desk.clock)
    outcomes = await creation.run(batch_id, lambda one: _say(session.call.output, one))
    batch = find_batch(session, batch_id)
    return batch, _creation_error(batch, outcomes)


def _before(session: CommandSession, batch_id: str) -> CommandError:
    """A twin that is open is gone on with, one that was created is asked for on purpose."""
    known = session.desk.journal.batches.get(batch_id)
    waits = known is not None and any(
        group.open or group.state is StepState.PREPARED for group in known.groups
    )
    go_on = f"you: swapdesk batch resume {batch_id[:8]} goes on with it"
    anew = f"you: swapdesk batch status {batch_id[:8]}; add --again to create all of it once more"
    return own_refusal(
        "CREATED_BEFORE",
        f"The same rows are batch {batch_id[:8]} already.",
        next=go_on if waits else anew,
    )


def _say(output: Output, outcome: GroupOutcome) -> None:
    group = outcome.group
    counts = {state: sum(row.state is state for row in group.rows) for state in RowState}
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    name = f" {group.multi_id}" if group.multi_id else ""
    output.talk(f"Group {group.number}{name}: {told}.")


def _creation_error(batch: JournaledBatch, outcomes: list[GroupOutcome]) -> CommandError | None:
    """Why the groups were not all created: exit 8 when one is unknown, else what stopped it."""
    unknown = any(row.state is RowState.UNKNOWN for row in batch.rows)
    if unknown or any(group.open for group in batch.groups):
        return CommandError(
            Exit.UNKNOWN,
            "OUTCOME_UNKNOWN",
            "Whether a group was created is not known.",
            money=HOME,
            next=f"you: swapdesk batch resume {batch.id[:8]} looks for it; it is never sent twice",
        )
    stopped: ClientError | None = next((one.error for one in outcomes if one.error), None)
    if stopped is not None:
        failed = of_client_error(stopped)
        failed.money = money_with_payment(HOME, stopped)
        if any(group.state is StepState.PREPARED for group in batch.groups):
            failed.next += f"; swapdesk batch resume {batch.id[:8]} goes on with what is left"
        return failed
    differs = [row for row in batch.rows if row.state is RowState.DIFFERS]
    if differs:
        return CommandError(
            Exit.OWN_REFUSAL,
            "ORDER_DIFFERS",
            f"Row {differs[0].number}: {differs[0].reason}",
            money=HOME,
            next="you: report it to the service with the order's id",
        )
    return None


def creation_exit(session: CommandSession, batch: JournaledBatch) -> int:
    """Exit 4 when the service refused rows, and how they are asked for again; the others stand."""
    failed = sum(row.state is RowState.FAILED for row in batch.rows)
    if not failed:
        return Exit.DONE
    rows = "1 row was" if failed == 1 else f"{failed} rows were"
    again = f"swapdesk batch create --failed {batch.id[:8]}"
    session.call.output.talk(f"{rows} refused: {again} asks again with the same input.")
    return Exit.REFUSED
