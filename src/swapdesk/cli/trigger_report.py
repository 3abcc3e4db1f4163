"""What ``trigger`` does with the sandbox, and what it prints."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from swapdesk.cli.command_error import CommandError, bad_input
from swapdesk.cli.error_table import UNMOVED
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.output import Output
from swapdesk.cli.session import CommandSession
from swapdesk.client.errors import ApiError
from swapdesk.flows.faults.scenario import CaseFailed, ScenarioRun
from swapdesk.flows.faults.scenario_file import AnswerRow, ScenarioRefused, read_answers, read_cases
from swapdesk.flows.faults.triggers import TriggerProblem, Triggers, target_kinds

T = TypeVar("T")


class TargetFacts(Struct, frozen=True):
    """What a fault is to meet: an ``order``, by its id."""

    kind: str
    value: str


class FaultDocument(Struct, frozen=True):
    """A fault that was set. ``target`` None: whatever comes next; ``given`` are its options."""

    fault: str
    target: TargetFacts | None
    given: Mapping[str, Any]


class FaultFacts(Struct, frozen=True):
    """A fault, what it may meet, what it takes and needs, and what it shows."""

    fault: str
    targets: tuple[str, ...]
    takes: tuple[str, ...]
    needs: str | None
    shows: str


class FaultsDocument(Struct, frozen=True):
    """The table of faults, and sentences on those that are set."""

    faults: tuple[FaultFacts, ...]
    active: tuple[str, ...]


class ActiveDocument(Struct, frozen=True):
    """The faults that are set."""

    active: tuple[str, ...]


class ClockDocument(Struct, frozen=True):
    """What the clock of the sandbox shows now."""

    now: str


class PracticeCase(Struct, frozen=True, rename="camel"):
    """A case that stands, with what its customer writes and sends."""

    case: str
    customer: str
    pasted: str
    service_id: str


class CasesDocument(Struct, frozen=True):
    """In the order of the file."""

    cases: tuple[PracticeCase, ...]


class AnswersDocument(Struct, frozen=True):
    """What is right, case by case."""

    answers: tuple[AnswerRow, ...]


async def report_fault(
    session: CommandSession, name: str, target: str | None, members: Mapping[str, Any]
) -> int:
    """Set one fault. Exit 2 for what is no fault or no target, 4 where it comes too late."""
    await session.load_catalog()
    triggers = Triggers(session.desk)
    try:
        call = await triggers.read_call(name, target, members)
    except TriggerProblem as problem:
        raise _problem(problem) from None
    await _accepted(triggers.set(call))
    output = session.call.output
    if output.json:
        chosen = call.target
        met = None if chosen is None else TargetFacts(chosen.kind, chosen.value)
        output.document(FaultDocument(call.fault, met, call.members))
    else:
        output.say(call.said)
    return Exit.DONE


async def report_faults(session: CommandSession) -> int:
    """The table of faults, and what is set."""
    triggers = Triggers(session.desk)
    faults, active = await triggers.faults(), await triggers.active()
    output = session.call.output
    if output.json:
        listed = (
            FaultFacts(
                fault.name,
                tuple(target_kinds(fault).split(" or ")),
                tuple(fault.takes),
                fault.needs,
                fault.does,
            )
            for fault in faults
        )
        output.document(FaultsDocument(tuple(listed), tuple(active)))
        return Exit.DONE
    rows = [(fault.name, target_kinds(fault), fault.does) for fault in faults]
    output.table(("fault", "meets", "shows"), rows)
    output.talk(*(f"Set: {one}." for one in active))
    return Exit.DONE


async def report_cleared(session: CommandSession) -> int:
    await Triggers(session.desk).clear()
    if session.call.output.json:
        session.call.output.document(ActiveDocument(()))
    else:
        session.call.output.say("Every fault and every hold has ended.")
    return Exit.DONE


async def report_clock(session: CommandSession, step: str) -> int:
    """Move the clock. Exit 2 for what is no step."""
    try:
        now = await _accepted(Triggers(session.desk).advance(step))
    except TriggerProblem as problem:
        raise _problem(problem) from None
    if session.call.output.json:
        session.call.output.document(ClockDocument(now))
    else:
        session.call.output.say(f"The sandbox's clock shows {now}.")
    return Exit.DONE


async def report_run(session: CommandSession, file: str) -> int:
    """Make the orders of a file. Exit 2 for a file that is refused, 9 for a case that does not
    come about; the orders made before it stay."""
    try:
        cases = read_cases(file)
        await session.load_catalog()
        await session.settle()
        run = ScenarioRun(session.desk)
        await run.check(cases)
    except ScenarioRefused as refused:
        raise _bad_file(refused) from None
    except TriggerProblem as problem:
        raise _problem(problem) from None
    output, played = session.call.output, []
    try:
        async for case in run.play(cases):
            played.append(case)
            output.talk(f"Case {len(played)} of {len(cases)} is ready: {case.name}.")
    except CaseFailed as failed:
        raise CommandError(
            Exit.OWN_REFUSAL,
            "CASE_FAILED",
            str(failed),
            next="you: correct the file; orders list shows what was made",
        ) from None
    if output.json:
        stand = (PracticeCase(one.name, one.customer, one.pasted, one.service_id) for one in played)
        output.document(CasesDocument(tuple(stand)))
    else:
        rows = [(case.name, case.pasted, case.customer) for case in played]
        output.table(("case", "sent", "the customer writes"), rows)
        output.talk('Give what was sent to "swapdesk why". --answers shows what is right.')
    return Exit.DONE


def report_answers(output: Output, file: str) -> int:
    """The answers beside a file of cases; no sandbox is asked."""
    try:
        rows = read_answers(file)
    except ScenarioRefused as refused:
        raise _bad_file(refused) from None
    if output.json:
        output.document(AnswersDocument(tuple(rows)))
    else:
        table = [(row.case, row.rule, row.money, row.owner, row.why) for row in rows]
        output.table(("case", "rule", "the money is", "who acts", "why"), table)
    return Exit.DONE


async def _accepted(asked: Awaitable[T]) -> T:
    """The answer of the sandbox. Exit 4, or 5 for an order it does not know, with its reason."""
    try:
        return await asked
    except ApiError as error:
        raise CommandError(
            Exit.NOT_FOUND if error.status == 404 else Exit.REFUSED,
            error.code or "REFUSED",
            f"The sandbox refused: {error.message.rstrip('.')}.",
            money=UNMOVED,
            next="you: choose another target, or an order that has not come so far",
            status=error.status,
        ) from None


def _bad_file(refused: ScenarioRefused) -> CommandError:
    return bad_input("BAD_SCENARIO", f"{refused}.", field="file")


def _problem(problem: TriggerProblem) -> CommandError:
    codes = {"name": "NO_SUCH_FAULT", "profile": "SANDBOX_ONLY", "file": "BAD_SCENARIO"}
    code = codes.get(problem.field, "BAD_FAULT")
    return bad_input(code, str(problem), money=UNMOVED, field=problem.field)
