"""``partner``: accounts and books of the partners, for whoever operates the service."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import click
from msgspec import Struct

from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import CommandError, bad_input
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.partner_accounts import ACCOUNT_COMMANDS
from swapdesk.cli.partner_store import MONEY, of_data, open_store


class DayOfPartner(Struct, frozen=True):
    """``day`` is ``YYYY-MM-DD``, UTC."""

    partner: str
    day: str


class SumsDocument(Struct, frozen=True):
    """How many sums of days there are, those that differ from their orders, and how many orders
    had no entry."""

    sums: int
    differing: tuple[DayOfPartner, ...]
    unentered: int
    rebuilt: bool


class BookedDocument(Struct, frozen=True):
    """An entry in US dollars; ``partner`` is None where the order names it."""

    partner: str | None
    month: str
    amount: Decimal


@click.group()
def partner() -> None:
    """Keep the accounts and the books of the partners of a service of your own."""


for account_command in ACCOUNT_COMMANDS:
    partner.add_command(account_command)


@partner.command()
@click.option("--rebuild", is_flag=True, help="Write anew what differs.")
@of_data
@desk_command
def sums(call: CliContext, rebuild: bool, data: Path | None) -> int:
    """Count every order anew and compare with the sums that statistics are answered from.

    Ends with 9 when something differs and is not rebuilt.
    """
    from swapdesk.service.store import books

    with open_store(call, data) as (db, _):
        found = books.recount(db)
        if rebuild and not found.agrees:
            books.rebuild(db, found)
        names = _names(db)
    days = tuple(DayOfPartner(names.get(of, of), day) for of, day in found.differing)
    if call.output.json:
        rebuilt = rebuild and not found.agrees
        call.output.document(SumsDocument(found.sums, days, found.unentered, rebuilt))
    else:
        call.output.table(("partner", "day"), [(each.partner, each.day) for each in days])
        wrong = f"{len(days)} wrong, orders without an entry {found.unentered}"
        end = "Rebuilt." if rebuild else "Add --rebuild to write them anew."
        said = "all right." if found.agrees else f"{wrong}. {end}"
        call.output.say(f"Sums of days {found.sums}: {said}")
    return Exit.DONE if found.agrees or rebuild else Exit.OWN_REFUSAL


@partner.command()
@click.argument("name", metavar="PARTNER")
@click.argument("month", metavar="MONTH")
@of_data
@desk_command
def payout(call: CliContext, name: str, month: str, data: Path | None) -> int:
    """Book that the commissions of a month (YYYY-MM) are paid out.

    Books what was earned at least 30 days ago and not paid before. It moves no money.
    """
    from swapdesk.flows.account.chart import MONTH
    from swapdesk.service.store import books

    if MONTH.fullmatch(month) is None:
        message = f"{month!r} is no month like 2026-11."
        raise bad_input("NO_SUCH_MONTH", message, field="month", money=MONEY)
    with open_store(call, data) as (db, now), _due():
        names = _names(db)
        found = next((of for of, known in names.items() if name in (of, known)), None)
        if found is None:
            message = f"There is no partner {name}. Partners: {', '.join(names.values())}."
            raise bad_input("NO_SUCH_PARTNER", message, field="partner", money=MONEY)
        amount = books.pay_out(db, found, month, now)
    _tell_booked(call, names[found], month, amount, f"{names[found]} is paid for {month}")
    return Exit.DONE


@partner.command()
@click.argument("order")
@of_data
@desk_command
def reverse(call: CliContext, order: str, data: Path | None) -> int:
    """Book that an order earned no commission after all, as a negative entry of this month."""
    from swapdesk.service.store import books

    with open_store(call, data) as (db, now), _due():
        amount = books.reverse(db, order, now)
    _tell_booked(call, None, f"{now:%Y-%m}", -amount, f"The commission of {order} is reversed")
    return Exit.DONE


def _tell_booked(
    call: CliContext, partner: str | None, month: str, amount: Decimal, said: str
) -> None:
    from swapdesk.flows.notation import usd

    if call.output.json:
        call.output.document(BookedDocument(partner, month, amount))
    else:
        call.output.say(f"{said}: {usd(amount)}.")


def _names(db: sqlite3.Connection) -> dict[str, str]:
    """Names of the partners by their ids."""
    from swapdesk.service.store import partners

    return {each.partner_id: each.name for each in partners.read(db).partners}


@contextmanager
def _due() -> Iterator[None]:
    from swapdesk.service.store.books import NothingDue

    try:
        yield
    except NothingDue as error:
        raise CommandError(Exit.OWN_REFUSAL, "NOTHING_DUE", str(error), MONEY) from None
