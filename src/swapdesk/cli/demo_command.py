"""``demo``: a private send shown stage by stage, in a world that repeats."""

from __future__ import annotations

import random
import sys
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from swapdesk.cli.amount_argument import require_digits
from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import CommandError, bad_input
from swapdesk.cli.exit_codes import Exit

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

NAMES = ("private",)
WHERE = "in the sandbox; no real money moves in a demonstration"


@click.command()
@click.argument("name", type=click.Choice(NAMES))
@click.option("--auto", is_flag=True, help="Go through all stages, print them and end.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=7,
    show_default=True,
    help="With --auto: the same seed gives the same transcript, byte for byte.",
)
@click.option(
    "--speed",
    type=click.FloatRange(0.01, 1000.0),
    default=60.0,
    show_default=True,
    help="How fast the world of the screen runs.",
)
@click.option("--amount", default="1200", show_default=True, help="What Alice sends.")
@click.option("--token", default="usdc.base", show_default=True, help="What she sends it in.")
@desk_command
def demo(
    call: CliContext, name: str, auto: bool, seed: int, speed: float, amount: str, token: str
) -> int:
    """Show a private send from Alice to Bob, on the sandbox's own chains.

    In a terminal it opens the desk on the page of the demonstration (D). With --auto it prints the
    nine stages of a world that is made for it and is the same for the same seed; nothing of this
    home is touched.
    """
    require_digits(amount)
    if auto:
        return _print(call, seed, Decimal(amount), token)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise bad_input("NO_TERMINAL", "The page needs a terminal; --auto prints.", money=WHERE)
    from swapdesk.cli.main import open_desk
    from swapdesk.flows.demo.private_send import Wish

    return open_desk(call, demo=Wish(Decimal(amount), token, Decimal(str(speed)), seed))


def _print(call: CliContext, seed: int, amount: Decimal, token: str) -> int:
    from swapdesk.flows.connection import sandbox_connection
    from swapdesk.flows.desk import Desk
    from swapdesk.paths import Home
    from swapdesk.sandbox.repeatable import open_world, run_repeatable
    from swapdesk.settings import load_settings

    async def main() -> None:
        with tempfile.TemporaryDirectory(prefix="swapdesk-demo-") as place:
            home = Home.at(Path(place))
            settings = load_settings({}, home)
            async with open_world(home.sandbox, seed=seed, speed=Decimal(1), pools=False) as world:
                desk = Desk.open(settings, clock=world.clock, transport=world.transport)
                try:
                    await desk.connect(sandbox_connection(world.ready, settings), follow=False)
                    await desk.refresh_reference()
                    await _show(call, desk, seed, amount, token)
                finally:
                    await desk.close()

    run_repeatable(main)
    return Exit.DONE


async def _show(call: CliContext, desk: Desk, seed: int, amount: Decimal, spec: str) -> None:
    from swapdesk.client.chain_transfers import ChainUnreadable
    from swapdesk.client.errors import ClientError
    from swapdesk.flows.catalog.resolution import resolve
    from swapdesk.flows.demo.private_send import STAGES, DemoFailed, PrivateSend, Stage
    from swapdesk.flows.demo.stage_words import alike_lines, private_view, search_lines, transcript

    output = call.output
    found = resolve(spec, desk.catalog)
    if found.token is None:
        problem = found.problem or f"There is no token {spec}."
        raise bad_input("TOKEN_NOT_FOUND", problem, money=WHERE, field="token")

    def tell(stage: Stage) -> None:
        output.say(*transcript(private_view(stage), STAGES), "")

    send = PrivateSend(desk, found.token, amount, random.Random(seed), f"seed {seed}")
    try:
        await send.run(tell)
        last = await send.last_look()
    except (DemoFailed, ClientError, ChainUnreadable) as error:
        said = str(error).rstrip(".")
        raise CommandError(
            Exit.REFUSED, "DEMO_FAILED", f"{said}.", money=WHERE, next="you: change the options"
        ) from None
    finally:
        await send.close()
    output.say("Link search", *(f"  {line}" for line in search_lines(last.search)))
    output.say(*alike_lines(private_view(last)))
