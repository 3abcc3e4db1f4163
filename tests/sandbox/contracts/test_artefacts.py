"""What is shipped is what the sources say."""

import json

import pytest

from rows import each_row
from swapdesk.sandbox.contracts.build import ARTEFACTS, compiled, contracts, digest

SAMPLE = "SenderCreator"
"""Compiled in every run, the others with ``--full``."""


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.long] * (one != SAMPLE)) for one in contracts()]
)
def test_the_shipped_artefact_is_what_the_source_compiles_to(name):
    assert compiled(name) == (ARTEFACTS / f"{name}.json").read_text(encoding="utf-8")


@each_row("name", contracts())
def test_nothing_changed_since_an_artefact_was_compiled(name):
    """Its source, the compiler, the program that makes it, and itself."""
    document = json.loads((ARTEFACTS / f"{name}.json").read_text(encoding="utf-8"))
    assert document["digest"] == digest(name, document)
    assert digest(name, {**document, "code": document["code"] + "00"}) != document["digest"]


def test_no_artefact_is_left_without_a_source():
    assert sorted(path.stem for path in ARTEFACTS.glob("*.json")) == contracts()
