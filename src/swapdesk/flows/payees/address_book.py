"""The address book: names for addresses, such as ``@bob``.

It is a private TOML file that the user may edit. Each table is an entry with ``address`` and
``kind``, and optionally ``chain``, ``memo``, ``note`` and ``own``. An entry that cannot be paid is
reported with file and line, also whenever its name is used. Unknown fields are reported and
ignored.

If the file is not valid TOML, it is left unchanged and nothing is added. Changing one entry leaves
every other byte of the file unchanged.

The sandbox begins with entries whose addresses have the right form and belong to nobody. For a new
entry, the kind of chain is recognised from the address. If addresses of several kinds have this
form, the user names the kind.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.checking import check_address
from swapdesk.chain.addresses.display import looks_like, ungrouped
from swapdesk.chain.addresses.kind import Proof
from swapdesk.chain.addresses.kinds import KINDS, derive_address
from swapdesk.chain.addresses.payments import check_memo
from swapdesk.flows.check_line import CheckLevel, CheckLine, refusal
from swapdesk.paths import make_directories, without_mark
from swapdesk.wire.encoding.text import UnsafeText, identity_text, safe_text

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)
_NOTE_LIMIT = 100
_FILE_LIMIT = 1 << 20
_FIELDS = frozenset({"address", "kind", "chain", "memo", "note", "own"})
_DECIDING = ("address", "kind", "chain", "memo", "tag", "destination_tag", "comment", "payment_id")
"""Fields that decide who is paid. An entry with a similar field is refused, as probably
misspelled."""
_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


class AddressBookError(ValueError):
    """Raised with a sentence if an entry is wrong or the file cannot be changed."""


class BookEntry(Struct, frozen=True):
    """One named address."""

    name: str
    address: str
    kind: str
    """The kind of chain."""
    chain: str | None = None
    """The only chain that the entry is for; None for all of the kind."""
    memo: str | None = None
    """The memo that payments to the address need."""
    note: str = ""
    own: bool = False
    """True for the user's own wallet."""

    @property
    def label(self) -> str:
        return f"@{self.name}"

    def fits(self, kind: str, chain: str | None = None) -> bool:
        """Returns True if the entry is for this chain. If either chain is None, only the kind of
        chain is compared."""
        if self.kind != kind:
            return False
        return self.chain is None or chain is None or self.chain.lower() == chain.lower()


def read_entry(name: str, table: object) -> tuple[BookEntry, tuple[str, ...]]:
    """Returns the entry in a table of the file, and sentences about ignored fields. Raises
    AddressBookError if the entry cannot be paid, or if a field that decides who is paid is
    misspelled."""
    _require_name(name.lower())
    if not isinstance(table, dict):
        raise AddressBookError(f"[{name}] is not a table with an address.")
    remarks: list[str] = []
    for field in sorted(set(table) - _FIELDS):
        problem = f'@{name}: "{safe_text(field, 32)}" is not a field of an entry.'
        if get_close_matches(field.lower(), _DECIDING):
            raise AddressBookError(problem)
        remarks.append(problem)
    texts = {field: table.get(field) for field in ("address", "kind", "chain", "memo")}
    if type(texts["memo"]) is int:
        texts["memo"] = str(texts["memo"])
    for field, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise AddressBookError(f"@{name}: {field} is not a text.")
    kind, address = texts["kind"], texts["address"] or ""
    if kind not in KINDS:
        raise AddressBookError(f"@{name}: kind is one of {', '.join(KINDS)}.")
    verdict = check_address(kind, ungrouped(address))
    if not verdict.ok:
        raise AddressBookError(f"@{name}: {verdict.reason}")
    memo = texts["memo"] or None
    if memo is not None and not (memo_verdict := check_memo(kind, memo, None)).ok:
        raise AddressBookError(f"@{name}: {memo_verdict.reason}")
    own = table.get("own", False)
    if not isinstance(own, bool):
        remarks.append(f"@{name}: own is true or false.")
    note = safe_text(" ".join(str(table.get("note", "")).split()), _NOTE_LIMIT)
    entry = BookEntry(
        name.lower(),
        verdict.normalized,
        kind,
        _writable(name, texts["chain"] or "", 64) or None,
        memo,
        note,
        own is True,
    )
    return entry, tuple(remarks)


def _require_name(name: str) -> None:
    if NAME.fullmatch(name) is None:
        raise AddressBookError("A name has up to 32 letters, digits, - and _.")


def _writable(name: str, text: str, limit: int) -> str:
    try:
        return identity_text(text, limit)
    except UnsafeText as error:
        raise AddressBookError(f"@{name}: {error}.") from None


def entry_table(entry: BookEntry) -> dict[str, object]:
    fields: dict[str, object] = {"address": entry.address, "kind": entry.kind}
    for name in ("chain", "memo", "note", "own"):
        value = getattr(entry, name)
        if value:
            fields[name] = value
    return fields


def entry_toml(name: str, table: Mapping[str, object]) -> str:
    """Returns an entry as TOML. Raises TypeError for a value that JSON cannot express."""
    lines = [f"[{name}]"]
    for field, value in table.items():
        # A JSON text without this one character is a TOML basic string.
        written = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        key = field if _BARE.fullmatch(field) is not None else json.dumps(field)
        lines.append(f"{key} = {written}")
    return "\n".join(lines) + "\n"


def with_table(text: str, name: str, table: str) -> str | None:
    """Returns the file's text with the table of ``name`` replaced, or removed if ``table`` is
    empty. None if the edit is not safe."""
    lines = text.splitlines(keepends=True)
    heads = {f"[{name}]", f'["{name}"]', f"['{name}']"}
    starts = [at for at, line in enumerate(lines) if line.split("#")[0].strip().lower() in heads]
    if len(starts) != 1:
        return None
    start = starts[0]
    end = next((at for at in range(start + 1, len(lines)) if lines[at].startswith("[")), len(lines))
    # Empty rows and remarks before the next table belong to that one.
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    edited = "".join([*lines[:start], table, *lines[end:]])
    try:
        before, after = tomllib.loads(text), tomllib.loads(edited)
        wanted = tomllib.loads(table)
    except tomllib.TOMLDecodeError:
        return None
    others = {key: value for key, value in before.items() if key.lower() != name}
    return edited if after == {**others, **wanted} else None


def written_entry(text: str, name: str) -> BookEntry | None:
    """Returns an entry from the file's text; None if it is missing or wrong."""
    try:
        document = tomllib.loads(text)
        return next(
            (read_entry(key, table)[0] for key, table in document.items() if key.lower() == name),
            None,
        )
    except (tomllib.TOMLDecodeError, AddressBookError):
        return None


def line_of(text: str, name: str) -> int:
    heads = (f"[{name}]", f'["{name}"]', f"['{name}']")
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if bare.startswith(heads) or re.match(rf"[\"']?{re.escape(name)}[\"']?\s*[=.]", bare):
            return number
    return 1


def read_book(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_FILE_LIMIT + 1)
    if len(data) > _FILE_LIMIT:
        raise OSError(0, f"it has more than {_FILE_LIMIT} bytes")
    return without_mark(data).decode("utf-8")


def write_book(path: Path, text: str) -> None:
    """Replaces the file as a whole. Only its owner can read it."""
    make_directories(path.parent)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


STARTERS: tuple[tuple[str, str, str | None, str], ...] = (
    ("bob", "evm", None, "a friend with an Ethereum wallet"),
    ("cold", "bitcoin", None, "a wallet in the drawer"),
    ("sol", "sol", None, "a friend with a Solana wallet"),
    ("mona", "xmr", None, "a friend with a Monero wallet"),
    ("rita", "xrp", "20117", "an account at an exchange, with its tag"),
    ("lars", "ltc", None, "a friend with a Litecoin wallet"),
    ("stella", "xlm", "7741", "an account at an exchange, with its memo"),
    ("timur", "ton", None, "a friend with a TON wallet"),
    ("tran", "tron", None, "a friend with a Tron wallet"),
    ("suki", "sui", None, "a friend with a Sui wallet"),
    ("kabo", "doge", None, "a friend with a Dogecoin wallet"),
    ("ada", "ada", None, "a friend with a Cardano wallet"),
    ("dora", "dot", None, "a friend with a Polkadot wallet"),
    ("cosima", "cosmos", "31415", "an account at an exchange, with its memo"),
    ("cash", "bch", None, "a friend with a Bitcoin Cash wallet"),
    ("dasha", "dash", None, "a friend with a Dash wallet"),
    ("algie", "algo", None, "a friend with an Algorand wallet"),
)
"""The first entries of the sandbox's address book: name, kind of chain, memo and note."""


def write_starters(path: Path) -> bool:
    """Creates the sandbox's address book. Returns False if the file already exists."""
    if path.exists():
        return False
    head = "# Names for addresses: write @bob where a recipient is asked for.\n"
    tables = [
        entry_toml(
            name, entry_table(BookEntry(name, _starter_address(name, kind), kind, None, memo, note))
        )
        for name, kind, memo, note in STARTERS
    ]
    write_book(path, "\n".join([head, *tables]))
    return True


def _starter_address(name: str, kind: str) -> str:
    return derive_address(kind, hashlib.sha256(f"address book {name}".encode()).digest())


_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")


class AddressBook:
    def __init__(
        self,
        path: Path,
        entries: Mapping[str, BookEntry],
        problems: tuple[str, ...],
        *,
        locked: bool,
        unusable: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path
        self.problems = problems
        self._entries = dict(entries)
        self._unusable = dict(unusable or {})
        """The reasons why entries cannot be paid, by entry name."""
        self._locked = locked

    @classmethod
    def load(cls, path: Path, *, sandbox: bool = False) -> AddressBook:
        """Reads the address book and never raises; errors are in ``problems``. With ``sandbox``, a
        missing file is created."""
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
            place_in_text = _AT_LINE.search(str(error))
            line = f", line {place_in_text[1]}" if place_in_text else ""
            sentence = _AT_LINE.sub("", str(error)).strip()
            return cls(path, {}, (f"{path.name}{line}: {sentence}.",), locked=True)
        entries: dict[str, BookEntry] = {}
        problems: list[str] = []
        unusable: dict[str, str] = {}
        names = Counter(name.lower() for name in document)
        for name, table in document.items():
            place, folded = f"{path.name}, line {line_of(text, name)}", name.lower()
            try:
                if names[folded] > 1:
                    raise AddressBookError(f"@{folded} is there twice.")
                entries[folded], odd = read_entry(name, table)
                problems += [f"{place}: {remark}" for remark in odd]
            except AddressBookError as error:
                unusable[folded.removeprefix("@")] = sentence = f"{place}: {error}"
                problems.append(sentence)
        return cls(path, entries, tuple(problems), locked=False, unusable=unusable)

    def __len__(self) -> int:
        return len(self._entries)

    def entry(self, name: str) -> BookEntry | None:
        """Returns the usable entry called ``name``, with or without ``@``, ignoring case; None if
        there is none."""
        return self._entries.get(name.removeprefix("@").lower())

    def missing(self, name: str) -> str:
        """Returns a sentence that says why :meth:`entry` has no entry of this name."""
        label = f"@{name.removeprefix('@')[:40]}"
        wrong = self._unusable.get(name.removeprefix("@").lower())
        if wrong is not None:
            return f"{label} stands in the address book and cannot be used: {wrong}"
        if self._locked:
            return f"{label} cannot be looked up: {self.problems[0]}"
        return f"{label} is not in the address book."

    def entries(self, kind: str | None = None, chain: str | None = None) -> list[BookEntry]:
        """Returns the entries for this kind and chain, in the file's order. None means any kind or
        chain."""
        return [e for e in self._entries.values() if kind is None or e.fits(kind, chain)]

    def names(self, kind: str | None = None, chain: str | None = None) -> list[str]:
        return [entry.name for entry in self.entries(kind, chain)]

    def labels(self) -> dict[str, str]:
        """Returns a mapping from each address, in lower case, to its name, such as ``@bob``."""
        return {entry.address.lower(): entry.label for entry in self.entries()}

    def name_of(self, kind: str, address: str) -> str | None:
        """Returns the name of an address; None if it has none. The address must be in the normal
        form of :func:`check_address`."""
        for entry in self.entries(kind):
            if _normalized(kind, entry.address) == address:
                return entry.name
        return None

    def add(self, entry: BookEntry) -> None:
        """Appends an entry to the file. Raises AddressBookError if it is wrong or its name is
        taken."""
        checked, _ = read_entry(entry.name, entry_table(entry))
        _writable(entry.name, entry.note, _NOTE_LIMIT)
        if self._locked:
            raise AddressBookError(f"Nothing is added. {self.problems[0]}")
        try:
            before = read_book(self.path)
            written = {name.lower() for name in tomllib.loads(before)}
        except FileNotFoundError:
            before, written = "", set()
        except tomllib.TOMLDecodeError:
            sentence = f"{self.path.name} was changed since and cannot be read."
            raise AddressBookError(f"Nothing is added. {sentence}") from None
        if self.entry(entry.name) is not None or checked.name in written:
            raise AddressBookError(f"{entry.label} is in the address book already.")
        gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
        table = entry_toml(checked.name, entry_table(checked))
        write_book(self.path, before + gap + table)
        self._entries[checked.name] = checked

    def rename(self, name: str, fresh: str) -> None:
        """Renames an entry. Every other byte of the file stays the same. Raises
        AddressBookError."""
        entry = self._known(name)
        wanted = fresh.removeprefix("@").lower()
        _require_name(wanted)
        if wanted != entry.name and self.entry(wanted) is not None:
            raise AddressBookError(f"@{wanted} is in the address book already.")
        self._change(entry, replace(entry, name=wanted))

    def mark_own(self, name: str, own: bool) -> None:
        """Marks an entry as the user's own wallet, or removes the mark if ``own`` is False. Raises
        AddressBookError."""
        entry = self._known(name)
        self._change(entry, replace(entry, own=own))

    def remove(self, name: str) -> None:
        """Removes an entry. Raises AddressBookError."""
        self._change(self._known(name), None)

    def _known(self, name: str) -> BookEntry:
        entry = self.entry(name)
        if entry is None:
            raise AddressBookError(self.missing(name))
        if self._locked:
            raise AddressBookError(f"Nothing is changed. {self.problems[0]}")
        return entry

    def _change(self, entry: BookEntry, changed: BookEntry | None) -> None:
        text = read_book(self.path)
        if written_entry(text, entry.name) != entry:
            raise AddressBookError(
                f"{entry.label} was changed since in {self.path.name}. Start the desk again."
            )
        try:
            edited = with_table(text, entry.name, _edited_table(text, entry, changed))
        except TypeError:
            edited = None
        if edited is None:
            raise AddressBookError(
                f"{entry.label} stands in {self.path.name} in a way the desk does not change."
                " Change it there by hand."
            )
        write_book(self.path, edited)
        kept = [(changed if other is entry else other) for other in self._entries.values()]
        self._entries = {other.name: other for other in kept if other is not None}


def _edited_table(text: str, entry: BookEntry, changed: BookEntry | None) -> str:
    if changed is None:
        return ""
    document = tomllib.loads(text)
    table = next(dict(written) for key, written in document.items() if key.lower() == entry.name)
    if changed.own:
        table["own"] = True
    else:
        table.pop("own", None)
    return entry_toml(changed.name, table)


@lru_cache(maxsize=4096)
def _normalized(kind: str, address: str) -> str:
    return check_address(kind, address).normalized


class EntryCheck(Struct, frozen=True):
    """The result of checking a new entry. ``entry`` is None if the entry was refused. ``kinds`` are
    the kinds of chains that the address fits."""

    entry: BookEntry | None
    kinds: tuple[str, ...]
    kind: str
    name: tuple[CheckLine, ...]
    address: tuple[CheckLine, ...]
    memo: tuple[CheckLine, ...]

    @property
    def problem(self) -> str:
        return refusal((*self.name, *self.address, *self.memo))


def check_entry(
    book: AddressBook, name: str, address: str, memo: str, kind: str = ""
) -> EntryCheck:
    """Checks a new entry. ``kind`` is the kind of chain that the user chose; if empty, the first
    that fits. A kind that fits nearly any word must be chosen by the user."""
    named, address = _check_name(book, name), ungrouped(address)
    verdicts = {other_kind: check_address(other_kind, address) for other_kind in KINDS}
    kinds = tuple(other_kind for other_kind in KINDS if verdicts[other_kind].ok)
    proven = [
        other_kind for other_kind in kinds if verdicts[other_kind].proves is not Proof.ANY_WORD
    ]
    chosen = kind if kind in kinds else proven[0] if proven else ""
    placed = _check_address(book, address, chosen)
    tagged: tuple[CheckLine, ...] = ()
    if memo and chosen:
        verdict = check_memo(chosen, memo, None)
        level: CheckLevel = "refuse" if not verdict.ok else "warn" if verdict.doubt else "ok"
        tagged = (CheckLine(level, verdict.doubt or verdict.reason),)
    entry = None
    if not refusal((*named, *placed, *tagged)):
        wanted = name.removeprefix("@").lower()
        normal = verdicts[chosen].normalized
        entry = BookEntry(wanted, normal, chosen, memo=memo or None)
    return EntryCheck(entry, kinds, chosen, named, placed, tagged)


def _check_name(book: AddressBook, name: str) -> tuple[CheckLine, ...]:
    wanted = name.removeprefix("@").lower()
    try:
        _require_name(wanted)
    except AddressBookError as error:
        return (CheckLine("refuse", str(error)),)
    if book.entry(wanted) is not None:
        return (CheckLine("refuse", f"@{wanted} is in the address book already."),)
    return (CheckLine("ok", f"Written @{wanted} where a recipient is asked for."),)


def _check_address(book: AddressBook, address: str, kind: str) -> tuple[CheckLine, ...]:
    if not kind:
        return (CheckLine("refuse", "This is no address of a chain the desk knows."),)
    verdict = check_address(kind, address)
    name = book.name_of(kind, verdict.normalized)
    if name is not None:
        return (CheckLine("refuse", f"This address has a name already: @{name}."),)
    for entry in book.entries():
        if looks_like(verdict.normalized, entry.address):
            sentence = f"This address looks like {entry.label} and is not."
            return (CheckLine("refuse", sentence),)
    lines = [CheckLine("ok", verdict.reason)]
    warnings = (verdict.doubt, *verdict.warnings)
    return (*lines, *(CheckLine("warn", warning) for warning in warnings if warning))
