"""Standard streams that the caller closed, or that take nothing any more."""

from __future__ import annotations

import os
import sys
from typing import TextIO


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


def silence(stream: TextIO) -> None:
    """Drop what the stream still holds and all that follows; closing it would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
