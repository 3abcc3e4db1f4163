"""Every sentence of the specification has a proof that exists, or is listed as a gap."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from sentences import NOTHING_TO_TEST, OPEN, sentences

TESTS = Path(__file__).parent
ROOT = TESTS.parent


@cache
def there_in(file: str) -> frozenset[str]:
    """The tests of a file that a usual run does not leave out."""
    left_out = ("long", "skip", "skipif", "xfail")
    return frozenset(
        node.name
        for node in ast.walk(ast.parse((TESTS / file).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not any(
            f"mark.{mark}" in ast.unparse(each) for each in node.decorator_list for mark in left_out
        )
    )


def test_every_sentence_has_a_proof_or_is_a_gap() -> None:
    numbers = [sentence.number for sentence in sentences()]
    assert len(set(numbers)) == len(numbers) > 400
    for sentence in sentences():
        assert sentence.text
        assert sentence.place
        alone = sentence.proof in ((NOTHING_TO_TEST,), (OPEN,))
        named = sentence.tests and set(sentence.proof) - set(sentence.tests) <= {OPEN}
        assert alone or named, f"{sentence.number} needs a test, '{OPEN}' or '{NOTHING_TO_TEST}'"


@pytest.mark.parametrize(
    "file", sorted({t.partition("::")[0] for s in sentences() for t in s.tests})
)
def test_every_named_test_exists(file: str) -> None:
    there = there_in(file)
    named = {
        test.partition("::")[2]
        for sentence in sentences()
        for test in sentence.tests
        if test.startswith(f"{file}::")
    }
    assert named <= there


def test_the_page_has_every_sentence_and_the_gaps_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from generator.conformance import conformance_page

    page = conformance_page()
    for sentence in sentences():
        assert page.count(f"| {sentence.number} |") == 1 + (OPEN in sentence.proof), sentence.number
