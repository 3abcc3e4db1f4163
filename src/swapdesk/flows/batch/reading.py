"""Finds the file that the user means and reads it as a sheet: its encoding, separator, header and
rows.

Commas, semicolons or tabs separate cells, and quoted cells may contain separators and line breaks.
A file that cannot be read completely is not read at all, because a missing row is worse than having
to save the file again. Lines that cannot be rows (titles above the header, remarks, a repeated
header) are skipped and reported. :func:`template` makes a file to start from.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.flows.batch.rows import (
    COLUMNS,
    FIRST_NAMES,
    NEEDED,
    SEPARATORS,
    TEMPLATE,
    WITHOUT_HEADS,
    Row,
    Sheet,
    SheetColumn,
    bare_cell,
)
from swapdesk.flows.orders.order_export import as_written
from swapdesk.flows.payees.address_book import AddressBook
from swapdesk.paths import private_directory, write_private

MOST_BYTES = 10 * 1024 * 1024
MOST_ROWS = 10_000
STEP_ROWS = 250
"""The number of rows read before the event loop runs again."""

_LOOKED_AT = 20
_HEAD = re.compile("[0-9]{1,3}")
_REST = re.compile("[0-9]{3}([.][0-9]+)?")
_OTHER_MARKS = "|:^"
_COMMA = re.compile("[0-9]+,[0-9]+")
_PLAIN: dict[str, SheetColumn] = {
    **{column.replace("_", ""): column for column in COLUMNS},
    **dict.fromkeys(
        (
            "recipient",
            "recipientaddress",
            "receiver",
            "receiveraddress",
            "payee",
            "payeeaddress",
            "beneficiary",
            "address",
            "addressto",
            "toaddress",
            "walletaddress",
            "destination",
            "destinationaddress",
        ),
        "to",
    ),
    "buys": "buy",
    "network": "chain",
    "blockchain": "chain",
    **dict.fromkeys(("tag", "destinationtag", "memoid", "paymentid"), "memo"),
    "from": "sell",
    "refundaddress": "refund",
}
_NAMES: dict[str, SheetColumn] = {
    **_PLAIN,
    **{name: column for column, name in FIRST_NAMES.items()},
    "value": "sell_amount",
    "symbol": "buy",
}
"""The columns by heading. Headings that are not in ``_PLAIN`` leave open which side of the swap the
amount or token belongs to."""


class UnreadableFile(Exception):
    """Raised if the file cannot be read as a batch. The message says what is wrong and what to do.
    ``line`` counts from 1, None if no single line is at fault."""

    def __init__(self, code: str, reason: str, do: str, line: int | None = None) -> None:
        super().__init__(f"{reason} {do}")
        self.code = code
        self.line = line


def path_of(written: str) -> Path:
    """Returns the path in a typed or dropped text: plain, quoted, with escaped blanks, or like
    ``file:///home/me/my%20files.csv``."""
    unquoted = written
    with suppress(ValueError):
        # As a shell reads one word; unchanged where it would read several, or none.
        (unquoted,) = shlex.split(written)
    linked = unquoted
    with suppress(ValueError):
        link = urlsplit(unquoted)
        if link.scheme == "file" and link.netloc in ("", "localhost"):
            linked = unquote(unquoted.partition(link.netloc or ":")[2].removeprefix("//"))
    path = Path()
    for text in dict.fromkeys((written, unquoted, linked)):
        path = Path(os.path.expanduser(text))
        if os.path.exists(path):
            break
    return path


def read_bytes(path: Path) -> bytes:
    """Returns the content of a regular file of at most :data:`MOST_BYTES`. Raises
    UnreadableFile."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UnreadableFile(
                    "NO_FILE", f"{path.name} is no plain file.", "Name a CSV file."
                )
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise UnreadableFile(
            "NO_FILE", f"{path.name} cannot be read: {reason}.", "Name a CSV file."
        ) from None
    if len(content) > MOST_BYTES:
        raise UnreadableFile(
            "TOO_LARGE",
            f"{path.name} is larger than {MOST_BYTES // 2**20} MB.",
            f"Split it; one file has at most {MOST_ROWS:,} rows.",
        )
    return content


async def read_sheet(name: str, content: bytes, clock: Clock) -> Sheet:
    """Returns the sheet in ``content``, the bytes of the file ``name``. Raises UnreadableFile."""
    text = _text(name, content)
    await clock.sleep(0)
    separator, text = _separator(name, text)
    records = _records(text, separator)
    begin = list(islice(records, _LOOKED_AT))
    at = _head_place([cells for _, cells in begin])
    heads = begin[at][1] if at is not None else ()
    remarks = [line for line, _ in begin[:at]] if at is not None else []
    columns, unused = _columns(name, heads) if heads else (WITHOUT_HEADS, ())
    plain = bool(heads) and all(
        column is None or _head(cell) in _PLAIN for cell, column in zip(heads, columns, strict=True)
    )
    names = [_head(cell) for cell in heads]
    rows: list[Row] = []
    for line, cells in chain(begin[0 if at is None else at + 1 :], records):
        if _is_remark(cells, columns) or [_head(cell) for cell in cells] == names:
            remarks.append(line)
            continue
        if len(rows) == MOST_ROWS:
            raise UnreadableFile(
                "TOO_MANY_ROWS", f"{name} has more than {MOST_ROWS:,} rows.", "Split it.", line
            )
        rows.append(_row(len(rows) + 1, line, columns, cells))
        if len(rows) % STEP_ROWS == 0:
            await clock.sleep(0)
    if not rows:
        raise _empty(name)
    named = tuple(column for column in columns if column is not None)
    return Sheet(
        name, separator, bool(heads), named, tuple(rows), unused, plain, remarks=tuple(remarks)
    )


def has_decimal_comma(row: Row) -> bool:
    """True if the row's amount consists of digits with exactly one comma between them, like
    ``1,5``."""
    return _COMMA.fullmatch(row.cell("sell_amount")) is not None


def pointed(amount: str) -> str:
    """Returns the amount with a point in place of its decimal comma: ``1,5`` becomes ``1.5``."""
    return amount.replace(",", ".")


def with_decimal_commas(sheet: Sheet) -> Sheet:
    """Returns the sheet with a point in place of the decimal comma of every amount. A person must
    have confirmed that commas are decimal: 1,234 may mean a thousand. Raises UnreadableFile if an
    amount has a point."""
    rows: list[Row] = []
    for row in sheet.rows:
        amount = row.cell("sell_amount")
        if "." in amount:
            raise UnreadableFile(
                "DECIMAL_COMMA",
                f"Line {row.line} has the amount {amount[:40]}, which says little where a comma is"
                " decimal.",
                "Write it without the point.",
                row.line,
            )
        if has_decimal_comma(row):
            row = replace(row, cells={**row.cells, "sell_amount": pointed(amount)})
        rows.append(row)
    return replace(sheet, rows=tuple(rows), decimal_comma=True)


def _without_waiting(path: str, flags: int) -> int:
    # A pipe that nobody writes to must not hold the desk up.
    return os.open(path, flags | os.O_NONBLOCK)


def _empty(name: str) -> UnreadableFile:
    return UnreadableFile(
        "EMPTY", f"{name} has no rows.", "Write one row for each recipient under the heads."
    )


_MARKED = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8"),
)
"""The byte order marks with their encodings, longest first, because the mark of UTF-32 begins with
that of UTF-16."""
_MARK = "\ufeff"


def _text(name: str, content: bytes) -> str:
    encoding = _encoding(content)
    try:
        text = content.decode(encoding).lstrip(_MARK)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableFile(
            "ENCODING",
            f"Line {line} of {name} is no {encoding.upper()}.",
            "Save it as CSV in UTF-8.",
            line,
        ) from None
    if "\x00" in text:
        line = text.count("\n", 0, text.index("\x00")) + 1
        raise UnreadableFile(
            "ENCODING", f"Line {line} of {name} holds a zero byte.", "Name a CSV file.", line
        )
    if not text.strip():
        raise _empty(name)
    return text


def _encoding(content: bytes) -> str:
    zeros = content[:1] == b"\0", content[1:2] == b"\0"
    latin = {(True, False): "utf-16-be", (False, True): "utf-16-le"}.get(zeros, "utf-8")
    return next((encoding for mark, encoding in _MARKED if content.startswith(mark)), latin)


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    line = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        if "field limit" in str(error):
            raise UnreadableFile(
                "CELL", f"Line {line} has a cell of more than 128 kB.", "Shorten it.", line
            ) from None
        raise UnreadableFile(
            "QUOTES",
            f"Line {line}: the quotes are not closed as they should be ({error}).",
            'Put a cell in quotes as a whole and write " in it as "".',
            line,
        ) from None


_NAMED = re.compile(r'"?sep=(\\t|.)"?[;,\t ]*(?=[\r\n]|\Z)', re.IGNORECASE)
"""Matches a first line like ``sep=;``, by which a file tells spreadsheets its separator."""


def _separator(name: str, text: str) -> tuple[str, str]:
    """Returns the file's separator, and the text without its ``sep=`` line, if any. Raises
    UnreadableFile if no separator fits."""
    named = _NAMED.match(text)
    mark = named[1].replace("\\t", "\t") if named is not None else ""
    if named is not None:
        text = text[named.end() :]
    fits = {separator: _fitness(text, separator) for separator in SEPARATORS}
    best = max(
        SEPARATORS,
        key=lambda separator: (separator == mark and fits[separator][2] > 1, fits[separator]),
    )
    if fits[best][2] < 2:
        mark = mark or next(
            (separator for separator in _OTHER_MARKS if separator in text.split("\n", 1)[0]), ""
        )
        hint = f" It has {mark} in its first line." if mark else ""
        raise UnreadableFile(
            "SEPARATOR",
            f"{name} has no columns that a comma, a semicolon or a tab separates.{hint}",
            "Save it with one of these.",
            1,
        )
    return best, text


def _fitness(text: str, separator: str) -> tuple[int, bool, int]:
    begin: list[list[str]] = []
    # Its quotes may fit another separator; else it is refused where it is read.
    with suppress(UnreadableFile):
        for _, cells in islice(_records(text[: 64 * 1024], separator), _LOOKED_AT):
            begin.append(cells)
    at = _head_place(begin)
    rows = [cells for cells in begin[at or 0 :] if not _is_remark(cells)]
    if not rows:
        return 0, False, 0
    headings = len({_NAMES[name] for cell in rows[0] if (name := _head(cell)) in _NAMES})
    counts = {len(cells) for cells in rows}
    return headings, len(counts) == 1 and counts != {1}, len(rows[0])


_REMARKS = ("#", "//")
_SUMS = frozenset({"total", "totals", "grandtotal", "subtotal", "sum", "summe", "gesamt"})


def _head_place(begin: Sequence[Sequence[str]]) -> int | None:
    one: int | None = None
    for at, cells in enumerate(begin):
        columns = _RECIPIENT_OR_AMOUNT & {_NAMES.get(_head(cell)) for cell in cells}
        if columns == _RECIPIENT_OR_AMOUNT:
            return at
        if columns and one is None:
            one = at
        if _could_be_row(cells):
            break
    return one


_RECIPIENT_OR_AMOUNT = frozenset({"to", "sell_amount"})


def _could_be_row(cells: Sequence[str]) -> bool:
    return sum(bool(bare_cell(cell)) for cell in cells) >= len(NEEDED)


def _is_remark(cells: Sequence[str], columns: Sequence[SheetColumn | None] = ()) -> bool:
    """True for a line that is no row, such as ``# payroll november`` or ``Total,,1220``."""
    marked = bare_cell(cells[0]).startswith(_REMARKS)
    if not _could_be_row(cells):
        return marked or any(_head(cell).rstrip(":") in _SUMS for cell in cells)
    return marked and columns[:1] == ("to",)


def _head(cell: str) -> str:
    return bare_cell(cell).lower().replace(" ", "").replace("_", "").replace("-", "")


def _columns(
    name: str, heads: Sequence[str]
) -> tuple[tuple[SheetColumn | None, ...], tuple[str, ...]]:
    columns = [_NAMES.get(_head(cell)) for cell in heads]
    named = [column for column in columns if column is not None]
    twice = next((column for column in named if named.count(column) > 1), None)
    if twice is not None:
        raise UnreadableFile(
            "COLUMN_TWICE", f"{name} has two columns {twice}.", "Keep one of them.", 1
        )
    missing = [column for column in NEEDED if column not in named]
    if missing:
        raise UnreadableFile(
            "COLUMN_MISSING",
            f"{name} has no column {missing[0]}.",
            f"Name the columns {', '.join(TEMPLATE)}; swapdesk batch template writes them.",
            1,
        )
    unused = tuple(
        cell.strip()[:40]
        for cell, column in zip(heads, columns, strict=True)
        if column is None and cell.strip()
    )
    return tuple(columns), unused


def _row(
    number: int, line: int, columns: Sequence[SheetColumn | None], cells: Sequence[str]
) -> Row:
    named = {
        column: as_written(cell)
        for column, cell in zip(columns, cells, strict=False)
        if column is not None
    }
    beyond = tuple(cells[len(columns) :])
    extra = tuple(cell for cell in beyond if cell.strip())
    # An empty last cell is what is left over where a comma has split an amount.
    return Row(number, line, named, extra or (beyond if split_amount(named) else ()))


def split_amount(cells: Mapping[SheetColumn, str]) -> tuple[str, str] | None:
    """Returns the two cells into which a thousands comma may have split one amount, such as ``1``
    and ``000.50``; otherwise None."""
    places = list(cells)
    at = places.index("sell_amount") if "sell_amount" in cells else len(places)
    if at + 1 >= len(places):
        return None
    first, second = (cells[places[place]].strip() for place in (at, at + 1))
    return (first, second) if _HEAD.fullmatch(first) and _REST.fullmatch(second) else None


NAME = "batch-template.csv"

_ROWS: tuple[tuple[str, ...], ...] = (
    ("@bob", "0.5", "ETH.ethereum", "ETH", "base", "", "standard"),
    ("@cold", "0.25", "ETH.ethereum", "BTC", "bitcoin", "", "private"),
    ("@rita", "250", "USDC.ethereum", "XRP", "xrp", "20117", "standard"),
)


def template(book: AddressBook) -> str:
    """Returns a CSV file with a header and example rows. Example rows for a ``@name`` that the
    address book lacks are left out."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(TEMPLATE)
    writer.writerows(row for row in _ROWS if book.entry(row[0]) is not None)
    return out.getvalue()


KEPT = 8
"""The number of recent files that are remembered."""
OFFERED = 4
"""The number of completions offered at a time."""
_SUFFIXES = (".csv", ".tsv", ".txt")
_MOST_ENTRIES = 5_000
"""The most names that are read from a directory."""
_LONGEST = 64 * 1024


class RecentFiles:
    """The files that were loaded last, newest first. The list is stored in a private file; errors
    of this file are ignored."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def newest(self) -> tuple[Path, ...]:
        """Returns the remembered files that still exist, newest first."""
        return tuple(path for path in self._read() if os.path.isfile(path))

    def add(self, file: Path) -> None:
        """Makes ``file`` the newest remembered file. A path with unprintable characters, such as a
        line break, is not remembered."""
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
    """Returns completions for a typed path, best first. For an empty text, these are recent files,
    then table files in the current directory. Directories end with a slash."""
    last = [_short(path) for path in recent]
    if not typed:
        names = [*last, *(name for name in _entries(Path(), "", "") if name[-1] != "/")]
    else:
        directory, slash, begun = typed.rpartition("/")
        place = Path(os.path.expanduser(directory) or ("/" if slash else ""))
        fitting = [path for path in last if path.startswith(typed)]
        held = [path for path in last if typed.casefold() in path.casefold()]
        names = [*fitting, *_entries(place, begun, directory + slash), *held]
    return tuple(dict.fromkeys(names))


def completed(typed: str, offers: Sequence[str]) -> str:
    """Returns the longest common beginning of the ``offers`` that begin with ``typed``; ``typed``
    itself if no offer does."""
    fitting = [name for name in offers if name.startswith(typed)]
    if not fitting:
        return typed
    # What the first and the last of them in order have alike, all between have.
    first, last = min(fitting), max(fitting)
    same = next((at for at, char in enumerate(first) if last[at : at + 1] != char), len(first))
    return first[:same]


def _entries(place: Path, begun: str, before: str) -> list[str]:
    tables: list[tuple[float, str]] = []
    directories: list[str] = []
    try:
        with os.scandir(place) as entries:
            for entry in islice(entries, _MOST_ENTRIES):
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


def _short(path: Path) -> str:
    with suppress(OSError, RuntimeError):
        for place, before in ((Path.cwd(), ""), (Path.home(), "~/")):
            if path.is_relative_to(place):
                return f"{before}{path.relative_to(place)}"
    return str(path)
