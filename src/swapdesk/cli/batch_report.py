"""Carries out the commands of ``batch``: plans, creates, pays and shows batches."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import (
    CommandError,
    Exit,
    bad_input,
    exit_of,
    not_confirmed,
    of_client_error,
    of_wallet_error,
    own_refusal,
    refused_as,
)
from swapdesk.cli.output import Output
from swapdesk.cli.session import load_catalog
from swapdesk.cli.wallet_session import consent, make_ready, says_yes, unlock
from swapdesk.client.errors import ClientError, NotFound
from swapdesk.flows.batch.batches import Batch, find_batch, newest_batches
from swapdesk.flows.batch.bundles import sum_of
from swapdesk.flows.batch.creation import BatchCreation
from swapdesk.flows.batch.group_payment import (
    pay_group,
    require_payers,
)
from swapdesk.flows.batch.means import means_of_command
from swapdesk.flows.batch.plan import (
    BatchPlan,
    BudgetDocument,
    PlanDocument,
    Total,
    against_means,
    with_payers,
)
from swapdesk.flows.batch.planner import BatchPlanner
from swapdesk.flows.batch.progress import (
    NOT_PAID,
    BatchProgress,
    GroupStanding,
    Payouts,
    ResultRow,
    Stopped,
    Until,
    batch_progress,
    failed_sheet,
    group_standing,
    journaled_orders,
    or_take_back,
    outcome_of,
    payouts_of,
    result_rows,
    results_csv,
    standings,
)
from swapdesk.flows.batch.reading import (
    UnreadableFile,
    read_bytes,
    read_sheet,
    template,
    with_decimal_commas,
)
from swapdesk.flows.batch.rows import (
    ACT_WORDS,
    UNLESS_MEANT,
    ActWord,
    Became,
    Group,
    Row,
    Sheet,
    selling,
    skipping,
)
from swapdesk.flows.failure_messages import IN_WALLET, NO_JOURNAL, money_with_payment
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import ClaimTaken, Operation, State
from swapdesk.flows.notation import about_amount, counted, exact_amount
from swapdesk.flows.orders.order_export import write_export
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.flows.payments import Sum, paid_orders
from swapdesk.flows.transactions import Agreed, Outcome, Turn, Watch
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.answers import Review, SignedTransaction
from swapdesk.wallet.protocol import WalletError
from swapdesk.wire.operation import RateClass
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token


class TemplateDocument(Struct, frozen=True):
    """The result of ``batch template``: the text of the template, or the file to which it was
    written."""

    template: str | UnsetType = UNSET
    file: str | UnsetType = UNSET


COMMA_OFFER = (
    "Every problem is a decimal comma. --decimal-comma reads 1,5 as 1.5, and 1,234 as 1.234."
)


def tell_plan(call: CliContext, plan: BatchPlan, output: Output | None = None) -> None:
    output = output or call.output
    left = call.link.api.budget.left(RateClass.EXCHANGE)
    budget = None
    if left is not None:
        budget = BudgetDocument(left.left, left.limit, round(left.resets_in))
    calls = plan.calls
    output.table(
        ("row", "line", "recipient", "sells", "arrives", "route", "state"),
        [_row(row) for row in plan.rows],
        document=PlanDocument(plan, budget),
    )
    rows_to_create = [row for row in plan.rows if not row.skipped]
    for row in rows_to_create:
        for finding in row.findings:
            place = f"Row {row.number}, line {row.line}"
            column = f", column {finding.column}" if finding.column is not None else ""
            do = "" if finding.do == UNLESS_MEANT else f" {finding.do}"
            output.say(f"{place}{column}: {finding.reason}{do}")
    if any(finding.do == UNLESS_MEANT for row in rows_to_create for finding in row.findings):
        output.hint("Rows to look at are created as they stand: nothing is to be done if meant so.")
    if plan.comma_problem is not None:
        output.hint(COMMA_OFFER)
    if plan.sheet.unused:
        output.hint(f"Columns that are not used: {', '.join(plan.sheet.unused)}.")
    output.facts(
        [
            ("Read as", plan.sheet.said),
            (
                "Rows",
                f"{plan.ready} ready, {plan.look} to look at, {plan.wrong} with problems"
                + (f", {plan.skipped} skipped" if plan.skipped else ""),
            ),
            ("Sells", sells_words(plan)),
            *(("Wallet", wallet_words(total)) for total in plan.totals),
            ("Arrives", arrives_words(plan)),
            ("Orders", ", ".join(f"{count} {route}" for route, count in plan.routes.items())),
            *((f"Group {group.number}", group_words(group)) for group in plan.groups),
            (
                "Calls",
                f"{calls.create} create, {calls.build} build, {calls.submit} submit",
            ),
            ("Budget", "" if left is None else f"exchanges {left.left} of {left.limit} left"),
        ]
    )


def sells_words(plan: BatchPlan) -> str:
    """Returns the amounts that a plan sells, such as ``250 USDC on Ethereum``."""
    return ", ".join(
        f"{exact_amount(total.amount)} {total.token.symbol} on {total.token.chain_data.name}"
        for total in plan.totals
    )


def wallet_words(total: Total) -> str:
    """Returns how much of the needed amount the wallet has, or why its balance is not known."""
    what = f"{total.token.symbol} on {total.token.chain_data.name}"
    payer, has = total.payer, total.held
    if payer is None or has is None:
        why = f": {payer.problem}" if payer is not None and payer.problem else "."
        return f"what it has of {what} is not known{why}"
    lack = payer.missing(total)
    missing = "" if lack is None else f"; {exact_amount(lack)} are missing"
    return f"{exact_amount(has)} of {exact_amount(total.amount)} {what} in {payer.wallet}{missing}"


def arrives_words(plan: BatchPlan) -> str:
    """Returns the estimated payouts of a plan, such as ``≈ 107.9 XRP on XRP Ledger``."""
    return ", ".join(
        f"{about_amount(arrival.about)} {arrival.token.symbol} on {arrival.token.chain_data.name}"
        for arrival in plan.arrivals
    )


def group_words(group: Group) -> str:
    """Returns a line that describes a group of orders: ``20 rows on Ethereum, 1 bundle of 20
    transfers, signed once``."""
    count = len(group.rows)
    words = f"{count} row{'' if count == 1 else 's'} on {group.chain_name}"
    if group.paid == "bundle":
        signed = "signed once" if group.signatures == 1 else f"{group.signatures} signatures"
        return f"{words}, 1 bundle of {counted(count, 'transfer')}, {signed}"
    if group.paid == "solana":
        return f"{words}, {group.signatures} transactions or more, each signed"
    return f"{words}, each deposit paid by itself"


def _row(row: Row) -> tuple[str, ...]:
    order = row.order
    findings = () if row.skipped else row.problems or row.findings
    state = findings[0].short if findings else row.state
    if order is None:
        sold = f"{row.cell('sell_amount')[:44]} {row.cell('sell')[:44]}"
        texts = (row.cell("to")[:44], sold.strip(), row.cell("buy")[:44])
        return str(row.number), str(row.line), *texts, row.cell("route")[:44], state
    name = f"{order.label} " if order.label else ""
    return (
        str(row.number),
        str(row.line),
        f"{name}{order.recipient}",
        f"{exact_amount(order.amount)} {_spec(order.token_in)}",
        f"{about_amount(order.about)} {_spec(order.token_out)}",
        order.route,
        state,
    )


def _spec(token: Token) -> str:
    return f"{token.symbol}.{token.chain_data.short_name}"


def write_template(call: CliContext, out: Path | None) -> None:
    settings = call.settings()
    book = AddressBook.load(settings.places.address_book, sandbox=not settings.live)
    content = template(book).encode()
    if out is None:
        call.output.file(content, document=TemplateDocument(template=content.decode()))
    else:
        written = new_file(out, content)
        document = TemplateDocument(file=str(written))
        call.output.talk(f"Written: {written}.", document=document)


def new_file(out: Path, content: bytes) -> Path:
    """Writes a new file and returns its path. Raises CommandError (exit 2) if the file exists or
    cannot be written."""
    if os.path.lexists(out):
        raise bad_input("FILE_EXISTS", f"{out.name} is there already.", field="out")
    with refused_as(OSError, "FILE", f"{out.name}: ", field="out"):
        return write_export(out, content)


async def planned(
    call: CliContext,
    file: Path,
    sell: str,
    decimal_comma: bool,
    skip: Collection[int],
    *,
    payer: str = "",
) -> BatchPlan:
    """Plans the batch in a file; ``skip`` are numbers of rows to leave out. A row without a token
    sells ``sell``. An empty ``payer`` means any account. Raises CommandError (exit 2) if the file
    cannot be read."""
    try:
        content = await asyncio.to_thread(read_bytes, file)
        sheet = await read_sheet(file.name, content, call.desk.clock)
        if decimal_comma:
            sheet = with_decimal_commas(sheet)
    except UnreadableFile as error:
        facts: dict[str, Any] = {} if error.line is None else {"line": error.line}
        raise bad_input(error.code, str(error), field="file", **facts) from None
    plan = await planned_sheet(call, without_rows(sheet, skip), sell, payer=payer)
    if plan.heads_note:
        call.output.talk(plan.heads_note)
    return plan


def without_rows(sheet: Sheet, skip: Collection[int]) -> Sheet:
    """Returns the sheet with the rows numbered in ``skip`` marked as skipped. Raises CommandError
    (exit 2) if the sheet has no such row."""
    try:
        return skipping(sheet, skip)
    except KeyError as error:
        raise bad_input(
            "NO_ROW", f"{sheet.name} has no row {error.args[0]}.", field="skip"
        ) from None


async def planned_sheet(call: CliContext, sheet: Sheet, sell: str, *, payer: str = "") -> BatchPlan:
    """Plans the rows of a sheet. A row without a token sells ``sell``. An empty ``payer`` means any
    account."""
    await load_catalog(call)
    desk = call.desk
    planner = BatchPlanner(
        desk.catalog, desk.book, desk.journal, desk.clock, live=desk.settings.live
    )
    judged = await planner.judged(selling(sheet, sell))
    plan = await planner.with_limits(judged, call.link.api)
    means = await means_of_command(desk, plan, payer)
    return with_payers(against_means(plan, means), means)


async def show_plan(
    call: CliContext, file: Path, sell: str, decimal_comma: bool, skip: Collection[int]
) -> int:
    plan = await planned(call, file, sell, decimal_comma, skip)
    await call.link.learn_rate_limits()
    tell_plan(call, plan)
    if plan.unasked is not None:
        raise plan.unasked
    return Exit.BAD_INPUT if plan.problems else Exit.DONE


# Created


async def create_batch(
    call: CliContext,
    what: str | None,
    sell: str,
    decimal_comma: bool,
    skip: tuple[int, ...],
    yes: bool,
    accept_warnings: bool,
    again: bool,
    failed: bool,
) -> int:
    """Creates the orders of the file ``what`` and returns the exit code. With ``failed``, ``what``
    names a batch (None for the newest), and only its failed rows become orders."""
    if failed:
        name, plan = await _failed_rows(call, what, sell, skip)
    elif what is not None:
        name = Path(what).name
        plan = await planned(call, Path(what), sell, decimal_comma, skip)
    else:
        raise bad_input("NO_FILE", "Name a file, or --failed.", field="file")
    question = "Create these orders?"
    await require_agreed(call, name, plan, question, yes=yes, accept_warnings=accept_warnings)
    batch = await created(call, plan, again=again)
    tell_batch(call, batch)
    return creation_exit(call, batch)


async def _failed_rows(
    call: CliContext, named: str | None, sell: str, skip: tuple[int, ...]
) -> tuple[str, BatchPlan]:
    """Plans the failed rows of a batch; returns the batch's name and the plan. ``named`` is the
    batch id or its beginning; None means the newest batch."""
    batch = require_batch(call, named or None)
    name = f"batch {batch.id[:8]}"
    sheet = failed_sheet(batch)
    if sheet is None:
        raise own_refusal(
            "NO_FAILED_ROWS",
            f"No row of {name} is known to have failed.",
            next=f"you: swapdesk batch status {batch.id[:8]}",
        )
    return name, await planned_sheet(call, without_rows(sheet, skip), sell)


async def require_agreed(
    call: CliContext,
    name: str,
    plan: BatchPlan,
    question: str,
    *,
    yes: bool,
    accept_warnings: bool,
) -> None:
    """Prints the plan and asks ``question``; ``yes`` answers it in advance. Raises CommandError:
    exit 2 if rows have problems, 9 for warnings not accepted, 130 if the answer is not yes."""
    output = call.output
    await call.link.learn_rate_limits()
    if not plan.creatable:
        tell_plan(call, plan)
        if plan.unasked is not None:
            raise plan.unasked
        count = len(plan.problems)
        message = f"{count} row{'' if count == 1 else 's'} of {name} cannot be created."
        if not count:
            message = f"Every row of {name} is skipped."
        raise CommandError(
            Exit.BAD_INPUT,
            "BATCH_PROBLEMS",
            message,
            f"{IN_WALLET}; nothing was created",
            "you: correct these rows, or leave them out with --skip; the plan says how"
            if plan.comma_problem is None
            else "you: correct these rows, or read them so with --decimal-comma",
            fields={"file": {"message": message}},
        )
    if not yes:
        require_yes(call, yes=yes)
        tell_plan(call, plan, output.before_a_question)
        if not says_yes(output, question):
            raise not_confirmed("Nothing was created.")
    elif plan.doubts and not accept_warnings:
        tell_plan(call, plan)
        raise own_refusal(
            plan.doubted[0][1].code,
            f"{plan.doubts[0]}{_and_more(len(plan.doubts) - 1)}",
            next="you: correct these rows, or add --accept-warnings if you mean them",
        )


def require_yes(call: CliContext, *, yes: bool, money: str = "") -> None:
    if not (yes or call.interactive):
        raise bad_input(
            "NEEDS_YES", "Without a terminal this needs --yes.", field="yes", money=money
        )


def _and_more(count: int) -> str:
    if not count:
        return ""
    return f" And {count} more {'row is' if count == 1 else 'rows are'} doubted."


async def created(
    call: CliContext, plan: BatchPlan, *, again: bool, payer: str | None = None
) -> Batch:
    """Records a plan and creates its orders. ``payer`` is the account from which ``batch resume``
    may pay them: empty for the first account of each chain, None for no payment. Raises
    CommandError if an order was not created."""
    creation = BatchCreation(call.link.api, call.desk.journal, call.desk.clock)
    try:
        # Whoever has the plan from ``require_agreed`` was asked, or agreed in advance.
        batch_id = creation.write(plan, agreed=True, again=again, payer=payer)
        call.output.talk(
            *(group_words(group) for group in plan.groups),
            f"Sells {sells_words(plan)}; arrives {arrives_words(plan)}.",
        )
        return await gone_on(call, batch_id)
    except ClaimTaken as error:
        raise _before(error.holder) from None
    except JournalUnavailable:
        raise CommandError(
            Exit.OWN_REFUSAL, "NO_JOURNAL", NO_JOURNAL.cause, NOT_PAID, NO_JOURNAL.next
        ) from None


async def gone_on(call: CliContext, batch_id: str) -> Batch:
    """Creates the orders that an interrupted batch still lacks. Raises CommandError if one was not
    created."""
    creation = BatchCreation(call.link.api, call.desk.journal, call.desk.clock)
    stopped: ClientError | None = None
    async for group, error in creation.run(batch_id):
        _say(call.output, group)
        stopped = stopped or error
    batch = require_batch(call, batch_id)
    failed = _creation_error(batch, stopped)
    if failed is not None:
        tell_batch(call, batch)
        raise failed
    return batch


def _before(batch: Operation) -> CommandError:
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
    words = ", ".join(f"{counts[word]} {word}" for word in get_args(Became) if counts[word])
    name = f" {group.multi_id}" if group.multi_id else ""
    output.talk(f"Group {group.number}{name}: {words}.")


def _creation_error(batch: Batch, stopped: ClientError | None) -> CommandError | None:
    """Returns the error to raise after orders were created; None if there is none. ``stopped`` is
    the error that ended the creation. Exit code 8 means that some orders may or may not exist."""
    unknown = any(row.became == "unknown" for row in batch.rows)
    if unknown or any(group.act.left for group in batch.groups):
        return CommandError(
            Exit.UNKNOWN,
            "OUTCOME_UNKNOWN",
            "Whether a group was created is not known.",
            money=NOT_PAID,
            next=f"you: swapdesk batch resume {batch.id[:8]} looks for it; it is never sent twice",
        )
    if stopped is not None:
        failed = of_client_error(stopped, money=money_with_payment(NOT_PAID, stopped))
        if any(group.act.state is State.PREPARED for group in batch.groups):
            failed.next += f"; swapdesk batch resume {batch.id[:8]} goes on with what is left"
        return failed
    differs = [row for row in batch.rows if row.became == "differs"]
    if differs:
        return CommandError(
            Exit.OWN_REFUSAL,
            "ORDER_DIFFERS",
            f"Row {differs[0].number}: {differs[0].reason}",
            money=NOT_PAID,
            next="you: report it to the service with the order's id",
        )
    return None


def creation_exit(call: CliContext, batch: Batch) -> int:
    """Returns the exit code after a batch was created: 4 if the service refused rows, otherwise
    0."""
    failed = sum(row.became == "failed" for row in batch.rows)
    if not failed:
        return Exit.DONE
    rows = "1 row was" if failed == 1 else f"{failed} rows were"
    again = f"swapdesk batch create --failed {batch.id[:8]}"
    call.output.talk(f"{rows} refused: {again} asks again with the same input.")
    return Exit.REFUSED


# Paid

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
"""Exit codes by error code, for a payment that failed. Any other code exits with 9."""


async def settle_group(
    call: CliContext,
    name: str | None,
    group: int | None,
    account: str = "",
    yes: bool = False,
    *,
    until: Until,
) -> None:
    """Carries out the steps that pay a group of orders, up to ``until``. ``name`` None means the
    newest batch, ``group`` None its first unfinished group, an empty ``account`` the first account
    of each chain."""
    batch = require_batch(call, name)
    await _ready(call)
    standing = _chosen(call, batch, group)
    _refuse_early(standing, until)
    outcome = await _Work(call, account, yes=yes).settled(standing, until)
    await _tell_paid(call, batch)
    _end(call, standing, outcome)


build_group = partial(settle_group, until=Until.BUILT)
sign_group = partial(settle_group, until=Until.SIGNED)
submit_group = partial(settle_group, until=Until.SETTLED)


async def run_batch(
    call: CliContext,
    file: Path,
    sell: str,
    decimal_comma: bool,
    skip: tuple[int, ...],
    account: str,
    yes: bool,
    accept_warnings: bool,
    again: bool,
) -> int:
    """Plans, creates and pays the batch in a file, group by group. Returns the exit code."""
    require_yes(call, yes=yes)
    plan = await planned(call, file, sell, decimal_comma, skip, payer=account)
    await require_agreed(call, file.name, plan, PAY, yes=yes, accept_warnings=accept_warnings)
    await _ready(call)
    await _require_payers(call, plan, account)
    batch = await created(call, plan, again=again, payer=account)
    return await _all_groups(call, batch, account, yes=yes)


async def resume_batch(call: CliContext, name: str | None, account: str, yes: bool) -> int:
    """Continues an interrupted batch and returns the exit code. Pays all groups if the journal
    records a payer, otherwise only groups whose payment had begun. An empty ``account`` means the
    recorded payer."""
    earlier = require_batch(call, name)
    journal = call.desk.journal
    if not journal.ledger.take_over(earlier.id):
        groups = standings(journal, earlier.id)
        at = next((group for group in groups if group.begun), groups[0])
        raise _owned(at)
    await _ready(call)
    batch = await gone_on(call, earlier.id)
    payer = earlier.payer
    if payer is None and not any(standing.begun for standing in standings(journal, earlier.id)):
        tell_batch(call, batch)
        if [group.word for group in batch.groups] == [group.word for group in earlier.groups]:
            _refuse_idle(call, batch)
        return creation_exit(call, batch)
    return await _all_groups(call, batch, account or payer or "", yes=yes, begun=payer is None)


def _refuse_idle(call: CliContext, batch: Batch) -> None:
    due = batch_progress(call.desk.journal, batch.id).current
    if due is None:
        return
    if due.bundle is not None and due.bundle.over:
        outcome = outcome_of(due.bundle, due)
        if outcome.failure is not None:
            failure, end = outcome.failure, _ENDS.get(outcome.code, Exit.OWN_REFUSAL)
            raise CommandError(
                end, outcome.code, failure.cause, failure.money, GroupDocument(due).next
            )
    raise CommandError(
        Exit.OWN_REFUSAL,
        "NOT_BEGUN",
        f"Nothing was interrupted: group {due.group.number} is {due.word}, and nothing of it is"
        " signed.",
        due.whereabouts,
        GroupDocument(due).next,
    )


async def _all_groups(
    call: CliContext, batch: Batch, account: str, *, yes: bool, begun: bool = False
) -> int:
    work = _Work(call, account, yes=yes)
    for standing in standings(call.desk.journal, batch.id):
        if standing.next is None or (begun and not standing.begun):
            continue
        outcome = await work.settled(standing, Until.SETTLED)
        if outcome.failure is not None:
            await _tell_paid(call, batch)
            _end(call, standing, outcome)
    again = require_batch(call, batch.id)
    await _tell_paid(call, again)
    return creation_exit(call, again)


async def _tell_paid(call: CliContext, batch: Batch) -> None:
    paid = {
        standing.group.number
        for standing in standings(call.desk.journal, batch.id)
        if standing.over
    }
    tell_batch(call, batch, await ask_orders(call, batch, lambda group: group.number in paid))


class _Work(Watch):
    def __init__(self, call: CliContext, account: str, *, yes: bool) -> None:
        self._call = call
        self._account = account
        self._yes = yes
        self._unlocked = False
        self._group = 0
        self._seen: set[str] = set()

    async def settled(self, standing: GroupStanding, until: Until) -> Outcome:
        """Carries out the steps of a group up to the step ``until``. Raises CommandError if no step
        can begin."""
        self._group = standing.group.number
        money = standing.whereabouts

        async def begin(_: Account, keys: bool) -> None:
            if keys:
                require_yes(self._call, yes=self._yes, money=money)
            if keys and not self._unlocked:
                await unlock(self._call)
                self._unlocked = True

        try:
            outcome = await pay_group(
                self._call.desk,
                standing.group,
                self._account,
                until,
                begin=begin,
                look=self._look,
                watch=self,
            )
        except Stopped as error:
            raise _not_settled(error, money) from None
        except WalletError as error:
            raise of_wallet_error(error, money=money) from None
        except JournalUnavailable:
            raise CommandError(
                Exit.OWN_REFUSAL,
                "NO_JOURNAL",
                NO_JOURNAL.cause,
                f"when this began: {money}",
                NO_JOURNAL.next,
            ) from None
        if outcome is None:
            raise _owned(standing)
        return outcome

    async def _look(self, review: Review) -> Agreed | None:
        return await consent(self._call.output, review, yes=self._yes)

    def turns_to(self, turn: Turn) -> None:
        what = f"{exact_amount(turn.need.amount)} {turn.need.symbol}"
        whom = "the smart account" if turn.funding else counted(turn.payees, "deposit")
        self._say(f"{what} to {whom}, {turn.number} of {turn.total}.")

    def seen(self, signed: SignedTransaction) -> None:
        if signed.hash not in self._seen:
            self._seen.add(signed.hash)
            self._say(f"transaction {signed.hash} is on its way.")

    def _say(self, text: str) -> None:
        self._call.output.talk(f"Group {self._group}: {text}")


async def _ready(call: CliContext) -> None:
    await load_catalog(call)
    await make_ready(call)


async def _require_payers(call: CliContext, plan: BatchPlan, account: str) -> None:
    try:
        await require_payers(call.desk, plan, account)
    except Stopped as error:
        raise _not_settled(error, f"{IN_WALLET}; nothing was created") from None


def _owned(standing: GroupStanding) -> CommandError:
    return CommandError(
        Exit.OWN_REFUSAL,
        "OWNED",
        "Another desk that runs now works on this batch.",
        f"as far as the journal has it: {standing.whereabouts}",
    )


def _not_settled(error: Stopped, money: str) -> CommandError:
    end = _ENDS.get(error.code, Exit.OWN_REFUSAL)
    return CommandError(end, error.code, str(error), money, error.next)


def _chosen(call: CliContext, batch: Batch, number: int | None) -> GroupStanding:
    progress = batch_progress(call.desk.journal, batch.id)
    groups = progress.standings
    if number is None:
        return progress.current or groups[-1]
    if not 1 <= number <= len(groups):
        raise bad_input(
            "NO_GROUP", f"The batch has {counted(len(groups), 'group')}.", field="group"
        )
    return groups[number - 1]


def _refuse_early(standing: GroupStanding, until: Until) -> None:
    if standing.next is not None and standing.next < until:
        raise CommandError(
            Exit.OWN_REFUSAL,
            "NOT_YET",
            f"Group {standing.group.number} is {standing.word}.",
            standing.whereabouts,
            GroupDocument(standing).next,
        )


def _end(call: CliContext, standing: GroupStanding, outcome: Outcome) -> None:
    """Raises CommandError if the outcome is a failure, with exit 8 while a payment of the group may
    still arrive."""
    failure = outcome.failure
    if failure is None:
        return
    now = group_standing(call.desk.journal, standing.group)
    end = _ENDS.get(outcome.code, Exit.OWN_REFUSAL)
    if (now.bundle is not None and now.bundle.under_way) or any(
        payment.open for payment in now.payments
    ):
        end = Exit.UNKNOWN
    elif outcome.error is not None:
        end = exit_of(outcome.error)
    raise CommandError(end, outcome.code, failure.cause, failure.money, failure.next)


# Shown

LOOK = "swapdesk orders list shows the orders"
LEFT = "swapdesk wallet balance lists what gas left over in the smart account"
_COMMANDS = {Until.BUILT: "build", Until.SIGNED: "sign", Until.SETTLED: "submit"}


class TransactionFacts(Struct, frozen=True):
    """One transaction that the wallet signed for a group. ``serviceIds`` are the orders whose
    deposits it pays; the list is empty if it only funds the smart account."""

    PRINTED: ClassVar = {
        "for": "paying", "token": "sum.symbol", "contract": "sum.contract",
        "amount": "sum.amount", "state": "state", "hash": "act.hash",
        "serviceIds": "service_ids", "code": "act.code",
    }  # fmt: skip

    act: Operation

    @property
    def paying(self) -> Literal["fund", "part"]:
        return "fund" if self.act.kind == "fund" else "part"

    @property
    def sum(self) -> Sum:
        return sum_of(self.act)

    @property
    def state(self) -> ActWord:
        return ACT_WORDS[self.act.state]

    @property
    def service_ids(self) -> Sequence[str]:
        return paid_orders(self.act)


class GroupDocument(Struct, frozen=True):
    """Orders of a batch that are paid together. ``bundle`` is None until a bundle is built;
    ``rows`` are row numbers in the file."""

    PRINTED: ClassVar = {
        "group": "standing.group.number", "chain": "standing.group.chain",
        "paid": "standing.group.paid", "state": "standing.group.word",
        "multiId": "standing.group.multi_id", "code": "standing.group.act.code",
        "rows": "standing.group.numbers", "standing": "standing.word",
        "leftOut": "standing.left_out", "bundle": "standing.bundle", "payments": "payments",
        "money": "money", "next": "next",
    }  # fmt: skip

    standing: GroupStanding
    orders: Mapping[str, Order] = field(default_factory=dict)

    @property
    def payments(self) -> list[TransactionFacts]:
        return [TransactionFacts(act) for act in self.standing.payments]

    @property
    def payouts(self) -> Payouts | None:
        return payouts_of([self.standing], self.orders)

    @property
    def money(self) -> str:
        arrived = "" if self.payouts is None else self.payouts.whereabouts
        return arrived or self.standing.whereabouts

    @property
    def next(self) -> str:
        group, due, batch = self.standing.group, self.standing.next, self.standing.batch_id[:8]
        if group.multi_id is None:
            return (
                f"you: swapdesk batch {'resume' if group.act.open else 'create --failed'} {batch}"
            )
        if self.payouts is not None:
            return self.payouts.next(LOOK, LEFT)
        if due is None:
            return "nobody: no row of it became an order"
        next_ = f"you: swapdesk batch {_COMMANDS[due]} {batch} --group {group.number}"
        return or_take_back(next_, self.standing) if due is Until.BUILT else next_

    @property
    def facts(self) -> list[tuple[str, str]]:
        group, bundle = self.standing.group, self.standing.bundle
        funding = [
            (
                "Funding" if act.kind == "fund" else "Transaction",
                f"{exact_amount(sum_of(act).amount)} {sum_of(act).symbol} {act.hash}",
            )
            for act in self.standing.payments
            if act.hash is not None
        ]
        paid_by = bundle.operation.hash if bundle is not None else None
        return [
            ("Group", f"{group.number} {group.multi_id or ''}".strip()),
            ("Stands", self.standing.word),
            ("Plan", self.standing.plan),
            *funding,
            ("Paid by", paid_by or ""),
            ("Funds", f"{self.money}."),
            ("Next", self.next),
        ]


class BatchDocument(Struct, frozen=True):
    """A batch with the groups and rows of its file. ``money`` and ``next`` describe the first
    unfinished group. If all groups are finished, they describe the first group with a payout that
    has not arrived."""

    PRINTED: ClassVar = {
        "batch": "progress.batch.id", "file": "progress.batch.file",
        "created": "progress.batch.created", "groups": "groups", "rows": "rows",
        "money": "current.money", "next": "current.next",
    }  # fmt: skip

    progress: BatchProgress

    @property
    def groups(self) -> list[GroupDocument]:
        return [
            GroupDocument(standing, self.progress.orders) for standing in self.progress.standings
        ]

    @property
    def rows(self) -> list[ResultRow]:
        return result_rows(self.progress.batch, self.progress.orders)

    @property
    def current(self) -> GroupDocument:
        groups = self.groups
        due = [group for group in groups if not group.standing.over]
        waits = [group for group in groups if group.payouts and not group.payouts.done]
        return (due or waits or groups[-1:])[0]


class ResultsDocument(Struct, frozen=True):
    """The results of a batch, one entry for each row that became an order."""

    batch: str
    rows: list[ResultRow]


class ResultsFileDocument(Struct, frozen=True):
    """The file to which the results of a batch were written, and the number of its rows."""

    batch: str
    file: str
    rows: int


Asked = tuple[Mapping[str, Order], ClientError | None]
"""The orders of a batch by id, and the error that stopped reading them, or None. Orders that were
not read are as in the journal."""


def _end_of(output: Output, batch: Batch, error: ClientError | None) -> int:
    if error is None:
        return Exit.DONE
    failure = of_client_error(error)
    output.talk(
        f"Not all orders could be asked after: {failure.message}",
        "They are shown as the journal has them, and go on without this command."
        f" Next you: swapdesk batch status {batch.id[:8]} asks again.",
    )
    return failure.exit


async def show_status(call: CliContext, name: str | None) -> int:
    batch = require_batch(call, name)
    return tell_batch(call, batch, await ask_orders(call, batch))


async def export_batch(call: CliContext, name: str | None, out: Path | None) -> int:
    """Writes the results of a batch as CSV to ``out``, or to standard output. Returns the exit
    code."""
    batch = require_batch(call, name)
    orders, error = await ask_orders(call, batch)
    rows = result_rows(batch, orders)
    output = call.output
    if out is not None:
        written = new_file(out, results_csv(rows))
        document = ResultsFileDocument(batch.id, str(written), len(rows))
        output.talk(f"Written: {written}.", document=document)
    else:
        output.file(results_csv(rows), document=ResultsDocument(batch.id, rows))
    return _end_of(output, batch, error)


def tell_batch(call: CliContext, batch: Batch, asked: Asked = ({}, None)) -> int:
    """Prints a batch. ``asked`` is the result of ``ask_orders``: the batch's orders, and an error
    or None. Returns the exit code for that error."""
    output = call.output
    orders, error = asked
    progress = replace(batch_progress(call.desk.journal, batch.id), orders=orders)
    document = BatchDocument(progress)
    output.facts([("Batch", progress.batch.id), ("File", progress.batch.file)], document=document)
    output.table(
        ("row", "recipient", "sells", "buys", "state", "order", "order state", "reason"),
        [
            (
                str(row.row),
                row.to,
                f"{row.sell_amount} {row.sell}".strip(),
                row.buy if "." in row.buy else f"{row.buy}.{row.chain}".rstrip("."),
                row.state,
                row.service_id or "",
                row.order_state or "",
                row.reason or "",
            )
            for row in document.rows
        ],
    )
    for group in document.groups:
        output.facts(group.facts)
    return _end_of(output, batch, error)


def require_batch(call: CliContext, batch: str | None) -> Batch:
    ledger = call.desk.journal.ledger
    if batch is None:
        newest = newest_batches(ledger, 1)
        if newest:
            return newest[0]
        raise CommandError(
            Exit.NOT_FOUND,
            "NOT_FOUND",
            "No batch was created here.",
            next="you: swapdesk batch create FILE makes one",
        )
    named = find_batch(ledger, batch)
    if named is None:
        raise CommandError(
            Exit.NOT_FOUND,
            "NOT_FOUND",
            "The journal holds no batch that begins so.",
            money="where the journal of the desk that created it says",
            next="you: swapdesk batch status shows the newest one; check the profile",
        )
    return named


async def ask_orders(
    call: CliContext,
    batch: Batch,
    of: Callable[[Group], bool] = lambda _: True,
) -> Asked:
    """Reads the orders of the groups that ``of`` selects from the service, and stops at the first
    failed call. Returns all orders, unread ones as the journal has them, and the error or None."""
    orders = journaled_orders(call.desk.journal, batch)
    for group in batch.groups:
        if group.multi_id is None or not of(group):
            continue
        try:
            status = await call.link.api.get_multi_exchange(group.multi_id)
        except NotFound:
            continue
        except ClientError as error:
            return orders, error
        orders.update((order.service_id, order) for order in status.orders)
    return orders, None
