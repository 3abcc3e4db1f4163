"""The only place that prints: data on standard output, talk on standard error.

Every text passes a filter here once more, so that nothing a service says can steer the
terminal: lines are filtered, and JSON escapes what a terminal would act on, which changes
the spelling of a text and never its value. A stream may be closed, full, or unable to encode.
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
"""Of all documents that commands print. It is raised when a field is removed or changes its
meaning or type, and not when one is added."""

_ESCAPE, _SIGNS = "swapdesk-escape", "swapdesk-signs"
_SIGN = re.compile(
    # A word by itself, as an arrow or a dash; the minus of a number; the end of what was cut; and
    # what stands for a control character.
    r"(?<!\S)[^\s\x00-\x7f](?!\S)|(?<!\w)−(?=[$\d])|(?<=\S)…(?!\w)|\ufffd"
)
"""A sign of the program's own, by where it stands: in a name or a path it may mean something."""


def replace_closed() -> None:
    """Opens stand-ins for streams that were closed before the start, as by ``>&-``. Without them
    talk would be printed as data, and the next file opened would get the number of the stream.
    Reads return nothing, talk is lost, and data fail to be written as on a full disk."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    if sys.stdout is None:
        # Opened to be read, so that every write fails.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def escape_foreign() -> None:
    """Keeps a character that a stream cannot encode from ending a command: a sign of the program's
    own is written in ASCII, anything else as JSON escapes it. Input that is no text is replaced."""
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
    """A text that somebody copies and pays by, as a memo: none of it is written otherwise."""

    __slots__ = ()


def _encodable(text: str, stream: TextIO, errors: str = _SIGNS) -> str:
    """The text as ``stream`` will write it, so that its width is known."""
    if text.isascii():
        return text
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, errors).decode(encoding)


def silence(stream: TextIO) -> None:
    """Drops what the stream holds and all that follows; closing it would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_GAP = "  "


Form = Literal["table", "plain", "json"]
"""How data is written: tables to read, sentences, or JSON for programs."""


class ReaderLeft(Exception):
    """Whoever read the data has closed the pipe, as ``head`` does; nothing is wrong."""


class OutputLost(Exception):
    """Standard output could not be written, as on a full disk; the text is the reason."""

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
        """True if data is printed on a terminal."""
        return not self.json and (self._stdout or sys.stdout).isatty()

    @property
    def before_a_question(self) -> Output:
        """Where data is printed before a question about it: beside the question, on standard error,
        unless standard output is a terminal. Nobody agrees to what went into a file."""
        if self.to_person:
            return self
        form = "table" if self.json else self.form
        return Output(form, stdout=self._stderr or sys.stderr, stderr=self._stderr)

    # Data

    def document(self, value: Struct) -> None:
        """One JSON document on one line, of a type that ``cli.schemas`` knows. Amounts are exact
        JSON numbers."""
        self._json(document_text(value))

    # These print for people. With --json they print ``document`` alone, if there is one.

    def say(self, *sentences: str, document: Struct | None = None) -> None:
        """Data as sentences, one a line."""
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
        """Columns as wide as their widest cell; those in ``numbers`` are aligned on the point.
        A table that comes in parts gives all of them the ``least`` widths, and heads to one.
        Where sentences are asked for, ``plain``, else one for each row with its heads in it."""
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
        """Labels and values, one a line, empty values left out; ``plain`` where sentences are asked
        for."""
        shown = [(self._shown(label), self._shown(value)) for label, value in rows if value]
        if self.form != "table":
            sentences = [f"{label}: {value}" for label, value in shown] if plain is None else plain
            self.say(*sentences, document=document)
            return
        width = max((cells(label) for label, _ in shown), default=0)
        for label, value in shown:
            self._out(safe_line(f"{label}{' ' * (width - cells(label))}{_GAP}{value}"))

    def raw_json(self, text: str) -> None:
        """JSON text of another program, escaped for the terminal and otherwise as it came."""
        self._json(_escaped(text))

    def file(self, content: bytes, *, document: Struct | None = None) -> None:
        """A whole file of text, as it would be on disk; to a terminal through its filter."""
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
        """What is going on, for whoever watches; never part of the data."""
        if document is not None and self.json:
            self.document(document)
            return
        for sentence in sentences:
            self._aside(safe_line(sentence))

    def hint(self, *sentences: str) -> None:
        """Talk about the data or the next step, which programs do not need."""
        if not self.json:
            self.talk(*sentences)

    def ask(self, question: str) -> str:
        """One line of an answer; the question stands on standard error."""
        self._aside(safe_line(question), end=" ")
        if self._unheard:
            # Nobody saw the question, so nothing that is read can be its answer.
            return ""
        answer = sys.stdin.readline()
        if not answer:
            self._aside("")
        return answer.strip()

    def failure(self, error: CommandError) -> None:
        """Cause, place of the money, next actor; code and request id last."""
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
        """Several lines on standard error, for people."""
        self.hint(*text.split("\n"))

    def _aside(self, text: str, end: str = "\n") -> None:
        """Writes talk. Talk that cannot be written is lost, and the command keeps its exit code."""
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
    """The text as one line that a terminal can show."""
    if text.isascii() and text.isprintable():
        return text
    # On demand: what only prints plain text does not load the wire.
    from swapdesk.wire.encoding.text import filter_line

    return filter_line(text)


def document_text(value: Struct) -> str:
    """A document as one line of JSON, with the version of its schema."""
    return json_text({"schemaVersion": SCHEMA_VERSION, **members(value)})


def written_members(kind: type) -> Mapping[str, str]:
    """Maps each member of a document to the attribute of the record that it shows. A record of
    another package names them in ``PRINTED``, with dots leading into records within it; any other
    shows every field."""
    printed: Mapping[str, str] | None = getattr(kind, "PRINTED", None)
    if printed is not None:
        return printed
    struct: Any = kind
    return dict(zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True))


def members(value: Any) -> dict[str, Any]:
    """A record as a mapping with its written names. Members of the field that ``MERGED`` names
    stand beside the others and win over them; unset members are left out."""
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
    """One line of JSON with exact numbers, and no character that a terminal acts on."""
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
    """True for texts, whole numbers and lists and mappings of them, without subclasses."""
    if type(value) is dict:
        return all(_plain(item) for item in value.values())
    if type(value) is list:
        return all(_plain(item) for item in value)
    return value is None or type(value) in (str, int, bool)


def cells(text: str) -> int:
    """How many columns of a terminal the text takes."""
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
    """``Row 1, amount 150, state ready.`` Empty cells are left out."""
    text = ", ".join(f"{head} {cell}" for head, cell in zip(heads, row, strict=True) if cell)
    return f"{text[:1].upper()}{text[1:]}."


def _escaped(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _as_json_escapes(char) if unicodedata.category(char) in _ESCAPED else char for char in text
    )
