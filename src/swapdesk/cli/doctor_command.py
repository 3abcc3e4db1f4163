"""``doctor``: what is wrong with this desk, and the command that mends it.

It has to work where nothing else does: what a broken home or a missing package keeps from being
looked at is said, and everything else is looked at all the same.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

import click
from msgspec import Struct

from swapdesk.cli.cli_context import CliContext, desk_command, wrong_in_config
from swapdesk.cli.exit_codes import Exit
from swapdesk.clock import Clock, SystemClock
from swapdesk.flows.doctor.finding import (
    Finding,
    State,
    edit,
    edit_problem,
    out_of_sight,
    unchecked,
    wrong,
)

if TYPE_CHECKING:
    from swapdesk.cli.output import Output
    from swapdesk.paths import Home
    from swapdesk.sandbox.run_file import ReadyLine
    from swapdesk.settings import Settings

T = TypeVar("T")


class DoctorDocument(Struct, frozen=True):
    """``ok``: nothing is wrong."""

    ok: bool
    findings: tuple[Finding, ...]


@click.command()
@desk_command
def doctor(call: CliContext) -> int:
    """Say what is wrong with this desk, and which command mends it.

    Looks at Python and its packages, the terminal, files and their modes, the journal, the
    sandbox, the service, the clock, the nodes, the wallet agent and the disk. Looking changes
    nothing, and no sandbox is started. Ends with 9 when something is wrong.
    """
    findings = examine(call.profile, SystemClock())
    report(call.output, findings)
    return Exit.OWN_REFUSAL if _any_wrong(findings) else Exit.DONE


def examine(profile: str | None, clock: Clock) -> list[Finding]:
    """Everything that can be looked at, in the order in which it is mended."""
    from swapdesk.cli.machine_checks import check_locale, check_packages, check_terminal
    from swapdesk.flows.doctor import home_checks
    from swapdesk.paths import find_home

    home = find_home(os.environ)
    settings, misnamed = _settings(home, profile)
    signs = settings.live and (bool(settings.rpc.value) or settings.places.keys.exists())
    found = [
        *check_packages(sandbox=not settings.live, signs=signs),
        check_locale(os.environ, settings.glyphs.value),
        *_looked("terminal", lambda: check_terminal(os.environ)),
        *_looked("disk", lambda: [home_checks.check_disk(settings)]),
        *_looked("home", lambda: home_checks.check_home(home)),
        *_looked("config", lambda: _config(settings)),
    ]
    if misnamed is not None:
        return [*found, misnamed]
    return [
        *found,
        *_looked("secret", lambda: home_checks.check_secret(settings)),
        *_looked("keys", lambda: home_checks.check_private_files(settings)),
        *_looked("address book", lambda: home_checks.check_address_book(settings)),
        *_looked("journal", lambda: [home_checks.check_journal(settings.places.journal)]),
        *_looked("service", lambda: _asked(settings, clock)),
    ]


def _settings(home: Home, profile: str | None) -> tuple[Settings, Finding | None]:
    """The settings of the chosen profile; where there is no such one, those of the sandbox."""
    from swapdesk.settings import SANDBOX, Options, SettingsError, load_settings

    try:
        return load_settings(os.environ, home, Options(profile=profile)), None
    except SettingsError as error:
        settings = load_settings(os.environ, home, Options(profile=SANDBOX))
        problem, said = error.problem, str(error)
        if problem is not None and not problem.key:
            # The file cannot be read, which is a finding of its own.
            return settings, unchecked("profile", f"{said}.")
        mend = edit(home.config_file) if problem is None else edit_problem(problem)
        return settings, wrong("profile", said if said.endswith("?") else f"{said}.", mend)


def _config(settings: Settings) -> Iterable[Finding]:
    from swapdesk.flows.doctor.home_checks import check_config, secret_file
    from swapdesk.tui.palette_files import read_palettes

    problems = [
        *(
            one
            for one in wrong_in_config(settings)
            if one.key != "secret_file" or secret_file(settings) is None
        ),
        *read_palettes(settings.home.themes).problems,
    ]
    return check_config(settings.home, problems)


def _asked(settings: Settings, clock: Clock) -> list[Finding]:
    from swapdesk.flows.doctor.service_checks import check_agent, check_run_file, check_service

    ready, runs = (None, False) if settings.live else _sandbox(settings.home)
    line = ready.as_mapping() if ready is not None else None
    found = [] if settings.live else [check_run_file(settings.home, line, runs=runs)]

    async def whole() -> list[Finding]:
        asked = await check_service(settings, line if runs else None, clock)
        return [*asked, await check_agent(settings)]

    return [*found, *asyncio.run(whole())]


def _sandbox(home: Home) -> tuple[ReadyLine | None, bool]:
    """What the run file says, and whether that sandbox answers."""
    from swapdesk.sandbox.run_file import find_running, read_run_file

    return read_run_file(home.sandbox), find_running(home.sandbox) is not None


def _looked(check: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What ``look`` finds, or why it cannot: a package is missing, or a file out of sight."""
    try:
        return list(look())
    except ImportError as error:
        return [unchecked(check, f"This cannot be looked at without {error.name}.")]
    except OSError as error:
        return [out_of_sight(check, error)]


def report(output: Output, findings: list[Finding]) -> None:
    """Every finding with its command."""
    if output.json:
        output.document(DoctorDocument(not _any_wrong(findings), tuple(findings)))
        return
    if output.form == "plain":
        for one in findings:
            output.say(f"{one.check}, {one.state}: {one.said}")
            if one.mend:
                output.say(f"Mend it: {one.mend}")
        return
    width = max(len(one.check) for one in findings)
    for one in findings:
        output.say(f"{one.state:9}  {one.check:{width}}  {one.said}")
        if one.mend:
            output.say(f"{'':9}  {'':{width}}  $ {one.mend}")


def _any_wrong(findings: list[Finding]) -> bool:
    return any(one.state is State.WRONG for one in findings)
