"""The commands of the sandbox. ``serve`` and ``node`` run until they are told to end; ``worker``
carries out orders for a service that a file describes. ``trigger`` sets faults, ``demo`` shows how
an order proceeds, and ``tape`` and ``tour`` open the desk with keys that are pressed or
explained."""

from __future__ import annotations

import sys
from collections.abc import Callable
from decimal import Decimal
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.core import ParameterSource
from msgspec import Struct

from swapdesk.cli import completion
from swapdesk.cli.cli_context import (
    CliContext,
    Declared,
    Effect,
    desk_command,
    in_sandbox,
    on_call,
    read_number,
    reader,
    require,
)
from swapdesk.cli.command_error import (
    UNSERVED,
    CommandError,
    Exit,
    bad_input,
    own_refusal,
    refused_as,
)
from swapdesk.cli.quote_options import read_digits

if TYPE_CHECKING:
    from swapdesk.sandbox.service_file import ServiceConfig

_OF_WORLDS = frozenset(
    {
        *("sandbox", "host", "seed", "speed", "data", "tokens", "chain_ids"),
        *("dialect", "lifeline", "names", "store"),
    }
)
MOST_WORKERS = 64
PORT = click.IntRange(0, 65_535)
FASTEST = 100_000
FEWEST_TOKENS, MOST_TOKENS = 1_000, 100_000


metrics_port = click.option(
    "--metrics-port",
    type=PORT,
    metavar="PORT",
    help="Port of the metrics, in place of the file's; 0 takes a free one.",
)


@reader
def read_speed(value: str) -> Decimal:
    """Returns the speed factor in ``value``. Raises click.BadParameter unless it is above 0 and at
    most ``FASTEST``."""
    return read_number(
        value,
        lambda speed: 0 < speed <= FASTEST,
        f"{value!r} is no number.",
        f"A speed is above 0 and at most {FASTEST}.",
    )


@click.command()
@click.option("--sandbox", is_flag=True, help="Serve the sandbox.")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Serve the chains and venues that a TOML file names, and nothing else.",
)
@click.option(
    "--workers",
    type=click.IntRange(0, MOST_WORKERS),
    metavar="N",
    help="With --config: only answer here, and work in N processes beside; needs PostgreSQL.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=PORT,
    help="Port of the API, in place of the file's; 0 takes a free one, which is the default.",
)
@metrics_port
@click.option("--seed", type=int, help="Seed of a new world; 0 by default.")
@click.option(
    "--speed", callback=read_speed, metavar="X", help="How fast the world acts; 1 by default."
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Data directory; that of this home by default.",
)
@click.option(
    "--tokens",
    type=click.IntRange(FEWEST_TOKENS, MOST_TOKENS),
    help="Fill the catalogue up to so many tokens, to see how it feels.",
)
@click.option(
    "--chain-ids",
    type=click.Choice(["sandbox", "real"]),
    default="sandbox",
    show_default=True,
    help="Ids of the EVM chains: 1,337,000,000 + the real one, or the real one.",
)
@click.option(
    "--dialect",
    type=click.Choice(["contract", "vendor"]),
    default="contract",
    show_default=True,
    help="Whose names the service writes: vendor has those of the public service.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="HOST",
    help="A name that the service is reached under, besides its address; repeatable.",
)
@click.option(
    "--store",
    metavar="URL",
    help="Keep the service's data in this PostgreSQL database, which is this sandbox's alone.",
)
@click.option("--lifeline", is_flag=True, help="End when standard input ends.")
@desk_command(
    Declared(
        Effect.CHANGES_DESK,
        reading=True,
        instead="prints one line with addresses and keys when it is ready",
    )
)
def serve(
    call: CliContext,
    sandbox: bool,
    config_file: Path | None,
    workers: int | None,
    host: str,
    names: tuple[str, ...],
    port: int | None,
    metrics_port: int | None,
    seed: int | None,
    speed: Decimal | None,
    data: Path | None,
    tokens: int | None,
    chain_ids: Literal["sandbox", "real"],
    dialect: Literal["contract", "vendor"],
    store: str | None,
    lifeline: bool,
) -> int:
    """Serve the Partner Swap API v2.

    Prints one JSON line with addresses and keys when the service is ready; SIGTERM ends it.
    """
    if config_file is not None:
        _alone("config_file")
        config = _configured(config_file, port, metrics_port)
        from swapdesk.sandbox.configured_service import serve_configured

        return _until_told(config_file, lambda: serve_configured(config_file, config, workers))
    require(
        (workers is not None, "USAGE", "workers", "--workers goes with --config."),
        (metrics_port is not None, "USAGE", "metrics-port", "--metrics-port goes with --config."),
        (not sandbox, "ONLY_SANDBOX", "sandbox",
         "Say what to serve: --sandbox, or --config FILE with chains and venues."),
    )  # fmt: skip
    from swapdesk.cli.sandbox_lifetime import require_extra

    require_extra("sandbox")
    if store is not None:
        from swapdesk.sandbox.service_file import store_at

        require_extra("postgres")
        with refused_as(ValueError, "USAGE", "--store ", field="store"):
            store_at(store)
    from swapdesk.sandbox.supervisor import ServeOptions
    from swapdesk.sandbox.supervisor import serve as serve_sandbox
    from swapdesk.service.front import HOST

    require(
        *(
            (HOST.fullmatch(name) is None, "USAGE", "name", f"{name!r} is no name of a host.")
            for name in names
        )
    )
    return serve_sandbox(
        ServeOptions(
            data=(data or call.settings(lenient=True).home.sandbox).absolute(),
            host=host,
            port=port or 0,
            seed=seed,
            speed=speed,
            lifeline=lifeline,
            tokens=tokens,
            chain_ids=chain_ids,
            dialect=dialect,
            store=store,
            names=names,
        )
    )


def _alone(option: str) -> None:
    context = click.get_current_context()
    others = [
        parameter.opts[0]
        for parameter in context.command.params
        if isinstance(parameter, click.Option)
        and parameter.name in _OF_WORLDS
        and context.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT
    ]
    if others:
        raise bad_input("USAGE", f"--config goes without {', '.join(others)}.", field=option)


@click.command()
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    required=True,
    help="The file of the service, which has to have a [store].",
)
@metrics_port
@desk_command(Declared(Effect.CHANGES_DESK, reading=True, instead="prints one line when it begins"))
def worker(call: CliContext, config_file: Path, metrics_port: int | None) -> int:
    """Carry out the orders of a service without answering requests, on this or another machine.

    Any number of workers may run beside "swapdesk serve --config FILE" over the same PostgreSQL
    database. Prints one JSON line at the start; SIGTERM ends the worker.
    """
    config = _configured(config_file, metrics_port=metrics_port)
    from swapdesk.sandbox.configured_service import work_configured

    return _until_told(config_file, lambda: work_configured(config_file, config))


def _until_told(file: Path, serve: Callable[[], None]) -> int:
    from swapdesk.sandbox.configured_service import ServiceRefused
    from swapdesk.sandbox.service_file import place_in

    try:
        serve()
    except ServiceRefused as refused:
        raise bad_input(
            "CONFIG",
            f"{place_in(file, refused.key)}: {refused}.",
            field="config",
            money=UNSERVED,
            next="you: put right what the message names, and start it again",
        ) from None
    return Exit.DONE


def _configured(
    file: Path, port: int | None = None, metrics_port: int | None = None
) -> ServiceConfig:
    from swapdesk.cli.sandbox_lifetime import require_extra

    require_extra("sandbox", "The service")
    from swapdesk.sandbox.service_file import ServiceFileRefused, read_service_file

    with refused_as(ServiceFileRefused, "CONFIG", field="config", money=UNSERVED):
        config = read_service_file(file).at(port, metrics_port)
    if config.store is not None:
        require_extra("postgres")
    if config.metrics is not None:
        require_extra("service")
    if any(venue.required for venue in config.lacking):
        raise CommandError(
            Exit.BAD_INPUT,
            "VENUES_MISSING",
            "Venues cannot be served: "
            + "; ".join(f"venues.{lacking.code}: {lacking.shortfall}" for lacking in config.lacking)
            + ".",
            fields={
                f"venues.{lacking.code}": {"message": lacking.shortfall}
                for lacking in config.lacking
            },
        )
    return config


def _loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=0,
    show_default=True,
    type=PORT,
    help="Port of the chains; 0 takes a free one.",
)
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Data directory; that of this home's node by default.",
)
@click.option(
    "--chain-ids",
    type=click.Choice(["sandbox", "real"]),
    default="sandbox",
    show_default=True,
    help="Ids of the EVM chains: 1,337,000,000 + the real one, or the real one.",
)
@click.option(
    "--speed", callback=read_speed, metavar="X", help="How fast blocks come; 1 by default."
)
@desk_command(
    Declared(
        Effect.CHANGES_DESK, reading=True, instead="prints one line with addresses when it is ready"
    )
)
def node(
    call: CliContext,
    host: str,
    port: int,
    data: Path | None,
    chain_ids: Literal["sandbox", "real"],
    speed: Decimal | None,
) -> int:
    """Run the chains of the sandbox alone, for any Ethereum or Solana client.

    Prints one JSON line with the chains' addresses when they are ready; SIGTERM ends them. The
    account that holds the coins is derived from sandbox.key in the data directory.
    """
    if not _loopback(host):
        raise bad_input(
            "ONLY_LOOPBACK",
            "The chains ask nobody for a token, so they serve this machine alone.",
            field="host",
        )
    from swapdesk.cli.sandbox_lifetime import require_extra

    require_extra("sandbox")
    from swapdesk.sandbox.node.evm.standalone import run_node

    place = (data or call.settings(lenient=True).home.sandbox.parent / "node").absolute()
    return run_node(place, host=host, port=port, speed=speed or Decimal(1), ids=chain_ids)


PRACTICE = "practice"
NO_FILES = (
    "Files of cases are gone in this version: swapdesk trigger run practice makes the twelve that"
    " come with it."
)
ANY_FAULT = "NAME"
"""The placeholder for a fault's name in the list of commands."""


class FaultNames(click.Group):
    """A click group in which the name of a fault is a command, too."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), ANY_FAULT]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from swapdesk.wire.faults import REMOVED

        if cmd_name in REMOVED:
            raise bad_input(
                "REMOVED", f"{cmd_name} is gone in this version: {REMOVED[cmd_name]}.", field="name"
            )
        return super().get_command(ctx, cmd_name) or set_fault


@click.group(cls=FaultNames)
def trigger() -> None:
    """Make something fail in the sandbox, on purpose.

    NAME is a fault of "swapdesk trigger list".
    """


@click.command()
@click.argument("target", required=False)
@click.option("--leg", type=click.Choice(("in", "out")), help="The side of a private order.")
@click.option("--times", type=click.IntRange(1, 1_000_000), help="How often it happens.")
@click.option(
    "--seconds", type=click.FloatRange(0, 300), help="How long it lasts, or what retry-after says."
)
@in_sandbox(
    "trigger_report:report_fault",
    Declared(
        Effect.CHANGES_DESK, reading=True, prints=("swapdesk.flows.faults.triggers:FaultDocument",)
    ),
)
def set_fault() -> None:
    """Set a fault on TARGET: an order, provider, chain, group, quote or operation.

    An order may be given by the beginning of its id.
    """


@trigger.command("list")
@in_sandbox(
    "trigger_report:report_faults",
    Declared(Effect.ONLY_READS, reading=True, prints=("trigger_report:FaultsDocument",)),
)
def list_faults() -> None:
    """List every fault, what it can be set on and what it shows; then the faults that are set."""


@trigger.command()
@in_sandbox(
    "trigger_report:report_cleared",
    Declared(Effect.CHANGES_DESK, reading=True, prints=("trigger_report:ActiveDocument",)),
)
def clear() -> None:
    """End every fault and every hold."""


@trigger.command()
@click.argument("step")
@in_sandbox(
    "trigger_report:report_clock",
    Declared(Effect.CHANGES_DESK, reading=True, prints=("trigger_report:ClockDocument",)),
)
def clock() -> None:
    """Move the clock of the sandbox forward by STEP: +30s, +10m, +1h or +2d."""


@trigger.command()
@click.argument("cases", metavar="practice")
@click.option("--answers", is_flag=True, help="Show the answers; nothing is made.")
@desk_command(
    Declared(
        Effect.SPENDS_LIMIT,
        prints=("trigger_report:CasesDocument", "trigger_report:AnswersDocument"),
    )
)
def run(call: CliContext, cases: str, answers: bool) -> None:
    """Make twelve orders, each stuck in its own way, to practise on.

    Each case is printed with its customer's message; give that to "swapdesk why".
    """
    from swapdesk.cli.trigger_report import report_answers, report_run, run_in_sandbox

    if cases != PRACTICE:
        raise bad_input("REMOVED", NO_FILES, field="cases")
    if answers:
        report_answers(call.output)
    else:
        run_in_sandbox(call, report_run)


NAMES = ("private", "stuck")
MOST_SEED = 2**32 - 1


@click.command()
@click.argument("name", metavar="NAME", type=click.Choice(NAMES))
@click.option("--auto", is_flag=True, help="Tell every stage at once, without a screen.")
@click.option(
    "--page",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write it as one web page, - to standard output; only an older one is replaced.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, MOST_SEED),
    default=7,
    show_default=True,
    help="Chooses who takes part, and with --auto or --page all that happens: the same seed tells"
    " the same.",
)
@click.option(
    "--speed",
    callback=read_speed,
    metavar="X",
    help="How fast the world acts: as it runs, or as exchanges take with --auto or --page.",
)
@click.option("--amount", callback=read_digits, metavar="A", help="What Alice pays.")
@click.option(
    "--token", metavar="T", shell_complete=completion.tokens, help="The token that Alice pays."
)
@desk_command(
    Declared(
        Effect.ONLY_READS,
        reading=True,
        prints=(
            "swapdesk.flows.demo.stage:Stage",
            "demo_report:LinkSearchDocument",
            "demo_report:PageDocument",
        ),
    )
)
def demo(
    call: CliContext,
    name: str,
    auto: bool,
    page: Path | None,
    seed: int,
    speed: Decimal | None,
    amount: str | None,
    token: str | None,
) -> int:
    """Show how an order goes through exchanges and chains, stage by stage. NAME is private (how
    Alice pays Bob) or stuck (an order that fails, and how support finds it). Everything happens in
    the sandbox, with transactions on its chains. With --auto or --page a new sandbox is made from
    --seed and deleted afterwards; the page remains."""
    from swapdesk.flows.demo.demonstration import DemoChoice

    if call.settings(lenient=True).live:
        raise own_refusal(
            "SANDBOX_ONLY",
            "A demonstration needs the sandbox, and this profile is live.",
            next="you: leave out --profile, or choose sandbox",
        )
    choice = DemoChoice(name, seed, speed, amount, token)
    if auto or page is not None:
        from swapdesk.cli.demo_report import report_demo

        report_demo(call, choice, page, told=auto)
        return 0
    from swapdesk.cli.main import open_desk

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise bad_input(
            "NO_TERMINAL", "The screen needs a terminal. --auto tells the stages without one."
        )
    return open_desk(call, choice)


class TapeDocument(Struct, frozen=True):
    """The result of playing a tape, a file of keys to press. ``differ`` names the moments at which
    the screen was not as expected; None if no expected result was given."""

    tape: str
    moments: list[str]
    files: list[str]
    differ: list[str] | None


@click.group()
def tape() -> None:
    """Play a tape, which is a file of keys to press, in the desk of the sandbox."""


@tape.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--headless", is_flag=True, help="Without a terminal, in a home that is thrown away.")
@click.option(
    "--check",
    type=click.Path(path_type=Path),
    help="Compare the texts of the marked moments with this file, which --record writes.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a cast, the texts and a picture of each marked moment here.",
)
@on_call(
    "tape_play:play_tape",
    Declared(Effect.CHANGES_DESK, reading=True, prints=("sandbox_commands:TapeDocument",)),
)
def run_tape() -> None:
    """Play the tape FILE: keys, pauses, and waits for texts on the screen.

    A tape plays only in the sandbox. In a terminal you see it play in the desk of this home; ctrl+c
    stops the tape, and the desk stays open for you. Exit 3 if an awaited text never came, 10 if the
    result differs from --check.
    """


@click.command()
@on_call(
    "tape_play:play_tour",
    Declared(Effect.CHANGES_DESK, reading=True, instead="is played on the screen"),
)
def tour() -> None:
    """Open the desk of the sandbox with a guide that waits for your own keys.

    The guide leads from a token to a payout, and to finding the order again. ctrl+c ends the tour,
    and the desk stays open for you.
    """
