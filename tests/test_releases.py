"""What a user of an earlier release has works unchanged: settings, keys and themes.

``tests/releases`` has a folder for each release: a configuration with every setting and a key for
every verb, a theme with every role, and the recipes of the scripter's guide, which
``test_guides.py`` runs.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pytest

from swapdesk.paths import Home, write_private
from swapdesk.settings import Options, load_settings
from swapdesk.tui.commands import all_commands
from swapdesk.tui.commands.keymap import checked_keymap
from swapdesk.tui.themes import chosen_theme, load_palettes

RELEASES = sorted((Path(__file__).parent / "releases").iterdir())
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"

of_each_release = pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)


@pytest.fixture
def home(release: Path, tmp_path: Path) -> Home:
    """A home with the configuration of a release and the files that it names."""
    home = Home.at(tmp_path)
    shutil.copy(release / "config.toml", home.config_file)
    write_private(home.config / "prod.secret", b"prod-secret\n")
    (home.config / "authorities.pem").write_text(CERTIFICATE)
    return home


@of_each_release
def test_every_setting_is_read(release: Path, home: Home) -> None:
    written = tomllib.loads((release / "config.toml").read_text())
    for profile, values in written["profiles"].items():
        settings = load_settings({}, home, Options(profile=profile))
        assert settings.problems == ()
        assert settings.theme.value == values.get("theme", written["theme"])
        assert settings.url.value == values.get("url")


@of_each_release
def test_every_key_goes_to_its_verb(release: Path, home: Home) -> None:
    settings = load_settings({}, home)
    assert len(settings.keys) > 150
    keymap, problems = checked_keymap(settings.keys, all_commands(), settings.key_problem)
    assert problems == []
    assert keymap.keys() == settings.keys.keys()


@of_each_release
def test_its_theme_is_drawn_as_it_was_written(release: Path, tmp_path: Path) -> None:
    written = tomllib.loads((release / "dusk.toml").read_text())
    shutil.copy(release / "dusk.toml", tmp_path)
    palettes = load_palettes(tmp_path)
    assert palettes.problems == ()
    assert chosen_theme("dusk", palettes) == "dusk"
    theme = palettes.themes["dusk"]
    roles = written.pop("variables")
    assert {role: theme.variables[role] for role in roles} == roles
    assert {name: getattr(theme, name) for name in written} == written
