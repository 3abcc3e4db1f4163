"""Every code that a command can end with is in the table, with what a program has to know of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from cli.desks import run_here
from swapdesk.cli.command_error import NOT_CREATED, OWN_ROWS, Exit, words_of
from swapdesk.cli.contract_commands import _RETRY, RETRY_OF, Retry, error_codes
from swapdesk.wallet.rule_codes import PAYLOADS, RULES
from swapdesk.wire.errors import STATUS_OF

ROOT = Path(__file__).parents[2]
KNOWN = {one.code: one for one in error_codes()}

NO_ENDS = {
    "ABANDONED_BY_USER": "a step of the journal",
    "RESOLVED_NO": "a step of the journal",
    "RESOLVED_YES": "a step of the journal",
    "LC_ALL": "a variable of the environment",
    "LC_CTYPE": "a variable of the environment",
    "NO_COLOR": "a variable of the environment",
    "O_NOFOLLOW": "a flag of the system",
    "PYDANTIC_DISABLE_PLUGINS": "a variable of the environment",
    "SWAP_COMPLETED": "a state of an order",
}
"""Texts that look like codes."""
FINDINGS = ("flows/batch/judging.py", "flows/batch/planned.py", "flows/batch/planner.py")
"""Files whose codes are of rows: a command ends with BATCH_PROBLEMS for them."""


@pytest.fixture(scope="module", autouse=True)
def generator() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        import generator.raised_codes  # noqa: F401


def test_no_code_is_raised_that_is_not_in_the_table() -> None:
    from generator.raised_codes import literal_codes, raised_codes

    raised = dict(raised_codes())
    assert len(raised) > 100
    assert {one: path for one, path in raised.items() if one not in KNOWN} == {}
    other = {
        one: path
        for one, path in literal_codes("cli", "flows", "client", "wallet")
        if path not in FINDINGS
        and not one.startswith("SWAPDESK_")
        and one not in KNOWN
        and one not in NO_ENDS
    }
    assert other == {}, "a code without a row in cli/command_error.py, or a word for NO_ENDS"


def test_what_ends_a_command_agrees_with_the_table_and_repeats_nothing_of_it() -> None:
    """It ends as the table says. Money and next are said at a raise only where they are others."""
    from generator.raised_codes import RAISED, codes_in
    from generator.source import calls, constant, modules

    exits_of = {"bad_input": {Exit.BAD_INPUT}, "own_refusal": {Exit.OWN_REFUSAL}}
    found, seen = set(), 0
    for path, tree in modules("cli", *RAISED):
        for name, call, within in calls(tree):
            if name not in RAISED or name == "not_confirmed":
                continue
            direct = name == "CommandError"
            named = (
                constant(path, one.id) if isinstance(one, ast.Name) else one for one in said(call)
            )
            words = {one.value for one in named if isinstance(one, ast.Constant)}
            ends = exits_in(call.args[0]) if direct else exits_of[name]
            for code in codes_in(call.args[1 if direct else 0], within, path):
                seen += 1
                if ends and not ends & set(KNOWN[code].exits):
                    found.add(f"{path}:{call.lineno} ends with {ends}")
                if repeated := words & set(words_of(code)):
                    found.add(f"{path}:{call.lineno} repeats {repeated}")
    assert found == set()
    assert seen > 150


def said(call: ast.Call) -> list[ast.expr]:
    """Where a raise says money and next."""
    return [*call.args[3:5], *(one.value for one in call.keywords if one.arg in ("money", "next"))]


def exits_in(node: ast.expr) -> set[Exit]:
    found = (one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute))
    return {Exit[name] for name in found if name in Exit.__members__}


def test_no_row_is_of_a_code_that_nothing_raises() -> None:
    source = "\n".join(
        path.read_text("utf-8")
        for path in (ROOT / "src/swapdesk").rglob("*.py")
        if path.name != "rule_codes.py"
    )
    # It stands in its row, and in the table of what may be given again.
    rows = {code: 1 + (code in _RETRY) for code, *_ in OWN_ROWS}
    unused = [code for code, count in rows.items() if source.count(f'"{code}"') <= count]
    # The state of a transaction is the code of what it ended as.
    assert unused == ["REPLACED"]
    assert len({code for code, *_ in OWN_ROWS}) == len(OWN_ROWS)


def test_every_refusal_of_a_payload_has_its_row() -> None:

    from generator.raised_codes import CODE
    from generator.source import calls, modules

    raised = {
        call.args[0].value
        for _, tree in modules("agent", "PayloadRefused", "TypedDataRefused")
        for name, call, _ in calls(tree)
        if name in ("PayloadRefused", "TypedDataRefused") and isinstance(call.args[0], ast.Constant)
    }
    assert len(raised) > 20
    assert {one for one in raised if CODE.fullmatch(one)} - PAYLOADS.keys() - RULES.keys() == set()
    assert not RULES.keys() & PAYLOADS.keys()


def test_every_code_of_the_service_and_of_its_table_of_exits_is_told() -> None:
    assert STATUS_OF.keys() <= KNOWN.keys()
    assert NOT_CREATED.keys() <= KNOWN.keys()
    assert RETRY_OF.keys() == set(Exit) - {Exit.DONE}


def test_nothing_of_which_the_outcome_is_unknown_is_given_again_at_once() -> None:
    for code, exits, *_ in OWN_ROWS:
        if Exit.UNKNOWN in exits:
            assert KNOWN[code].retry is not Retry.CORRECTED, code
    assert KNOWN["OUTCOME_UNKNOWN"].retry is Retry.NO
    assert KNOWN["DEFECT"].retry is Retry.NO


def test_it_is_told_as_a_table_and_as_a_document(tmp_path: Path) -> None:
    told = run_here("errors", "--json", home=tmp_path).document
    assert [one["code"] for one in told["codes"]] == sorted(KNOWN)
    (low,) = (one for one in told["codes"] if one["code"] == "AMOUNT_TOO_LOW")
    assert low == {
        "code": "AMOUNT_TOO_LOW",
        "means": "The amount is below the smallest one any route takes.",
        "retry": "corrected",
        "money": "in your wallet",
        "next": "you: type a larger amount",
        "exits": [4],
        "status": 422,
    }
    assert {one["exit"] for one in told["exits"]} == set(Exit)
    shown = run_here("errors", home=tmp_path)
    assert shown.code == 0
    assert "OUTCOME_UNKNOWN" in shown.stdout
