"""``tokens`` and ``chains``: what can be swapped, from the token list of the profile."""

from __future__ import annotations

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import on_desk


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
@on_desk("catalog_report:report_tokens")
def tokens() -> None:
    """Search tokens by symbol, name, chain or contract, also in a link.

    A contract that is not listed is asked for at the service; such tokens are unverified.
    """


@click.command()
@on_desk("catalog_report:report_chains")
def chains() -> None:
    """List chains, most important first."""
