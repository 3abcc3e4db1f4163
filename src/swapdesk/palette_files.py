"""Reads palettes (the colours of a theme) from files, checks their values, and reports errors with
file and line.

Files are read from the package, then from ``themes/`` of a source checkout, then from the user's
configuration. If two palettes have the same name, the one read later is used. A file with an error
is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, field

from swapdesk.toml_document import ConfigProblem, TomlDocument, nearest, read_document

DEFAULT_THEME = "ink"
LIGHT_THEME = "paper"
PALETTE_LIMIT = 64 * 1024
MOST_FILES = 100
"""The most files of user palettes that are read; the others are ignored."""

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
_FLAGS = {"dark": True, "ansi": False}
_KEYS = ("name", *_FLAGS, *COLOURS, "variables")

_HUES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
TERMINAL_COLOURS = ("ansi_default", *(f"ansi_{hue}" for hue in _HUES),
                    *(f"ansi_bright_{hue}" for hue in _HUES))  # fmt: skip
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_NAME = re.compile(r"[a-z0-9-]{1,32}")


class Palette(Struct):
    """The palette in one valid file. Colours that the file leaves out are filled in later."""

    name: str
    dark: bool = True
    ansi: bool = False
    colours: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)


class PaletteFiles(Struct, frozen=True):
    """Valid palettes by name. The desk's palettes are in ``own``; those and the user's are in
    ``all``, where a user's palette replaces one of the same name."""

    own: dict[str, Palette]
    all: dict[str, Palette]
    problems: tuple[ConfigProblem, ...] = ()


Stamp = tuple[tuple[str, int, int], ...]


def read_palettes(user_folder: Path | None = None, theme_file: Path | None = None) -> PaletteFiles:
    """Reads the desk's palettes, the palettes in ``user_folder``, and the palette in
    ``theme_file``. Raises FileNotFoundError if the desk's palettes are not installed."""
    problems: list[ConfigProblem] = []
    own = _read(_files(own_folders()), problems)
    if DEFAULT_THEME not in own or LIGHT_THEME not in own:
        raise FileNotFoundError(f"the palettes {DEFAULT_THEME} and {LIGHT_THEME} are not installed")
    theirs = _files([user_folder])[:MOST_FILES]
    palettes = own | _read([*theirs, *([theme_file] if theme_file else [])], problems)
    return PaletteFiles(own, palettes, tuple(problems))


def stamp_of(user_folder: Path | None) -> Stamp:
    """Returns a value that changes when a palette file in ``user_folder`` changes."""
    stamp = []
    for path in _files([user_folder])[:MOST_FILES]:
        try:
            about = path.stat()
        except OSError:
            continue
        stamp.append((path.name, about.st_size, about.st_mtime_ns))
    return tuple(stamp)


def own_folders() -> list[Path]:
    """Returns the folders in which the desk's palettes may be: inside the package, and beside
    ``src`` in a source checkout."""
    package = Path(__file__).resolve().parent
    return [package / "themes", package.parents[1] / "themes"]


def read_palette(path: Path) -> tuple[Palette | None, list[ConfigProblem]]:
    """Reads one palette file with colours as ``#rrggbb`` or ``ansi_*``. Returns None and all
    problems if a value cannot be used."""
    document = read_document(path, PALETTE_LIMIT)
    if document.problems:
        return None, document.problems
    content = document.content
    for key in content:
        if key not in _KEYS:
            document.refuse((key,), "is unknown", nearest(key, _KEYS))
    variables = content.get("variables", {})
    if not isinstance(variables, dict):
        document.refuse(("variables",), "must be a table")
        variables = {}
    for role in variables:
        if role not in ROLES:
            document.refuse(("variables", role), "is no role", nearest(role, ROLES))
    name = content.get("name", path.stem)
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        document.refuse(("name",), "must be 1 to 32 of a-z, 0-9 and -")
    for flag in _FLAGS:
        if not isinstance(content.get(flag, True), bool):
            document.refuse((flag,), "must be true or false")
    for path_, value in [
        *(((key,), content[key]) for key in COLOURS if key in content),
        *((("variables", role), value) for role, value in variables.items()),
    ]:
        _check_colour(document, path_, value)
    if document.problems:
        return None, document.problems
    flags = {flag: bool(content.get(flag, default)) for flag, default in _FLAGS.items()}
    colours = {key: content[key] for key in COLOURS if key in content}
    return Palette(str(name), flags["dark"], flags["ansi"], colours, dict(variables)), []


def _check_colour(document: TomlDocument, path: tuple[str, ...], value: object) -> None:
    if not isinstance(value, str):
        document.refuse(path, "must be a text")
    elif _HEX.fullmatch(value) is None and value not in TERMINAL_COLOURS:
        near = nearest(value, TERMINAL_COLOURS) if value.startswith("a") else None
        document.refuse(path, f"{value[:24]!r} is neither #rrggbb nor ansi_*", near)


def _read(paths: Iterable[Path], problems: list[ConfigProblem]) -> dict[str, Palette]:
    palettes: dict[str, Palette] = {}
    for path in paths:
        palette, wrong = read_palette(path)
        problems += wrong
        if palette is not None:
            palettes[palette.name] = palette
    return palettes


def _files(folders: Iterable[Path | None]) -> list[Path]:
    present = [folder for folder in folders if folder is not None and folder.is_dir()]
    return [path for folder in present for path in sorted(folder.glob("*.toml"))]
