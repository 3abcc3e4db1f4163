"""``account``: limits, commissions and volume of the partner that the profile belongs to."""

from __future__ import annotations

from datetime import datetime

import click

from swapdesk.cli.cli_context import on_desk

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
@on_desk("account_report:report_limits")
def limits() -> None:
    """Show the limits of quotes and exchanges, and how much of each this profile used.

    Counts the calls of every desk and command of the profile, by the UTC minute, hour and day.
    """


def _month(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    from swapdesk.flows.account.reading import MONTH

    if value is not None and MONTH.fullmatch(value) is None:
        raise click.BadParameter(f"{value!r} is no month like 2026-11.")
    return value


@account.command()
@click.option(
    "--month", callback=_month, metavar="YYYY-MM", help="Only what this month earned, in UTC."
)
@on_desk("account_report:report_commissions")
def commissions() -> None:
    """Show what was earned, paid out and not paid yet, in US dollars."""


@account.command()
@on_desk("account_report:report_volume")
def volume() -> None:
    """Show how many orders were finished and what was sent for them, in US dollars."""


@account.command()
@on_desk("account_report:report_weeks")
def weekly() -> None:
    """List the weeks since the first finished order, newest first."""


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
@on_desk("account_report:report_chart")
def chart() -> None:
    """Draw the volume by day or by month, in US dollars."""
