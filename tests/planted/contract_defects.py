"""Breaks of single sentences of the specification, each to be noticed by the tests of its own row.

``contract.tsv`` has a sentence's number, a file under ``src``, a text that stands there once, and
what stands in its place. The tests are those that ``docs/conformance/sentences.tsv`` names for the
sentence: where they do not fail, the sentence is not proven.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from sentences import sentences

from .defect import Defect

_FILE = Path(__file__).with_name("contract.tsv")


def _breaks() -> Iterator[Defect]:
    """Raises KeyError for the number of no sentence."""
    by_number = {sentence.number: sentence for sentence in sentences()}
    with _FILE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            sentence = by_number[row["number"]]
            yield Defect(
                sentence.number,
                sentence.text,
                f"swapdesk/{row['file']}",
                row["old"],
                row["new"],
                tuple(f"tests/{test}" for test in sentence.tests),
            )


CONTRACT = tuple(_breaks())
