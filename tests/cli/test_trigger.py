"""``trigger``: faults, clock and practice cases by commands, against a running sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.desks import Desk
from harness import Sandbox, running_sandbox
from swapdesk.flows.faults.scenario_file import AnswerRow, read_answers, read_cases

ONE = """
[one]
customer = "Where is it?"
sell = "btc.bitcoin"
amount = 0.05
buy = "eth.ethereum"
to = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
"""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One of its own: its clock goes on by hours."""
    with running_sandbox(tmp_path_factory.mktemp("home"), speed=30) as running:
        yield running


@pytest.fixture
def desk(sandbox: Sandbox) -> Iterator[Desk]:
    yield Desk(sandbox, sandbox.home, {})
    sandbox.control("DELETE", "/faults")


@pytest.fixture(scope="module")
def practised(sandbox: Sandbox) -> dict[str, str]:
    """What the customer of each practice case sends, once all of them stand."""
    made = Desk(sandbox, sandbox.home, {})("trigger", "run", "practice", "--json")
    assert made.code == 0, made
    return {case["case"]: case["pasted"] for case in made.document["cases"]}


def test_practice_has_twelve_cases_and_an_answer_to_each() -> None:
    cases = [case.name for case in read_cases("practice")]
    assert len(cases) == 12
    assert cases == [row.case for row in read_answers("practice")]


@pytest.mark.parametrize("answer", read_answers("practice"), ids=lambda row: row.case)
def test_practice_case_is_diagnosed_as_its_answer_says(
    desk: Desk, practised: dict[str, str], answer: AnswerRow
) -> None:
    found = desk("why", practised[answer.case], "--json")
    assert found.code == 0, found
    (order,) = found.document["orders"]
    assert (order["rule"], order["owner"]) == (answer.rule, answer.owner), order
    assert answer.money in order["money"]
