"""``batch create``, ``batch status`` and ``batch export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from swapdesk.cli.batch_plan import new_file, planned
from swapdesk.cli.batch_report import group_words, tell_plan
from swapdesk.cli.command_error import CommandError, bad_input, of_client_error, own_refusal
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.output import Output
from swapdesk.cli.session import Session, require_key
from swapdesk.client.errors import ClientError, NotFound
from swapdesk.flows.batch.creation import BatchCreation, GroupOutcome
from swapdesk.flows.batch.results import result_rows, results_csv
from swapdesk.flows.batch_log import BatchCreatedBefore, JournaledBatch, RowState
from swapdesk.flows.journal_file import JournalUnavailable
from swapdesk.flows.journal_records import StepState
from swapdesk.flows.wording import NO_JOURNAL
from swapdesk.wire.operations import RateClass
from swapdesk.wire.orders import Order

HOME = "in your wallet; no deposit was paid"


async def create_batch(session: Session, file: Path, sell: str, *, yes: bool, again: bool) -> int:
    """Create every group of a file. Raises CommandError."""
    require_key(session)
    output = session.call.output
    plan = await planned(session, file, sell)
    await session.link.learn_rate_limits()
    if not plan.creatable:
        tell_plan(output, plan, session.link.api.budget.left(RateClass.EXCHANGE))
        count = len(plan.problems)
        raise bad_input(
            "BATCH_PROBLEMS",
            f"{count} row{'' if count == 1 else 's'} of {file.name} cannot be created.",
            field="file",
        )
    if not yes:
        if not session.call.interactive:
            raise bad_input("NEEDS_YES", "Without a terminal this needs --yes.", field="yes")
        tell_plan(output, plan, session.link.api.budget.left(RateClass.EXCHANGE))
        if output.ask('Create these orders? Type "create":') != "create":
            raise CommandError(Exit.INTERRUPTED, "NOT_CONFIRMED", "Nothing was created.")
    creation = BatchCreation(session.link.api, session.desk.journal, session.desk.clock)
    try:
        batch_id = creation.write(plan, again=again)
        output.talk(*(group_words(group) for group in plan.groups))
        outcomes = await creation.run(batch_id, lambda outcome: _say(output, outcome))
    except BatchCreatedBefore as error:
        raise _before(session, error.batch_id) from None
    except JournalUnavailable:
        raise own_refusal("NO_JOURNAL", NO_JOURNAL.cause, next=NO_JOURNAL.next) from None
    return _end(session, batch_id, outcomes)


async def show_status(session: Session, batch: str | None) -> int:
    """What became of a batch, asked for anew; groups that wait or are unknown stay so."""
    found = _find(session, batch)
    orders = await _orders(session, found)
    output = session.call.output
    if output.json:
        output.document(_document(found, orders))
        return Exit.DONE
    _table(output, found, orders)
    return Exit.DONE


async def resume_batch(session: Session, batch: str | None) -> int:
    """Go on with a batch: what is unknown is looked for, what never left is created."""
    require_key(session)
    found = _find(session, batch)
    creation = BatchCreation(session.link.api, session.desk.journal, session.desk.clock)
    if not session.desk.journal.batches.adopt(found.id):
        raise own_refusal("OWNED", "Another desk that runs now creates this batch.")
    outcomes = await creation.run(found.id, lambda one: _say(session.call.output, one))
    return _end(session, found.id, outcomes)


async def export_batch(session: Session, batch: str | None, out: Path | None) -> int:
    """One line for each line of the file."""
    found = _find(session, batch)
    rows = result_rows(found, await _orders(session, found))
    output = session.call.output
    if out is None:
        if output.json:
            output.document({"batch": found.id, "rows": rows})
        else:
            output.file(results_csv(rows))
        return Exit.DONE
    written = new_file(out, results_csv(rows))
    if output.json:
        output.document({"batch": found.id, "file": str(written), "rows": len(rows)})
    else:
        output.talk(f"Written: {written}.")
    return Exit.DONE


def _find(session: Session, batch: str | None) -> JournaledBatch:
    log = session.desk.journal.batches
    if batch is None:
        newest = log.newest(1)
        if newest:
            return newest[0]
        raise CommandError(Exit.NOT_FOUND, "NOT_FOUND", "No batch was created here.")
    found = log.get(batch)
    if found is None:
        raise CommandError(
            Exit.NOT_FOUND, "NOT_FOUND", "The journal holds no batch that begins so."
        )
    return found


async def _orders(session: Session, batch: JournaledBatch) -> dict[str, Order]:
    """Orders of the groups as the service has them; of those it forgot, as the journal has."""
    orders: dict[str, Order] = {}
    for row in batch.rows:
        known = session.desk.journal.orders.get(row.service_id) if row.service_id else None
        if known is not None:
            orders[known.order.service_id] = known.order
    for group in batch.groups:
        if group.multi_id is None:
            continue
        try:
            status = await session.link.api.get_multi_exchange(group.multi_id)
        except NotFound:
            continue
        orders.update((order.service_id, order) for order in status.orders)
    return orders


def _before(session: Session, batch_id: str) -> CommandError:
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


def _end(session: Session, batch_id: str, outcomes: list[GroupOutcome]) -> int:
    """Print what became of it; exit 8 when a group is unknown, else what stopped it."""
    found = session.desk.journal.batches.get(batch_id)
    if found is None:
        raise own_refusal("NO_JOURNAL", NO_JOURNAL.cause, next=NO_JOURNAL.next)
    output = session.call.output
    if output.json:
        output.document(_document(found, {}))
    else:
        _table(output, found, {})
    if any(group.open for group in found.groups) or any(
        row.state is RowState.UNKNOWN for row in found.rows
    ):
        raise CommandError(
            Exit.UNKNOWN,
            "OUTCOME_UNKNOWN",
            "Whether a group was created is not known.",
            money=HOME,
            next=f"you: swapdesk batch resume {batch_id[:8]} looks for it; it is never sent twice",
        )
    stopped: ClientError | None = next((one.error for one in outcomes if one.error), None)
    if stopped is not None:
        raise of_client_error(stopped)
    differs = [row for row in found.rows if row.state is RowState.DIFFERS]
    if differs:
        raise CommandError(
            Exit.OWN_REFUSAL,
            "ORDER_DIFFERS",
            f"Row {differs[0].number}: {differs[0].reason}",
            money=HOME,
            next="you: report it to the service with the order's id",
        )
    failed = sum(row.state is RowState.FAILED for row in found.rows)
    return Exit.REFUSED if failed else Exit.DONE


def _document(batch: JournaledBatch, orders: dict[str, Order]) -> dict[str, Any]:
    return {
        "batch": batch.id,
        "file": batch.file,
        "created": batch.created,
        "groups": [
            {
                "group": group.number,
                "chain": group.chain,
                "paid": group.paid,
                "state": group.state.value,
                "multiId": group.multi_id,
                "code": group.code,
                "rows": [row.number for row in group.rows],
            }
            for group in batch.groups
        ],
        "rows": result_rows(batch, orders),
        "money": HOME,
        "next": "you: pay the deposits of the orders that were created",
    }


def _table(output: Output, batch: JournaledBatch, orders: dict[str, Order]) -> None:
    output.facts([("Batch", batch.id), ("File", batch.file)])
    rows = result_rows(batch, orders)
    names = ("row", "to", "amount", "state", "serviceId", "orderState", "reason")
    output.table(
        ("row", "recipient", "amount", "state", "order", "order state", "reason"),
        [tuple("" if row[name] is None else str(row[name]) for name in names) for row in rows],
    )
