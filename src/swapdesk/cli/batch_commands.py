"""The commands of ``swapdesk batch``, which pay many recipients from one file."""

from __future__ import annotations

from pathlib import Path

import click

from swapdesk.cli import completion
from swapdesk.cli.cli_context import Declared, Effect, on_call, on_desk, reader

_FILE = click.Path(path_type=Path, dir_okay=False)


sell_option = click.option(
    "--sell",
    default="",
    metavar="TOKEN",
    shell_complete=completion.tokens,
    help="The token sold by rows that name none.",
)


decimal_comma_option = click.option(
    "--decimal-comma",
    is_flag=True,
    help="Amounts of the file have a decimal comma: 1,234 is 1.234, never a thousand.",
)


@reader
def _numbers(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")] if text else []
    if not all(part.isascii() and part.isdigit() and len(part) < 8 for part in parts):
        raise click.BadParameter(f"{text!r} are no numbers of rows.")
    return tuple(dict.fromkeys(map(int, parts)))


skip_option = click.option(
    "--skip",
    default="",
    metavar="ROWS",
    callback=_numbers,
    help="Rows that are left out, by their numbers in the plan: 4,7.",
)


accept_option = click.option(
    "--accept-warnings",
    is_flag=True,
    help="Also rows of which the plan doubts something, as a memo that a program may have"
    " changed, a token, or an address whose money only a program can move.",
)


batch_argument = click.argument("name", required=False, metavar="[BATCH]")


group_option = click.option(
    "--group",
    type=click.IntRange(1),
    metavar="N",
    help="Its number; the first that is not over by default.",
)


wallet_option = click.option(
    "--wallet",
    "account",
    default="",
    metavar="NAME|ADDRESS",
    shell_complete=completion.accounts,
    help="The account that pays.",
)


@click.group()
def batch() -> None:
    """Pay many recipients from one file. Every row is planned alone; the orders are created and
    paid in groups.

    Columns: to, sell_amount, sell (the token sold), buy (the token that arrives), chain (its
    chain), memo, route, refund.
    """


@batch.command()
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="A new file."
)
@on_call(
    "batch_report:write_template",
    Declared(Effect.CHANGES_DESK, reading=True, prints=("batch_report:TemplateDocument",)),
)
def template() -> None:
    """Write a template of a batch file, to be filled in."""


@batch.command()
@click.argument("file", type=_FILE)
@sell_option
@decimal_comma_option
@skip_option
@on_desk(
    "batch_report:show_plan",
    Declared(Effect.ONLY_READS, reading=True, prints=("swapdesk.flows.batch.plan:PlanDocument",)),
)
def plan() -> None:
    """Check every row and show the groups, totals and calls of the batch. Nothing is created.

    Exit 2 when a row has a problem; the plan is written all the same.
    """


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
@on_desk(
    "batch_report:create_batch",
    Declared(
        Effect.SPENDS_LIMIT,
        prints=("batch_report:BatchDocument", "swapdesk.flows.batch.plan:PlanDocument"),
    ),
)
def create() -> None:
    """Create the orders of FILE, group by group; with --failed, the missing orders of a BATCH (by
    default the newest).

    Nothing is paid. Exit 4 if the service refused rows; the orders of the other rows remain.
    """


@batch.command()
@batch_argument
@group_option
@wallet_option
@on_desk(
    "batch_report:build_group",
    Declared(Effect.SPENDS_LIMIT, prints=("batch_report:BatchDocument",)),
    from_journal=True,
)
def build() -> None:
    """Ask the service what to sign to pay a group, and check its answer. Nothing is signed or paid.

    Until something of the group is signed, running the command again asks the service anew.
    """


@batch.command()
@batch_argument
@group_option
@wallet_option
@click.option("--yes", is_flag=True, help="Sign without asking; needed in a pipe.")
@on_desk(
    "batch_report:sign_group",
    Declared(Effect.MOVES_MONEY, prints=("batch_report:BatchDocument",)),
    from_journal=True,
)
def sign() -> None:
    """Fund your smart account if it lacks money, and sign the bundle of a group, which pays its
    deposits. The bundle is not submitted; use batch submit. On Solana each transaction is signed
    and sent."""


@batch.command()
@batch_argument
@group_option
@on_desk(
    "batch_report:submit_group",
    Declared(Effect.MOVES_MONEY, prints=("batch_report:BatchDocument",)),
    from_journal=True,
)
def submit() -> None:
    """Submit the signatures of a group once, and follow the bundle to its outcome.

    Exit 10 if the bundle failed or was called off, 8 while its outcome is open. Run again, the
    command sends nothing that may have arrived already.
    """


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
@on_desk(
    "batch_report:run_batch",
    Declared(
        Effect.MOVES_MONEY,
        prints=("batch_report:BatchDocument", "swapdesk.flows.batch.plan:PlanDocument"),
    ),
)
def run() -> None:
    """Plan, create, and pay the groups of a file, one after another.

    If the run stops, batch resume continues it. Exit 4 if the service refused rows; the others are
    paid.
    """


@batch.command()
@batch_argument
@wallet_option
@click.option("--yes", is_flag=True, help="Sign without asking; needed in a pipe.")
@on_desk(
    "batch_report:resume_batch",
    Declared(Effect.MOVES_MONEY, prints=("batch_report:BatchDocument",)),
    from_journal=True,
)
def resume() -> None:
    """Continue a batch: look for groups of unknown outcome, create groups that were never sent, and
    finish payments that were begun.

    Exit 9 if nothing was interrupted, 10 if a bundle failed; the message names the next step.
    """


@batch.command()
@batch_argument
@on_desk(
    "batch_report:show_status",
    Declared(Effect.ONLY_READS, reading=True, prints=("batch_report:BatchDocument",)),
    from_journal=True,
)
def status() -> None:
    """Show what became of every row of a batch, by default the newest."""


@batch.command()
@batch_argument
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="A new file."
)
@on_desk(
    "batch_report:export_batch",
    Declared(
        Effect.CHANGES_DESK,
        reading=True,
        prints=("batch_report:ResultsDocument", "batch_report:ResultsFileDocument"),
    ),
    from_journal=True,
)
def export() -> None:
    """Write the results of a batch as CSV, one line for each row that became an order."""
