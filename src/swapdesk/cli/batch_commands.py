"""``batch``: many recipients from one file."""

from __future__ import annotations

from pathlib import Path

import click

from swapdesk.cli.call import Call, desk_command


@click.group()
def batch() -> None:
    """Many recipients from one file: planned row by row, created as groups.

    Columns: to, amount, token (what arrives), chain, memo, route, sell (what is sold), refund.
    """


@batch.command()
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="A new file."
)
@desk_command
def template(call: Call, out: Path | None) -> int:
    """Write a file to begin with."""
    from swapdesk.cli.batch_plan import write_template

    return write_template(call, out)


@batch.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--sell", default="", metavar="TOKEN", help="Sold by rows that name no token.")
@desk_command
def plan(call: Call, file: Path, sell: str) -> int:
    """Judge every row and show groups, totals and calls. Nothing is created.

    Exit 2 when a row has a problem; the plan is written all the same.
    """
    from swapdesk.cli.batch_plan import show_plan
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: show_plan(session, file, sell))
