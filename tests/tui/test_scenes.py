"""Every scene at the four sizes and in ASCII: its golden, and the rules all screens share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from swapdesk.tui.widgets.overlay import Overlay
from tui.desk_run import Market
from tui.picture import ALL_SIZES, Picture, faults_of, take_all
from tui.scenes import Scene, all_scenes

Golden = Callable[[str, str], None]
SCENES = all_scenes()


@pytest.mark.parametrize("one", SCENES, ids=lambda one: one.name)
async def test_scene(market: Market, golden: Golden, one: Scene) -> None:
    one.prepare(market)
    async with market.desk((80, 24)) as run:
        await one.reach(run)
        overlay = isinstance(run.app.screen, Overlay)
        for picture in await take_all(run):
            found = faults_of(picture, decides=one.decides, overlay=overlay)
            assert not found, "\n".join([picture.label, *found, *picture.rows])
            golden(f"scenes/{one.name}-{picture.label}", one.mask(run, picture.text))


def picture(*rows: str, size: tuple[int, int] = (80, 24)) -> Picture:
    """A picture that keeps the rules, with these rows in its body."""
    width, height = size
    body = [*rows, *[""] * (height - 4 - len(rows))]
    foot = ["  Funds in your wallet.", "  enter go on   esc back" + " " * 40 + "? keys"]
    return Picture((" SANDBOX  Swap", "╌" * width, *body, *foot), size)


def test_a_picture_that_keeps_the_rules_has_no_fault() -> None:
    for size in ALL_SIZES:
        assert faults_of(picture("▌ 1   standard  Halyard  14.524108", size=size)) == []


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("x" * 81, "81 cells"),
        ("漢" * 41, "82 cells"),
        (" x", "margin"),
        ("> text", ""),
        (">text", "margin"),
        ("  0.5123… BTC", "cuts the number"),
        ("  sent to 0x 71C7 …976F", ""),
        ("  Halyard E…", ""),
    ],
)
def test_a_fault_is_found(row: str, fault: str) -> None:
    found = " ".join(faults_of(picture(row)))
    assert (fault in found) if fault else not found


@pytest.mark.parametrize("row", ["  to 0x91c2…b3E9", "  to bc1q …5mdq", "  0x 71C7 …976F"])
def test_where_something_is_decided_addresses_are_whole(row: str) -> None:
    assert faults_of(picture(row)) == []
    assert "cuts the address" in " ".join(faults_of(picture(row), decides=True))


def test_frame_and_foot_are_looked_for() -> None:
    good = picture()
    keys = "  a b   c d   e f   g h   i j   k l   m n          ? keys"
    for rows, fault in [
        (("Swap", *good.rows[1:]), "no frame"),
        ((good.rows[0], "╌" * 79, *good.rows[2:]), "no frame rule"),
        ((*good.rows[:-2], "  nothing", good.rows[-1]), "no money line"),
        ((*good.rows[:-1], keys), "7 keys"),
        ((*good.rows[:-1], "  enter go"), "no keys"),
    ]:
        assert fault in " ".join(faults_of(Picture(rows, good.size)))
