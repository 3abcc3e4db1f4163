"""``tokens`` and ``chains``: what can be swapped, from the token list of the profile."""

from __future__ import annotations

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import CliContext, desk_command


@click.command()
@click.argument("term", required=False, default="")
@click.option(
    "--chain",
    metavar="NAME",
    shell_complete=completion.chains,
    help="Short name of a chain, as in USDC.base.",
)
@click.option("--symbol", metavar="SYMBOL", help="Only tokens of exactly this symbol.")
@click.option(
    "--limit",
    type=click.IntRange(1, 20_000),
    default=20,
    show_default=True,
    help="How many tokens are listed at most.",
)
@desk_command
def tokens(call: CliContext, term: str, chain: str | None, symbol: str | None, limit: int) -> int:
    """Search tokens by symbol, name, chain or contract, also in a link.

    A contract that is not listed is asked for at the service; such tokens are unverified.
    """
    from swapdesk.cli.catalog_report import report_tokens
    from swapdesk.cli.session import run_session

    return run_session(call, lambda s: report_tokens(s, term, chain, symbol, limit))


@click.command()
@desk_command
def chains(call: CliContext) -> int:
    """List chains, most important first."""
    from swapdesk.cli.catalog_report import report_chains
    from swapdesk.cli.session import run_session

    return run_session(call, report_chains)
