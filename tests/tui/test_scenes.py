"""Every scene at its sizes and in ASCII: its goldens, and the rules all screens share."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from swapdesk.tui.base_screen import DeskScreen
from swapdesk.tui.commands import everywhere_commands
from swapdesk.tui.commands.key_names import shown_key, split_keys
from swapdesk.tui.glyphs import GlyphSet
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.tui.widgets.overlay import Overlay
from swapdesk.tui.widgets.text_field import TextField
from tui.conftest import GOLDENS
from tui.desk_run import DeskRun, Market
from tui.picture import (
    ALL_SIZES,
    ASCII_SIZE,
    ROOMY,
    SMALLEST,
    Picture,
    faults_of,
    take,
    take_all,
)
from tui.scenes import Scene, all_scenes, go_on, tours

Golden = Callable[[str, str], None]
SCENES = all_scenes()
PLAIN = f"{ASCII_SIZE[0]}x{ASCII_SIZE[1]}"
ASCII = f"{PLAIN}-ascii"
GOES = {verb.id for verb in everywhere_commands()}
"""What the application does when the screen does not."""


@pytest.mark.parametrize("tour", tours(SCENES), ids=lambda tour: "+".join(one.name for one in tour))
async def test_scene(
    market: Market, golden: Golden, subtests: pytest.Subtests, tour: list[Scene]
) -> None:
    tour[0].begin(market)
    before = None
    in_ascii: set[type] = set()
    async with market.desk((80, 24)) as run:
        for one in tour:
            with subtests.test(scene=one.name):
                if before is not None:
                    market.network.after = one.answers
                    await take(run, SMALLEST)
                await go_on(run, before, one)
                await draw(run, golden, one, in_ascii)
            before = one


async def draw(run: DeskRun, golden: Golden, one: Scene, in_ascii: set[type]) -> None:
    """In ASCII each kind of page of a tour is drawn once: it is the page that has its glyphs
    written in another way, whatever it shows."""
    assert footer_faults(run) == []
    overlay = isinstance(run.app.screen, Overlay)
    pictures = await take_all(run, one.golden_sizes)
    kind = type(run.app.screen)
    if one.own_ascii or kind not in in_ascii:
        in_ascii.add(kind)
        pictures[ASCII] = await take(run, ASCII_SIZE, GlyphSet.ASCII)
        # Names of tokens keep their own characters.
        assert not re.findall("[●○◐✗▲▌→━╌─·]", pictures[ASCII].text), pictures[ASCII].text
    for label, picture in pictures.items():
        found = faults_of(picture, decides=one.decides, overlay=overlay)
        assert not found, "\n".join([label, *found, *picture.rows])
        if label in golden_labels(one):
            golden(f"scenes/{one.name}-{label}", one.mask(run, picture.text))
    if ASCII in pictures and not one.own_ascii:
        assert pictures[ASCII].words_in_ascii == pictures[PLAIN].words_in_ascii
    assert footer_faults(run) == []


def golden_labels(one: Scene) -> set[str]:
    labels = {f"{width}x{height}" for width, height in one.golden_sizes}
    return labels | {ASCII} if one.own_ascii else labels


def test_every_golden_of_a_scene_is_drawn() -> None:
    drawn = {f"{one.name}-{label}" for one in SCENES for label in golden_labels(one)}
    drawn |= {f"{name}-160x50" for name in PROJECTED}
    assert {path.stem for path in (GOLDENS / "scenes").iterdir()} == drawn


async def test_a_desk_opened_at_a_size_looks_like_one_resized_to_it(
    market: Market, golden: Golden
) -> None:
    """From the quotes to the locked intent: each equals the picture of its scene."""
    async with market.desk(ROOMY) as run:

        async def compare(name: str) -> None:
            picture = await take(run, ROOMY)
            golden(f"scenes/{name}-{picture.label}", picture.text)

        await run.to_quotes()
        await run.calm()
        await compare("quotes")
        await run.press("enter")
        await run.type("@bob")
        await compare("create-form")
        await run.press("enter")
        await run.still()
        await compare("create-frozen")


PROJECTED = ("demo-done", "inspect-held")


@pytest.mark.parametrize("name", PROJECTED)
async def test_what_is_shown_to_others_is_also_drawn_for_a_projector(
    market: Market, golden: Golden, name: str
) -> None:
    (one,) = [one for one in SCENES if one.name == name]
    one.begin(market)
    async with market.desk((160, 50)) as run:
        await one.reach(run)
        picture = await take(run, (160, 50))
        assert faults_of(picture) == []
        golden(f"scenes/{one.name}-{picture.label}", one.mask(run, picture.text))


def footer_faults(run: DeskRun) -> list[str]:
    """Keys of the footer that do nothing in this state, or something else than they say."""
    screen = run.app.screen
    if not isinstance(screen, DeskScreen):
        return []
    faults = []
    active, shown = screen.active_bindings, {hint.verb for hint in screen._keys.hints}
    for verb, standing in screen.verbs.working():
        if not verb.in_footer or (standing.verb or verb.words) not in shown:
            continue
        # A field submits and a list chooses by itself; the screen listens to both.
        keys = [key for key in split_keys(verb.key) if key != "enter"]
        if standing.key:
            keys = [key for key in keys if shown_key(key) == standing.key]
        if keys and not any(
            key in active and active[key].binding.action == f"command('{verb.id}')" for key in keys
        ):
            faults.append(f"{keys} do not {verb.words}")
        if keys and not (hasattr(screen, verb.method) or verb.id in GOES):
            faults.append(f"{verb.id} is not done by anything")
    if "enter" in {hint.key for hint in screen._keys.hints}:
        focused = screen.focused
        listens = isinstance(focused, (LineTable, TextField)) or "enter" in active
        if not listens:
            faults.append("enter does nothing")
    return faults


LETTERS = "abcdefghijklmnopqrstuvwxyzYJBGX019?/="


@pytest.mark.parametrize("name", ["swap-line", "tokens", "create-form", "orders", "palette"])
async def test_every_letter_types_in_a_text_field(market: Market, name: str) -> None:
    """Also those that are keys elsewhere, in every field of the screen."""
    (one,) = [one for one in SCENES if one.name == name]
    one.begin(market)
    async with market.desk((120, 40)) as run:
        await one.reach(run)
        if name == "orders":
            await run.press("slash")
        stands = run.app.screen
        fields = [field for field in stands.query(TextField) if field.display and field.can_focus]
        assert fields
        for field in fields:
            field.focus()
            field.set_value("1")
            await run.pilot.pause()
            await run.type(LETTERS)
            assert run.app.screen is stands
            assert field.value == f"1{LETTERS}"


def picture(*rows: str, size: tuple[int, int] = (80, 24)) -> Picture:
    """A picture that keeps the rules, with these rows in its body."""
    width, height = size
    body = [*rows, *[""] * (height - 4 - len(rows))]
    foot = ["  Funds in your wallet.", "  enter go on   esc back" + " " * 40 + "? keys"]
    return Picture((" SANDBOX  Swap", "╌" * width, *body, *foot), size)


ADDRESSES = ("  to 0x91c2…b3E9", "  to bc1q …5mdq", "  0x 71C7 …976F")
GOOD = picture()
KEYS = "  a b   c d   e f   g h   i j   k l   m n          ? keys"


RULES = [
    *((picture("▌ 1   standard  Halyard  14.524108", size=size), False, "")
      for size in ALL_SIZES),
    (picture("x" * 81), False, "81 cells"),
    (picture("漢" * 41), False, "82 cells"),
    (picture(" x"), False, "margin"),
    (picture("> text"), False, ""),
    (picture(">text"), False, "margin"),
    (picture("  0.5123… BTC"), False, "cuts the number"),
    (picture("  sent to 0x 71C7 …976F"), False, ""),
    (picture("  Halyard E…"), False, ""),
    *((picture(row), False, "") for row in ADDRESSES),
    *((picture(row), True, "cuts the address") for row in ADDRESSES),
    (Picture(("Swap", *GOOD.rows[1:]), GOOD.size), False, "no frame"),
    (Picture((GOOD.rows[0], "╌" * 79, *GOOD.rows[2:]), GOOD.size), False, "no frame rule"),
    (Picture((*GOOD.rows[:-2], "  nothing", GOOD.rows[-1]), GOOD.size), False, "no money line"),
    (Picture((*GOOD.rows[:-1], KEYS), GOOD.size), False, "7 keys"),
    (Picture((*GOOD.rows[:-1], "  enter go"), GOOD.size), False, "no keys"),
]  # fmt: skip


def test_a_picture_is_held_against_the_rules() -> None:
    for shown, decides, fault in RULES:
        found = " ".join(faults_of(shown, decides=decides))
        assert (fault in found) if fault else not found, (fault, found, shown.rows)
