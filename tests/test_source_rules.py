"""What only a few modules may do: a new place is added here on purpose, or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import swapdesk

SOURCES = Path(swapdesk.__file__).parent


@pytest.mark.parametrize(
    ("pattern", "folder", "places"),
    [
        pytest.param(
            r"\bimport_module\b",
            ".",
            {
                "agent/process/wallet_session.py",
                "chain/unused_curve.py",
                "cli/cli_context.py",
                "tui/commands/__init__.py",
                "tui/controllers/navigation.py",
                "tui/session.py",
            },
            id="a module is found by a text, which no import contract sees",
        ),
        pytest.param(
            r"\bfloat\(",
            "tui",
            {"tui/session.py", "tui/tapes/grammar.py"},
            id="a number becomes a float: seconds alone",
        ),
        pytest.param(
            r":,f\}|\.quantize\(",
            "tui",
            set(),
            id="an amount is rounded or written: flows/notation does",
        ),
        pytest.param(
            r"\bModalScreen\b",
            ".",
            {"tui/widgets/overlay.py"},
            id="a screen takes all keys",
        ),
    ],
)
def test_only_these_modules(pattern: str, folder: str, places: set[str]) -> None:
    assert {
        path.relative_to(SOURCES).as_posix()
        for path in (SOURCES / folder).rglob("*.py")
        if re.search(pattern, path.read_text(encoding="utf-8"))
    } == places
