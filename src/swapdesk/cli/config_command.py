"""Three commands: ``config`` prints every value and where it was read, ``profile`` chooses the
service and account to use, and ``doctor`` says what is wrong with the desk."""

from __future__ import annotations

from collections.abc import Mapping

import click
from msgspec import Struct

from swapdesk.cli import completion
from swapdesk.cli.cli_context import (
    CliContext,
    Declared,
    Effect,
    config_error,
    desk_command,
    on_call,
    wrong_in_config,
)
from swapdesk.cli.command_error import UNTOUCHED, bad_input
from swapdesk.config_file import keep_choice
from swapdesk.settings import SANDBOX, Settings


class SettingValue(Struct, frozen=True):
    """A setting, its value as text with secrets masked, and where the value comes from, such as
    ``default``."""

    value: str
    origin: str


class ConfigDocument(Struct, frozen=True):
    """All settings by name."""

    settings: Mapping[str, SettingValue]


@click.group()
def config() -> None:
    """Show the configuration."""


@config.command()
@desk_command(Declared(Effect.ONLY_READS, reading=True, prints=("config_command:ConfigDocument",)))
def show(call: CliContext) -> None:
    """Print name, value and origin of every setting; secrets are masked.

    Exit 2 if something is wrong in config.toml (its key bindings included) or in a theme file.
    """
    from swapdesk.palette_files import read_palettes

    settings = call.settings(mending=True)
    rows = list(settings.rows())
    call.output.table(
        ("name", "value", "origin"),
        rows,
        plain=[f"{name} is {value or 'not set'} ({why})." for name, value, why in rows],
        document=ConfigDocument(
            {name: SettingValue(value, origin) for name, value, origin in rows}
        ),
    )
    problems = [*wrong_in_config(settings), *read_palettes(settings.home.themes).problems]
    if problems:
        raise config_error(problems)


class ProfileFacts(Struct, frozen=True):
    """One profile. ``access`` is ``sandbox``, ``key``, ``partner_id`` or ``pay``; None if no access
    is configured. ``chosen`` marks the profile used without ``--profile``."""

    name: str
    access: str | None
    url: str | None
    chosen: bool


class ProfilesDocument(Struct, frozen=True):
    """All profiles: the sandbox first, then those of config.toml in its order."""

    profiles: tuple[ProfileFacts, ...]


class ChosenDocument(Struct, frozen=True):
    """The newly chosen profile. ``previous`` is the name that config.toml had before. ``live``
    means that real money is at stake."""

    profile: str
    previous: str
    live: bool


@click.group()
def profile() -> None:
    """Choose which service and account to use: each profile has a service, a journal and keys of
    its own."""


@profile.command("list")
@desk_command(
    Declared(Effect.ONLY_READS, reading=True, prints=("config_command:ProfilesDocument",))
)
def list_profiles(call: CliContext) -> None:
    """List the profiles of config.toml, and which one is used."""
    settings = call.settings(mending=True)
    # Of a file that cannot be read no profile is known.
    _tell_wrong(call, settings, "")
    tables = settings.config.profiles if settings.config is not None else {}
    profiles = tuple(
        _facts(name, tables.get(name, {}), chosen=name == settings.profile.value)
        for name in settings.profiles
    )
    call.output.table(
        ("profile", "access", "service", ""),
        [
            (row.name, row.access or "nothing yet", row.url or "", "used" if row.chosen else "")
            for row in profiles
        ],
        document=ProfilesDocument(profiles),
    )


def _tell_wrong(call: CliContext, settings: Settings, *more: str) -> None:
    keys = ("profile", "SWAPDESK_PROFILE", *more)
    call.output.talk(*(str(problem) for problem in settings.problems if problem.key in keys))


def _facts(name: str, table: Mapping[str, object], *, chosen: bool) -> ProfileFacts:
    usual = "sandbox" if name == SANDBOX else None
    access = next((key for key in ("pay", "key", "partner_id") if key in table), usual)
    url = table.get("url")
    return ProfileFacts(name, access, url if isinstance(url, str) else None, chosen)


@profile.command()
@click.argument("name", shell_complete=completion.profiles)
@desk_command(
    Declared(Effect.CHANGES_DESK, reading=True, prints=("config_command:ChosenDocument",))
)
def use(call: CliContext, name: str) -> None:
    """Use the profile NAME from now on, in every desk and command without --profile.

    The name is written into config.toml; everything else in the file stays as it is.
    """
    settings = call.settings(mending=True)
    if name not in settings.profiles:
        names = ", ".join(settings.profiles)
        raise bad_input("NO_SUCH_PROFILE", f"There is no profile {name!r}; there are {names}.")
    _tell_wrong(call, settings)
    try:
        keep_choice(settings.home.config_file, "profile", name)
    except OSError as error:
        raise bad_input(
            "FILE_UNUSABLE", f"{error.strerror or error}.", money=UNTOUCHED, next="you: edit it"
        ) from None
    live = name != SANDBOX
    top = settings.config.top if settings.config is not None else {}
    warning = " It is LIVE: this is real money." if live else ""
    call.output.say(
        f"The profile is {name} now.{warning}",
        document=ChosenDocument(name, str(top.get("profile", SANDBOX)), live),
    )
    if settings.profile.origin in ("environment", "option"):
        place, value = settings.profile.name, settings.profile.value
        call.output.talk(f"Here {place} chooses {value} all the same.")


@click.command()
@on_call(
    "doctor_report:report_doctor",
    Declared(Effect.ONLY_READS, reading=True, prints=("doctor_report:DoctorDocument",)),
)
def doctor() -> None:
    """Say what is wrong with this desk, and which command repairs it.

    Checks the packages, the configuration, files and their modes, the journal, the sandbox, the
    service, the clock and the nodes, and whether a shell finds the commands. Checking changes
    nothing, and no sandbox is started. Exit 9 if something is wrong.
    """
