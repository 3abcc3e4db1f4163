"""``account``: limits, commissions and volume of the partner that the profile belongs to."""

from __future__ import annotations

from datetime import datetime

import click

from swapdesk.cli.cli_context import CliContext, desk_command

GRANULARITIES = ("day", "month")


@click.group()
def account() -> None:
    """Show what this account may ask, what it earned and what went through it."""


@account.command()
@click.option(
    "--fail-over",
    type=click.IntRange(0, 100),
    metavar="PERCENT",
    help="End with 3 when more than so much of a limit is used.",
)
@desk_command
def limits(call: CliContext, fail_over: int | None) -> int:
    """Show the limits of quotes and exchanges, and how much of each this profile used.

    Counts the calls of every desk and command of the profile, by the UTC minute, hour and day.
    """
    from swapdesk.cli.account_report import report_limits
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: report_limits(session, fail_over))


def _month(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    from swapdesk.flows.account.chart import MONTH

    if value is not None and MONTH.fullmatch(value) is None:
        raise click.BadParameter(f"{value!r} is no month like 2026-11.")
    return value


@account.command()
@click.option(
    "--month", callback=_month, metavar="YYYY-MM", help="Only what this month earned, in UTC."
)
@desk_command
def commissions(call: CliContext, month: str | None) -> int:
    """Show what was earned, paid out and not paid yet, in US dollars."""
    from swapdesk.cli.account_report import report_commissions
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: report_commissions(session, month))


@account.command()
@desk_command
def volume(call: CliContext) -> int:
    """Show how many orders were finished and what was sent for them, in US dollars."""
    from swapdesk.cli.account_report import report_volume
    from swapdesk.cli.session import run_session

    return run_session(call, report_volume)


@account.command()
@desk_command
def weekly(call: CliContext) -> int:
    """List the weeks since the first finished order, newest first."""
    from swapdesk.cli.account_report import report_weeks
    from swapdesk.cli.session import run_session

    return run_session(call, report_weeks)


def _moment(context: click.Context, option: click.Parameter, value: str | None) -> datetime | None:
    from swapdesk.wire.encoding.time_range import within_range
    from swapdesk.wire.encoding.timestamps import parse_rfc3339

    if value is None:
        return None
    try:
        return within_range(parse_rfc3339(value))
    except ValueError:
        raise click.BadParameter(f"{value!r} is no date like 2026-11-20.") from None


@account.command()
@click.option(
    "--granularity",
    type=click.Choice(GRANULARITIES),
    default=GRANULARITIES[0],
    show_default=True,
    help="One bar for each day or for each month, in UTC.",
)
@click.option(
    "--from", "since", callback=_moment, metavar="DATE", help="The first day; 29 before the last."
)
@click.option("--to", "until", callback=_moment, metavar="DATE", help="The last day; today.")
@desk_command
def chart(
    call: CliContext, granularity: str, since: datetime | None, until: datetime | None
) -> int:
    """Draw the volume by day or by month, in US dollars."""
    from swapdesk.cli.account_report import report_chart
    from swapdesk.cli.session import run_session

    return run_session(call, lambda session: report_chart(session, granularity, since, until))
