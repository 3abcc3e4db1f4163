"""``node``: the embedded chains alone, until they are told to end."""

from __future__ import annotations

from decimal import Decimal
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

import click

from swapdesk.cli.call import Call, desk_command
from swapdesk.cli.command_error import bad_input
from swapdesk.cli.serve_command import read_speed


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
    call: Call,
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
    from swapdesk.cli.extras import require_sandbox

    require_sandbox()
    from swapdesk.sandbox.node.evm.standalone import NodeOptions, run_node

    home = data or call.settings(lenient=True).home.sandbox.parent / "node"
    return run_node(
        NodeOptions(
            data=home.absolute(),
            host=host,
            port=port,
            speed=speed or Decimal(1),
            ids=chain_ids,
        )
    )
