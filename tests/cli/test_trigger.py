"""``trigger``: faults, clock and practice cases by commands, against a running sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cli.desks import Desk, InProcess
from harness import Sandbox, running_sandbox
from swapdesk.flows.faults.scenario_file import AnswerRow, read_answers, read_cases
from swapdesk.flows.faults.triggers import NOT_A_SANDBOX
from swapdesk.sandbox.fault_choice import FAULTS

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
    sandbox: Sandbox, practised: dict[str, str], answer: AnswerRow
) -> None:
    # Its faults stay: with them the holds of the other cases would end.
    found = Desk(sandbox, sandbox.home, {})("why", practised[answer.case], "--json")
    assert found.code == 0, found
    (order,) = found.document["orders"]
    assert (order["rule"], order["owner"]) == (answer.rule, answer.owner), order
    assert answer.money.casefold() in order["money"].casefold()


# Every fault by command

GIVEN = {"reorg": ("--depth", "1"), "tamper_user_operation": ("--part", "amount")}


def group_of(desk: Desk) -> str:
    file = desk.home / "group.csv"
    rows = "".join(f"@bob,{amount},ETH,base,USDC.ethereum\n" for amount in (151, 152))
    file.write_text(f"to,sell_amount,buy,chain,sell\n{rows}")
    made = desk("batch", "create", str(file), "--yes", "--again", "--json")
    assert made.code == 0, made
    return str(made.document["groups"][0]["multiId"])


def order_of(desk: Desk) -> str:
    words = ("0.05", "btc.bitcoin", "eth.ethereum", "--to", "@bob", "--yes", "--json")
    made = desk("swap", *words)
    assert made.code == 0, made
    return str(made.document["serviceId"])


def test_every_fault_is_set_by_command(desk: Desk) -> None:
    order, group = order_of(desk), group_of(desk)
    named = {"order": order[:10], "group": group, "provider": "Halyard", "chain": "base"}
    wrong, listed = [], desk("trigger", "list", "--json").document["faults"]
    assert [fault["fault"] for fault in listed] == list(FAULTS)
    for fault in listed:
        name = fault["fault"]
        target = next(named[kind] for kind in named if kind in fault["targets"])
        told = desk("trigger", name, target, *GIVEN.get(name, ()), "--json")
        if told.code != 0 or told.document["fault"] != name:
            wrong.append((name, told))
    assert wrong == []
    active = {one["fault"] for one in desk.sandbox.control("GET", "/state")["faults"]}
    # Those of an order stand in the row of its leg.
    assert {"http_500", "ws_drop", "venue_down", "node_down", "bundle_stuck"} <= active
    assert desk("orders", "show", order, "--json").document["order"]["displayStatus"] == "DELETED"
    assert desk("trigger", "clear").code == 0
    assert desk.sandbox.control("GET", "/state")["faults"] == []


def test_fault_without_a_target_meets_whatever_comes_next(desk: Desk) -> None:
    told = desk("trigger", "ws_drop", "--seconds", "1.5", "--times", "2")
    assert told.stdout == "ws_drop is set, seconds 1.5, times 2.\n"
    listed = desk("trigger", "list")
    assert "Set: ws_drop, 2 times." in listed.stderr
    told = desk("trigger", "http_503", "get_quotes", "--times", "3")
    assert told.stdout == "http_503 is set on operation get_quotes, times 3.\n"


def test_clock_is_moved_on_and_never_back(desk: Desk) -> None:
    def now() -> datetime:
        return datetime.fromisoformat(desk.sandbox.control("GET", "/state")["now"])

    before = now()
    assert "The sandbox's clock shows 20" in desk("trigger", "clock", "+1h").stdout
    assert now() - before >= timedelta(hours=1)
    for step in ("-1h", "0m", "1w", "1", "99999h", "\x1b[2J"):
        refused = desk("trigger", "clock", "--json", "--", step)
        assert (refused.code, refused.error["code"]) == (2, "BAD_FAULT"), step
        assert "\x1b" not in refused.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("hold",), 2, "hold needs a target: order or provider."),
        (("hold", "base"), 5, "There is no such order."),
        (("hold", "not an id"), 2, "'not an id' is not what hold meets: order or provider."),
        (("hold", "hy", "--depth", "2"), 2, "hold takes no depth."),
        (("reorg", "base"), 2, "reorg needs a depth."),
        (("reorg", "solana", "--depth", "1"), 4, "only an embedded chain does that"),
        (("venue_down", "nobody"), 2, "'nobody' is not what venue_down meets: provider."),
        (("hodl", "hy"), 2, "There is no fault 'hodl'. Did you mean hold?"),
        (("release", "hy"), 4, "nothing is on hold here"),
        (("http_500", "GET /nowhere"), 4, "there is no operation at"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_set_says_why(
    desk: Desk, words: tuple[str, ...], code: int, said: str
) -> None:
    refused = desk("trigger", *words, "--json")
    assert (refused.code, refused.error["money"]) == (code, "where it was; nothing was sent")
    assert said in refused.error["message"]


@pytest.mark.parametrize("words", [("list",), ("hold", "hy"), ("clear",), ("run", "practice")])
def test_live_profile_has_no_faults(desk: Desk, tmp_path: Path, words: tuple[str, ...]) -> None:
    live = Desk(
        desk.sandbox,
        tmp_path,
        {
            "SWAPDESK_API_URL": desk.sandbox.ready["url"],
            "SWAPDESK_API_KEY": "key",
            "SWAPDESK_API_SECRET": "secret",
            "SWAPDESK_CONTROL_URL": desk.sandbox.ready["control"],
            "SWAPDESK_CONTROL_TOKEN": desk.sandbox.ready["controlToken"],
        },
    )
    refused = live("trigger", *words, "--json")
    assert (refused.code, refused.error["code"]) == (2, "SANDBOX_ONLY")
    assert refused.error["message"] == NOT_A_SANDBOX


# Files of cases


def test_answers_are_shown_without_a_sandbox(here: InProcess) -> None:
    shown = here("trigger", "run", "practice", "--answers")
    assert shown.code == 0
    assert "payment-memo-missing" in shown.stdout
    assert len(here("trigger", "run", "practice", "--answers", "--json").document["answers"]) == 12


def test_case_of_a_file_is_made(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(ONE)
    made = desk("trigger", "run", str(file))
    assert made.code == 0, made
    assert "Where is it?" in made.stdout
    lacking = desk("trigger", "run", str(file), "--answers", "--json")
    assert (lacking.code, lacking.error["code"]) == (2, "BAD_SCENARIO")
    assert "one.answers.toml: does not exist" in lacking.error["message"]


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ('steps = [{ fault = "hodl" }]', "BAD_SCENARIO", "one: There is no fault 'hodl'."),
        ('steps = [{ fault = "hold", depth = 2 }]', "BAD_SCENARIO", "one: hold takes no depth."),
        ('provider = "zz"', "CASE_FAILED", "one: no route is usable for btc.bitcoin"),
        ('steps = [{ fault = "venue_down", on = "nobody" }]', "CASE_FAILED", "'nobody' is not"),
    ],
)
def test_case_that_does_not_come_about_says_why(
    desk: Desk, tmp_path: Path, more: str, code: str, said: str
) -> None:
    file = tmp_path / "one.toml"
    file.write_text(f"{ONE}{more}\n")
    refused = desk("trigger", "run", str(file), "--json")
    assert (refused.code, refused.error["code"]) == (9 if code == "CASE_FAILED" else 2, code)
    assert said in refused.error["message"]
