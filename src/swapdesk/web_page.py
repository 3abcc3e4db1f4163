"""A web page as one file: nothing is fetched, nothing is sent, no script but its own runs.

Templates stand in ``web_pages/``: ``NAME.html`` extends ``base.html`` and may have a ``NAME.css``
and a ``NAME.js`` beside it, which are written into the page. Texts come from services and from
files of strangers: each is made safe to show, then escaped, and the policy of the page lets no
other style or script run than these, by their digests. A page without its script is whole, too.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from swapdesk.palette_files import DEFAULT_THEME, LIGHT_THEME, Palette, read_palettes
from swapdesk.wire.encoding.text import safe_text

LONGEST_TEXT = 4_000
MARKED_WITHIN = 200
"""Bytes from the beginning of a page within which it names itself."""
_FOLDER = Path(__file__).parent / "web_pages"


def web_page(name: str, /, **facts: object) -> str:
    """Returns the page ``name`` with its facts as HTML in UTF-8. ``base.html`` needs ``title``.
    Raises jinja2.UndefinedError for a fact that a template uses and nobody gave."""
    style, script = _style(name), _part(f"{name}.js")
    template = _environment().get_template(f"{name}.html")
    return template.render(
        facts,
        page=name,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
    )


def is_page(name: str, content: bytes) -> bool:
    """True if a file is a page ``name``, by its first bytes."""
    mark = f'<meta name="generator" content="swapdesk {name}">'
    return content.startswith(b"<!doctype html>") and mark.encode() in content[:MARKED_WITHIN]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["brief"] = safe_text
    return environment


def _shown(value: object) -> object:
    """A value as a template writes it: text that cannot hide or reorder its neighbours."""
    return safe_text(value, LONGEST_TEXT) if type(value) is str else value


@cache
def _part(name: str) -> str:
    path = _FOLDER / name
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _policy(style: str, script: str) -> str:
    allowed = f"'{_digest(script)}'" if script else "'none'"
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src {allowed};"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _style(name: str) -> str:
    """The desk's palettes as custom properties (light on paper, else as the reader's system), then
    the styles of all pages and of this one."""
    palettes = read_palettes().own
    light, dark = palettes[LIGHT_THEME], palettes[DEFAULT_THEME]
    return (
        f":root {{ color-scheme: light; {' '.join(_properties(light))} }}\n"
        "@media screen and (prefers-color-scheme: dark) {\n"
        f":root {{ color-scheme: dark; {' '.join(_properties(dark))} }}\n}}\n"
        + _part("base.css")
        + _part(f"{name}.css")
    )


def _properties(palette: Palette) -> Iterator[str]:
    for role, colour in (palette.colours | palette.variables).items():
        yield f"--{role}: {colour};"
