"""``doctor`` reports what is wrong with this desk, and the command that repairs it. It has to work
even if nothing else does: if a broken home or a missing package prevents a check, a finding says
so, and the other checks are still made."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from swapdesk.certificates import trust
from swapdesk.cli.cli_context import CliContext, wrong_in_config
from swapdesk.cli.command_error import Exit
from swapdesk.clock import Clock, SystemClock
from swapdesk.flows.doctor.home_checks import (
    Finding,
    check_config,
    check_files,
    check_journal,
    check_secret,
    edit,
    edit_problem,
    ok,
    secret_file,
    unchecked,
    wrong,
)
from swapdesk.flows.doctor.shell_checks import check_shell
from swapdesk.installation import PACKAGES, install, shell_word
from swapdesk.paths import Home, find_home
from swapdesk.settings import SANDBOX, Options, Settings, SettingsError, load_settings

DESK_PARTS = ("textual", "httpx2", "pydantic", "websockets", "segno", "jinja2", "Crypto")


class DoctorDocument(Struct, frozen=True):
    """The findings of all checks. ``ok`` is True if nothing is wrong."""

    ok: bool
    findings: tuple[Finding, ...]


def report_doctor(call: CliContext) -> int:
    """Makes all checks and prints their findings. Returns exit code 9 if something is wrong,
    otherwise 0."""
    findings = examine(call.profile, SystemClock())
    whole = all(finding.state != "wrong" for finding in findings)
    call.output.say(
        *_lines(findings, plain=call.output.form == "plain"),
        document=DoctorDocument(whole, tuple(findings)),
    )
    return Exit.DONE if whole else Exit.OWN_REFUSAL


def examine(profile: str | None, clock: Clock) -> list[Finding]:
    """Makes all checks and returns their findings, in the order of repair. ``profile`` None means
    the chosen profile."""
    home = find_home(os.environ)
    settings, misnamed = _settings(home, profile)
    findings = [
        *_packages(settings),
        *_looked("command", lambda: check_shell(os.environ)),
        *_looked("config", lambda: _config(settings)),
    ]
    if misnamed is not None:
        return [*findings, misnamed]
    return [
        *findings,
        *_looked("files", lambda: check_files(settings)),
        *_looked("secret", lambda: check_secret(settings)),
        *_looked("journal", lambda: [check_journal(settings.places.journal)]),
        *_looked("service", lambda: _asked(settings, clock)),
    ]


def _settings(home: Home, profile: str | None) -> tuple[Settings, Finding | None]:
    try:
        settings = load_settings(os.environ, home, Options(profile=profile))
        if settings.live:
            trust(settings.ca_file.value or "")
        return settings, None
    except SettingsError as error:
        settings = load_settings(os.environ, home, Options(profile=SANDBOX))
        problem, message = error.problem, str(error)
        if problem is not None and not problem.key:
            # The file cannot be read, which is a finding of its own.
            return settings, unchecked("profile", f"{message}.")
        mend = edit(home.config_file) if problem is None else edit_problem(problem)
        return settings, wrong("profile", message if message.endswith("?") else f"{message}.", mend)


def _packages(settings: Settings) -> list[Finding]:
    signs = bool(settings.rpc.value) or settings.places.keys.exists()
    extra, parts = "sandbox", dict.fromkeys((*PACKAGES["sandbox"], *PACKAGES["wallet"]))
    if settings.live:
        extra, parts = "wallet", dict.fromkeys(PACKAGES["wallet"] if signs else ())
    findings = []
    for name, packages in (("", DESK_PARTS), (extra, parts)):
        missing = ", ".join(package for package in packages if find_spec(package) is None)
        if missing:
            findings.append(
                wrong("packages", f"The {name or 'desk'} needs {missing}.", install(name))
            )
    return findings or [ok("packages", "Every package is there.")]


def _config(settings: Settings) -> Iterable[Finding]:
    from swapdesk.palette_files import read_palettes

    problems = [
        *(
            problem
            for problem in wrong_in_config(settings)
            if problem.key != "secret_file" or secret_file(settings) is None
        ),
        *read_palettes(settings.home.themes).problems,
    ]
    return check_config(settings, problems)


def _asked(settings: Settings, clock: Clock) -> list[Finding]:
    from swapdesk.flows.doctor.service_checks import check_run_file, check_service

    if settings.live:
        return asyncio.run(check_service(settings, None, clock))
    from swapdesk.sandbox.run_file import find_running

    ready = find_running(settings.home.sandbox)
    line = ready.as_mapping() if ready is not None else None
    return [
        check_run_file(settings.home, line),
        *asyncio.run(check_service(settings, line, clock)),
    ]


def _looked(check: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    try:
        return list(look())
    except ImportError as error:
        return [unchecked(check, f"This cannot be looked at without {error.name}.")]
    except OSError as error:
        path = Path(str(error.filename or "."))
        place = path if os.path.lexists(path) else path.parent
        message = f"{path} cannot be looked at: {error.strerror or error}."
        return [wrong(check, message, f"chmod -R u+rwX {shell_word(place)}")]


def _lines(findings: list[Finding], *, plain: bool) -> Iterator[str]:
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        if plain:
            yield f"{finding.check}, {finding.state}: {finding.said}"
        else:
            yield f"{finding.state:9}  {finding.check:{width}}  {finding.said}"
        if finding.mend:
            does = "Mend it" if finding.state == "wrong" else "To have it"
            yield f"{does}: {finding.mend}" if plain else f"{'':{width + 11}}  $ {finding.mend}"
