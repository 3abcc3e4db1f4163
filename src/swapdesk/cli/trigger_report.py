"""Carries out the ``trigger`` commands, which set faults in the sandbox, move its clock and make
practice orders."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any, TypeVar

import click
from msgspec import Struct

from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import UNMOVED, CommandError, Exit, bad_input
from swapdesk.cli.output import Output
from swapdesk.cli.session import load_catalog, run_session, settle
from swapdesk.client.errors import ApiError
from swapdesk.flows.faults.practice import PRACTICE, Case, CaseFailed, PlayedCase, Practice
from swapdesk.flows.faults.triggers import NOT_A_SANDBOX, Triggers
from swapdesk.wire.faults import FAULTS, Fault, FaultRefused

T = TypeVar("T")


class FaultsDocument(Struct, frozen=True):
    """All faults, and sentences about the faults that are set."""

    faults: tuple[Fault, ...]
    active: tuple[str, ...]


class ActiveDocument(Struct, frozen=True):
    """Sentences about the faults that are set."""

    active: tuple[str, ...]


class ClockDocument(Struct, frozen=True):
    """The time that the sandbox's clock shows now."""

    now: str


class CasesDocument(Struct, frozen=True):
    """The practice cases, in the order in which they were made."""

    cases: tuple[PlayedCase, ...]


class AnswersDocument(Struct, frozen=True):
    """The right answers of the practice cases."""

    answers: tuple[Case, ...]


def run_in_sandbox(call: CliContext, work: Callable[[CliContext], Awaitable[T]]) -> T:
    """Runs ``work`` on the desk of a sandbox. Raises CommandError (exit 2) on a live profile,
    before its service is asked."""
    if call.settings().live:
        raise bad_input("SANDBOX_ONLY", NOT_A_SANDBOX, money=UNMOVED, field="profile")
    return run_session(call, work)


async def report_fault(call: CliContext, target: str | None, **given: Any) -> None:
    """Sets the fault whose name is that of the current command; ``given`` are its options. Raises
    CommandError: exit 2 for an unknown fault or target, 4 if it is too late."""
    await load_catalog(call)
    name = click.get_current_context().info_name or ""
    members = {key: value for key, value in given.items() if value is not None}
    if "seconds" in members:
        members["seconds"] = Decimal(str(members["seconds"]))
    triggers = Triggers(call.desk)
    try:
        fault = triggers.read_call(name, target, members)
    except FaultRefused as problem:
        raise _problem(problem) from None
    await _accepted(triggers.set(fault))
    call.output.say(fault.said, document=fault)


async def report_faults(call: CliContext) -> None:
    active = await Triggers(call.desk).active()
    output = call.output
    rows = [(fault.name, " or ".join(fault.targets), fault.does) for fault in FAULTS.values()]
    document = FaultsDocument(tuple(FAULTS.values()), tuple(active))
    output.table(("fault", "meets", "shows"), rows, document=document)
    output.hint(*(f"Set: {fault_set}." for fault_set in active))


async def report_cleared(call: CliContext) -> None:
    await Triggers(call.desk).control.clear_faults()
    call.output.say("Every fault and every hold has ended.", document=ActiveDocument(()))


async def report_clock(call: CliContext, step: str) -> None:
    """Moves the sandbox's clock forward. Raises CommandError (exit 2) unless ``step`` is of the
    form ``+1h``."""
    try:
        now = await _accepted(Triggers(call.desk).advance(step))
    except FaultRefused as problem:
        raise _problem(problem) from None
    call.output.say(f"The sandbox's clock shows {now}.", document=ClockDocument(now))


async def report_run(call: CliContext) -> None:
    """Makes the practice orders. Raises CommandError (exit 9) if an order cannot be made; the
    others remain."""
    await load_catalog(call)
    await settle(call)
    output, played = call.output, []
    try:
        async for case in Practice(call.desk).play():
            played.append(case)
            output.talk(f"Case {len(played)} of {len(PRACTICE)} is ready: {case.case}.")
    except CaseFailed as failed:
        raise CommandError(Exit.OWN_REFUSAL, "CASE_FAILED", str(failed)) from None
    rows = [(case.case, case.pasted, case.customer) for case in played]
    document = CasesDocument(tuple(played))
    output.table(("case", "sent", "the customer writes"), rows, document=document)
    output.hint('Give what was sent to "swapdesk why". --answers shows what is right.')


def report_answers(output: Output) -> None:
    """Prints the right answers of the practice cases, without asking the sandbox."""
    rows = [(case.name, case.rule, case.money, case.owner, case.why) for case in PRACTICE]
    document = AnswersDocument(PRACTICE)
    output.table(("case", "rule", "the money is", "who acts", "why"), rows, document=document)


async def _accepted(asked: Awaitable[T]) -> T:
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
