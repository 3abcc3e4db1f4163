"""Goldens as plain text, and a small application to put one widget on a screen."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tui import parsed_styles, rest
from tui.desk_run import market, sandbox

__all__ = ["market", "sandbox"]

rest.use()
parsed_styles.use()

GOLDENS = Path(__file__).parent / "goldens"
COUNTS = re.compile(r"\d+(?= chains and \d+ tokens\.| tokens\.| of \d+ tokens\b| tokens ·)")
"""How many chains and tokens the sandbox has: another token changes no golden."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens", action="store_true", help="write the goldens of tests/tui anew"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)``: the text equals ``goldens/<name>.txt``, or becomes it when asked."""

    def check(name: str, text: str) -> None:
        path = GOLDENS / f"{name}.txt"
        text = COUNTS.sub(lambda count: "N" * len(count[0]), text)
        shown = "\n".join(row.rstrip() for row in text.split("\n")).rstrip("\n") + "\n"
        if request.config.getoption("--update-goldens", default=False):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(shown, encoding="utf-8")
            return
        assert path.exists(), f"no golden {path.name}: run with --update-goldens and read it"
        assert shown == path.read_text(encoding="utf-8")

    return check
