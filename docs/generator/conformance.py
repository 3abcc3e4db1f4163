"""The page of sentences: what the specification states, and which test fails where it is broken."""

from __future__ import annotations

import csv
from itertools import groupby
from pathlib import Path

from generator.markdown import code, page, section, table

FILE = Path(__file__).parents[1] / "conformance" / "sentences.tsv"

NOTHING = "-"
OPEN = "open"

SAID = f"""\
Every sentence of the specification, in its order, and the tests that fail when the service breaks
it. A line of a table is a sentence. `{NOTHING}` stands for one that states nothing to test: a
heading, an advice, or what is said elsewhere. `{OPEN}` is a gap: no test yet, or none of a part.
The source is `docs/conformance/sentences.tsv`, held to the tests by `tests/test_conformance.py`.
Tests are below `tests`."""


def conformance_page() -> str:
    with FILE.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    gaps = [row for row in rows if OPEN in row["proof"].split()]
    untested = sum(row["proof"] == NOTHING for row in rows)
    counted = (
        f"{len(rows)} sentences: {len(rows) - len(gaps) - untested} proven, {len(gaps)} with a "
        f"gap, {untested} that state nothing to test."
    )
    heads = ("Number", "Sentence", "Proof")
    parts = [
        section(place, table(heads, [_line(row) for row in of_place]))
        for place, of_place in groupby(rows, key=lambda row: row["place"])
    ]
    open_ones = table(heads[:2], [(row["number"], row["sentence"]) for row in gaps])
    left = [section("Gaps", open_ones)] if gaps else []
    return page("Conformance", SAID, counted, *left, *parts)


def _line(row: dict[str, str]) -> tuple[str, str, str]:
    """The tests by their names, after the file that they share."""
    named = [proof for proof in row["proof"].split() if "::" in proof]
    files = groupby(named, key=lambda test: test.partition("::")[0])
    marks = [
        f"{code(file)}: " + ", ".join(code(test.partition("::test_")[2]) for test in tests)
        for file, tests in files
    ]
    marks += [proof for proof in row["proof"].split() if "::" not in proof]
    return row["number"], row["sentence"], "; ".join(marks)
