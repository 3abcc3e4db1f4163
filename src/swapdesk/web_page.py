"""Makes web pages that consist of one file each: a page loads nothing, sends nothing and runs only
its own script.

Templates are in ``web_pages/``: ``NAME.html`` extends ``base.html``, and the contents of
``NAME.css`` and ``NAME.js`` beside it are written into the page. Texts may come from services and
from strangers' files. So each text is first freed of characters that hide or reorder others, then
escaped. The page's security policy allows only its own styles and script, by their digests. A page
is complete without its script, too.
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
"""The number of bytes at the beginning of a page that contain its name."""
_FOLDER = Path(__file__).parent / "web_pages"


def web_page(name: str, /, **facts: object) -> str:
    """Returns the page ``name`` with its facts as HTML in UTF-8. ``base.html`` needs the fact
    ``title``. Raises jinja2.UndefinedError if a template uses a fact that was not given."""
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
    """Returns True if a file is a page ``name``, judged by its first bytes."""
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
    """Returns a value for a template: a text without characters that hide or reorder the text
    around it; other values as they are."""
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
    """Returns the page's CSS: the colours of the desk's palettes as custom properties, then the
    shared styles, then those of this page. Printed pages use the light palette; on a screen, the
    reader's system chooses between light and dark."""
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
