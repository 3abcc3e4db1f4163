"""Turns palettes (files of colours) into Textual themes. The variables of a theme are the desk's
roles, such as ``muted`` or ``rule``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import NoColor
from textual.theme import BUILTIN_THEMES, Theme

from swapdesk.palette_files import (
    COLOURS,
    DEFAULT_THEME,
    LIGHT_THEME,
    ROLES,
    Palette,
    read_palettes,
)
from swapdesk.toml_document import ConfigProblem

HUELESS = "hueless"
"""The name of the theme for ``NO_COLOR``, which draws everything in the terminal's own foreground
and background."""


class Palettes(Struct, frozen=True):
    """All themes by name, the default theme's colours by role, and the problems of palette
    files."""

    themes: Mapping[str, Theme]
    defaults: Mapping[str, str]
    problems: tuple[ConfigProblem, ...] = ()


def load_palettes(user_folder: Path | None = None, theme_file: Path | None = None) -> Palettes:
    """Reads the desk's palettes, the palettes in ``user_folder``, and the file ``theme_file``.
    Completes their colours. Raises FileNotFoundError if the desk's palettes are not installed."""
    files = read_palettes(user_folder, theme_file)
    # What a palette leaves out comes from the desk's own, even when the user replaced that one.
    themes = {
        name: _theme(palette, files.own[DEFAULT_THEME if palette.dark else LIGHT_THEME])
        for name, palette in files.all.items()
    }
    defaults = {role: files.own[DEFAULT_THEME].variables[role] for role in ROLES}
    return Palettes(themes, defaults, files.problems)


def hueless_theme(terminal: Theme) -> Theme:
    """Returns a theme that draws everything in the terminal's own foreground and background. Other
    settings come from ``terminal``."""
    plain = dict.fromkeys(ROLES, "ansi_default")
    colours: dict[str, Any] = dict.fromkeys(COLOURS, "ansi_default")
    return Theme(HUELESS, dark=terminal.dark, ansi=True,
                 variables={**terminal.variables, **plain}, **colours)  # fmt: skip


def _theme(palette: Palette, base: Palette) -> Theme:
    colours = {**base.colours, **palette.colours}
    roles = {**base.variables, **palette.variables}
    own: dict[str, str] = {}
    if palette.ansi:
        # Without these the stylesheet of an ANSI theme does not parse (textual 8.2.8).
        own = dict(BUILTIN_THEMES["ansi-dark" if palette.dark else "ansi-light"].variables)
    # Only the ten names of COLOURS are here, none of them one of Theme's other fields.
    rest: dict[str, Any] = dict(colours)
    return Theme(
        palette.name,
        dark=palette.dark,
        ansi=palette.ansi,
        variables={**own, **roles},
        **rest,
    )


def chosen_theme(wanted: str, palettes: Palettes) -> str:
    """Returns ``wanted`` if there is a theme of this name, otherwise the name of the default
    theme."""
    return wanted if wanted in palettes.themes else DEFAULT_THEME


INK = Style(color="#000000", bgcolor="#ffffff")
BLACK, WHITE = Style(bgcolor="#000000"), Style(bgcolor="#ffffff")

_KEPT = {(style.color, style.bgcolor) for style in (INK, BLACK, WHITE)}


class NoColorButInk(NoColor):
    """Removes all colours for ``NO_COLOR``, except the black on white of QR codes, which would
    otherwise be unreadable."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        bare = super().apply(segments, background)
        return [
            segment
            if segment.style and (segment.style.color, segment.style.bgcolor) in _KEPT
            else plain
            for segment, plain in zip(segments, bare, strict=True)
        ]
