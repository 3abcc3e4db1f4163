"""The section of a version in the changelog, which is the text of its release.

``python .ci/release_notes.py VERSION [--tagged]`` prints it. Before the version has a section of
its own, that of what is unreleased stands for it, unless it is tagged.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

UNRELEASED = "Unreleased"
LIMIT = 125_000
"""Characters of the text of a release."""


def notes_of(changelog: str, version: str) -> str:
    """What stands below the heading of ``version``; empty where it has none."""
    heading = re.compile(rf"^## \[?{re.escape(version)}\]?(?: .*)?$", re.MULTILINE)
    found = heading.search(changelog)
    if found is None:
        return ""
    following = re.compile(r"^## |^\[[^\]]+\]: ", re.MULTILINE).search(changelog, found.end())
    return changelog[found.end() : following.start() if following else None].strip()


def main(version: str, *options: str) -> None:
    changelog = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    notes = notes_of(changelog, version)
    if not notes and "--tagged" not in options:
        notes = notes_of(changelog, UNRELEASED)
    if not 0 < len(notes) <= LIMIT:
        sys.exit(f"The changelog has no section of {version} that can be shown.")
    sys.stdout.write(f"{notes}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
