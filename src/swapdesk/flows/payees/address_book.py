"""Names for addresses: ``@bob``. A TOML file the user may edit, private to the user.

    [bob]
    address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    kind = "evm"
    note = "rent"

A wrong entry is reported with file and line and left out; a file that is no TOML is left
alone and nothing is added to it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from swapdesk.chain.addresses.checking import check_address
from swapdesk.flows.payees.book_file import (
    NAME,
    AddressBookError,
    Entry,
    entry_table,
    entry_toml,
    line_of,
    read_book,
    read_entry,
    with_table,
    write_book,
    written_entry,
)
from swapdesk.flows.payees.book_starters import write_starters

_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")


class AddressBook:
    """The entries of one file. ``problems`` are sentences with file and line."""

    def __init__(
        self, path: Path, entries: Mapping[str, Entry], problems: tuple[str, ...], *, locked: bool
    ) -> None:
        self.path = path
        self.problems = problems
        self._entries = dict(entries)
        self._locked = locked

    @classmethod
    def load(cls, path: Path, *, sandbox: bool = False) -> AddressBook:
        """Read the file; an absent one is an empty book. Never raises on what it holds.

        In the ``sandbox`` an absent one is begun with names to try (:func:`write_starters`).
        """
        if sandbox:
            write_starters(path)
        try:
            text = read_book(path)
        except FileNotFoundError:
            return cls(path, {}, (), locked=False)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            problem = f"{path.name} cannot be read: {reason}."
            return cls(path, {}, (problem,), locked=True)
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            found = _AT_LINE.search(str(error))
            line = f", line {found[1]}" if found else ""
            said = _AT_LINE.sub("", str(error)).strip()
            return cls(path, {}, (f"{path.name}{line}: {said}.",), locked=True)
        entries: dict[str, Entry] = {}
        problems: list[str] = []
        for name, table in document.items():
            try:
                entries[name.lower()] = read_entry(name, table)
            except AddressBookError as error:
                problems.append(f"{path.name}, line {line_of(text, name)}: {error}")
        return cls(path, entries, tuple(problems), locked=False)

    def __len__(self) -> int:
        return len(self._entries)

    def entry(self, name: str) -> Entry | None:
        """By name, with or without ``@``, without case."""
        return self._entries.get(name.removeprefix("@").lower())

    def entries(self, kind: str | None = None, chain: str | None = None) -> list[Entry]:
        """In the order of the file; of one kind of chain, of one chain."""
        return [e for e in self._entries.values() if kind is None or e.fits(kind, chain)]

    def names(self, kind: str | None = None, chain: str | None = None) -> list[str]:
        """Names without ``@``."""
        return [entry.name for entry in self.entries(kind, chain)]

    def name_of(self, kind: str, address: str) -> str | None:
        """The name of an address as :func:`check_address` normalizes it, or None."""
        for entry in self.entries(kind):
            if _normalized(kind, entry.address) == address:
                return entry.name
        return None

    def add(self, entry: Entry) -> None:
        """Append an entry to the file. AddressBookError when it is wrong or the name is taken.

        Nothing already in the file is rewritten.
        """
        checked = read_entry(entry.name, entry_table(entry))
        if self._locked:
            raise AddressBookError(f"Nothing is added. {self.problems[0]}")
        try:
            before = read_book(self.path)
            written = {name.lower() for name in tomllib.loads(before)}
        except FileNotFoundError:
            before, written = "", set()
        except tomllib.TOMLDecodeError:
            said = f"{self.path.name} was changed since and cannot be read."
            raise AddressBookError(f"Nothing is added. {said}") from None
        if self.entry(entry.name) is not None or checked.name in written:
            raise AddressBookError(f"{entry.label} is in the address book already.")
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        write_book(self.path, before + gap + entry_toml(checked))
        self._entries[checked.name] = checked

    def rename(self, name: str, fresh: str) -> Entry:
        """Give an entry another name; nothing else of the file changes. AddressBookError."""
        entry = self._known(name)
        wanted = fresh.removeprefix("@").lower()
        if NAME.fullmatch(wanted) is None:
            raise AddressBookError("A name has up to 32 letters, digits, - and _.")
        if wanted != entry.name and self.entry(wanted) is not None:
            raise AddressBookError(f"@{wanted} is in the address book already.")
        renamed = replace(entry, name=wanted)
        self._change(entry, renamed)
        return renamed

    def mark_own(self, name: str, own: bool) -> Entry:
        """Say whether this is the user's own wallet. AddressBookError."""
        entry = self._known(name)
        marked = replace(entry, own=own)
        self._change(entry, marked)
        return marked

    def remove(self, name: str) -> None:
        """Take an entry out of the file. AddressBookError."""
        self._change(self._known(name), None)

    def _known(self, name: str) -> Entry:
        entry = self.entry(name)
        if entry is None:
            raise AddressBookError(f"{name[:40]} is not in the address book.")
        if self._locked:
            raise AddressBookError(f"Nothing is changed. {self.problems[0]}")
        return entry

    def _change(self, entry: Entry, changed: Entry | None) -> None:
        """Write the table of one entry anew, or leave it out; every other byte stays."""
        text = read_book(self.path)
        if written_entry(text, entry.name) != entry:
            raise AddressBookError(
                f"{entry.label} was changed since in {self.path.name}. Start the desk again."
            )
        edited = with_table(text, entry.name, "" if changed is None else entry_toml(changed))
        if edited is None:
            raise AddressBookError(
                f"{entry.label} stands in {self.path.name} in a way the desk does not change."
                " Change it there by hand."
            )
        write_book(self.path, edited)
        kept = [(changed if one is entry else one) for one in self._entries.values()]
        self._entries = {one.name: one for one in kept if one is not None}


@lru_cache(maxsize=4096)
def _normalized(kind: str, address: str) -> str:
    """As :func:`check_address` writes it: names are looked for with every row of a file."""
    return check_address(kind, address).normalized
