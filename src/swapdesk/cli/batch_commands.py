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


@batch.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--sell", default="", metavar="TOKEN", help="Sold by rows that name no token.")
@click.option("--yes", is_flag=True, help="Create without asking; needed in a pipe.")
@click.option("--again", is_flag=True, help="Also when the same rows were created before.")
@desk_command
def create(call: Call, file: Path, sell: str, yes: bool, again: bool) -> int:
    """Create the orders of a file, group after group. Nothing is paid.

    Exit 4 when the service refused rows; the others stand.
    """
    from swapdesk.cli.batch_creation import create_batch
    from swapdesk.cli.session import run_session

    return run_session(
        call, lambda session: create_batch(session, file, sell, yes=yes, again=again)
    )


@batch.command()
@click.argument("name", required=False, metavar="[BATCH]")
@desk_command
def resume(call: Call, name: str | None) -> int:
    """Go on with a batch: look for groups of unknown outcome, create those that never left."""
    from swapdesk.cli.batch_creation import resume_batch
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: resume_batch(session, name))


@batch.command()
@click.argument("name", required=False, metavar="[BATCH]")
@desk_command
def status(call: Call, name: str | None) -> int:
    """What became of every row; the newest batch unless one is named."""
    from swapdesk.cli.batch_creation import show_status
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: show_status(session, name))


@batch.command()
@click.argument("name", required=False, metavar="[BATCH]")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="A new file."
)
@desk_command
def export(call: Call, name: str | None, out: Path | None) -> int:
    """The results as CSV, one line for each line of the file."""
    from swapdesk.cli.batch_creation import export_batch
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: export_batch(session, name, out))
