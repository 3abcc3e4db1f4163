"""``trigger``: faults and clock of the sandbox, and orders to practise on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import bad_input
from swapdesk.cli.error_table import UNMOVED

if TYPE_CHECKING:
    from swapdesk.cli.session import CommandSession

PRACTICE = "practice"
NO_FILES = (
    "Files of cases are gone in this version: swapdesk trigger run practice makes the twelve that"
    " come with it."
)
ANY_FAULT = "NAME"
"""Stands for the name of a fault in the list of commands."""


class FaultNames(click.Group):
    """A group whose first word may also be the name of a fault."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), ANY_FAULT]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from swapdesk.wire.faults import REMOVED

        if cmd_name in REMOVED:
            message = f"{cmd_name} is gone in this version: {REMOVED[cmd_name]}."
            raise bad_input("REMOVED", message, field="name")
        return super().get_command(ctx, cmd_name) or set_fault


@click.group(cls=FaultNames)
def trigger() -> None:
    """Let something go wrong in the sandbox, on purpose.

    NAME is a fault of "swapdesk trigger list".
    """


@click.command()
@click.argument("target", required=False)
@click.option("--leg", type=click.Choice(("in", "out")), help="The side of a private order.")
@click.option("--times", type=click.IntRange(1, 1_000_000), help="How often it happens.")
@click.option(
    "--seconds", type=click.FloatRange(0, 300), help="How long it lasts, or what retry-after says."
)
@desk_command
def set_fault(call: CliContext, target: str | None, **given: Any) -> int:
    """Set a fault on TARGET: an order, provider, chain, group, quote or operation.

    An order may be given by the beginning of its id.
    """
    from swapdesk.cli.trigger_report import report_fault

    name = click.get_current_context().info_name or ""
    members = {key: value for key, value in given.items() if value is not None}
    if "seconds" in members:
        members["seconds"] = Decimal(str(members["seconds"]))
    return _run(call, lambda session: report_fault(session, name, target, members))


@trigger.command("list")
@desk_command
def list_faults(call: CliContext) -> int:
    """Every fault, what it may meet and what it shows; then those that are set."""
    from swapdesk.cli.trigger_report import report_faults

    return _run(call, report_faults)


@trigger.command()
@desk_command
def clear(call: CliContext) -> int:
    """End every fault and every hold."""
    from swapdesk.cli.trigger_report import report_cleared

    return _run(call, report_cleared)


@trigger.command()
@click.argument("step")
@desk_command
def clock(call: CliContext, step: str) -> int:
    """Move the clock of the sandbox on by STEP: +30s, +10m, +1h or +2d."""
    from swapdesk.cli.trigger_report import report_clock

    return _run(call, lambda session: report_clock(session, step))


@trigger.command()
@click.argument("cases", metavar="practice")
@click.option("--answers", is_flag=True, help="Show the answers; nothing is made.")
@desk_command
def run(call: CliContext, cases: str, answers: bool) -> int:
    """Make twelve orders, each stuck in its way, to practise on.

    Each case is printed with what its customer writes and sends; give that to "swapdesk why".
    """
    from swapdesk.cli.trigger_report import report_answers, report_run

    if cases != PRACTICE:
        raise bad_input("REMOVED", NO_FILES, field="cases")
    if answers:
        return report_answers(call.output)
    return _run(call, report_run)


def _run(call: CliContext, work: Callable[[CommandSession], Awaitable[int]]) -> int:
    """Exit 2 on a live profile, before its service is asked anything."""
    from swapdesk.cli.session import run_session

    if call.settings().live:
        from swapdesk.flows.faults.triggers import NOT_A_SANDBOX

        raise bad_input("SANDBOX_ONLY", NOT_A_SANDBOX, money=UNMOVED, field="profile")
    return run_session(call, work)
