"""The only module that prints. Data goes to standard output, messages to standard error.

Every text is filtered here, so that no text from a service can control the terminal. In lines, a
character that a terminal would act on is removed or replaced. In JSON, it is escaped, which changes
the spelling of a text but not its value. The module also handles a stream that is closed, full, or
unable to encode a character.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from io import TextIOWrapper
from operator import attrgetter
from typing import Any, Literal, TextIO

from msgspec import UNSET, Struct

from swapdesk.cli.command_error import UNSENT, CommandError, ErrorDocument

SCHEMA_VERSION = 1
"""The version of all printed documents' schemas. A removed or changed field raises it, a new one
does not."""

_ESCAPE, _SIGNS = "swapdesk-escape", "swapdesk-signs"
_SIGN = re.compile(
    # A word by itself, as an arrow or a dash; the minus of a number; the end of what was cut; and
    # what stands for a control character.
    r"(?<!\S)[^\s\x00-\x7f](?!\S)|(?<!\w)−(?=[$\d])|(?<=\S)…(?!\w)|\ufffd"
)
"""Matches a sign that the program itself wrote, such as an arrow. Characters within a name never
match, so names stay distinct."""


def replace_closed() -> None:
    """Replaces standard streams that the shell closed. Otherwise a file opened later would get
    their descriptor number, and messages could be written into that file."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    if sys.stdout is None:
        # Opened to be read, so that every write fails.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def escape_foreign() -> None:
    """Makes the standard streams replace characters that their encoding lacks, instead of
    failing."""
    for stream, errors in ((sys.stdout, _SIGNS), (sys.stderr, _SIGNS), (sys.stdin, "replace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def _escape_unencodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _as_json_escapes(error.object[error.start : error.end]), error.end


def _as_json_escapes(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _write_signs(error: UnicodeError) -> tuple[str, int]:
    if isinstance(error, UnicodeEncodeError) and _SIGN.match(error.object, error.start):
        # On demand: most terminals have every character.
        from swapdesk.tui.glyphs import ascii_sign

        sign = ascii_sign(error.object[error.start])
        if sign.isascii():
            return sign, error.start + 1
    if isinstance(error, UnicodeEncodeError):
        error.end = error.start + 1
    return _escape_unencodable(error)


codecs.register_error(_ESCAPE, _escape_unencodable)
codecs.register_error(_SIGNS, _write_signs)


class Exact(str):
    """A text that somebody copies in order to pay, such as a memo. Never altered for the terminal's
    encoding."""

    __slots__ = ()


def _encodable(text: str, stream: TextIO, errors: str = _SIGNS) -> str:
    if text.isascii():
        return text
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, errors).decode(encoding)


def silence(stream: TextIO) -> None:
    """Discards what ``stream`` has buffered and all later output, so that closing it cannot
    fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_GAP = "  "


Form = Literal["table", "plain", "json"]
"""The form of printed data: ``table`` for tables that people read, ``plain`` for sentences,
``json`` for programs."""


class ReaderLeft(Exception):
    """Raised if the program that reads standard output has ended, as ``head`` does. This is no
    error of the command."""


class OutputLost(Exception):
    """Raised if standard output cannot be written, for example because the disk is full. The
    message is the reason."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or str(error))


class Output:
    def __init__(
        self, form: Form, *, stdout: TextIO | None = None, stderr: TextIO | None = None
    ) -> None:
        self.form = form
        self._stdout = stdout
        self._stderr = stderr
        self._unheard = False

    @property
    def json(self) -> bool:
        return self.form == "json"

    @property
    def to_person(self) -> bool:
        return not self.json and (self._stdout or sys.stdout).isatty()

    @property
    def before_a_question(self) -> Output:
        """The output for data that is shown before a question: standard output if a person reads
        it, otherwise standard error."""
        if self.to_person:
            return self
        form = "table" if self.json else self.form
        return Output(form, stdout=self._stderr or sys.stderr, stderr=self._stderr)

    # Data

    def document(self, value: Struct) -> None:
        """Prints a document as one line of JSON with exact numbers. Its type must be one that
        ``cli.schemas`` knows."""
        self._json(document_text(value))

    # These print for people. With --json they print ``document`` alone, if there is one.

    def say(self, *sentences: str, document: Struct | None = None) -> None:
        """Prints data as sentences, one on each line. With ``--json``, only ``document`` is
        printed, if given."""
        if self.json:
            if document is not None:
                self.document(document)
            return
        for sentence in sentences:
            self._out(safe_line(sentence))

    def table(
        self,
        heads: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        numbers: Collection[int] = (),
        least: Sequence[int] | None = None,
        headed: bool = True,
        plain: Sequence[str] | None = None,
        document: Struct | None = None,
    ) -> None:
        """Prints a table. ``numbers`` are columns aligned on the decimal point; ``least`` are
        minimum widths. ``headed=False`` omits the headings. With ``--plain`` prints the sentences
        ``plain``, by default made from the rows; with ``--json`` only ``document``."""
        if self.form != "table":
            sentences = [_sentence(heads, row) for row in rows] if plain is None else plain
            self.say(*sentences, document=document)
            return
        columns = [[self._shown(cell) for cell in column] for column in zip(*rows, strict=True)]
        if not columns:
            return
        if numbers:
            from swapdesk.flows.notation import align_on_point

            for place in numbers:
                columns[place] = align_on_point(columns[place])
        widths = [
            max(wide, cells(head), *(cells(cell) for cell in column))
            for head, column, wide in zip(heads, columns, least or [0] * len(heads), strict=True)
        ]
        if headed:
            self._out(_row([head.upper() for head in heads], widths, numbers))
        for row in zip(*columns, strict=True):
            self._out(_row(row, widths, numbers))

    def facts(
        self,
        rows: Sequence[tuple[str, str]],
        *,
        plain: Sequence[str] | None = None,
        document: Struct | None = None,
    ) -> None:
        """Prints pairs (label, value), leaving out empty values. With ``--plain`` prints the
        sentences ``plain``, if given; with ``--json`` only ``document``."""
        shown = [(self._shown(label), self._shown(value)) for label, value in rows if value]
        if self.form != "table":
            sentences = [f"{label}: {value}" for label, value in shown] if plain is None else plain
            self.say(*sentences, document=document)
            return
        width = max((cells(label) for label, _ in shown), default=0)
        for label, value in shown:
            self._out(safe_line(f"{label}{' ' * (width - cells(label))}{_GAP}{value}"))

    def raw_json(self, text: str) -> None:
        """Prints JSON text from another program. It is unchanged, except that characters that a
        terminal would act on are escaped."""
        self._json(_escaped(text))

    def file(self, content: bytes, *, document: Struct | None = None) -> None:
        """Prints a text file: unchanged bytes for programs, filtered on a terminal. ``--json``
        prints ``document`` instead."""
        if document is not None and self.json:
            self.document(document)
            return
        out = self._stdout or sys.stdout
        text = content.decode("utf-8")
        if out.isatty():
            text = "".join(f"{safe_line(line)}\n" for line in text.splitlines())
        try:
            if isinstance(out, TextIOWrapper) and not out.isatty():
                out.flush()
                out.buffer.write(content)
            else:
                out.write(text)
            out.flush()
        except BrokenPipeError:
            raise ReaderLeft from None
        except OSError as error:
            raise OutputLost(error) from None

    # Talk

    def talk(self, *sentences: str, document: Struct | None = None) -> None:
        """Prints progress on standard error. With ``--json``, prints ``document`` instead, if there
        is one."""
        if document is not None and self.json:
            self.document(document)
            return
        for sentence in sentences:
            self._aside(safe_line(sentence))

    def hint(self, *sentences: str) -> None:
        """Prints messages about the next step on standard error; nothing with ``--json``."""
        if not self.json:
            self.talk(*sentences)

    def ask(self, question: str) -> str:
        """Asks a question on standard error and returns the answer; empty if the question could not
        be printed."""
        self._aside(safe_line(question), end=" ")
        if self._unheard:
            # Nobody saw the question, so nothing that is read can be its answer.
            return ""
        answer = sys.stdin.readline()
        if not answer:
            self._aside("")
        return answer.strip()

    def failure(self, error: CommandError) -> None:
        """Prints the error of a command on standard error, as a document with ``--json``."""
        if self.json:
            stream = self._stderr or sys.stderr
            self._aside(_encodable(document_text(ErrorDocument(error)), stream, _ESCAPE))
            return
        last = error.code if error.request_id is None else f"{error.code}, {error.request_id}"
        money = "Nothing was sent" if error.money == UNSENT else f"The money is {error.money}"
        rows = [error.message, f"{money}.", f"Next {error.next}.", f"({last})"]
        rows += [
            f"  {name}: {what['message']}"
            for name, what in error.fields.items()
            if what["message"] != error.message
        ]
        self.talk(*rows)

    def report(self, text: str) -> None:
        """Prints several lines for people on standard error; prints nothing with ``--json``."""
        self.hint(*text.split("\n"))

    def _aside(self, text: str, end: str = "\n") -> None:
        """Writes a message to standard error. If writing fails, the message is lost and the command
        continues."""
        stream = self._stderr or sys.stderr
        try:
            print(text, end=end, file=stream, flush=True)
        except OSError:
            self._unheard = True
            if stream is sys.stderr:
                silence(stream)

    def _shown(self, text: str) -> str:
        errors = _ESCAPE if isinstance(text, Exact) else _SIGNS
        return _encodable(safe_line(text), self._stdout or sys.stdout, errors)

    def _json(self, text: str) -> None:
        self._out(_encodable(text, self._stdout or sys.stdout, _ESCAPE))

    def _out(self, line: str) -> None:
        try:
            print(line, file=self._stdout or sys.stdout, flush=True)
        except BrokenPipeError:
            raise ReaderLeft from None
        except OSError as error:
            raise OutputLost(error) from None


def safe_line(text: str) -> str:
    """Returns the text as one line, with each character that a terminal would act on replaced."""
    if text.isascii() and text.isprintable():
        return text
    # On demand: what only prints plain text does not load the wire.
    from swapdesk.wire.encoding.text import filter_line

    return filter_line(text)


def document_text(value: Struct) -> str:
    """Returns a document as one line of JSON that begins with the version of its schema."""
    return json_text({"schemaVersion": SCHEMA_VERSION, **members(value)})


def written_members(kind: type) -> Mapping[str, str]:
    """Maps the printed names of a record type's members to their attributes. Without ``PRINTED``,
    all fields are printed."""
    printed: Mapping[str, str] | None = getattr(kind, "PRINTED", None)
    if printed is not None:
        return printed
    struct: Any = kind
    return dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))


def members(value: Any) -> dict[str, Any]:
    """Returns the printed members of a record by name, without unset ones. The field that
    ``MERGED`` names is replaced by the members of its value."""
    merged = getattr(value, "MERGED", "")
    written_values: dict[str, Any] = {}
    for written, name in written_members(type(value)).items():
        inner = _builtin(attrgetter(name)(value))
        if name == merged:
            written_values |= inner
        elif inner is not UNSET:
            written_values[written] = inner
    return written_values


def _builtin(value: Any) -> Any:
    if isinstance(value, Struct) or hasattr(type(value), "PRINTED"):
        return members(value)
    if isinstance(value, Mapping):
        return {name: _builtin(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_builtin(inner) for inner in value]
    if isinstance(value, Enum):
        return value.value
    # A model of the wire knows itself how it is written.
    return value.model_dump(by_alias=True) if hasattr(value, "model_dump") else value


def json_text(value: Mapping[str, Any]) -> str:
    """Returns the value as one line of JSON with exact numbers. Characters that a terminal would
    act on are escaped."""
    if _plain(value):
        # The desk, which starts here too, writes none.
        import json

        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    else:
        # On demand, as above: amounts, models and times need the exact writer.
        from swapdesk.wire.encoding.codec import encode_json

        text = encode_json(value).decode("utf-8")
    return _escaped(text)


def _plain(value: Any) -> bool:
    if type(value) is dict:
        return all(_plain(item) for item in value.values())
    if type(value) is list:
        return all(_plain(item) for item in value)
    return value is None or type(value) in (str, int, bool)


def cells(text: str) -> int:
    """Returns the number of terminal columns that the text takes."""
    if text.isascii():
        return len(text)
    return sum(_width(ch) for ch in text)


def _width(ch: str) -> int:
    if unicodedata.combining(ch) or unicodedata.category(ch) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(ch) in "WF" else 1


def _row(texts: Sequence[str], widths: Sequence[int], numbers: Collection[int]) -> str:
    parts = []
    for place, (text, width) in enumerate(zip(texts, widths, strict=True)):
        blank = " " * (width - cells(text))
        parts.append(blank + text if place in numbers else text + blank)
    return _GAP.join(parts).rstrip()


def _sentence(heads: Sequence[str], row: Sequence[str]) -> str:
    text = ", ".join(f"{head} {cell}" for head, cell in zip(heads, row, strict=True) if cell)
    return f"{text[:1].upper()}{text[1:]}."


def _escaped(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _as_json_escapes(char) if unicodedata.category(char) in _ESCAPED else char for char in text
    )
