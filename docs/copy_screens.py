"""Copies the screens of the guides from the goldens of ``tests/tui``.

A block behind ``<!-- screen: NAME -->`` holds the golden of the scene NAME. Run it with
``.venv/bin/python docs/copy_screens.py`` after ``--update-goldens``.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "docs" / "guide"
SCENES = ROOT / "tests" / "tui" / "goldens" / "scenes"
SCREEN = re.compile(r"(<!-- screen: (\S+) -->\n```text\n).*?^```$", re.MULTILINE | re.DOTALL)


def with_screens(text: str) -> str:
    """The text of a guide, each screen as its golden has it."""
    return SCREEN.sub(lambda screen: f"{screen[1]}{_golden(screen[2])}```", text)


def _golden(name: str) -> str:
    drawn = (SCENES / f"{name}.txt").read_text(encoding="utf-8")
    return "".join(f"{line.rstrip()}\n" for line in drawn.rstrip().splitlines())


def main() -> None:
    for guide in sorted(GUIDES.glob("*.md")):
        guide.write_text(with_screens(guide.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
