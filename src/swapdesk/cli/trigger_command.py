"""``trigger``: faults and clock of the sandbox, and orders to practise on."""

from __future__ import annotations

import click

from swapdesk.cli.cli_context import CliContext, desk_command, in_sandbox
from swapdesk.cli.command_error import bad_input

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
@in_sandbox("trigger_report:report_fault")
def set_fault() -> None:
    """Set a fault on TARGET: an order, provider, chain, group, quote or operation.

    An order may be given by the beginning of its id.
    """


@trigger.command("list")
@in_sandbox("trigger_report:report_faults")
def list_faults() -> None:
    """Every fault, what it may meet and what it shows; then those that are set."""


@trigger.command()
@in_sandbox("trigger_report:report_cleared")
def clear() -> None:
    """End every fault and every hold."""


@trigger.command()
@click.argument("step")
@in_sandbox("trigger_report:report_clock")
def clock() -> None:
    """Move the clock of the sandbox on by STEP: +30s, +10m, +1h or +2d."""


@trigger.command()
@click.argument("cases", metavar="practice")
@click.option("--answers", is_flag=True, help="Show the answers; nothing is made.")
@desk_command
def run(call: CliContext, cases: str, answers: bool) -> None:
    """Make twelve orders, each stuck in its way, to practise on.

    Each case is printed with what its customer writes and sends; give that to "swapdesk why".
    """
    from swapdesk.cli.trigger_report import report_answers, report_run, run_in_sandbox

    if cases != PRACTICE:
        raise bad_input("REMOVED", NO_FILES, field="cases")
    if answers:
        report_answers(call.output)
    else:
        run_in_sandbox(call, report_run)
