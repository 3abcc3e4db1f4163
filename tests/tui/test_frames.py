"""SANDBOX and LIVE cannot be taken for one another without colour: word, weight, pattern."""

from __future__ import annotations

import pytest

from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.spans import ascii_line, plain_text
from swapdesk.tui.widgets.frame import FrameState, NoticeRow, NoticeState, World, frame_lines


def frame_of(world: World, glyphs: GlyphSet, width: int) -> list[str]:
    """The header, the rule under it and the bottom rule, as a screen without colours shows."""
    rows = frame_lines(FrameState("Quotes", world, account="alice"), width)
    rows += NoticeRow(NoticeState(rule=world.rule, rule_role=world.role)).lines(width)
    return [plain_text(ascii_line(row) if glyphs is GlyphSet.ASCII else row) for row in rows]


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("glyphs", GlyphSet)
def test_the_two_worlds_differ_in_three_places(glyphs: GlyphSet, width: int) -> None:
    sandbox, live = frame_of(World.SANDBOX, glyphs, width), frame_of(World.LIVE, glyphs, width)
    assert "SANDBOX" in sandbox[0]
    assert "LIVE" in live[0]
    assert "LIVE" not in sandbox[0]
    # Light and broken above and below, against heavy and whole.
    assert all(one != other for one, other in zip(sandbox, live, strict=True))
    assert len(set(sandbox[1])) == len(set(live[1])) == 1
    assert set(sandbox[1]).isdisjoint(live[1])
    assert set(sandbox[2]).isdisjoint(live[2])


def test_the_word_of_the_frame_stands_for_nothing_else() -> None:
    """The stream of orders is called stream, and never live."""
    for world in World:
        rows = frame_of(world, GlyphSet.UNICODE, 120)
        assert "\n".join(rows).lower().count("live") == (1 if world is World.LIVE else 0)
