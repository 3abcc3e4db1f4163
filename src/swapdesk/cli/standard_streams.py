"""Standard streams that the caller closed, that take nothing any more, or not every character."""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper
from typing import TextIO

_ESCAPE = "swapdesk-escape"


def replace_closed() -> None:
    """Stand-ins for streams that were closed before the start, as by ``>&-``.

    Without them talk would be printed as data, and the next file that is opened would get
    the number of the stream. Nothing is read, talk is lost, and data fail to be written as
    on any other output that cannot be: a caller who closed it does not get them.
    """
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    if sys.stdout is None:
        # Opened to be read, so that every write fails.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def escape_foreign() -> None:
    """What the encoding of standard output has no character for is written as JSON escapes it,
    and what is read without being text is replaced: neither ends a command half-way."""
    codecs.register_error(_ESCAPE, _escaped)
    for stream, errors in ((sys.stdout, _ESCAPE), (sys.stdin, "replace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    return "".join(f"\\u{pair}" for pair in pairs), error.end


def silence(stream: TextIO) -> None:
    """Drop what the stream still holds and all that follows; closing it would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
