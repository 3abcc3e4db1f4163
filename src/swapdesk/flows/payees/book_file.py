"""The file of the address book: one TOML table a name, checked, written whole, private.

Editing one entry leaves every other byte of the file as the user wrote it.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from swapdesk.chain.addresses.checking import check_address
from swapdesk.chain.addresses.kinds import KINDS
from swapdesk.chain.addresses.memos import check_memo
from swapdesk.paths import make_directories
from swapdesk.wire.encoding.text import UnsafeText, identity_text

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)
_NOTE_LIMIT = 100
_FILE_LIMIT = 1 << 20
_FIELDS = frozenset({"address", "kind", "chain", "memo", "note", "own"})


class AddressBookError(ValueError):
    """An entry or a file that cannot be written; the text is a sentence for the screen."""


@dataclass(frozen=True)
class Entry:
    """One name. ``kind`` is the kind of chain; ``chain`` narrows it to one short name.

    ``own`` marks the user's own wallet, ``memo`` is the destination tag that belongs to it.
    """

    name: str
    address: str
    kind: str
    chain: str | None = None
    memo: str | None = None
    note: str = ""
    own: bool = False

    @property
    def label(self) -> str:
        return f"@{self.name}"

    def fits(self, kind: str, chain: str | None = None) -> bool:
        """Whether a payout on this kind of chain, and on this chain, can go there."""
        if self.kind != kind:
            return False
        return self.chain is None or chain is None or self.chain.lower() == chain.lower()


def read_entry(name: str, table: object) -> Entry:
    """One checked entry; AddressBookError says what is wrong with it."""
    if NAME.fullmatch(name.lower()) is None:
        raise AddressBookError("A name has up to 32 letters, digits, - and _.")
    if not isinstance(table, dict):
        raise AddressBookError(f"[{name}] is not a table with an address.")
    unknown = sorted(set(table) - _FIELDS)
    if unknown:
        raise AddressBookError(f'@{name}: "{unknown[0][:32]}" is not a field of an entry.')
    texts = {field: table.get(field) for field in ("address", "kind", "chain", "memo", "note")}
    for field, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise AddressBookError(f"@{name}: {field} is not a text.")
    kind, address = texts["kind"], texts["address"] or ""
    if kind not in KINDS:
        raise AddressBookError(f"@{name}: kind is one of {', '.join(KINDS)}.")
    verdict = check_address(kind, address)
    if not verdict.ok:
        raise AddressBookError(f"@{name}: {verdict.reason}")
    memo = texts["memo"] or None
    if memo is not None and not (said := check_memo(kind, memo, None)).ok:
        raise AddressBookError(f"@{name}: {said.reason}")
    own = table.get("own", False)
    if not isinstance(own, bool):
        raise AddressBookError(f"@{name}: own is true or false.")
    try:
        note = identity_text(texts["note"] or "", _NOTE_LIMIT)
        chain = identity_text(texts["chain"], 64) if texts["chain"] else None
    except UnsafeText as error:
        raise AddressBookError(f"@{name}: {error}.") from None
    return Entry(name.lower(), verdict.normalized, kind, chain, memo, note, own)


def entry_table(entry: Entry) -> dict[str, object]:
    fields: dict[str, object] = {"address": entry.address, "kind": entry.kind}
    for name in ("chain", "memo", "note", "own"):
        value = getattr(entry, name)
        if value:
            fields[name] = value
    return fields


def entry_toml(entry: Entry) -> str:
    lines = [f"[{entry.name}]"]
    for name, value in entry_table(entry).items():
        # A JSON text of safe characters is a TOML basic string.
        lines.append(f"{name} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def with_table(text: str, name: str, table: str) -> str | None:
    """The file with the table of ``name`` replaced by ``table``, empty for none; None when the
    table is not written as one block, or anything else would change with it."""
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


def written_entry(text: str, name: str) -> Entry | None:
    """The entry as it stands in the file now; None when there is none or it cannot be read."""
    try:
        document = tomllib.loads(text)
        return next(
            (read_entry(key, one) for key, one in document.items() if key.lower() == name), None
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
    return data.decode("utf-8")


def write_book(path: Path, text: str) -> None:
    """The whole file at once, readable by its owner alone."""
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
