"""The sentences of the specification that state a fact, and what proves each."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from msgspec import Struct

FILE = Path(__file__).parents[1] / "docs/conformance/sentences.tsv"

NOTHING_TO_TEST = "-"
OPEN = "open"


class Sentence(Struct, frozen=True):
    """``proof`` names tests as ``folder/file.py::test``, NOTHING_TO_TEST, or OPEN for a gap."""

    number: str
    place: str
    text: str
    proof: tuple[str, ...]

    @property
    def cells(self) -> list[str]:
        """Of a line of a table."""
        return self.text.split(" | ")

    @property
    def tests(self) -> list[str]:
        return [each for each in self.proof if "::" in each]


@cache
def sentences() -> tuple[Sentence, ...]:
    with FILE.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return tuple(
            Sentence(row["number"], row["place"], row["sentence"], tuple(row["proof"].split()))
            for row in rows
        )
