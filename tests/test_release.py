"""What a release says of itself: its notes are a section of the changelog."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE
from swapdesk import __version__

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / ".ci" / "release_notes.py"
CHANGELOG = """# Changelog

## [Unreleased]

Not yet.

## [1.10.0] - 2026-12-01

Ten.

### Fixed

- One thing, see [the guide](docs/guide/trader.md).

## 1.1.0

One.

## [1.0.0]

[1.0.0]: https://example.com/1.0.0
"""


@pytest.mark.parametrize(
    ("version", "notes"),
    [
        (
            "1.10.0",
            "Ten.\n\n### Fixed\n\n- One thing, see [the guide](docs/guide/trader.md).",
        ),
        ("1.1.0", "One."),
        ("1.0.0", ""),
        ("1.1", ""),
        ("1.1.00", ""),
        ("Unreleased", "Not yet."),
    ],
)
def test_the_notes_are_the_section_of_the_version(version: str, notes: str) -> None:
    assert runpy.run_path(str(PROGRAM))["notes_of"](CHANGELOG, version) == notes


def told(version: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), version, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)


def test_this_version_has_notes_and_a_tag_without_a_section_is_no_release() -> None:
    ended = told(__version__)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()
    ended = told("9.9.9", "--tagged")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "9.9.9" in ended.stderr
