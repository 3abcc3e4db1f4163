"""Checks of the desk's home directory: permissions, configuration, secrets, keys and journal."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Literal

from msgspec import Struct

from swapdesk.database_reading import reading
from swapdesk.flows.journal.journal_migration import JournalRefused, refuse_others, version_of
from swapdesk.installation import install, shell_word
from swapdesk.paths import UnsafePlace, read_private, refuse_shared
from swapdesk.settings import Settings
from swapdesk.toml_document import ConfigProblem, TomlDocument

SAID_LIMIT = 400

State = Literal["ok", "wrong", "unchecked"]
"""The result of a check. ``unchecked``: unreadable, or nothing to check."""


class Finding(Struct, frozen=True):
    """The result of one check. ``mend`` is a shell command that repairs it, or empty. Texts may
    come from files or the service."""

    check: str
    state: State
    said: str
    mend: str = ""


def ok(check: str, sentence: str, mend: str = "") -> Finding:
    """Returns a finding in the state ``ok``. ``mend`` may be a shell command for an optional
    improvement."""
    return Finding(check, "ok", _short(sentence), mend)


def wrong(check: str, sentence: str, mend: str) -> Finding:
    return Finding(check, "wrong", _short(sentence), mend)


def unchecked(check: str, sentence: str) -> Finding:
    return Finding(check, "unchecked", _short(sentence))


def _short(sentence: str) -> str:
    return sentence if len(sentence) <= SAID_LIMIT else f"{sentence[: SAID_LIMIT - 1]}…"


# Commands


def edit(file: Path, line: int | None = None) -> str:
    """Returns the shell command that opens a text file in the user's editor."""
    return f"${{EDITOR:-vi}} +{line or 1} {shell_word(file)}"


def set_aside(path: Path) -> str:
    """Returns the shell command that moves a file, and all files whose names begin with its name,
    into a new directory beside it."""
    # The glob must not match the directory itself.
    names = (f"set-aside-{path.stem}{'' if at == 1 else f'-{at}'}" for at in count(1))
    place = next(one for name in names if not os.path.lexists(one := path.with_name(name)))
    return f"mkdir -m 700 {shell_word(place)} && mv {shell_word(path)}* {shell_word(place)}/"


def as_root(command: str) -> str:
    return command if os.geteuid() == 0 else f"sudo {command}"


def shared(check: str, path: Path, *, directory: bool = False) -> Finding | None:
    """Checks that only the owner has access to a private file, or to a private directory if
    ``directory`` is True. Returns None if nothing is wrong or ``path`` does not exist."""
    try:
        status = path.lstat()
        refuse_shared(path, status, directory=directory)
    except FileNotFoundError:
        return None
    except UnsafePlace as error:
        if path.is_symlink() and path.is_file():
            # Its content is still needed, above all that of a journal.
            name, fresh = shell_word(path), shell_word(f"{path}.new")
            mend = f"cp -L {name} {fresh} && chmod 600 {fresh} && mv {fresh} {name}"
        elif path.is_dir() is not directory:
            mend = set_aside(path)
        else:
            mend = _made_ours(path, status)
        return wrong(check, f"{error}.", mend)
    return None


def written(check: str, path: Path, *, directory: bool = False) -> Finding | None:
    """Checks that other users cannot write to a file, or to a directory if ``directory`` is True.
    Returns None if nothing is wrong or ``path`` does not exist."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode) is not directory:
        return wrong(
            check, f"{path} is no {'directory' if directory else 'file'}.", set_aside(path)
        )
    if status.st_uid not in (os.getuid(), 0):
        sentence = f"{path} belongs to another user."
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        sentence = f"Other users can write to {path}."
    else:
        return None
    return wrong(check, sentence, _made_ours(path, status))


def _made_ours(path: Path, status: os.stat_result) -> str:
    name = shell_word(path)
    if status.st_uid != os.getuid():
        return as_root(f"chown -R {os.getuid()} {name}")
    return f"chmod go-rwx {name}"


def check_config(settings: Settings, problems: Sequence[ConfigProblem]) -> Iterator[Finding]:
    """Checks ``config.toml``, the environment and the theme files. ``problems`` were found while
    reading the settings."""
    file = settings.home.config_file
    closed = written("config", file)
    if closed is not None:
        yield closed
        problems = [problem for problem in problems if problem.file != file]
    for problem in problems:
        yield wrong("config", f"{problem}.", edit_problem(problem))
    if closed is None and not problems:
        there = "is read without a problem" if file.exists() else "is not there, and need not be"
        yield ok("config", f"{file} {there}.")


def edit_problem(problem: ConfigProblem) -> str:
    """Returns the shell command that opens the configuration at a problem, or unsets the wrong
    environment variable."""
    if problem.file is None:
        return f"unset {problem.key}"
    return edit(problem.file, problem.line)


def check_files(settings: Settings) -> Iterator[Finding]:
    """Checks the access rights of the desk's directories and private files. Encrypted signing keys
    are not read."""
    home, keys = settings.home, settings.places.keys
    checked = [
        written("files", root, directory=True) for root in dict.fromkeys((home.config, home.data))
    ]
    checked += [
        shared("files", keys, directory=True),
        shared("files", settings.places.root / "wallet.passphrase"),
    ]
    if keys.is_dir():
        checked += [shared("files", file) for file in sorted(keys.iterdir())]
    wrongs = [finding for finding in checked if finding is not None]
    if not wrongs and (unwritable := _unwritable(home.data)) is not None:
        wrongs = [unwritable]
    yield from wrongs or [ok("files", f"What is private in {home.data} is open to nobody else.")]


def _unwritable(root: Path) -> Finding | None:
    place = next(path for path in (root, *root.parents) if path.exists())
    if not place.is_dir() or os.access(place, os.W_OK | os.X_OK):
        return None
    sentence = f"Nothing can be kept in {root}: {place} cannot be written."
    status = place.stat()
    if status.st_uid == os.getuid() and not status.st_mode & stat.S_IWUSR:
        return wrong("files", sentence, f"chmod u+rwx {shell_word(place)}")
    return wrong("files", sentence, "read -r SWAPDESK_HOME && export SWAPDESK_HOME")


def secret_file(settings: Settings) -> Path | None:
    """Returns the file with the profile's secret; None if it is not in a file."""
    if settings.secret.origin == "environment" or settings.config is None:
        return None
    row = settings.config.profiles.get(settings.profile.value, {})
    # A text that is no file name is a problem of the configuration.
    if not settings.live or "\0" in row.get("secret_file", "\0"):
        return None
    return settings.home.config / os.path.expanduser(str(row["secret_file"]))


def check_secret(settings: Settings) -> Iterator[Finding]:
    file = secret_file(settings)
    if file is None:
        return
    found = shared("secret", file)
    if found is not None:
        yield found
        return
    try:
        text = read_private(file).decode("utf-8").strip()
        sentence = "" if text else f"{file} is empty."
    except UnicodeDecodeError:
        sentence = f"{file} is no text."
    except OSError as error:
        sentence = f"{file} cannot be read: {error.strerror or error}."
    yield (
        wrong("secret", sentence, type_secret(file))
        if sentence
        else ok("secret", f"{file} is private.")
    )


def type_secret(file: Path) -> str:
    """Returns the shell command that writes ``file`` from the keyboard, outside the shell's
    history."""
    place = "" if file.parent.is_dir() else f"mkdir -p {shell_word(file.parent)} && "
    return f"(umask 077 && {place}cat > {shell_word(file)})"


def check_journal(path: Path) -> Finding:
    """Checks access rights, version and integrity of a journal. The file is opened read-only."""
    found = shared("journal", path)
    if found is not None:
        return found
    try:
        with reading(path) as db:
            refuse_others(db, path.name)
            version = version_of(db)
            result = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except FileNotFoundError:
        return ok("journal", f"{path.name} is made at the first start.")
    except JournalRefused as error:
        newer = error.code == "JOURNAL_NEWER"
        return wrong("journal", f"{error}.", install() if newer else set_aside(path))
    except sqlite3.OperationalError as error:
        return wrong("journal", f"{path} cannot be read: {error}.", f"chmod 600 {shell_word(path)}")
    except sqlite3.DatabaseError as error:
        result = str(error)
    if result == "ok":
        return ok("journal", f"{path.name} is whole and of version {version}.")
    sentence = (
        f"{path} is damaged ({' '.join(result.split())[:100]}): set aside it stays as it is, and"
        " the orders of the last 48 hours are found again."
    )
    return wrong("journal", sentence, set_aside(path))


def line_of_profile(settings: Settings, *key: str) -> str:
    """Returns the shell command that opens the configuration at a setting of the current
    profile."""
    document = settings.config or TomlDocument(settings.home.config_file)
    path = ("profiles", settings.profile.value, *key)
    return edit(settings.home.config_file, document.line_of(*path))
