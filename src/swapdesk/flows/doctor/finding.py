"""One thing that was looked at, and the commands that mend what is found."""

from __future__ import annotations

import os
import shlex
import stat
from itertools import count
from pathlib import Path
from string import ascii_letters, digits
from typing import Literal

from msgspec import Struct

from swapdesk.paths import UnsafePlace, refuse_shared

SAID_LIMIT = 400
_PLAIN = frozenset(f"{ascii_letters}{digits}/._-".encode())

State = Literal["ok", "wrong", "unchecked"]
"""Unchecked: it could not be looked at, or there is nothing to look at."""


class Finding(Struct, frozen=True):
    """``said`` is one sentence; ``mend`` a command line for a shell, empty where nothing is
    wrong. Both may hold texts of files and of the service."""

    check: str
    state: State
    said: str
    mend: str = ""


def ok(check: str, said: str) -> Finding:
    return Finding(check, "ok", _short(said))


def wrong(check: str, said: str, mend: str) -> Finding:
    return Finding(check, "wrong", _short(said), mend)


def unchecked(check: str, said: str) -> Finding:
    return Finding(check, "unchecked", _short(said))


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


def set_aside(path: Path) -> str:
    """Gives something, and what SQLite keeps beside it, a new directory."""
    # No name that the glob finds.
    names = (f"set-aside-{path.stem}{'' if at == 1 else f'-{at}'}" for at in count(1))
    place = next(one for name in names if not os.path.lexists(one := path.with_name(name)))
    return f"mkdir -m 700 {shell_word(place)} && mv {shell_word(path)}* {shell_word(place)}/"


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
        if path.is_symlink() and path.is_file():
            # What stands in it is still needed, a journal most of all.
            name, fresh = shell_word(path), shell_word(f"{path}.new")
            mend = f"cp -L {name} {fresh} && chmod 600 {fresh} && mv {fresh} {name}"
        elif path.is_dir() is not directory:
            mend = set_aside(path)
        else:
            mend = _made_ours(path, status)
        return wrong(check, f"{error}.", mend)
    return None


def written(check: str, path: Path, *, directory: bool = False) -> Finding | None:
    """What is wrong with something that others may read, and nobody else may write; None where
    nothing is, or where it is not there."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode) is not directory:
        return wrong(
            check, f"{path} is no {'directory' if directory else 'file'}.", set_aside(path)
        )
    if status.st_uid not in (os.getuid(), 0):
        said = f"{path} belongs to another user."
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        said = f"Other users can write to {path}."
    else:
        return None
    return wrong(check, said, _made_ours(path, status))


def _made_ours(path: Path, status: os.stat_result) -> str:
    name = shell_word(path)
    if status.st_uid != os.getuid():
        return as_root(f"chown -R {os.getuid()} {name}")
    return f"chmod go-rwx {name}"
