"""Data files of the sandbox: tab-separated text with one line of headings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def read_table(name: str) -> Iterator[dict[str, str]]:
    """The lines of a file beside this module by heading; what a line leaves out is empty."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    first, *lines = text.splitlines()
    headings = first.split("\t")
    for line in lines:
        values = line.split("\t")
        values += [""] * (len(headings) - len(values))
        yield dict(zip(headings, values, strict=True))
