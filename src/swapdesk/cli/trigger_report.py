"""What ``trigger`` does with the sandbox, and what it prints."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, TypeVar

from swapdesk.cli.command_error import UNMOVED, CommandError, bad_input
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.session import CommandSession
from swapdesk.client.errors import ApiError
from swapdesk.flows.faults.triggers import TriggerProblem, Triggers, target_kinds

T = TypeVar("T")


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
        output.document(
            {
                "fault": call.fault,
                "target": chosen and {"kind": chosen.kind, "value": chosen.value},
                "given": dict(call.members),
            }
        )
    else:
        output.say(call.said)
    return Exit.DONE


async def report_faults(session: CommandSession) -> int:
    """The table of faults, and what is set."""
    triggers = Triggers(session.desk)
    faults, active = await triggers.faults(), await triggers.active()
    output = session.call.output
    if output.json:
        output.document(
            {
                "faults": [
                    {
                        "fault": fault.name,
                        "targets": target_kinds(fault).split(" or "),
                        "takes": list(fault.takes),
                        "needs": fault.needs,
                        "shows": fault.does,
                    }
                    for fault in faults
                ],
                "active": active,
            }
        )
        return Exit.DONE
    rows = [(fault.name, target_kinds(fault), fault.does) for fault in faults]
    output.table(("fault", "meets", "shows"), rows)
    output.talk(*(f"Set: {one}." for one in active))
    return Exit.DONE


async def report_cleared(session: CommandSession) -> int:
    await Triggers(session.desk).clear()
    if session.call.output.json:
        session.call.output.document({"active": []})
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
        session.call.output.document({"now": now})
    else:
        session.call.output.say(f"The sandbox's clock shows {now}.")
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
            next="you: choose another target, or an order that is not so far yet",
            status=error.status,
        ) from None


def _problem(problem: TriggerProblem) -> CommandError:
    codes = {"name": "NO_SUCH_FAULT", "profile": "SANDBOX_ONLY"}
    code = codes.get(problem.field, "BAD_FAULT")
    return bad_input(code, str(problem), money=UNMOVED, field=problem.field)
