"""A newer service under commands that print what it says: members that are added change nothing,
and values that nobody knows are told and lose nothing. Every operation: ``tests/client``; every
page of the desk: ``tests/tui/test_newer_service.py``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cli.desks import Desk
from cli.lying_service import rewriting_service
from cli.newer_answers import KINDS, STATES, Newer, blurred, looks_like_sets, unknown_values
from harness import Result, Sandbox, home_of
from swapdesk.cli.command_error import Exit

CEX = ("0.05", "btc.bitcoin", "eth.ethereum", "--provider", "hy")
"""One venue: which others answer in time, and which is best, differs from run to run."""
CREATE = (*CEX, "--to", "0x" + "1a" * 20, "--yes", "--json")
ORDER = "ORDER"
"""Stands for the id of an order."""
SCENES = {
    "quote": (*CEX, "--json"),
    "swap": CREATE,
    "tokens": ("usd", "--limit", "200", "--json"),
    "orders show": (ORDER, "--json"),
}


class Front(Desk):
    """A home whose service stands behind a proxy; ``newer`` says what the proxy changes."""

    def __init__(self, sandbox: Sandbox, home: Path) -> None:
        super().__init__(sandbox, home, {})
        self.newer, self.order = Newer(), ""
        self._today: dict[str, tuple[Result, Newer]] = {}

    def today(self, name: str) -> tuple[Result, Newer]:
        """The command as it is, given once, and what was met."""
        if name not in self._today:
            newer = Newer()
            self._today[name] = self.scene(name, newer), newer
        return self._today[name]

    def scene(self, name: str, newer: Newer) -> Result:
        """The command with ``newer``, which also says what tokens there are."""
        self.newer = newer
        for path in (self.home / "profiles" / "sandbox").glob("catalog.db*"):
            path.unlink()
        return self(*name.split(), *(self.order if one == ORDER else one for one in SCENES[name]))


@pytest.fixture(scope="module")
def front(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    made = Front(sandbox, tmp_path_factory.mktemp("fronts") / "front")
    with rewriting_service(
        sandbox.ready["url"],
        lambda *answer: made.newer.body(*answer),
        lambda frame: made.newer.frame(frame),
    ) as url:
        ready = {**sandbox.ready, "url": url}
        home_of(replace(sandbox, ready=ready), made.home, place=0, wallet=False)
        made.order = str(made.scene("swap", Newer()).document["serviceId"])
        yield made


def facts(value: Any, path: str) -> Iterator[str]:
    """Every value of a document under its path, without what legitimately varies, and how long
    each list is."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from facts(one, f"{path}.{blurred(name)}")
    elif isinstance(value, list):
        yield f"{path}: {len(value)} of them"
        for one in value:
            yield from facts(one, f"{path}[]")
    else:
        number = not isinstance(value, (str, bool, type(None)))
        yield f"{path}: {'N' if number else blurred(str(value))}"


def test_every_set_has_a_value_that_nobody_knows() -> None:
    assert looks_like_sets() <= unknown_values().keys()
    assert STATES.keys() <= unknown_values().keys()


@pytest.mark.parametrize("name", SCENES)
def test_added_members_change_nothing(front: Front, name: str) -> None:
    newer = Newer(members=KINDS)
    before, after = front.today(name)[0], front.scene(name, newer)
    assert newer.changed
    assert set(facts(after.document, "")) == set(facts(before.document, ""))
    assert (after.code, after.stderr) == (before.code, before.stderr)


@pytest.mark.parametrize(
    ("name", "place", "end", "said"),
    [
        ("quote", "Quote.type", 4, '"type":"HOVERING"'),
        ("tokens", "TokenSecurityScan.resultType", 0, ""),
        ("swap", "Order.displayStatus", 0, '"displayStatus":"HOVERING"'),
    ],
)
def test_a_value_that_nobody_knows_is_told(
    front: Front, name: str, place: str, end: int, said: str
) -> None:
    before, today = front.today(name)
    assert place in today.seen
    after = front.scene(name, Newer(values={place: unknown_values()[place]}))
    assert (after.code, said in after.stdout) == (end, True), after
    # A route of a kind that nobody knows cannot be taken, and is listed as such.
    rows = [
        {one for one in facts(told.document, "") if "of them" in one} for told in (before, after)
    ]
    assert end or rows[0] == rows[1]


def test_orders_that_cannot_be_read_are_counted(front: Front) -> None:
    class Unreadable(Newer):
        def body(self, method: str, path: str, status: int, body: bytes) -> bytes:
            if (method, path.partition("?")[0]) != ("GET", "/v2/orders"):
                return body
            rows = [{"serviceId": "a", "inAmount": "much"}, None]
            return json.dumps({"orders": rows, "total": 2, "totalPages": 1}).encode()

    front.newer = Unreadable()
    said = "2 orders of the service's list cannot be read and are left out, or as last known."
    listed = front("orders", "list", "--json")
    assert (listed.code, listed.document["unreadable"]) == (0, 2), listed
    assert said in listed.stderr
    for words in (("export",), ("show", "deadbeef")):
        assert said in front("orders", *words).stderr


def test_nothing_is_payable_in_a_state_that_nobody_knows(front: Front) -> None:
    """Neither told to be paid nor paid: every state of an order is one of tomorrow."""
    created = front.scene("swap", Newer(values=STATES))
    assert created.code == 0, created
    assert (created.document["deposit"], created.document["displayStatus"]) == (None, "HOVERING")
    assert "send the deposit" not in created.document["next"]
    funded = front("swap", *CREATE, "--fund")
    assert funded.code not in (Exit.DONE, Exit.DEFECT), funded
