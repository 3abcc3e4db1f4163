"""The commands ``partner`` and ``backup``, with which the operator of a service manages the
partners' accounts and their accounting.

A change is written to the store, which is the service's database; a running service applies it
within two seconds. A secret is printed only once, by the command that creates it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import click

from swapdesk.cli.cli_context import Declared, Effect, on_call, on_store, reader

F = TypeVar("F", bound=Callable[..., Any])

TIERS = ("FREE", "PRO")
MOST_CALLS = 999_999_999
MOST_MARKUP = 4
"""The highest markup that an account may have by default, in percent (contract 6.13)."""

OVERRIDES = {
    "quote": "quote",
    "exchange": "exchange",
    "read": "read",
    "fee-share": "fee_share",
    "markup": "default_markup",
    "fixed-rates": "fixed_rates",
}
"""Terms of one account that differ from its tier: the typed name and the name in the store."""

_WINDOWS = re.compile(r"([0-9]{1,9}|-)/([0-9]{1,9}|-)/([0-9]{1,9}|-)")
_PERCENT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,6})?")


@reader
def read_windows(value: str) -> tuple[int | None, ...]:
    """Returns the calls per minute, hour and day in a text such as ``5/20/50``; None for ``-``.
    Raises click.BadParameter for any other text."""
    windows = _WINDOWS.fullmatch(value)
    if windows is None:
        raise click.BadParameter(
            f"{value!r} is no minute/hour/day like 5/20/50, each from 0 to {MOST_CALLS}"
            " or - for what it is now."
        )
    return tuple(None if digits == "-" else int(digits) for digits in windows.groups())


def limits(option: str, calls: str) -> Callable[[Any], Any]:
    help_text = f"{calls} a minute/hour/day: 10/100/1000. A - keeps a window: 10/-/-."
    return click.option(option, callback=read_windows, metavar="M/H/D", help=help_text)


def _percent_to(most: int) -> Any:
    @reader
    def read(value: str) -> Decimal:
        if _PERCENT.fullmatch(value) is None or Decimal(value) > most:
            raise click.BadParameter(f"{value!r} is no percentage from 0 to {most}.")
        return Decimal(value)

    return read


which = click.argument("which", metavar="ID|NAME")
as_tier = click.Choice(TIERS, case_sensitive=False)


of_data = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Data directory of the service; that of this home's sandbox by default.",
)


def of_service(command: F) -> F:
    config = click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="The file of the service, as for swapdesk serve --config.",
    )
    return of_data(config(command))


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@of_service
@on_call(
    "partner_report:back_up_store",
    Declared(Effect.ONLY_READS, reading=True, prints=("partner_report:BackupDocument",)),
)
def backup() -> None:
    """Copy the store of a service into FILE, complete and as of one moment, while the service runs.

    A plain copy of service.db lacks what was written last. For PostgreSQL use pg_dump.
    """


@click.group()
def partner() -> None:
    """Manage the accounts and the accounting of the partners of your own service."""


@partner.command()
@click.argument("name")
@click.option("--tier", type=as_tier, default="FREE", show_default=True, help="Terms it begins on.")
@of_service
@on_store(
    "partner_report:create_account",
    Declared(Effect.CHANGES_DESK, prints=("partner_report:NewPartnerKeyDocument",)),
)
def create() -> None:
    """Create an account with a full key, and print its secret once."""


@partner.command(name="list")
@of_service
@on_store(
    "partner_report:list_accounts",
    Declared(Effect.ONLY_READS, reading=True, prints=("partner_report:PartnersDocument",)),
)
def list_partners() -> None:
    """List the accounts of a service."""


@partner.command()
@which
@of_service
@on_store(
    "partner_report:show_account",
    Declared(Effect.ONLY_READS, reading=True, prints=("partner_report:PartnerDocument",)),
)
def show() -> None:
    """Show an account: terms in force, overrides, pages and keys, without any secret."""


@partner.command()
@which
@click.option(
    "--scope",
    type=click.Choice(["full", "read"]),
    default="full",
    show_default=True,
    help="Whether it may create, or only read.",
)
@click.option(
    "--dialect",
    type=click.Choice(["contract", "vendor"]),
    help="Whose names its answers have; those of the service by default.",
)
@of_service
@on_store(
    "partner_report:add_key",
    Declared(Effect.CHANGES_DESK, prints=("partner_report:NewPartnerKeyDocument",)),
)
def key() -> None:
    """Give an account a further key, and print its secret once."""


@partner.command()
@click.argument("api_key", metavar="KEY")
@of_service
@on_store(
    "partner_report:revoke_key",
    Declared(Effect.CHANGES_DESK, prints=("partner_report:PartnerDocument",)),
)
def revoke() -> None:
    """Refuse a key from now on; a running service does so within two seconds. Streams that were
    opened with the key end."""


@partner.command()
@which
@click.option("--lift", is_flag=True, help="Take its calls again.")
@of_service
@on_store(
    "partner_report:suspend_account",
    Declared(Effect.CHANGES_DESK, prints=("partner_report:PartnerDocument",)),
)
def suspend() -> None:
    """Refuse every call of an account; its orders continue."""


@partner.command()
@which
@click.argument("tier", type=as_tier)
@of_service
@on_store(
    "partner_report:give_tier",
    Declared(Effect.CHANGES_DESK, prints=("partner_report:PartnerDocument",)),
)
def tier() -> None:
    """Give an account the terms of a tier; its overrides stay."""


@partner.command()
@which
@limits("--quote", "Quotes")
@limits("--exchange", "Exchanges")
@limits("--read", "Reads")
@click.option(
    "--fee-share", callback=_percent_to(100), metavar="PERCENT", help="Share of the venue's fee."
)
@click.option(
    "--markup",
    callback=_percent_to(MOST_MARKUP),
    metavar="PERCENT",
    help="Markup where a request names none.",
)
@click.option(
    "--fixed-rates", type=click.Choice(["on", "off"]), help="Whether it may ask for them."
)
@click.option(
    "--remove",
    type=click.Choice([*OVERRIDES, "all"]),
    multiple=True,
    help="Let the tier decide again; may be given more than once.",
)
@of_service
@on_store(
    "partner_report:override_terms",
    Declared(Effect.CHANGES_DESK, prints=("partner_report:PartnerDocument",)),
)
def override() -> None:
    """Give an account terms other than those of its tier, or remove such terms.

    Terms that are not named stay as they are.
    """


@partner.command()
@which
@click.argument("action", type=click.Choice(["add", "remove", "list"]))
@click.argument("origin", required=False)
@of_service
@on_store(
    "partner_report:change_origins",
    Declared(Effect.CHANGES_DESK, prints=("partner_report:PartnerDocument",)),
)
def origin() -> None:
    """Say which pages may use the partner-id of an account: https://shop.example, without a path.

    If no origin is set, every page may.
    """


@partner.command()
@click.option("--rebuild", is_flag=True, help="Write anew what differs.")
@of_service
@on_store(
    "partner_report:check_sums",
    Declared(Effect.ONLY_READS, reading=True, prints=("partner_report:SumsDocument",)),
)
def sums() -> None:
    """Count every order anew and compare the result with the daily sums, from which statistics are
    made.

    Exit 9 if a sum differs and is not rebuilt.
    """


@partner.command()
@click.argument("name", metavar="PARTNER")
@click.argument("month", metavar="MONTH")
@of_service
@on_store(
    "partner_report:book_payout",
    Declared(Effect.CHANGES_DESK, prints=("partner_report:BookedDocument",)),
)
def payout() -> None:
    """Book that the commissions of a month (YYYY-MM) are paid out.

    Only commissions of the month that were earned at least 30 days ago and not paid before are
    booked. No money is moved.
    """


@partner.command()
@click.argument("order")
@of_service
@on_store(
    "partner_report:book_reversal",
    Declared(Effect.CHANGES_DESK, prints=("partner_report:BookedDocument",)),
)
def reverse() -> None:
    """Book that an order earned no commission after all, as a negative entry of this month."""


@partner.command()
@of_service
@on_store(
    "partner_report:show_audit",
    Declared(Effect.ONLY_READS, reading=True, prints=("partner_report:AuditDocument",)),
)
def audit() -> None:
    """List the operators' changes to accounts and bookings: when, who, what, and of which account;
    newest first."""
