"""``batch``: many recipients from one file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import CliContext, desk_command

F = TypeVar("F", bound=Callable[..., Any])

_FILE = click.Path(path_type=Path, dir_okay=False)


def sell_option(command: F) -> F:
    return click.option(
        "--sell",
        default="",
        metavar="TOKEN",
        shell_complete=completion.tokens,
        help="The token sold by rows that name none.",
    )(command)


def decimal_comma_option(command: F) -> F:
    return click.option(
        "--decimal-comma",
        is_flag=True,
        help="Amounts of the file have a decimal comma: 1,234 is 1.234, never a thousand.",
    )(command)


def _numbers(context: click.Context, option: click.Parameter, said: str) -> tuple[int, ...]:
    parts = [part.strip() for part in said.split(",")] if said else []
    if not all(part.isascii() and part.isdigit() and len(part) < 8 for part in parts):
        raise click.BadParameter(f"{said!r} are no numbers of rows.", context, option)
    return tuple(dict.fromkeys(map(int, parts)))


def skip_option(command: F) -> F:
    return click.option(
        "--skip",
        default="",
        metavar="ROWS",
        callback=_numbers,
        help="Rows that are left out, by their numbers in the plan: 4,7.",
    )(command)


def accept_option(command: F) -> F:
    return click.option(
        "--accept-warnings",
        is_flag=True,
        help="Also rows of which the plan doubts something, as a memo that a program may have"
        " changed, a token, or an address whose money only a program can move.",
    )(command)


def batch_argument(command: F) -> F:
    return click.argument("name", required=False, metavar="[BATCH]")(command)


def group_option(command: F) -> F:
    return click.option(
        "--group",
        type=click.IntRange(1),
        metavar="N",
        help="Its number; the first that is not over by default.",
    )(command)


def wallet_option(command: F) -> F:
    return click.option(
        "--wallet",
        "account",
        default="",
        metavar="NAME|ADDRESS",
        shell_complete=completion.accounts,
        help="The account that pays.",
    )(command)


@click.group()
def batch() -> None:
    """Many recipients from one file: planned row by row, created and paid as groups.

    Columns: to, sell_amount, sell (what is sold), buy (what arrives), chain (of what arrives),
    memo, route, refund.
    """


@batch.command()
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="A new file."
)
@desk_command
def template(call: CliContext, out: Path | None) -> int:
    """Write a file to begin with."""
    from swapdesk.cli.batch_plan import write_template

    return write_template(call, out)


@batch.command()
@click.argument("file", type=_FILE)
@sell_option
@decimal_comma_option
@skip_option
@desk_command
def plan(
    call: CliContext, file: Path, sell: str, decimal_comma: bool, skip: tuple[int, ...]
) -> int:
    """Judge every row and show groups, totals and calls. Nothing is created.

    Exit 2 when a row has a problem; the plan is written all the same.
    """
    from swapdesk.cli.batch_plan import show_plan
    from swapdesk.cli.session import run_session

    return run_session(
        call, lambda session: show_plan(session, file, sell, decimal_comma=decimal_comma, skip=skip)
    )


@batch.command()
@click.argument("what", required=False, metavar="FILE|[BATCH]")
@sell_option
@decimal_comma_option
@skip_option
@click.option("--yes", is_flag=True, help="Create without asking; needed in a pipe.")
@accept_option
@click.option(
    "--again", is_flag=True, help="Create them even if the same rows were created before."
)
@click.option("--failed", is_flag=True, help="The rows of a batch that failed, and no others.")
@desk_command
def create(
    call: CliContext,
    what: str | None,
    sell: str,
    decimal_comma: bool,
    skip: tuple[int, ...],
    yes: bool,
    accept_warnings: bool,
    again: bool,
    failed: bool,
) -> int:
    """Create the orders of a FILE, group after group, or with --failed those rows of a BATCH (the
    newest one unless it is named) that became no order. Nothing is paid.

    Exit 4 when the service refused rows; the others stand.
    """
    from swapdesk.cli.batch_creation import BatchRequest, create_batch
    from swapdesk.cli.command_error import bad_input
    from swapdesk.cli.session import run_session

    if what is None and not failed:
        raise bad_input("NO_FILE", "Name a file, or --failed.", field="file")
    file = None if failed or what is None else Path(what)
    batch_name = (what or "") if failed else None
    request = BatchRequest(file, batch_name, sell, yes, again, decimal_comma, accept_warnings, skip)
    return run_session(call, lambda session: create_batch(session, request))


@batch.command()
@batch_argument
@group_option
@wallet_option
@desk_command
def build(call: CliContext, name: str | None, group: int | None, account: str) -> int:
    """Ask what has to be signed to pay a group, and compare it. Nothing is signed or paid.

    Given again it builds anew, as long as nothing of it is signed.
    """
    from swapdesk.cli.batch_paying import PayRequest, pay_group
    from swapdesk.cli.session import run_session
    from swapdesk.flows.batch.group_status import Until

    request = PayRequest(account, group)
    return run_session(
        call, lambda session: pay_group(session, name, Until.BUILT, request), from_journal=True
    )


@batch.command()
@batch_argument
@group_option
@wallet_option
@click.option("--yes", is_flag=True, help="Sign without asking; needed in a pipe.")
@desk_command
def sign(
    call: CliContext,
    name: str | None,
    group: int | None,
    account: str,
    yes: bool,
) -> int:
    """Fund the own smart account where it lacks something, and sign the bundle of a group.

    On Solana each transaction is signed and sent; a bundle is not submitted before batch submit.
    """
    from swapdesk.cli.batch_paying import PayRequest, pay_group
    from swapdesk.cli.session import run_session
    from swapdesk.flows.batch.group_status import Until

    request = PayRequest(account, group, yes)
    return run_session(
        call, lambda session: pay_group(session, name, Until.SIGNED, request), from_journal=True
    )


@batch.command()
@batch_argument
@group_option
@desk_command
def submit(call: CliContext, name: str | None, group: int | None) -> int:
    """Submit the signatures of a group once, and follow the bundle to its outcome.

    Exit 10 when it failed or was called off, 8 while it is open: given again nothing is sent
    that may be there already.
    """
    from swapdesk.cli.batch_paying import PayRequest, pay_group
    from swapdesk.cli.session import run_session
    from swapdesk.flows.batch.group_status import Until

    request = PayRequest(group=group)
    return run_session(
        call, lambda session: pay_group(session, name, Until.SETTLED, request), from_journal=True
    )


@batch.command()
@click.argument("file", type=_FILE)
@sell_option
@decimal_comma_option
@skip_option
@wallet_option
@click.option("--yes", is_flag=True, help="Create, sign and pay without asking.")
@accept_option
@click.option(
    "--again", is_flag=True, help="Create them even if the same rows were created before."
)
@desk_command
def run(
    call: CliContext,
    file: Path,
    sell: str,
    decimal_comma: bool,
    skip: tuple[int, ...],
    account: str,
    yes: bool,
    accept_warnings: bool,
    again: bool,
) -> int:
    """Plan, create, and pay the groups of a file, one after another.

    What stops it is gone on with by batch resume. Exit 4 when the service refused rows; the
    others are paid.
    """
    from swapdesk.cli.batch_creation import BatchRequest
    from swapdesk.cli.batch_paying import PayRequest, run_batch
    from swapdesk.cli.session import run_session

    create = BatchRequest(file, None, sell, yes, again, decimal_comma, accept_warnings, skip)
    request = PayRequest(account, None, yes)
    return run_session(call, lambda session: run_batch(session, create, request))


@batch.command()
@batch_argument
@wallet_option
@click.option("--yes", is_flag=True, help="Sign without asking; needed in a pipe.")
@desk_command
def resume(call: CliContext, name: str | None, account: str, yes: bool) -> int:
    """Go on with a batch: look for groups of unknown outcome, create those that never left, and
    pay what was begun to be paid.

    Exit 9 when nothing was interrupted, 10 when a bundle failed; the next step is named.
    """
    from swapdesk.cli.batch_paying import PayRequest, resume_batch
    from swapdesk.cli.session import run_session

    request = PayRequest(account, None, yes)
    return run_session(
        call, lambda session: resume_batch(session, name, request), from_journal=True
    )


@batch.command()
@batch_argument
@desk_command
def status(call: CliContext, name: str | None) -> int:
    """What became of every row; the newest batch unless one is named."""
    from swapdesk.cli.batch_result import show_status
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: show_status(session, name), from_journal=True)


@batch.command()
@batch_argument
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="A new file."
)
@desk_command
def export(call: CliContext, name: str | None, out: Path | None) -> int:
    """The results as CSV, one line for each row that was created."""
    from swapdesk.cli.batch_result import export_batch
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: export_batch(session, name, out), from_journal=True)
