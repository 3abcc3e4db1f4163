"""``demo``: a demonstration on the screen, or told at once."""

from __future__ import annotations

import sys
from decimal import Decimal

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import bad_input, own_refusal
from swapdesk.cli.quote_options import read_digits
from swapdesk.cli.serve_command import read_speed

NAMES = ("private", "stuck")
MOST_SEED = 2**32 - 1


@click.command()
@click.argument("name", metavar="NAME", type=click.Choice(NAMES))
@click.option("--auto", is_flag=True, help="Tell every stage at once, without a screen.")
@click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    default=7,
    show_default=True,
    help="Chooses who takes part, and with --auto all that happens: the same seed tells the same.",
)
@click.option(
    "--speed",
    callback=read_speed,
    metavar="X",
    help="How fast the world acts: as it runs, or as exchanges take with --auto.",
)
@click.option("--amount", callback=read_digits, metavar="A", help="What Alice pays.")
@click.option(
    "--token", metavar="T", shell_complete=completion.tokens, help="The token that Alice pays."
)
@desk_command
def demo(
    call: CliContext,
    name: str,
    auto: bool,
    seed: int,
    speed: Decimal | None,
    amount: str | None,
    token: str | None,
) -> int:
    """Show how an order goes through exchanges and chains, stage by stage.

    NAME is private (how Alice pays Bob) or stuck (an order that fails, and how support finds it).
    Everything happens in the sandbox, with transactions on its chains. With --auto the world is a
    new one of that seed, and nothing of it is kept.
    """
    from swapdesk.flows.demo.demonstration import DemoChoice

    if call.settings(lenient=True).live:
        raise own_refusal(
            "SANDBOX_ONLY",
            "A demonstration needs the sandbox, and this profile is live.",
            next="you: leave out --profile, or choose sandbox",
        )
    choice = DemoChoice(name, seed, speed, amount, token)
    if auto:
        from swapdesk.cli.demo_transcript import tell_demo

        tell_demo(call, choice)
        return 0
    from swapdesk.cli.main import open_desk

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise bad_input(
            "NO_TERMINAL", "The screen needs a terminal. --auto tells the stages without one."
        )
    return open_desk(call, choice)
