"""The planted defects and breaks of sentences fit the source and the tests as they are now."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache

import pytest

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
def tree_of(source: str) -> str:
    return ast.dump(ast.parse(source))


@pytest.mark.parametrize("defect", EVERY, ids=NAMES)
def test_a_defect_can_be_planted_and_the_tests_that_find_it_are_there(defect: Defect) -> None:
    source = defect.source()
    assert source.count(defect.old) == 1
    # Another syntax tree: a comment or a space more is no defect.
    assert ast.dump(ast.parse(defect.planted())) != tree_of(source)
    assert defect.found_by
    for test in defect.found_by:
        path, _, name = test.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        # A case has no name that could be looked for here: its whole function is run.
        assert not name or f"def {name}(" in source, test
