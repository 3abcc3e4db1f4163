"""Reads a TOML file that a person wrote, and finds the lines of its errors."""

from __future__ import annotations

import codecs
import difflib
import os
import re
import stat
import tomllib
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from swapdesk.paths import UnsafePlace, refuse_foreign, without_mark

_HEADER = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z0-9_\-.\"' ]+?)\s*=")
_TOML_LINE = re.compile(r" ?\(at (?:line (\d+), column \d+|end of document)\)")


class ConfigProblem(Struct, frozen=True):
    """An error in a file or an environment variable. For a variable, ``file`` is None and ``key``
    its name. ``nearest`` is the most similar valid name, or None."""

    file: Path | None
    line: int | None
    key: str
    message: str
    nearest: str | None = None

    def __str__(self) -> str:
        return self._said("environment" if self.file is None else str(self.file))

    @property
    def brief(self) -> str:
        """The problem as a sentence with only the file's name, for narrow places."""
        return self._said("environment" if self.file is None else self.file.name)

    def _said(self, where: str) -> str:
        line = f":{self.line}" if self.line is not None else ""
        hint = f"; did you mean {self.nearest}?" if self.nearest else ""
        subject = f"{self.key} " if self.key else ""
        return f"{where}{line}: {subject}{self.message}{hint}"


class TomlDocument(Struct):
    """The content and the problems of a TOML file. The content is empty if the file is missing or
    broken."""

    file: Path
    lines: list[str] = field(default_factory=list)
    content: dict[str, Any] = field(default_factory=dict)
    problems: list[ConfigProblem] = field(default_factory=list)

    def line_of(self, *path: str) -> int | None:
        """Returns the line (from 1) of the key ``path``. If the key is missing, returns the line of
        the innermost table of ``path`` that exists, or None."""
        table: tuple[str, ...] = ()
        for number, text in enumerate(self.lines, start=1):
            header = _HEADER.match(text)
            if header is not None:
                table = _split(header[1])
                if table[: len(path)] == path:
                    return number
                continue
            assignment = _ASSIGNMENT.match(text)
            if assignment is None:
                continue
            here = (*table, *_split(assignment[1]))
            if here == path:
                return number
        # A key of an inline table stands on the line of its table.
        return self.line_of(*path[:-1]) if len(path) > 1 else None

    def problem(
        self, path: tuple[str, ...], message: str, near: str | None = None
    ) -> ConfigProblem:
        return ConfigProblem(self.file, self.line_of(*path), ".".join(path), message, near)

    def refuse(self, path: tuple[str, ...], message: str, near: str | None = None) -> None:
        self.problems.append(self.problem(path, message, near))

    def refuse_missing(self, path: tuple[str, ...]) -> None:
        """Adds the problem that a required key is missing, with the line where it belongs."""
        line, message = self.line_of(*path), "is missing"
        if len(path) == 1:
            heads = (number for number, text in enumerate(self.lines, 1) if _HEADER.match(text))
            line, message = next(heads, None), f"{message} above the first table"
        self.problems.append(ConfigProblem(self.file, line, ".".join(path), message))


def read_document(file: Path, limit: int, *, trusted: bool = False) -> TomlDocument:
    """Reads a TOML file. The document is empty if the file is missing. It is empty and has a
    problem if the file is broken, larger than ``limit`` bytes or, with ``trusted``, writable by
    other users."""
    document = TomlDocument(file)

    def broken(message: str, line: int | None = None) -> TomlDocument:
        document.problems.append(ConfigProblem(file, line, "", message))
        return document

    try:
        number = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(number, "rb") as stream:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                return broken("is no file")
            if trusted:
                refuse_foreign(file, os.fstat(number))
            content = stream.read(limit + 1)
    except FileNotFoundError:
        return document
    except IsADirectoryError:
        return broken("is no file")
    except UnsafePlace as error:
        return broken(str(error))
    except OSError as error:
        return broken(error.strerror or "is unreadable")
    if len(content) > limit:
        return broken(f"exceeds {limit} bytes")
    try:
        text = without_mark(content).decode("utf-8")
        document.content = tomllib.loads(text, parse_float=Decimal)
    except UnicodeDecodeError:
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return broken("is UTF-16: save it as UTF-8" if wide else "is not UTF-8")
    except tomllib.TOMLDecodeError as error:
        at = _TOML_LINE.search(str(error))
        line = int(at[1]) if at is not None and at[1] else content.count(b"\n") + 1
        return broken(f"is no TOML: {_TOML_LINE.sub('', str(error))}", line)
    except (RecursionError, ValueError):
        return broken("is no TOML: nested too deep")
    document.lines = text.splitlines()
    return document


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Returns the name most similar to ``name``; None if no name is similar."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return close[0] if close else None


def _split(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
