"""Makes web pages that consist of one file each: a page loads nothing, sends nothing and runs only
its own script.

The templates are in ``web_pages/``: ``NAME.html`` extends ``base.html``, and ``NAME.css`` and
``NAME.js`` are written into the page. Every text is escaped, and characters that hide or reorder
text are made visible. The page shows everything even without its script.
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
"""The name of a page is within its first so many bytes."""
_FOLDER = Path(__file__).parent / "web_pages"


def web_page(name: str, /, **facts: object) -> str:
    """Returns the page called ``name`` as HTML. ``facts`` are the values for its template;
    ``title`` is always needed. Raises jinja2.UndefinedError if a value is missing."""
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
    """Returns True if ``content`` is a web page called ``name`` that this module made."""
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
