"""What stands on disk: directories, configuration, secrets, keys, address book, journal, space."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from swapdesk.database_reading import reading
from swapdesk.flows.doctor.finding import (
    Finding,
    as_root,
    edit,
    ok,
    problems_as_findings,
    set_aside,
    set_database_aside,
    shared,
    shell_word,
    wrong,
)
from swapdesk.flows.doctor.installation import install
from swapdesk.flows.journal.journal_migration import (
    SCHEMA_VERSION,
    JournalRefused,
    refuse_others,
    version_of,
)
from swapdesk.paths import Home, UnsafePlace, read_private, refuse_foreign
from swapdesk.settings import Origin, Settings
from swapdesk.toml_document import ConfigProblem, TomlDocument

LEAST_FREE = 64 << 20
"""Bytes. The journal, its copy before a new version and a list of tokens take a part of it."""


def check_home(home: Home) -> Iterator[Finding]:
    """The directories of the desk: there, ours, and closed to what others write."""
    whole = True
    for root in dict.fromkeys((home.config, home.data)):
        try:
            status = root.stat()
        except FileNotFoundError:
            continue  # The first start makes it.
        found = _home_problem(root, status)
        if found is not None:
            whole = False
            yield found
    if whole:
        is_there = "belongs to this user" if home.data.exists() else "is made at the first start"
        yield ok("home", f"{home.data} {is_there}.")


def _home_problem(root: Path, status: os.stat_result) -> Finding | None:
    name = shell_word(root)
    if not stat.S_ISDIR(status.st_mode):
        return wrong("home", f"{root} is no directory.", set_aside(root))
    if status.st_uid != os.getuid():
        mend = as_root(f"chown -R {os.getuid()} {name}")
        return wrong("home", f"{root} belongs to another user.", mend)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return wrong("home", f"Other users can write to {root}.", f"chmod go-rwx {name}")
    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        return wrong("home", f"The desk cannot write to {root}.", f"chmod u+rwx {name}")
    return None


def check_config(home: Home, problems: Sequence[ConfigProblem]) -> Iterator[Finding]:
    """``config.toml``, the environment and the theme files; ``problems`` are what their readers
    found, without those of ``secret_file``."""
    file = home.config_file
    closed = _config_file_problem(file)
    if closed is not None:
        yield closed
        problems = [one for one in problems if one.file != file]
    yield from problems_as_findings("config", problems)
    if closed is None and not problems:
        there = "is read without a problem" if file.exists() else "is not there, and need not be"
        yield ok("config", f"{file} {there}.")


def _config_file_problem(file: Path) -> Finding | None:
    """Why the file is not even read."""
    name = shell_word(file)
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            return wrong("config", f"{file} is no file.", set_aside(file))
        refuse_foreign(file, status)
        file.open("rb").close()
    except UnsafePlace as error:
        ours = status.st_uid in (os.getuid(), 0)
        mend = f"chmod 600 {name}" if ours else as_root(f"chown {os.getuid()} {name}")
        return wrong("config", f"{file} {error}.", mend)
    except FileNotFoundError:
        return None
    return None


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


def check_private_files(settings: Settings) -> Iterator[Finding]:
    """The keys of the profile and what stands beside them. The encrypted files are not read."""
    keys = settings.places.keys
    phrase = settings.places.root / "wallet.passphrase"
    looked_at = [shared("keys", keys, directory=True), shared("keys", phrase)]
    count = 0
    if looked_at[0] is None and keys.is_dir():
        for file in sorted(keys.iterdir()):
            count += file.name.startswith(("evm-", "solana-"))
            looked_at.append(shared("keys", file))
    found = [one for one in looked_at if one is not None]
    yield from found
    if not found:
        kept = f"{count} keys are" if count != 1 else "One key is"
        said = f"{kept} private." if count else "The wallet has no keys."
        yield ok("keys", said)


def check_address_book(settings: Settings) -> Iterator[Finding]:
    from swapdesk.flows.payees.address_book import AddressBook

    file = settings.places.address_book
    # Not as the sandbox's, whose first book would be written.
    book = AddressBook.load(file)
    for problem in book.problems:
        yield wrong("address book", problem, edit(file, _line_named(problem)))
    if not book.problems:
        names = "1 name" if len(book) == 1 else f"{len(book)} names"
        yield ok("address book", f"The address book has {names}.")


def _line_named(problem: str) -> int | None:
    """The line that a sentence of the address book names: ``NAME, line 3: …``."""
    digits = problem.partition(", line ")[2].partition(":")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else None


def check_journal(path: Path) -> Finding:
    """Mode, version and integrity of a journal, which is opened read-only."""
    found = shared("journal", path)
    if found is not None:
        return found
    try:
        return _look_into(path)
    except FileNotFoundError:
        return ok("journal", f"{path.name} is made at the first start.")
    except JournalRefused as error:
        newer = error.code == "JOURNAL_NEWER"
        return wrong("journal", f"{error}.", install() if newer else set_database_aside(path))
    except sqlite3.OperationalError as error:
        return wrong("journal", f"{path} cannot be read: {error}.", f"chmod 600 {shell_word(path)}")
    except sqlite3.DatabaseError as error:
        return _damaged(path, str(error))


def _look_into(path: Path) -> Finding:
    with reading(path) as db:
        refuse_others(db, path.name)
        version = version_of(db)
        told = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if told != "ok":
            return _damaged(path, str(told))
    if version < SCHEMA_VERSION:
        said = f"{path.name} is whole and of version {version}: the next start brings it up."
    else:
        said = f"{path.name} is whole and of version {version}."
    return ok("journal", said)


def _damaged(path: Path, why: str) -> Finding:
    said = (
        f"{path} is damaged ({' '.join(why.split())[:100]}): set aside it stays as it is, and the"
        " orders of the last 48 hours are found again."
    )
    return wrong("journal", said, set_database_aside(path))


def check_disk(settings: Settings, least: int = LEAST_FREE) -> Finding:
    """Room for the journal, which a create needs before it is sent."""
    home = settings.home
    place = home.data
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free >= least:
        return ok("disk", f"{free >> 20} MiB are free at {place}.")
    # What the desk makes anew by itself.
    mend = f"rm -rf {shell_word(home.logs)} {shell_word(settings.places.catalog)}*"
    said = f"Only {free >> 20} MiB are free at {place}; without a journal nothing is created."
    return wrong("disk", said, mend)


def line_of_profile(settings: Settings, *key: str) -> str:
    """Opens the configuration at a key of the profile, or at its table."""
    document = settings.config or TomlDocument(settings.home.config_file)
    path = ("profiles", settings.profile.value, *key)
    return edit(settings.home.config_file, document.line_of(*path))
