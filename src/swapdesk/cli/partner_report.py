"""Carries out the ``partner`` commands in the store of the operator's own service, which may be
running meanwhile."""

from __future__ import annotations

import asyncio
import getpass
import os
import sqlite3
from collections.abc import Awaitable, Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import httpx2
from msgspec import Struct

from swapdesk.certificates import certificates
from swapdesk.cli.cli_context import CliContext
from swapdesk.cli.command_error import CommandError, Exit, bad_input, refused_as
from swapdesk.cli.output import Output
from swapdesk.cli.partner_commands import OVERRIDES
from swapdesk.cli.sandbox_lifetime import require_extra
from swapdesk.clock import SystemClock
from swapdesk.flows.account.reading import MONTH
from swapdesk.flows.notation import usd
from swapdesk.sandbox.run_file import find_running
from swapdesk.sandbox.service_process import DATABASE
from swapdesk.service.access import Scope, StoredPartner, Tier
from swapdesk.service.browsers import origin_of
from swapdesk.service.store import partners
from swapdesk.service.store.books import NothingDue
from swapdesk.service.store.database import Place, SchemaError, StoreUnavailable
from swapdesk.service.store.partners import Act, NewKey, Noted
from swapdesk.service.store.sqlite import back_up
from swapdesk.service.store.store import Store
from swapdesk.wire.account import RateWindows
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.encoding.timestamps import parse_rfc3339, rfc3339

UNBOOKED = "where it was; nothing was booked"
UNCHANGED = "where it was; no account was changed"


class PartnerDocument(Struct, frozen=True):
    """One account in its present state."""

    partner: StoredPartner


class PartnersDocument(Struct, frozen=True):
    """All accounts of the service's partners, oldest first."""

    partners: tuple[StoredPartner, ...]


class NewPartnerKeyDocument(Struct, frozen=True, rename="camel"):
    """A new key with its secret, which is never shown again, and the account of the key."""

    api_key: str
    api_secret: str
    partner: StoredPartner


class DayOfPartner(Struct, frozen=True):
    """A daily sum, named by its partner and its day (``YYYY-MM-DD`` in UTC)."""

    partner: str
    day: str


class SumsDocument(Struct, frozen=True):
    """The result of counting all orders anew. ``unentered`` counts ended orders missing from the
    books. ``rebuilt`` means that wrong sums were corrected."""

    sums: int
    differing: tuple[DayOfPartner, ...]
    unentered: int
    rebuilt: bool


class BookedDocument(Struct, frozen=True):
    """A booked entry in US dollars. ``partner`` is None if the command named an order instead."""

    partner: str | None
    month: str
    amount: Decimal


class AuditDocument(Struct, frozen=True):
    """The operators' changes to accounts and their bookings, newest first."""

    changes: tuple[Noted, ...]


_REFUSALS = {
    "partner": ("NO_SUCH_PARTNER", "which"),
    "key": ("NO_SUCH_KEY", "api_key"),
    "taken": ("NAME_TAKEN", "name"),
    "origin": ("BAD_ORIGIN", "origin"),
    "name": ("BAD_NAME", "name"),
}
"""The errors for changes that the store refuses: by its reason, the error code and the argument at
fault."""


class BackupDocument(Struct, frozen=True):
    """The written backup file and its size in bytes."""

    file: str
    bytes: int


def back_up_store(call: CliContext, file: Path, data: Path | None, config: Path | None) -> None:
    """Copies a service's store to ``file``. Raises CommandError: exit 5 without a store, 2 if the
    file exists."""
    place = _place_of(call, data, config)
    if isinstance(place, Place):
        raise bad_input(
            "USAGE",
            "The store of this service is a PostgreSQL database: pg_dump copies it.",
            field="config",
            money=UNBOOKED,
        )
    source = _file_in(place)
    try:
        size = back_up(source, file)
    except FileExistsError:
        raise bad_input(
            "FILE_EXISTS", f"{file} exists and is not replaced.", field="file", money=UNBOOKED
        ) from None
    except OSError as error:
        raise bad_input(
            "FILE_UNUSABLE",
            f"{file} cannot be written: {error.strerror or error}.",
            field="file",
            money=UNBOOKED,
            next="you: name a file in a directory that exists and that you may write to",
        ) from None
    except sqlite3.Error as error:
        raise CommandError(
            Exit.OWN_REFUSAL, "STORE_UNUSABLE", f"The store was not copied: {error}.", UNBOOKED
        ) from None
    call.output.say(
        f"The store as it was just now is in {file}: {size:,} bytes. To go on from it, end the"
        f" service, remove {source.name}-wal and {source.name}-shm, and put it in the place of"
        f" {source}.",
        document=BackupDocument(str(file), size),
    )


def run_on_store(
    call: CliContext,
    work: Callable[[Output, Store, Act], Awaitable[int | None]],
    data: Path | None,
    config: Path | None,
) -> int | None:
    """Runs ``work`` on a service's database, with the output and a record of who acts and when.
    Raises CommandError (exit 5) if no service ever ran here."""
    place = _place_of(call, data, config)

    async def worked() -> int | None:
        store, now = await _opened(place)
        try:
            return await work(call.output, store, Act(now, _operator()))
        finally:
            await store.close()

    try:
        return asyncio.run(worked())
    except StoreUnavailable as error:
        # No URL of a file has a password.
        where = f" {place.url}" if isinstance(place, Place) else ""
        message = f"The database{where} does not answer: {error}."
        if not error.in_doubt:
            raise CommandError(
                Exit.UNREACHABLE,
                "NO_ANSWER",
                message,
                UNCHANGED,
                "you: once the database answers, give the command again",
            ) from None
        raise CommandError(
            Exit.UNKNOWN,
            "OUTCOME_UNKNOWN",
            message,
            "where it was; whether the change was made is not known",
            "you: once the database answers, look with swapdesk partner audit before you repeat it",
        ) from None
    except SchemaError as error:
        raise CommandError(
            Exit.OWN_REFUSAL, "STORE_UNUSABLE", f"The store cannot be used: {error}.", UNBOOKED
        ) from None
    except NothingDue as error:
        raise CommandError(Exit.OWN_REFUSAL, "NOTHING_DUE", str(error), UNBOOKED) from None
    except partners.PartnerRefused as refused:
        code, field = _REFUSALS[refused.what]
        raise bad_input(code, str(refused), field=field, money=UNCHANGED) from None


def _place_of(call: CliContext, data: Path | None, config: Path | None) -> Path | Place:
    if config is not None and data is not None:
        raise bad_input(
            "USAGE",
            "--config names the data directory: it goes without --data.",
            field="config",
            money=UNCHANGED,
        )
    if config is None:
        return (data or call.settings(lenient=True).home.sandbox).absolute()
    # On use: most of it is about chains and venues.
    from swapdesk.sandbox.service_file import ServiceFileRefused, read_service_file

    with refused_as(ServiceFileRefused, "CONFIG", field="config", money=UNCHANGED):
        service = read_service_file(config)
    if service.store is None:
        return service.data.absolute()
    require_extra("postgres")
    return service.store


async def _opened(directory: Path | Place) -> tuple[Store, datetime]:
    if isinstance(directory, Place):
        try:
            return await Store.connect(directory), SystemClock().now()
        except ValueError as error:
            raise SchemaError(f"{directory.url}: {error}") from None
    file = _file_in(directory)
    now = _service_time(directory)
    return Store.open(file), now


def _file_in(directory: Path) -> Path:
    if not (directory / DATABASE).exists():
        raise CommandError(
            Exit.NOT_FOUND, "NO_STORE", f"No service has run in {directory} yet.", UNBOOKED
        )
    return directory / DATABASE


def _operator() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _service_time(directory: Path) -> datetime:
    """Returns the time of the service in ``directory``, whose clock may be ahead; without a running
    service, this machine's time."""
    ready = find_running(directory)
    if ready is None:
        return SystemClock().now()
    url = f"{ready.url}/health"
    try:
        answer = httpx2.get(url, verify=certificates(httpx2.URL(url)), trust_env=False)
        return parse_rfc3339(answer.raise_for_status().json()["time"])
    except (httpx2.HTTPError, ValueError, KeyError) as error:
        raise CommandError(
            Exit.UNREACHABLE,
            "NO_ANSWER",
            f"The service runs and does not tell its time: {error}.",
            UNBOOKED,
            "you: give the command again",
        ) from None


# Accounts


async def create_account(output: Output, store: Store, act: Act, name: str, tier: str) -> None:
    _tell_new(output, *await store.partners.create(name, Tier(tier), act))


async def list_accounts(output: Output, store: Store, act: Act) -> None:
    _, accounts = await store.partners.read()
    rows = [
        (
            account.partner_id,
            account.name,
            account.tier,
            "suspended" if account.suspended else "active",
            str(sum(key.revoked is None for key in account.keys)),
            ", ".join(account.overridden) or "none",
        )
        for account in accounts
    ]
    output.table(
        ("partner id", "name", "tier", "state", "keys", "overrides"),
        rows,
        document=PartnersDocument(accounts),
    )
    if not rows:
        output.say("There are no partners. swapdesk partner create NAME makes one.")


async def show_account(output: Output, store: Store, act: Act, which: str) -> None:
    _tell(output, await store.partners.find(which))


async def add_key(
    output: Output,
    store: Store,
    act: Act,
    which: str,
    scope: Scope,
    dialect: str | None,
) -> None:
    named = None if dialect is None else Dialect(dialect)
    _tell_new(output, *await store.partners.add_key(which, scope, named, act))


async def revoke_key(output: Output, store: Store, act: Act, api_key: str) -> None:
    _tell(output, await store.partners.revoke(api_key, act))


async def suspend_account(output: Output, store: Store, act: Act, which: str, lift: bool) -> None:
    _tell(output, await store.partners.suspend(which, not lift, act))


async def give_tier(output: Output, store: Store, act: Act, which: str, tier: str) -> None:
    _tell(output, await store.partners.set_tier(which, Tier(tier), act))


async def override_terms(
    output: Output,
    store: Store,
    act: Act,
    which: str,
    quote: tuple[int | None, ...] | None,
    exchange: tuple[int | None, ...] | None,
    read: tuple[int | None, ...] | None,
    fee_share: Decimal | None,
    markup: Decimal | None,
    fixed_rates: str | None,
    remove: tuple[str, ...],
) -> None:
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
    gone = ("all",) if "all" in remove else remove
    if "all" not in remove and (both := sorted(given.keys() & set(remove))):
        raise bad_input(
            "USAGE", f"{', '.join(both)} is given and removed at once.", money=UNCHANGED
        )
    if not given and not removed:
        raise bad_input("USAGE", "Name at least one override, or --remove one.", money=UNCHANGED)
    account = await store.partners.set_overrides(
        which,
        {OVERRIDES[name]: value for name, value in given.items()},
        [OVERRIDES[name] for name in removed],
        ", ".join(
            [
                *(f"{name} {_typed(value)}" for name, value in given.items()),
                *(f"without {name}" for name in gone),
            ]
        ),
        act,
    )
    _tell(output, account)


def _typed(value: object) -> str:
    if isinstance(value, tuple):
        return "/".join("-" if calls is None else str(calls) for calls in value)
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


async def change_origins(
    output: Output,
    store: Store,
    act: Act,
    which: str,
    action: str,
    origin: str | None,
) -> None:
    if (origin is None) is not (action == "list"):
        raise bad_input(
            "USAGE", "add and remove take one ORIGIN; list takes none.", money=UNCHANGED
        )
    if origin is None:
        account = await store.partners.find(which)
    else:
        with refused_as(ValueError, "BAD_ORIGIN", field="origin", money=UNCHANGED):
            named = origin_of(origin)
        account = await store.partners.set_origin(which, named, action == "add", act)
    output.say(*(account.origins or ("Every page is allowed.",)), document=PartnerDocument(account))


def _tell(output: Output, account: StoredPartner) -> None:
    output.facts(_rows(account), document=PartnerDocument(account))
    output.table(
        ("key", "scope", "dialect", "created", "state"),
        [
            (
                key.key,
                key.scope,
                key.dialect or "of the service",
                rfc3339(key.created),
                "active" if key.revoked is None else f"revoked {rfc3339(key.revoked)}",
            )
            for key in account.keys
        ],
    )


def _rows(account: StoredPartner) -> list[tuple[str, str]]:
    def said(name: str, value: str) -> str:
        return f"{value} (override)" if name in account.overridden else value

    def calls(windows: RateWindows | None) -> str:
        if windows is None:
            return "not limited"
        return (
            f"{windows.per_minute:,} a minute, {windows.per_hour:,} an hour,"
            f" {windows.per_day:,} a day"
        )

    terms = account.terms
    return [
        ("partner id", account.partner_id),
        ("name", account.name),
        ("tier", account.tier),
        ("state", "suspended" if account.suspended else "active"),
        ("created", rfc3339(account.created)),
        ("quotes", said("quote", calls(terms.quote_limits))),
        ("exchanges", said("exchange", calls(terms.exchange_limits))),
        ("reads", said("read", calls(terms.read_limits))),
        ("share of fees", said("fee-share", f"{terms.earns_of_fees}%")),
        ("markup", said("markup", f"{terms.default_markup}%")),
        ("fixed rates", said("fixed-rates", "on" if terms.fixed_rates else "off")),
        ("pages", ", ".join(account.origins) or "every page"),
    ]


def _tell_new(output: Output, account: StoredPartner, new: NewKey) -> None:
    output.facts(
        [
            ("partner id", account.partner_id),
            ("name", account.name),
            ("tier", account.tier.value),
            ("key", new.key),
            ("secret", new.secret),
        ],
        document=NewPartnerKeyDocument(new.key, new.secret, account),
    )
    output.say("The secret is shown this once; the service keeps its digest alone.")


async def show_audit(output: Output, store: Store, act: Act) -> None:
    changes = tuple(await store.partners.noted())
    output.table(
        ("at", "by", "change", "partner", "partner id"),
        [
            (rfc3339(change.at), change.by, change.action, change.partner or "", change.partner_id)
            for change in changes
        ],
        document=AuditDocument(changes),
    )
    if not changes:
        output.say("No operator has changed anything.")


# Books


async def check_sums(output: Output, store: Store, act: Act, rebuild: bool) -> int:
    recount = await store.books.recount()
    if rebuild and not recount.agrees:
        await store.books.rebuild(recount)
    names = await _names(store)
    days = tuple(DayOfPartner(names.get(of, of), day) for of, day in recount.differing)
    rebuilt = rebuild and not recount.agrees
    output.table(
        ("partner", "day"),
        [(day_of.partner, day_of.day) for day_of in days],
        document=SumsDocument(recount.sums, days, recount.unentered, rebuilt),
    )
    wrong = f"{len(days)} wrong, orders without an entry {recount.unentered}"
    end = "Rebuilt." if rebuild else "Add --rebuild to write them anew."
    verdict = "all right." if recount.agrees else f"{wrong}. {end}"
    output.say(f"Sums of days {recount.sums}: {verdict}")
    return Exit.DONE if recount.agrees or rebuild else Exit.OWN_REFUSAL


async def book_payout(output: Output, store: Store, act: Act, name: str, month: str) -> None:
    if MONTH.fullmatch(month) is None:
        raise bad_input(
            "NO_SUCH_MONTH", f"{month!r} is no month like 2026-11.", field="month", money=UNBOOKED
        )
    names = await _names(store)
    partner_id = next(
        (of for of, partner_name in names.items() if name in (of, partner_name)), None
    )
    if partner_id is None:
        raise bad_input(
            "NO_SUCH_PARTNER",
            f"There is no partner {name}. Partners: {', '.join(names.values())}.",
            field="partner",
            money=UNBOOKED,
        )
    amount = await store.books.pay_out(partner_id, month, act)
    output.say(
        f"{names[partner_id]} is paid for {month}: {usd(amount)}.",
        document=BookedDocument(names[partner_id], month, amount),
    )


async def book_reversal(output: Output, store: Store, act: Act, order: str) -> None:
    amount = -(await store.books.reverse(order, act))
    output.say(
        f"The commission of {order} is reversed: {usd(amount)}.",
        document=BookedDocument(None, f"{act.at:%Y-%m}", amount),
    )


async def _names(store: Store) -> dict[str, str]:
    return {account.partner_id: account.name for account in (await store.partners.read())[1]}
