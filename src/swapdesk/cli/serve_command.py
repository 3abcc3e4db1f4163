"""``serve --sandbox`` and ``node``: the service and its world, or the embedded chains alone, until
they are told to end.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

import click
from click.core import ParameterSource

from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import CommandError, Exit, bad_input

_OF_WORLDS = frozenset(
    {
        *("sandbox", "host", "port", "seed", "speed", "data", "tokens", "chain_ids"),
        *("dialect", "lifeline"),
    }
)
FASTEST = 100_000
FEWEST_TOKENS, MOST_TOKENS = 1_000, 100_000


def read_speed(
    context: click.Context, option: click.Parameter, value: str | None
) -> Decimal | None:
    """A factor above 0."""
    if value is None:
        return None
    try:
        speed = Decimal(value)
    except InvalidOperation:
        raise click.BadParameter(f"{value!r} is no number.") from None
    if not (speed.is_finite() and 0 < speed <= FASTEST):
        raise click.BadParameter(f"A speed is above 0 and at most {FASTEST}.")
    return speed


@click.command()
@click.option("--sandbox", is_flag=True, help="Serve the sandbox.")
@click.option(
    "--config",
    "config_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Serve the chains and venues that a TOML file names, and nothing else.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=0,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port of the API; 0 takes a free one.",
)
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
@click.option("--lifeline", is_flag=True, help="End when standard input ends.")
@desk_command
def serve(
    call: CliContext,
    sandbox: bool,
    config_file: Path | None,
    host: str,
    port: int,
    seed: int | None,
    speed: Decimal | None,
    data: Path | None,
    tokens: int | None,
    chain_ids: Literal["sandbox", "real"],
    dialect: Literal["contract", "vendor"],
    lifeline: bool,
) -> int:
    """Serve the Partner Swap API v2.

    Prints one JSON line with addresses and keys when it is ready; SIGTERM ends it.
    """
    if config_file is not None:
        _alone("config_file")
        return _serve_file(call, config_file)
    if not sandbox:
        raise bad_input(
            "ONLY_SANDBOX",
            "Say what to serve: --sandbox, or --config FILE with chains and venues.",
            field="sandbox",
        )
    from swapdesk.cli.sandbox_lifetime import require_sandbox

    require_sandbox()
    from swapdesk.sandbox.supervisor import ServeOptions
    from swapdesk.sandbox.supervisor import serve as serve_sandbox

    return serve_sandbox(
        ServeOptions(
            data=(data or call.settings(lenient=True).home.sandbox).absolute(),
            host=host,
            port=port,
            seed=seed,
            speed=speed,
            lifeline=lifeline,
            tokens=tokens,
            chain_ids=chain_ids,
            dialect=dialect,
        )
    )


def _alone(option: str) -> None:
    """Exit 2 where another option was given beside it: the file says all of it."""
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


def _serve_file(call: CliContext, file: Path) -> int:
    from swapdesk.cli.sandbox_lifetime import require_sandbox

    require_sandbox()
    from swapdesk.sandbox.configured_service import ServiceRefused, serve_configured
    from swapdesk.sandbox.service_file import ServiceFileRefused, read_service_file

    try:
        config = read_service_file(file)
    except ServiceFileRefused as refused:
        raise bad_input("CONFIG", f"{refused}.", field="config") from None
    lists = {
        f"venues.{venue.code}": f"{venue.name} ({venue.kind}) lacks {' and '.join(venue.lacks)}"
        for venue in config.lacking
    }
    if any(venue.required for venue in config.lacking):
        raise CommandError(
            Exit.BAD_INPUT,
            "VENUES_MISSING",
            "Venues cannot be served: "
            + "; ".join(f"{key}: {said}" for key, said in lists.items())
            + ".",
            fields={key: {"message": said} for key, said in lists.items()},
        )
    for key, said in lists.items():
        call.output.talk(f"Left out: {key}: {said}.")
    try:
        serve_configured(config)
    except ServiceRefused as refused:
        raise bad_input("CONFIG", f"{file}: {refused}.", field="config") from None
    return Exit.DONE


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
    type=click.IntRange(0, 65535),
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
@desk_command
def node(
    call: CliContext,
    host: str,
    port: int,
    data: Path | None,
    chain_ids: Literal["sandbox", "real"],
    speed: Decimal | None,
) -> int:
    """Run the chains of the sandbox alone, for any Ethereum or Solana client.

    Prints one JSON line with their addresses when they are ready; SIGTERM ends it. The account
    that holds the coins is derived from sandbox.key in the data directory.
    """
    if not _loopback(host):
        raise bad_input(
            "ONLY_LOOPBACK",
            "The chains ask nobody for a token, so they serve this machine alone.",
            field="host",
        )
    from swapdesk.cli.sandbox_lifetime import require_sandbox

    require_sandbox()
    from swapdesk.sandbox.node.evm.standalone import run_node

    home = data or call.settings(lenient=True).home.sandbox.parent / "node"
    return run_node(home.absolute(), host=host, port=port, speed=speed or Decimal(1), ids=chain_ids)
