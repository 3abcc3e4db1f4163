"""The browser that the tests of pages drive: the one of the system, where there is one."""

from __future__ import annotations

import shutil
from functools import cache
from importlib.util import find_spec
from pathlib import Path

FOLDER = Path(__file__).parent / "browser"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_TOOLS = {"playwright": "playwright", "axe_playwright_python": "axe-playwright-python"}


@cache
def found() -> str | None:
    """Where it is installed."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@cache
def missing() -> str:
    """What the tests in ``browser/`` need and is not installed; empty where they can run."""
    names = [name for module, name in _TOOLS.items() if find_spec(module) is None]
    if found() is None:
        names.append(_NAMES[0])
    return ", ".join(names)
