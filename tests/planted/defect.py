"""One planted defect: a text of the source, and what stands there in its place."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).resolve().parents[2]
SOURCES = "src"


class Defect(Struct, frozen=True):
    """``old`` stands once in ``file``, a path under ``src``; planted, ``new`` stands there.

    ``loses`` says what a user would lose, or the sentence that is broken. ``found_by`` are test
    files or ids, of which at least one test fails then.
    """

    name: str
    loses: str
    file: str
    old: str
    new: str
    found_by: tuple[str, ...]

    def source(self) -> str:
        """The file as it is."""
        return (ROOT / SOURCES / self.file).read_text(encoding="utf-8")

    def planted(self) -> str:
        """The file with the defect."""
        return self.source().replace(self.old, self.new)
