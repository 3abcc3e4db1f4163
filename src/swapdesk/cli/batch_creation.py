"""``batch create``: the orders of a file, or of the rows of a batch that failed."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

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
    bad_input,
    not_confirmed,
    of_client_error,
    own_refusal,
)
from swapdesk.cli.consent import says_yes
from swapdesk.cli.exit_codes import Exit
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
from swapdesk.wire.operation import RateClass

HOME = "in your wallet; no deposit was paid"


class BatchRequest(Struct, frozen=True):
    """``file`` None: the failed rows of the batch ``failed``, of the newest where that is
    empty. ``sell`` is the token of rows that name none; ``decimal_comma``: amounts of the file
    have one. ``accept_warnings`` agrees in advance to what the plan doubts; rows of the numbers
    ``skip`` are left out."""

    file: Path | None
    failed: str | None = None
    sell: str = ""
    yes: bool = False
    again: bool = False
    decimal_comma: bool = False
    accept_warnings: bool = False
    skip: tuple[int, ...] = ()


class BatchCreationRun(Struct, frozen=True):
    """What the journal has of a batch after the work on its groups."""

    batch: JournaledBatch
    outcomes: list[GroupOutcome]


async def create_batch(session: CommandSession, request: BatchRequest) -> int:
    """Create every group and print. Raises CommandError."""
    plan = await creatable_plan(session, request, "Create these orders?")
    made = await created(session, plan, again=request.again)
    tell_batch(session, made.batch)
    stopped = creation_error(made)
    if stopped is not None:
        raise stopped
    return creation_exit(session, made.batch)


async def creatable_plan(
    session: CommandSession, request: BatchRequest, question: str, *, payer: str = ""
) -> BatchPlan:
    """The plan, which ``payer`` can pay as far as that is known, after the trader said yes to it.
    Raises CommandError: exit 2 for problems, 9 for what is doubted and nobody agreed to."""
    output = session.call.output
    if request.file is not None:
        name = request.file.name
        plan = await planned(
            session,
            request.file,
            request.sell,
            decimal_comma=request.decimal_comma,
            skip=request.skip,
            payer=payer,
        )
    else:
        batch = find_batch(session, request.failed or None)
        name = f"batch {batch.id[:8]}"
        try:
            sheet = without_rows(failed_sheet(batch), request.skip)
            plan = await planned_sheet(session, sheet, request.sell, payer=payer)
        except NoFailedRows:
            raise own_refusal(
                "NO_FAILED_ROWS",
                f"No row of batch {batch.id[:8]} is known to have failed.",
                next=f"you: swapdesk batch status {batch.id[:8]}",
            ) from None
    await session.link.learn_rate_limits()
    left = session.link.api.budget.left(RateClass.EXCHANGE)
    if not plan.creatable:
        tell_plan(output, plan, left)
        if plan.unasked is not None:
            raise of_client_error(plan.unasked)
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
    if not request.yes:
        if not session.call.interactive:
            raise bad_input("NEEDS_YES", "Without a terminal this needs --yes.", field="yes")
        tell_plan(output.before_a_question, plan, left)
        if not says_yes(output, question):
            raise not_confirmed("Nothing was created.")
    elif plan.doubts and not request.accept_warnings:
        tell_plan(output, plan, left)
        raise own_refusal(
            plan.doubted[0][1].code,
            f"{plan.doubts[0]}{_and_more(len(plan.doubts) - 1)}",
            next="you: correct these rows, or add --accept-warnings if you mean them",
        )
    return plan


def _and_more(count: int) -> str:
    """``And 2 more rows are doubted.`` behind the first of them."""
    if not count:
        return ""
    return f" And {count} more {'row is' if count == 1 else 'rows are'} doubted."


async def created(
    session: CommandSession, plan: BatchPlan, *, again: bool, payer: str | None = None
) -> BatchCreationRun:
    """Journal the plan and create its groups; with a ``payer`` they are paid afterwards, also by
    whoever goes on with it. Raises CommandError."""
    creation = BatchCreation(session.link.api, session.desk.journal, session.desk.clock)
    output = session.call.output
    try:
        # Whoever has the plan from ``creatable_plan`` was asked, or agreed in advance.
        batch_id = creation.write(plan, agreed=True, again=again, payer=payer)
        output.talk(
            *(group_words(group) for group in plan.groups),
            f"Sells {sells_words(plan)}; arrives {arrives_words(plan)}.",
        )
        outcomes = await creation.run(batch_id, lambda outcome: _say(output, outcome))
    except BatchCreatedBefore as error:
        raise _before(session, error.batch_id) from None
    except JournalUnavailable:
        raise CommandError(
            Exit.OWN_REFUSAL, "NO_JOURNAL", NO_JOURNAL.cause, HOME, NO_JOURNAL.next
        ) from None
    return BatchCreationRun(find_batch(session, batch_id), outcomes)


async def gone_on(session: CommandSession, batch: JournaledBatch) -> BatchCreationRun:
    """Look for what is unknown, and create what never left."""
    creation = BatchCreation(session.link.api, session.desk.journal, session.desk.clock)
    outcomes = await creation.run(batch.id, lambda one: _say(session.call.output, one))
    return BatchCreationRun(find_batch(session, batch.id), outcomes)


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


def creation_error(made: BatchCreationRun) -> CommandError | None:
    """Why the groups were not all created: exit 8 when one is unknown, else what stopped it."""
    batch = made.batch
    unknown = any(row.state is RowState.UNKNOWN for row in batch.rows)
    if unknown or any(group.open for group in batch.groups):
        return CommandError(
            Exit.UNKNOWN,
            "OUTCOME_UNKNOWN",
            "Whether a group was created is not known.",
            money=HOME,
            next=f"you: swapdesk batch resume {batch.id[:8]} looks for it; it is never sent twice",
        )
    stopped: ClientError | None = next((one.error for one in made.outcomes if one.error), None)
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
