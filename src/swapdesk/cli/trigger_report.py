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
from swapdesk.flows.faults.practice import PRACTICE, CaseFailed, PlayedCase, Practice
from swapdesk.flows.faults.triggers import Triggers
from swapdesk.flows.support.diagnosis import Owner
from swapdesk.wire.faults import FAULTS, FaultRefused, targets_of

T = TypeVar("T")


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


class CasesDocument(Struct, frozen=True):
    """In the order in which they were made."""

    cases: tuple[PlayedCase, ...]


class AnswerRow(Struct, frozen=True):
    """What support should find: words of the diagnosis, and why in a sentence."""

    case: str
    rule: str
    money: str
    """Words that the diagnosis has of the money's place."""
    owner: Owner
    why: str


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
        call = triggers.read_call(name, target, members)
    except FaultRefused as problem:
        raise _problem(problem) from None
    await _accepted(triggers.set(call))
    output = session.call.output
    if output.json:
        output.document(call)
    else:
        output.say(call.said)
    return Exit.DONE


async def report_faults(session: CommandSession) -> int:
    """The table of faults, and what is set."""
    active = await Triggers(session.desk).active()
    output = session.call.output
    if output.json:
        listed = (
            FaultFacts(
                fault.name,
                tuple(targets_of(fault).split(" or ")),
                tuple(sorted(fault.takes)),
                None,
                fault.does,
            )
            for fault in FAULTS.values()
        )
        output.document(FaultsDocument(tuple(listed), tuple(active)))
        return Exit.DONE
    rows = [(fault.name, targets_of(fault), fault.does) for fault in FAULTS.values()]
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
    except FaultRefused as problem:
        raise _problem(problem) from None
    if session.call.output.json:
        session.call.output.document(ClockDocument(now))
    else:
        session.call.output.say(f"The sandbox's clock shows {now}.")
    return Exit.DONE


async def report_run(session: CommandSession) -> int:
    """Make the orders to practise on. Exit 9 for a case that does not come about; the orders made
    before it stay."""
    await session.load_catalog()
    await session.settle()
    output, played = session.call.output, []
    try:
        async for case in Practice(session.desk).play():
            played.append(case)
            output.talk(f"Case {len(played)} of {len(PRACTICE)} is ready: {case.case}.")
    except CaseFailed as failed:
        raise CommandError(Exit.OWN_REFUSAL, "CASE_FAILED", str(failed)) from None
    if output.json:
        output.document(CasesDocument(tuple(played)))
    else:
        rows = [(case.case, case.pasted, case.customer) for case in played]
        output.table(("case", "sent", "the customer writes"), rows)
        output.talk('Give what was sent to "swapdesk why". --answers shows what is right.')
    return Exit.DONE


def report_answers(output: Output) -> int:
    """What is right, case by case; no sandbox is asked."""
    rows = [AnswerRow(one.name, one.rule, one.money, one.owner, one.why) for one in PRACTICE]
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


def _problem(refused: FaultRefused) -> CommandError:
    codes = {"fault": "NO_SUCH_FAULT", "profile": "SANDBOX_ONLY"}
    code = codes.get(refused.field, "BAD_FAULT")
    return bad_input(code, str(refused), money=UNMOVED, field=refused.field)
