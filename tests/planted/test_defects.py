"""The planted defects and breaks of sentences fit the source and the tests as they are now."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache

from planted.contract_defects import CONTRACT
from planted.defect import ROOT, Defect
from planted.defects import DEFECTS
from sentences import sentences

LEAST = 160
LEAST_OF_CONTRACT = 200
EVERY = (*DEFECTS, *CONTRACT)
NAMES = [defect.name for defect in EVERY]


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own() -> None:
    assert len(DEFECTS) >= LEAST
    assert len(CONTRACT) >= LEAST_OF_CONTRACT
    assert [name for name, count in Counter(NAMES).items() if count > 1] == []


def test_every_chapter_of_the_specification_is_broken_somewhere() -> None:
    proven = {each.number.partition(".")[0] for each in sentences() if each.tests}
    assert {defect.name.partition(".")[0] for defect in CONTRACT} == proven


@cache
def functions_of(path: str) -> frozenset[str]:
    source = (ROOT / path).read_text(encoding="utf-8")
    return frozenset(re.findall(r"\bdef (\w+)\(", source))


def without_comments(text: str) -> str:
    return re.sub(r"#.*|\s", "", text)


def unfit(defect: Defect) -> str:
    """Why a defect cannot be planted or found; empty if it can."""
    before, *after = defect.source().split(defect.old)
    if len(after) != 1:
        return f"its text stands {len(after)} times in {defect.file}"
    line = before.rpartition("\n")[2]
    if without_comments(line + defect.old) == without_comments(line + defect.new):
        return "a comment or a space more is no defect"
    for test in defect.found_by:
        path, _, name = test.partition("::")
        # A case has no name that could be looked for here: its whole function is run.
        if name not in {"", *functions_of(path)}:
            return f"{test} is not there"
    return "" if defect.found_by else "no test is named"


def test_each_can_be_planted_and_the_tests_that_find_it_are_there() -> None:
    assert {defect.name: why for defect in EVERY if (why := unfit(defect))} == {}


def test_the_source_with_defects_can_still_be_read() -> None:
    """A file is parsed with all of its defects at once, but for those that overlap."""
    texts: dict[tuple[str, int], str] = {}
    for defect in EVERY:
        turn = 0
        while texts.setdefault((defect.file, turn), defect.source()).count(defect.old) != 1:
            turn += 1
        text = texts[defect.file, turn]
        texts[defect.file, turn] = text.replace(defect.old, defect.new)
    for (file, _), text in texts.items():
        ast.parse(text, file)
