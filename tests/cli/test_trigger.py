"""``trigger``: faults, clock and practice cases by commands, against a running sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from cli.desks import Desk, InProcess, batch_file
from harness import Sandbox, running_sandbox
from rows import each_row
from swapdesk.flows.faults.practice import PRACTICE, Case
from swapdesk.flows.faults.triggers import NOT_A_SANDBOX
from swapdesk.wire.faults import FAULTS


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


@pytest.mark.parametrize("case", PRACTICE, ids=lambda case: case.name)
def test_practice_case_is_diagnosed_as_its_answer_says(
    sandbox: Sandbox, practised: dict[str, str], case: Case
) -> None:
    # Its faults stay: with them the holds of the other cases would end.
    found = Desk(sandbox, sandbox.home, {})("why", practised[case.name], "--json")
    assert found.code == 0, found
    (order,) = found.document["orders"]
    assert (order["rule"], order["owner"]) == (case.rule, case.owner), order
    assert case.money.casefold() in order["money"].casefold()


# Every fault by command


def test_every_fault_is_set_by_command(desk: Desk) -> None:
    swap = ("0.05", "btc.bitcoin", "eth.ethereum", "--to", "@bob", "--yes")
    order = desk.made("swap", *swap)["serviceId"]
    rows = (f"@bob,{amount},ETH,base,USDC.ethereum" for amount in (151, 152))
    made = desk.made("batch", "create", batch_file(desk.home, *rows), "--yes", "--again")
    other = desk("trigger", "hold", order.swapcase(), "--json")
    assert (other.code, other.error["message"]) == (
        5,
        "The sandbox refused: There is no such order.",
    )
    named = {
        "order": order[:10],
        "group": made["groups"][0]["multiId"],
        "provider": "Halyard",
        "chain": "base",
    }
    wrong, listed = [], desk("trigger", "list", "--json").document["faults"]
    assert [fault["fault"] for fault in listed] == list(FAULTS)
    for fault in listed:
        name = fault["fault"]
        target = next(named[kind] for kind in named if kind in fault["targets"])
        told = desk("trigger", name, target, "--json")
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


@each_row(
    ("words", "code", "said"),
    [
        (("hold",), 2, "hold needs a target: order or provider."),
        (("hold", "hy", "--seconds", "2"), 2, "hold takes no seconds."),
        (("hold", "base"), 5, "There is no such order."),
        (
            ("http_500", ""),
            2,
            "'' is not what http_500 meets: order or group or quote or operation.",
        ),
        (("hold", "not an id"), 2, "'not an id' is not what hold meets: order or provider."),
        (("forged_receipt", "solana"), 2, "meets: chain ethereum or base or"),
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


@each_row("words", [("list",), ("hold", "hy"), ("clear",), ("run", "practice")])
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
    refused = live.refused(2, "SANDBOX_ONLY", "trigger", *words)
    assert refused["message"] == NOT_A_SANDBOX


def test_answers_are_shown_without_a_sandbox(here: InProcess) -> None:
    shown = here("trigger", "run", "practice", "--answers")
    assert shown.code == 0
    assert "payment-memo-missing" in shown.stdout
    answers = here("trigger", "run", "practice", "--answers", "--json").document["answers"]
    assert [row["case"] for row in answers] == [case.name for case in PRACTICE]


@each_row(
    ("words", "said"),
    [
        (("run", "cases.toml"), "swapdesk trigger run practice makes the twelve"),
        (("reorg", "base", "--depth", "1"), "drop_transaction loses a transaction"),
        (("tamper_amount", "dex_approve"), "refuses to sign is in the Trader's guide"),
    ],
)
def test_what_is_gone_says_what_there_is(
    here: InProcess, words: tuple[str, ...], said: str
) -> None:
    refused = here.refused(2, "REMOVED", "trigger", *words)
    assert said in refused["message"]


def test_case_that_does_not_come_about_says_why(desk: Desk) -> None:
    desk.sandbox.fault("venue_down", venue="hy")
    refused = desk.refused(9, "CASE_FAILED", "trigger", "run", "practice")
    assert "held: no route is usable for btc.bitcoin" in refused["message"]
