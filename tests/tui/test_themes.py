"""Palettes: every file becomes a theme, every role keeps its contrast, a bad file is a sentence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from textual.color import Color

from swapdesk.tui.terminal import SafeApp
from swapdesk.tui.themes import (
    COLOURS,
    ROLES,
    BadPalette,
    chosen_theme,
    load_palettes,
    own_folders,
    read_palette,
)

SOURCE = Path(__file__).parents[2] / "src" / "swapdesk" / "tui"


def test_the_own_palettes_are_found() -> None:
    palettes = load_palettes()
    assert {"ink", "paper"} <= set(palettes.themes)
    assert palettes.problems == ()
    assert set(palettes.defaults) == set(ROLES)


def _own() -> dict[str, dict[str, str]]:
    found = {}
    for name, theme in load_palettes().themes.items():
        if not theme.ansi:
            colours = {key: str(getattr(theme, key)) for key in COLOURS}
            found[name] = {**colours, **theme.variables}
    return found


@pytest.mark.parametrize("name", ["ink", "paper"])
def test_every_text_role_can_be_read_on_every_background(name: str) -> None:
    roles = _own()[name]
    grounds = [Color.parse(roles[key]) for key in ("background", "surface", "panel")]
    for role in (*ROLES, "foreground", "accent", "success", "warning", "error"):
        text = Color.parse(roles[role])
        worst = min(_contrast(text, ground) for ground in grounds)
        if role == "rule":
            assert 1.5 <= _contrast(text, grounds[0]) <= 2.5
        else:
            assert worst >= 4.5, (role, worst)
    frame = (Color.parse(roles["frame-sandbox"]), Color.parse(roles["frame-live"]))
    assert all(_contrast(grounds[0], colour) >= 4.5 for colour in frame)


def _contrast(one: Color, other: Color) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    parts = [part / 255 for part in colour.rgb]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_two_lines_are_a_palette(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('name = "mine"\ndark = false\n')
    palettes = load_palettes(tmp_path)
    mine, paper = palettes.themes["mine"], palettes.themes["paper"]
    assert mine.variables == paper.variables
    assert mine.primary == paper.primary


def test_a_file_of_the_same_name_replaces_one(tmp_path: Path) -> None:
    (tmp_path / "ink.toml").write_text('name = "ink"\naccent = "#ffffff"\n')
    assert load_palettes(tmp_path).themes["ink"].accent == "#ffffff"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('accent = "red"', "accent"),
        ("accent = 1", "accent"),
        ('colour = "#ffffff"', "'colour'"),
        ('[variables]\nhero = "#ffffff"', "variables.hero"),
        ('dark = "yes"', "dark"),
        ('name = "../x"', "name"),
        ("= broken", "cannot be read"),
    ],
)
def test_a_bad_file_is_named_with_key_and_reason(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(BadPalette, match=re.escape(reason)):
        read_palette(path)
    palettes = load_palettes(tmp_path)
    assert "ink" in palettes.themes
    assert palettes.problems[0].startswith("Theme bad.toml: ")


async def test_the_desk_starts_with_the_default_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("accent = 1")
    app: SafeApp[None] = SafeApp(theme="nowhere", user_themes=tmp_path)
    async with app.run_test():
        assert app.theme == "ink"
        assert len(app.theme_problems) == 2


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


def test_names_are_offered_for_an_unknown_one() -> None:
    name, problem = chosen_theme("inc", load_palettes())
    assert name == "ink"
    assert "ink" in problem
    assert any(folder.is_dir() for folder in own_folders())


def test_no_colour_stands_outside_the_palettes() -> None:
    colour = re.compile(r"#[0-9a-fA-F]{3,8}\b|\brgba?\(|\bhsla?\(")
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted([*SOURCE.rglob("*.py"), *SOURCE.rglob("*.tcss")])
        for line in path.read_text(encoding="utf-8").splitlines()
        if colour.search(line)
    ]
    assert found == []
