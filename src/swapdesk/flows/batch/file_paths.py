"""Which file is meant: the last files that were loaded, and names that complete what is typed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from swapdesk.paths import private_directory, write_private

KEPT = 8
"""Files that are remembered."""
OFFERED = 4
"""Of those that fit, so many are seen at a time."""
_SUFFIXES = (".csv", ".tsv", ".txt")
_LOOKED_AT = 5_000
"""Names of one directory that are looked at."""
_LONGEST = 64 * 1024


class RecentFiles:
    """The last files that were loaded, newest first, one path a line of a private file.

    Nothing depends on it: what cannot be read or written is no file at all.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def newest(self) -> tuple[Path, ...]:
        """Those that are still there."""
        return tuple(path for path in self._read() if os.path.isfile(path))

    def add(self, file: Path) -> None:
        """Put one before all others. A name that is no plain line is not kept."""
        name = str(file.absolute())
        if not name.isprintable():
            return
        lines = [name, *(str(path) for path in self._read() if str(path) != name)]
        try:
            private_directory(self._path.parent)
            write_private(self._path, "\n".join(lines[:KEPT]).encode() + b"\n", replace=True)
        except OSError:
            return

    def _read(self) -> list[Path]:
        try:
            with self._path.open("rb") as file:
                lines = file.read(_LONGEST).decode(errors="replace").splitlines()
        except OSError:
            return []
        return [Path(line) for line in lines[:KEPT] if line.startswith("/") and line.isprintable()]


def offered(typed: str, recent: Sequence[Path]) -> tuple[str, ...]:
    """What may be meant, as it is typed, the best first: with nothing typed the last files and then
    those of the working directory, else names that complete it and last files that hold it.

    A directory ends with a slash. Files are those of a table, newest first.
    """
    last = [_short(path) for path in recent]
    if not typed:
        return _once([*last, *(name for name in _entries(Path(), "", "") if name[-1] != "/")])
    directory, slash, begun = typed.rpartition("/")
    place = Path(os.path.expanduser(directory) or ("/" if slash else ""))
    fitting = [path for path in last if path.startswith(typed)]
    held = [path for path in last if typed.casefold() in path.casefold()]
    return _once([*fitting, *_entries(place, begun, directory + slash), *held])


def completed(typed: str, offers: Sequence[str]) -> str:
    """What is typed, as far as all names that begin so go on alike."""
    fitting = [name for name in offers if name.startswith(typed)]
    if not fitting:
        return typed
    # What the first and the last of them in order have alike, all between have.
    first, last = min(fitting), max(fitting)
    same = next((at for at, char in enumerate(first) if last[at : at + 1] != char), len(first))
    return first[:same]


def _entries(place: Path, begun: str, before: str) -> list[str]:
    """Names in a directory that begin so, behind the path that was typed: tables, newest first,
    then directories."""
    tables: list[tuple[float, str]] = []
    directories: list[str] = []
    try:
        with os.scandir(place) as found:
            for entry in islice(found, _LOOKED_AT):
                name = entry.name
                hidden = name.startswith(".") and not begun.startswith(".")
                if hidden or not name.startswith(begun) or not name.isprintable():
                    continue
                # One that is gone by now, or leads nowhere, hides no other.
                with suppress(OSError):
                    if entry.is_dir():
                        directories.append(f"{before}{name}/")
                    elif name.lower().endswith(_SUFFIXES):
                        tables.append((-entry.stat().st_mtime, f"{before}{name}"))
    except OSError:
        return []
    return [*(name for _, name in sorted(tables)), *sorted(directories)]


def _once(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _short(path: Path) -> str:
    """A name in the working directory by itself, and ``~`` for the home of whoever is logged in."""
    with suppress(OSError, RuntimeError):
        for place, before in ((Path.cwd(), ""), (Path.home(), "~/")):
            if path.is_relative_to(place):
                return f"{before}{path.relative_to(place)}"
    return str(path)
