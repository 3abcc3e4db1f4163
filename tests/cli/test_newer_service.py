"""A newer service under every command: members that are added change nothing, and values that
nobody knows are told and lose nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.newer_answers import (
    KINDS,
    STATES,
    Newer,
    looks_like_sets,
    unknown_values,
)
from cli.scenes import (
    NOT_ASKING,
    SCENES,
    Front,
    Scene,
    commands,
    documents,
    front,
    give_wallet,
    told,
)
from harness import Result, Sandbox
from swapdesk.cli.command_error import Exit

ALWAYS = {"quote", "swap", "send", "tokens", "orders show"}
"""Scenes of every run; all others belong to a full one. Frames of the stream are in the session
of the desk (``tests/tui/test_newer_service.py``)."""
UNKNOWN_ALWAYS = (
    ("quote", "Quote.type"),
    ("tokens", "TokenSecurityScan.resultType"),
    ("swap", "Order.displayStatus"),
)
"""Values of every run."""


@pytest.fixture(scope="module")
def standing(
    sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Front]:
    with front(sandbox, tmp_path_factory.mktemp("fronts") / "front") as made:
        # The scenes that pay belong to a full run.
        if pytestconfig.getoption("full"):
            give_wallet(made)
        yield made


def scenes() -> list[object]:
    return [
        pytest.param(one, id=str(one), marks=() if str(one) in ALWAYS else pytest.mark.long)
        for one in SCENES
    ]


def scene_of(name: str) -> Scene:
    return next(one for one in SCENES if str(one) == name)


def test_every_command_has_a_scene() -> None:
    assert {scene.command for scene in SCENES} | NOT_ASKING.keys() == commands().keys()
    assert {str(scene) for scene in SCENES} > ALWAYS


def test_every_set_has_a_value_that_nobody_knows() -> None:
    assert looks_like_sets() <= unknown_values().keys()
    assert STATES.keys() <= unknown_values().keys()


@pytest.mark.parametrize("scene", scenes())
def test_added_members_change_nothing(standing: Front, scene: Scene) -> None:
    today, newer = Newer(), Newer(members=KINDS)
    before = scene.run(standing, today)
    after = scene.run(standing, newer)
    assert bool(newer.objects) is bool(today.objects)
    assert told(scene, after, standing) == told(scene, before, standing)


def kept(scene: Scene, place: str, before: Result, after: Result, standing: Front) -> None:
    """Nothing breaks, no row is lost, and what was told of the place is told as it came."""
    assert after.code in set(Exit) - {Exit.DEFECT}, after
    assert "Traceback" not in after.stderr, after
    if after.code != before.code:
        # Refused, and said so; the plan of a batch says it row by row.
        assert after.stderr.strip() or _REFUSED_ROWS.search(after.stdout), after
        return
    lengths = [
        [line for line in told(scene, one, standing) if _LIST.fullmatch(line)]
        for one in (before, after)
    ]
    assert sum(map(_length, lengths[0])) <= sum(map(_length, lengths[1])), (place, lengths)
    if scene.command == "orders export":
        # It writes what the desk makes of the states.
        return
    model, _, name = place.partition(".")
    if model in _WHOLE and documents(before.stdout) and f'"{name}":' in before.stdout:
        assert str(unknown_values()[place]) in after.stdout, (place, after)


_LIST = re.compile(r"out\.\w+: \d+ of them")
_REFUSED_ROWS = re.compile(r'"problems":[1-9]')
_WHOLE = ("Order", "Quote")
"""Models of which documents have every member."""


def _length(line: str) -> int:
    return int(line.rsplit(maxsplit=3)[1])


@pytest.mark.parametrize(("name", "place"), UNKNOWN_ALWAYS)
def test_a_value_that_nobody_knows_is_told(standing: Front, name: str, place: str) -> None:
    scene, today = scene_of(name), Newer()
    before = scene.run(standing, today)
    assert place in today.seen
    kept(
        scene,
        place,
        before,
        scene.run(standing, Newer(values={place: unknown_values()[place]})),
        standing,
    )


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("scene", SCENES, ids=str)
def test_every_value_that_nobody_knows_is_told(standing: Front, scene: Scene) -> None:
    today = Newer()
    before = scene.run(standing, today)
    for place in sorted(today.seen):
        newer = Newer(values={place: unknown_values()[place]})
        kept(scene, place, before, scene.run(standing, newer), standing)


def test_orders_that_cannot_be_read_are_counted(sandbox: Sandbox, tmp_path: Path) -> None:
    class Unreadable(Newer):
        def body(self, method: str, path: str, status: int, body: bytes) -> bytes:
            if (method, path.partition("?")[0]) != ("GET", "/v2/orders"):
                return body
            rows = [{"serviceId": "a", "inAmount": "much"}, None]
            return json.dumps({"orders": rows, "total": 2, "totalPages": 1}).encode()

    with front(sandbox, tmp_path / "front") as made:
        made.newer = Unreadable()
        said = "2 orders of the service's list cannot be read and are left out, or as last known."
        listed = made("orders", "list", "--json")
        assert (listed.code, listed.document["unreadable"]) == (0, 2), listed
        assert said in listed.stderr
        assert "No orders yet" not in listed.stderr
        for words in (("export",), ("show", "deadbeef")):
            assert said in made("orders", *words).stderr


def test_nothing_is_payable_in_a_state_that_nobody_knows(standing: Front) -> None:
    """Neither told to be paid nor paid: every state of an order is one of tomorrow."""
    created = scene_of("swap").run(standing, Newer(values=STATES))
    assert created.code == 0, created
    assert (created.document["deposit"], created.document["displayStatus"]) == (None, "HOVERING")
    assert "send the deposit" not in created.document["next"]
    funded = scene_of("swap funded").run(standing, Newer(values=STATES))
    assert funded.code not in (Exit.DONE, Exit.DEFECT), funded
