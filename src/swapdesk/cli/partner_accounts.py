"""``partner``: accounts, keys and terms of the partners of a service of one's own.

A change stands in the store; a service that runs on it takes it up within two seconds. A secret is
printed once, by the command that draws it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click
from msgspec import Struct

from swapdesk.cli.cli_context import CliContext, desk_command
from swapdesk.cli.command_error import bad_input
from swapdesk.cli.exit_codes import Exit
from swapdesk.cli.partner_store import of_data, open_store

if TYPE_CHECKING:
    from swapdesk.service.access import StoredPartner
    from swapdesk.service.store.partners import NewKey
    from swapdesk.wire.account import RateWindows

F = TypeVar("F", bound=Callable[..., Any])
MONEY = "where it was; no account was changed"
TIERS = ("FREE", "PRO")
MOST_CALLS = 999_999_999
MOST_MARKUP = 4
"""Percent (contract 6.13)."""

OVERRIDES = {
    "quote": "quote",
    "exchange": "exchange",
    "read": "read",
    "fee-share": "fee_share",
    "markup": "default_markup",
    "fixed-rates": "fixed_rates",
}
"""Names of overrides as they are typed, and those of the store."""


class PartnerKeyFacts(Struct, frozen=True, rename="camel"):
    """``dialect`` None: that of the service; ``revoked`` is when, None: it is active."""

    api_key: str
    scope: str
    dialect: str | None
    created: str
    revoked: str | None


class PartnerLimitFacts(Struct, frozen=True, rename="camel"):
    """Calls in a window of UTC time."""

    per_minute: int
    per_hour: int
    per_day: int


class PartnerFacts(Struct, frozen=True, rename="camel"):
    """An account with the terms in force; ``overrides`` names those that are not of its tier.
    ``feeShare`` and ``defaultMarkup`` are in percent; no ``origins``: every page is allowed;
    ``read`` None: not limited."""

    partner_id: str
    name: str
    tier: str
    suspended: bool
    created: str
    quote: PartnerLimitFacts
    exchange: PartnerLimitFacts
    read: PartnerLimitFacts | None
    fee_share: Decimal
    default_markup: Decimal
    fixed_rates: bool
    overrides: tuple[str, ...]
    origins: tuple[str, ...]
    keys: tuple[PartnerKeyFacts, ...]


class PartnerDocument(Struct, frozen=True):
    """One account, as it is now."""

    partner: PartnerFacts


class PartnersDocument(Struct, frozen=True):
    """Every account, oldest first."""

    partners: tuple[PartnerFacts, ...]


class NewPartnerKeyDocument(Struct, frozen=True, rename="camel"):
    """A new key with its secret, which is never shown again, and the account it is of."""

    api_key: str
    api_secret: str
    partner: PartnerFacts


_WINDOWS = re.compile(r"([0-9]{1,9}|-)/([0-9]{1,9}|-)/([0-9]{1,9}|-)")
_PERCENT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,6})?")


def read_windows(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[int | None, ...] | None:
    """Calls a minute, an hour and a day, as ``5/20/50``; None for a ``-``."""
    if value is None:
        return None
    found = _WINDOWS.fullmatch(value)
    if found is None:
        raise click.BadParameter(
            f"{value!r} is no minute/hour/day like 5/20/50, each from 0 to {MOST_CALLS}"
            " or - for what it is now."
        )
    return tuple(None if digits == "-" else int(digits) for digits in found.groups())


def limits(option: str, calls: str) -> Callable[[F], F]:
    """An option with calls in three windows."""
    said = f"{calls} a minute/hour/day: 10/100/1000. A - keeps a window: 10/-/-."
    return click.option(option, callback=read_windows, metavar="M/H/D", help=said)


def _percent_to(most: int) -> Any:
    def read(context: click.Context, option: click.Parameter, value: str | None) -> Decimal | None:
        if value is None:
            return None
        if _PERCENT.fullmatch(value) is None or Decimal(value) > most:
            raise click.BadParameter(f"{value!r} is no percentage from 0 to {most}.")
        return Decimal(value)

    return read


which = click.argument("which", metavar="ID|NAME")
as_tier = click.Choice(TIERS, case_sensitive=False)


@click.command()
@click.argument("name")
@click.option("--tier", type=as_tier, default="FREE", show_default=True, help="Terms it begins on.")
@of_data
@desk_command
def create(call: CliContext, name: str, tier: str, data: Path | None) -> int:
    """Create an account with a full key, and print its secret once."""
    from swapdesk.service.access import Tier
    from swapdesk.service.store import partners

    with open_store(call, data) as (db, now), _refusals("name"):
        account, new = partners.create(db, name, Tier(tier), now)
    return _tell_new(call, account, new)


@click.command(name="list")
@of_data
@desk_command
def list_partners(call: CliContext, data: Path | None) -> int:
    """List the accounts of a service."""
    from swapdesk.service.store import partners

    with open_store(call, data) as (db, _):
        accounts = [_facts(each) for each in partners.read(db).partners]
    if call.output.json:
        call.output.document(PartnersDocument(tuple(accounts)))
        return Exit.DONE
    rows = [
        (
            each.partner_id,
            each.name,
            each.tier,
            "suspended" if each.suspended else "active",
            str(sum(key.revoked is None for key in each.keys)),
            ", ".join(each.overrides) or "none",
        )
        for each in accounts
    ]
    call.output.table(("partner id", "name", "tier", "state", "keys", "overrides"), rows)
    if not rows:
        call.output.say("There are no partners. swapdesk partner create NAME makes one.")
    return Exit.DONE


@click.command()
@which
@of_data
@desk_command
def show(call: CliContext, which: str, data: Path | None) -> int:
    """Show an account: terms in force, overrides, pages and keys, without any secret."""
    from swapdesk.service.store import partners

    with open_store(call, data) as (db, _), _refusals("which"):
        account = partners.find(db, which)
    return _tell(call, account)


@click.command()
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
@of_data
@desk_command
def key(
    call: CliContext,
    which: str,
    scope: Literal["full", "read"],
    dialect: str | None,
    data: Path | None,
) -> int:
    """Give an account a further key, and print its secret once."""
    from swapdesk.service.store import partners
    from swapdesk.wire.encoding.dialect import Dialect

    with open_store(call, data) as (db, now), _refusals("which"):
        named = None if dialect is None else Dialect(dialect)
        account, new = partners.add_key(db, which, scope, named, now)
    return _tell_new(call, account, new)


@click.command()
@click.argument("api_key", metavar="KEY")
@of_data
@desk_command
def revoke(call: CliContext, api_key: str, data: Path | None) -> int:
    """Refuse a key from now on; a service that runs does so within two seconds. Streams that were
    opened with it end."""
    from swapdesk.service.store import partners

    with open_store(call, data) as (db, now), _refusals("api_key"):
        account = partners.revoke(db, api_key, now)
    return _tell(call, account)


@click.command()
@which
@click.option("--lift", is_flag=True, help="Take its calls again.")
@of_data
@desk_command
def suspend(call: CliContext, which: str, lift: bool, data: Path | None) -> int:
    """Refuse every call of an account; its orders go on."""
    from swapdesk.service.store import partners

    with open_store(call, data) as (db, _), _refusals("which"):
        account = partners.suspend(db, which, not lift)
    return _tell(call, account)


@click.command()
@which
@click.argument("tier", type=as_tier)
@of_data
@desk_command
def tier(call: CliContext, which: str, tier: str, data: Path | None) -> int:
    """Give an account the terms of a tier; its overrides stay."""
    from swapdesk.service.access import Tier
    from swapdesk.service.store import partners

    with open_store(call, data) as (db, _), _refusals("which"):
        account = partners.set_tier(db, which, Tier(tier))
    return _tell(call, account)


@click.command()
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
@of_data
@desk_command
def override(
    call: CliContext,
    which: str,
    quote: tuple[int | None, ...] | None,
    exchange: tuple[int | None, ...] | None,
    read: tuple[int | None, ...] | None,
    fee_share: Decimal | None,
    markup: Decimal | None,
    fixed_rates: str | None,
    remove: tuple[str, ...],
    data: Path | None,
) -> int:
    """Give an account terms that are not those of its tier, or remove them.

    What is not named stays as it is.
    """
    from swapdesk.service.store import partners

    values = {
        "quote": quote,
        "exchange": exchange,
        "read": read,
        "fee-share": fee_share,
        "markup": markup,
        "fixed-rates": None if fixed_rates is None else fixed_rates == "on",
    }
    given = {name: value for name, value in values.items() if value is not None}
    removed = tuple(OVERRIDES) if "all" in remove else remove
    if "all" not in remove and (both := sorted(given.keys() & set(remove))):
        raise _usage(f"{', '.join(both)} is given and removed at once.")
    if not given and not removed:
        raise _usage("Name at least one override, or --remove one.")
    with open_store(call, data) as (db, _), _refusals("which"):
        account = partners.set_overrides(
            db,
            which,
            {OVERRIDES[name]: value for name, value in given.items()},
            [OVERRIDES[name] for name in removed],
        )
    return _tell(call, account)


@click.command()
@which
@click.argument("action", type=click.Choice(["add", "remove", "list"]))
@click.argument("origin", required=False)
@of_data
@desk_command
def origin(call: CliContext, which: str, action: str, origin: str | None, data: Path | None) -> int:
    """Say which pages may use the partner-id of an account: https://shop.example, without a path.

    Without any origin every page may.
    """
    from swapdesk.service.browsers import origin_of
    from swapdesk.service.store import partners

    if (origin is None) is not (action == "list"):
        raise _usage("add and remove take one ORIGIN; list takes none.")
    with open_store(call, data) as (db, _), _refusals("which"):
        if origin is None:
            account = partners.find(db, which)
        else:
            try:
                named = origin_of(origin)
            except ValueError as error:
                raise bad_input("BAD_ORIGIN", f"{error}.", field="origin", money=MONEY) from None
            account = partners.set_origin(db, which, named, action == "add")
    if call.output.json:
        call.output.document(PartnerDocument(_facts(account)))
    else:
        call.output.say(*(account.origins or ("Every page is allowed.",)))
    return Exit.DONE


ACCOUNT_COMMANDS: tuple[click.Command, ...] = (
    create,
    list_partners,
    show,
    key,
    revoke,
    suspend,
    tier,
    override,
    origin,
)


def _usage(message: str) -> Exception:
    return bad_input("USAGE", message, money=MONEY)


@contextmanager
def _refusals(field: str) -> Iterator[None]:
    """What the store refuses, as an error of a command; ``field`` is the argument at fault."""
    from swapdesk.service.store import partners

    codes: tuple[tuple[type[partners.PartnerRefused], str], ...] = (
        (partners.NoSuchPartner, "NO_SUCH_PARTNER"),
        (partners.NoSuchKey, "NO_SUCH_KEY"),
        (partners.NameTaken, "NAME_TAKEN"),
        (partners.NoSuchOrigin, "BAD_ORIGIN"),
        (partners.PartnerRefused, "BAD_NAME"),
    )
    try:
        yield
    except partners.PartnerRefused as refused:
        code = next(code for kind, code in codes if isinstance(refused, kind))
        raise bad_input(code, str(refused), field=field, money=MONEY) from None


def _facts(account: StoredPartner) -> PartnerFacts:
    from swapdesk.wire.encoding.timestamps import rfc3339

    terms, own = account.as_partner(), account.overrides
    return PartnerFacts(
        partner_id=account.partner_id,
        name=account.name,
        tier=account.tier.value,
        suspended=account.suspended,
        created=rfc3339(account.created),
        quote=_limits(terms.quote_limits),
        exchange=_limits(terms.exchange_limits),
        read=None if terms.read_limits is None else _limits(terms.read_limits),
        fee_share=terms.earns_of_fees,
        default_markup=terms.default_markup,
        fixed_rates=terms.fixed_rates,
        overrides=tuple(
            typed for typed, name in OVERRIDES.items() if getattr(own, name) is not None
        ),
        origins=account.origins,
        keys=tuple(
            PartnerKeyFacts(
                each.key,
                each.scope,
                None if each.dialect is None else each.dialect.value,
                rfc3339(each.created),
                None if each.revoked is None else rfc3339(each.revoked),
            )
            for each in account.keys
        ),
    )


def _limits(windows: RateWindows) -> PartnerLimitFacts:
    return PartnerLimitFacts(windows.per_minute, windows.per_hour, windows.per_day)


def _tell(call: CliContext, account: StoredPartner) -> int:
    facts = _facts(account)
    if call.output.json:
        call.output.document(PartnerDocument(facts))
        return Exit.DONE
    call.output.facts(_rows(facts))
    call.output.table(
        ("key", "scope", "dialect", "created", "state"),
        [
            (
                each.api_key,
                each.scope,
                each.dialect or "of the service",
                each.created,
                "active" if each.revoked is None else f"revoked {each.revoked}",
            )
            for each in facts.keys
        ],
    )
    return Exit.DONE


def _rows(facts: PartnerFacts) -> list[tuple[str, str]]:
    def said(name: str, value: str) -> str:
        return f"{value} (override)" if name in facts.overrides else value

    def calls(windows: PartnerLimitFacts | None) -> str:
        if windows is None:
            return "not limited"
        return (
            f"{windows.per_minute:,} a minute, {windows.per_hour:,} an hour,"
            f" {windows.per_day:,} a day"
        )

    return [
        ("partner id", facts.partner_id),
        ("name", facts.name),
        ("tier", facts.tier),
        ("state", "suspended" if facts.suspended else "active"),
        ("created", facts.created),
        ("quotes", said("quote", calls(facts.quote))),
        ("exchanges", said("exchange", calls(facts.exchange))),
        ("reads", said("read", calls(facts.read))),
        ("share of fees", said("fee-share", f"{facts.fee_share}%")),
        ("markup", said("markup", f"{facts.default_markup}%")),
        ("fixed rates", said("fixed-rates", "on" if facts.fixed_rates else "off")),
        ("pages", ", ".join(facts.origins) or "every page"),
    ]


def _tell_new(call: CliContext, account: StoredPartner, new: NewKey) -> int:
    if call.output.json:
        call.output.document(NewPartnerKeyDocument(new.key, new.secret, _facts(account)))
    else:
        call.output.facts(
            [
                ("partner id", account.partner_id),
                ("name", account.name),
                ("tier", account.tier.value),
                ("key", new.key),
                ("secret", new.secret),
            ]
        )
        call.output.say("The secret is shown this once; the service keeps its digest alone.")
    return Exit.DONE
