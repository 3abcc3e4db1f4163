"""What stands on disk: directories, configuration, secrets, keys and journal."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from swapdesk.database_reading import reading
from swapdesk.flows.doctor.finding import (
    Finding,
    edit,
    ok,
    set_aside,
    shared,
    shell_word,
    written,
    wrong,
)
from swapdesk.flows.doctor.installation import install
from swapdesk.flows.journal.journal_migration import JournalRefused, refuse_others, version_of
from swapdesk.paths import read_private
from swapdesk.settings import Origin, Settings
from swapdesk.toml_document import ConfigProblem, TomlDocument


def check_config(settings: Settings, problems: Sequence[ConfigProblem]) -> Iterator[Finding]:
    """``config.toml``, the environment and the theme files; ``problems`` are what their readers
    found, without those of ``secret_file``."""
    file = settings.home.config_file
    closed = written("config", file)
    if closed is not None:
        yield closed
        problems = [one for one in problems if one.file != file]
    for problem in problems:
        yield wrong("config", f"{problem}.", edit_problem(problem))
    if closed is None and not problems:
        there = "is read without a problem" if file.exists() else "is not there, and need not be"
        yield ok("config", f"{file} {there}.")


def edit_problem(problem: ConfigProblem) -> str:
    """Opens the file of the problem, or drops the variable where it stands in the environment."""
    if problem.file is None:
        return f"unset {problem.key}"
    return edit(problem.file, problem.line)


def check_files(settings: Settings) -> Iterator[Finding]:
    """The directories of the desk, and what of its profile only this user may read. The encrypted
    keys are not read."""
    home, keys = settings.home, settings.places.keys
    looked_at = [
        written("files", root, directory=True) for root in dict.fromkeys((home.config, home.data))
    ]
    looked_at += [
        shared("files", keys, directory=True),
        shared("files", settings.places.root / "wallet.passphrase"),
    ]
    if keys.is_dir():
        looked_at += [shared("files", file) for file in sorted(keys.iterdir())]
    found = [one for one in looked_at if one is not None]
    yield from found or [ok("files", f"What is private in {home.data} is open to nobody else.")]


def secret_file(settings: Settings) -> Path | None:
    """Where the secret of the profile stands; None where it comes from elsewhere."""
    if settings.secret.origin is Origin.ENVIRONMENT or settings.config is None:
        return None
    row = settings.config.profiles.get(settings.profile.value, {})
    # What is no name of a file is wrong in the configuration.
    if not settings.live or "\0" in row.get("secret_file", "\0"):
        return None
    return settings.home.config / os.path.expanduser(str(row["secret_file"]))


def check_secret(settings: Settings) -> Iterator[Finding]:
    """The file with the secret of the profile's API key."""
    file = secret_file(settings)
    if file is None:
        return
    found = shared("secret", file)
    if found is not None:
        yield found
        return
    try:
        text = read_private(file).decode("utf-8").strip()
        said = "" if text else f"{file} is empty."
    except UnicodeDecodeError:
        said = f"{file} is no text."
    except OSError as error:
        said = f"{file} cannot be read: {error.strerror or error}."
    yield wrong("secret", said, type_secret(file)) if said else ok("secret", f"{file} is private.")


def type_secret(file: Path) -> str:
    """Takes the secret from the keyboard, so that it is in no history and open to nobody."""
    place = "" if file.parent.is_dir() else f"mkdir -p {shell_word(file.parent)} && "
    return f"(umask 077 && {place}cat > {shell_word(file)})"


def check_journal(path: Path) -> Finding:
    """Mode, version and integrity of a journal, which is opened read-only."""
    found = shared("journal", path)
    if found is not None:
        return found
    try:
        with reading(path) as db:
            refuse_others(db, path.name)
            version = version_of(db)
            told = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except FileNotFoundError:
        return ok("journal", f"{path.name} is made at the first start.")
    except JournalRefused as error:
        newer = error.code == "JOURNAL_NEWER"
        return wrong("journal", f"{error}.", install() if newer else set_aside(path))
    except sqlite3.OperationalError as error:
        return wrong("journal", f"{path} cannot be read: {error}.", f"chmod 600 {shell_word(path)}")
    except sqlite3.DatabaseError as error:
        told = str(error)
    if told == "ok":
        return ok("journal", f"{path.name} is whole and of version {version}.")
    said = (
        f"{path} is damaged ({' '.join(told.split())[:100]}): set aside it stays as it is, and the"
        " orders of the last 48 hours are found again."
    )
    return wrong("journal", said, set_aside(path))


def line_of_profile(settings: Settings, *key: str) -> str:
    """Opens the configuration at a key of the profile, or at its table."""
    document = settings.config or TomlDocument(settings.home.config_file)
    path = ("profiles", settings.profile.value, *key)
    return edit(settings.home.config_file, document.line_of(*path))
