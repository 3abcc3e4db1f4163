"""Palettes: every file becomes a theme, every role keeps its contrast, a bad file is a sentence.

Contrast as WCAG 2 defines it; distance as CIE76 in CIELAB (D65); deuteranopia and protanopia as
Machado, Oliveira and Fernandes (2009) at severity 1, on linear light.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest
from textual.color import Color

from swapdesk.palette_files import COLOURS, ROLES, TERMINAL_COLOURS, own_folders, read_palette
from swapdesk.tui.painting import role_style
from swapdesk.tui.terminal import SafeApp
from swapdesk.tui.themes import chosen_theme, load_palettes

Triple = tuple[float, float, float]
Matrix = tuple[Triple, Triple, Triple]

NORMAL: Matrix = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
DEUTERANOPIA: Matrix = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
PROTANOPIA: Matrix = (
    (0.152286, 1.052583, -0.204868),
    (0.114503, 0.786281, 0.099216),
    (-0.003882, -0.048116, 1.051998),
)
EYES = {"normal": NORMAL, "deuter": DEUTERANOPIA, "protan": PROTANOPIA}
_TO_XYZ: Matrix = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
_WHITE = (0.95047, 1.0, 1.08883)


def contrast(one: str, other: str) -> float:
    """From 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def smallest_distance(colours: Sequence[str], eyes: Matrix = NORMAL) -> float:
    """Of the two colours of a group that are most alike to these eyes."""
    seen = [_lab(colour, eyes) for colour in colours]
    return min(
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
        for one, other in combinations(seen, 2)
    )


def _linear(colour: str) -> Triple:
    parts = [part / 255 for part in Color.parse(colour).rgb]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return red, green, blue


def _luminance(colour: str) -> float:
    red, green, blue = _linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _times(matrix: Matrix, vector: Sequence[float]) -> Triple:
    a, b, c = (sum(x * y for x, y in zip(row, vector, strict=True)) for row in matrix)
    return a, b, c


def _lab(colour: str, eyes: Matrix) -> Triple:
    light = [min(1.0, max(0.0, part)) for part in _times(eyes, _linear(colour))]
    x, y, z = (part / white for part, white in zip(_times(_TO_XYZ, light), _WHITE, strict=True))
    fx, fy, fz = (t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29
                  for t in (x, y, z))  # fmt: skip
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


SOURCE = Path(__file__).parents[2] / "src" / "swapdesk" / "tui"


def test_the_own_palettes_are_found() -> None:
    palettes = load_palettes()
    assert {*PAINTED, "terminal", "terminal-light"} <= set(palettes.themes)
    assert palettes.problems == ()
    assert set(palettes.defaults) == set(ROLES)


GROUNDS = ("background", "surface", "panel")
TEXT_ROLES = ("foreground", "muted", "accent", "success", "warning", "error",
              *(role for role in ROLES if role not in ("muted", "rule")))  # fmt: skip
GROUPS = {
    "the four status-*": tuple(role for role in ROLES if role.startswith("status-")),
    "the three route-*": tuple(role for role in ROLES if role.startswith("route-")),
    "amount-up, amount-down": ("amount-up", "amount-down"),
    "the two frames": ("frame-sandbox", "frame-live"),
}
PAINTED = ("ink", "paper", "beacon", "iris", "ember")


def _colours(name: str) -> dict[str, str]:
    theme = load_palettes().themes[name]
    return {**{key: str(getattr(theme, key)) for key in COLOURS}, **theme.variables}


def _ratios(colours: dict[str, str], role: str) -> tuple[float, float]:
    """Contrast on the background, and on the worst of the three grounds."""
    found = [contrast(colours[role], colours[ground]) for ground in GROUNDS]
    return found[0], min(found)


def test_every_file_says_every_role() -> None:
    """What a user's palette may leave out, the desk's own do not."""
    for folder in own_folders():
        for path in folder.glob("*.toml"):
            palette, problems = read_palette(path)
            assert problems == []
            assert palette.name == path.stem
            assert set(palette.colours) == set(COLOURS), path
            assert set(palette.variables) == set(ROLES), path


@pytest.mark.parametrize("name", PAINTED)
def test_every_text_role_can_be_read_on_every_background(name: str) -> None:
    colours, least = _colours(name), 7.0 if name == "beacon" else 4.5
    for role in TEXT_ROLES:
        assert _ratios(colours, role)[1] >= least, (role, _ratios(colours, role))
    on_background = _ratios(colours, "rule")[0]
    low, high = (4.5, 21.0) if name == "beacon" else (1.5, 2.5)
    assert low <= on_background <= high
    # The frame word is background on the frame's colour.
    for frame in ("frame-sandbox", "frame-live"):
        assert _ratios(colours, frame)[0] >= least


def test_in_ember_blue_is_at_most_three_quarters_of_red() -> None:
    colours = _colours("ember")
    for role in (*COLOURS, *ROLES):
        red, _, blue = Color.parse(colours[role]).rgb
        assert blue <= 0.75 * red, role


@pytest.mark.parametrize("name", PAINTED)
def test_the_two_frames_differ_for_every_eye(name: str) -> None:
    colours = _colours(name)
    frames = [colours[role] for role in GROUPS["the two frames"]]
    assert all(smallest_distance(frames, eyes) >= 10 for eyes in EYES.values())


@pytest.mark.parametrize("group", GROUPS)
def test_in_iris_colour_alone_tells_states_and_routes_apart(group: str) -> None:
    colours = [_colours("iris")[role] for role in GROUPS[group]]
    assert all(smallest_distance(colours, eyes) >= 18 for eyes in EYES.values())


@pytest.mark.parametrize("name", ["terminal", "terminal-light"])
def test_the_terminals_own_colours_are_all_there_is(name: str) -> None:
    theme = load_palettes().themes[name]
    assert theme.ansi
    assert all(value in TERMINAL_COLOURS for role, value in _colours(name).items() if role in ROLES)
    assert {_colours(name)[ground] for ground in GROUNDS} == {"ansi_default"}


def test_two_lines_are_a_palette_and_a_file_of_the_same_name_replaces_one(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('name = "mine"\ndark = false\n')
    (tmp_path / "ink.toml").write_text('name = "ink"\naccent = "#ffffff"\n')
    palettes = load_palettes(tmp_path)
    assert palettes.themes["ink"].accent == "#ffffff"
    assert (chosen_theme("mine", palettes), chosen_theme("inc", palettes)) == ("mine", "ink")
    mine, paper = palettes.themes["mine"], palettes.themes["paper"]
    assert mine.variables == paper.variables
    assert mine.primary == paper.primary


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('accent = "red"', ":1: accent 'red' is neither #rrggbb nor ansi_*"),
        ("accent = 1", ":1: accent must be a text"),
        ('accent = "ansi_blu"', "; did you mean ansi_blue?"),
        ('\ncolour = "#ffffff"', ":2: colour is unknown"),
        ('acent = "#ffffff"', ":1: acent is unknown; did you mean accent?"),
        (
            '[variables]\nstatus-wating = "#ffffff"',
            ":2: variables.status-wating is no role; did you mean status-waiting?",
        ),
        ("variables = 1", ":1: variables must be a table"),
        ('dark = "yes"', ":1: dark must be true or false"),
        ('name = "../x"', ":1: name must be"),
        ("= broken", ":1: is no TOML"),
        ("# " + "x" * 70_000, ": exceeds 65536 bytes"),
    ],
)
def test_a_bad_file_is_named_with_line_key_and_nearest(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    palette, (problem,) = read_palette(path)
    assert palette is None
    assert str(problem).startswith(str(path))
    assert said in str(problem)
    palettes = load_palettes(tmp_path)
    assert "ink" in palettes.themes
    assert palettes.problems == (problem,)


def test_every_wrong_value_of_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text('accent = 1\nrule = "#ffffff"\ndark = 3\n')
    assert [one.line for one in load_palettes(tmp_path).problems] == [2, 3, 1]


def test_only_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "gone.toml").symlink_to(tmp_path / "nowhere")
    palettes = load_palettes(tmp_path)
    assert {str(one).rpartition(": ")[2] for one in palettes.problems} == {"is no file"}


async def test_the_desk_starts_with_the_default_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("accent = 1")
    app: SafeApp[None] = SafeApp(theme="nowhere", user_themes=tmp_path)
    async with app.run_test():
        assert app.theme == "ink"
        assert len(app.palette_problems) == 1


async def test_without_colour_there_is_no_hue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app: SafeApp[None] = SafeApp(theme="paper")
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.theme == "hueless"
        assert {app.theme_variables[role] for role in ROLES} == {"ansi_default"}
        assert role_style(app, "status-trouble", bold=True).bold
        assert role_style(app, "frame-live-word").reverse
        strips = app.screen._compositor.render_strips()
        colours = {part.style and part.style.color for strip in strips for part in strip}
        assert all(colour is None or colour.is_default for colour in colours)


async def test_an_empty_variable_takes_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    assert SafeApp(theme="paper").theme == "paper"


async def test_a_theme_of_the_terminals_own_colours_parses(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        'name = "own"\nansi = true\nprimary = "ansi_cyan"\nbackground = "ansi_default"\n'
        'surface = "ansi_default"\npanel = "ansi_default"\naccent = "ansi_cyan"\n'
        '[variables]\nmuted = "ansi_default"\nframe-sandbox = "ansi_cyan"\n'
    )
    app: SafeApp[None] = SafeApp(theme="own", user_themes=tmp_path)
    async with app.run_test() as pilot:
        for name in app.theme_names:
            app.theme = name
            await pilot.pause()
        assert app.theme_variables["rule"]


def test_no_colour_stands_outside_the_palettes() -> None:
    colour = re.compile(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(")
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted([*SOURCE.rglob("*.py"), *SOURCE.rglob("*.tcss")])
        for line in path.read_text(encoding="utf-8").splitlines()
        if colour.search(line)
    ]
    # A QR code is black on white in every palette, or no camera reads it.
    assert found == [
        'themes.py: INK = Style(color="#000000", bgcolor="#ffffff")',
        'themes.py: BLACK, WHITE = Style(bgcolor="#000000"), Style(bgcolor="#ffffff")',
    ]
