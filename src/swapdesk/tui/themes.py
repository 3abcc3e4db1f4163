"""Palettes: TOML files become Textual themes whose variables are the desk's roles.

Files are read from the package, then from ``themes/`` at the top of a source checkout, then
from the user's configuration; a later file of the same name replaces an earlier one. A bad
file becomes a sentence naming file, key and reason, and the desk starts without it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.color import ANSI_COLOR_NAMES
from textual.theme import BUILTIN_THEMES, Theme

DEFAULT_THEME = "ink"
LIGHT_THEME = "paper"

COLOURS = (
    "primary",
    "secondary",
    "accent",
    "background",
    "surface",
    "panel",
    "success",
    "warning",
    "error",
    "foreground",
)
ROLES = (
    "route-private",
    "route-standard",
    "route-dex",
    "best-quote",
    "status-waiting",
    "status-moving",
    "status-done",
    "status-trouble",
    "amount-up",
    "amount-down",
    "secret",
    "frame-sandbox",
    "frame-live",
    "rule",
    "muted",
)

_HEX = re.compile(r"#[0-9a-fA-F]{6}")


@dataclass(frozen=True, slots=True)
class Palettes:
    """What was found: themes by name, the roles of the default one, one sentence per bad file."""

    themes: Mapping[str, Theme]
    defaults: Mapping[str, str]
    problems: tuple[str, ...] = ()


@dataclass(slots=True)
class _Palette:
    name: str
    dark: bool
    ansi: bool
    colours: dict[str, str]
    variables: dict[str, str]


class BadPalette(ValueError):
    """A palette file that cannot be used; the text names key and reason."""


def load_palettes(user_folder: Path | None = None, theme_file: Path | None = None) -> Palettes:
    """Read all palettes; :class:`FileNotFoundError` when the desk's own are not installed."""
    problems: list[str] = []
    own = _read(_files(own_folders()), problems)
    if DEFAULT_THEME not in own or LIGHT_THEME not in own:
        raise FileNotFoundError(f"the palettes {DEFAULT_THEME} and {LIGHT_THEME} are not installed")
    theirs = _files([user_folder])
    found = own | _read([*theirs, *([theme_file] if theme_file else [])], problems)
    # What a palette leaves out comes from the desk's own, even when the user replaced that one.
    themes = {
        name: _theme(palette, own[DEFAULT_THEME if palette.dark else LIGHT_THEME])
        for name, palette in found.items()
    }
    defaults = {role: own[DEFAULT_THEME].variables[role] for role in ROLES}
    return Palettes(themes, defaults, tuple(problems))


def _read(paths: Iterable[Path], problems: list[str]) -> dict[str, _Palette]:
    found: dict[str, _Palette] = {}
    for path in paths:
        try:
            palette = read_palette(path)
        except BadPalette as reason:
            problems.append(f"Theme {path.name}: {reason}. It is not used.")
        else:
            found[palette.name] = palette
    return found


def own_folders() -> list[Path]:
    """Where the desk's palettes may lie: inside the package, or beside ``src`` in a checkout."""
    package = Path(__file__).resolve().parents[1]
    return [package / "themes", package.parents[1] / "themes"]


def read_palette(path: Path) -> _Palette:
    """One file, checked: colours are ``#rrggbb`` or ``ansi_*``. Missing roles are filled later."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadPalette(f"cannot be read, {error}") from error
    known = {"name", "dark", "ansi", "variables", *COLOURS}
    for key in content:
        if key not in known:
            raise BadPalette(f"the key {key!r} is not known")
    variables = content.get("variables", {})
    if not isinstance(variables, dict):
        raise BadPalette("variables: must be a table")
    for key in variables:
        if key not in ROLES:
            raise BadPalette(f"variables.{key}: is not a role")
    name = content.get("name", path.stem)
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9-]{1,32}", name):
        raise BadPalette("name: must be 1 to 32 of a-z, 0-9 and -")
    return _Palette(
        name=name,
        dark=_flag(content, "dark", True),
        ansi=_flag(content, "ansi", False),
        colours={key: _colour(key, content[key]) for key in COLOURS if key in content},
        variables={key: _colour(f"variables.{key}", value) for key, value in variables.items()},
    )


def _files(folders: Iterable[Path | None]) -> list[Path]:
    present = [folder for folder in folders if folder is not None and folder.is_dir()]
    return [path for folder in present for path in sorted(folder.glob("*.toml"))]


def _flag(content: Mapping[str, Any], key: str, default: bool) -> bool:
    value = content.get(key, default)
    if not isinstance(value, bool):
        raise BadPalette(f"{key}: must be true or false")
    return value


def _colour(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise BadPalette(f"{key}: must be a text")
    if _HEX.fullmatch(value):
        return value
    kind, _, shade = value.partition("_")
    if kind == "ansi" and (shade == "default" or shade in ANSI_COLOR_NAMES):
        return value
    raise BadPalette(f"{key}: {value[:24]!r} is neither #rrggbb nor ansi_*")


def _theme(palette: _Palette, base: _Palette) -> Theme:
    colours = {**base.colours, **palette.colours}
    roles = {**base.variables, **palette.variables}
    own: dict[str, str] = {}
    if palette.ansi:
        # Without these the stylesheet of an ANSI theme does not parse (textual 8.2.8).
        own = dict(BUILTIN_THEMES["ansi-dark" if palette.dark else "ansi-light"].variables)
    primary = colours.pop("primary")
    # Only the ten names of COLOURS are here, none of them one of Theme's other fields.
    rest: dict[str, Any] = dict(colours)
    return Theme(
        palette.name,
        primary,
        dark=palette.dark,
        ansi=palette.ansi,
        variables={**own, **roles},
        **rest,
    )


def chosen_theme(wanted: str, palettes: Palettes) -> tuple[str, str]:
    """The name to use and a problem text: the default one when the wanted does not exist."""
    if wanted in palettes.themes:
        return wanted, ""
    names = ", ".join(sorted(palettes.themes))
    return DEFAULT_THEME, f"There is no theme {wanted[:32]!r}. Themes: {names}."
