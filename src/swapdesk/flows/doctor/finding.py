"""One thing that was looked at, and the commands that mend what is found."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable
from enum import StrEnum
from itertools import count
from pathlib import Path
from string import ascii_letters, digits

from msgspec import Struct

from swapdesk.paths import UnsafePlace, refuse_shared
from swapdesk.toml_document import ConfigProblem

SAID_LIMIT = 400
_PLAIN = frozenset(f"{ascii_letters}{digits}/._-".encode())


class State(StrEnum):
    OK = "ok"
    WRONG = "wrong"
    UNCHECKED = "unchecked"
    """It could not be looked at, or there is nothing to look at."""


class Finding(Struct, frozen=True):
    """``said`` is one sentence; ``mend`` a command line for a shell, empty where nothing is
    wrong. Both may hold texts of files and of the service."""

    check: str
    state: State
    said: str
    mend: str = ""


def ok(check: str, said: str) -> Finding:
    return Finding(check, State.OK, _short(said))


def wrong(check: str, said: str, mend: str) -> Finding:
    return Finding(check, State.WRONG, _short(said), mend)


def unchecked(check: str, said: str) -> Finding:
    return Finding(check, State.UNCHECKED, _short(said))


def _short(said: str) -> str:
    return said if len(said) <= SAID_LIMIT else f"{said[: SAID_LIMIT - 1]}…"


# Commands


def shell_word(text: str | Path) -> str:
    """The text as one word of bash and zsh that can be shown: nothing in it is run, and what a
    terminal would act on is written as an escape."""
    said = str(text)
    if said.isprintable():
        return shlex.quote(said)
    raw = os.fsencode(said)
    return "$'" + "".join(chr(b) if b in _PLAIN else f"\\x{b:02x}" for b in raw) + "'"


def edit(file: Path, line: int | None = None) -> str:
    """Opens a text file at the line that is wrong."""
    return f"${{EDITOR:-vi}} +{line or 1} {shell_word(file)}"


def edit_problem(problem: ConfigProblem) -> str:
    """Opens the file of the problem, or drops the variable where it stands in the environment."""
    if problem.file is None:
        return f"unset {problem.key}"
    return edit(problem.file, problem.line)


def set_aside(path: Path) -> str:
    """Gives something another name, under which nothing is yet."""
    return f"mv {shell_word(path)} {shell_word(_unused(path, '.set-aside'))}"


def set_database_aside(file: Path) -> str:
    """Moves a file, and what SQLite keeps beside it, into a new directory."""
    place = shell_word(_unused(file.with_suffix(""), "-set-aside"))
    return f"mkdir -m 700 {place} && mv {shell_word(file)}* {place}/"


def _unused(path: Path, end: str) -> Path:
    names = (f"{path.name}{end}{'' if at == 1 else f'-{at}'}" for at in count(1))
    return next(one for name in names if not os.path.lexists(one := path.with_name(name)))


def as_root(command: str) -> str:
    return command if os.geteuid() == 0 else f"sudo {command}"


def shared(check: str, path: Path, *, directory: bool = False) -> Finding | None:
    """What is wrong with the kind, the owner or the mode of something private; None where
    nothing is, or where it is not there."""
    try:
        status = path.lstat()
        refuse_shared(path, status, directory=directory)
    except FileNotFoundError:
        return None
    except UnsafePlace as error:
        return wrong(check, f"{error}.", _made_private(path, status, directory=directory))
    return None


def out_of_sight(check: str, error: OSError) -> Finding:
    """Something in a directory that this user may not look into, or may not be read itself."""
    path = Path(str(error.filename or "."))
    place = path if os.path.lexists(path) else path.parent
    said = f"{path} cannot be looked at: {error.strerror or error}."
    return wrong(check, said, f"chmod -R u+rwX {shell_word(place)}")


def _made_private(path: Path, status: os.stat_result, *, directory: bool) -> str:
    name, fresh = shell_word(path), shell_word(_unused(path, ".new"))
    if stat.S_ISLNK(status.st_mode) and not directory and path.is_file():
        return f"cp -L {name} {fresh} && chmod 600 {fresh} && mv {fresh} {name}"
    if stat.S_ISREG(status.st_mode) is directory or stat.S_ISLNK(status.st_mode):
        return set_aside(path)
    if status.st_uid != os.getuid():
        return as_root(f"chown {os.getuid()} {name}")
    return f"chmod {'700' if directory else '600'} {name}"


def problems_as_findings(check: str, problems: Iterable[ConfigProblem]) -> list[Finding]:
    return [wrong(check, f"{problem}.", edit_problem(problem)) for problem in problems]
