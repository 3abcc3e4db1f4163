"""One checked thing in a sentence: ``✓ Ethereum address, checksum correct``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from swapdesk.tui.glyphs import DOT, REFUSED, TROUBLE, UNKNOWN, VALID
from swapdesk.tui.spans import Line, Span, wrapped


class Verdict(Enum):
    """Glyph and role of a check."""

    VALID = (VALID, "status-done")
    NOTE = (DOT, "muted")
    WARNING = (TROUBLE, "status-waiting")
    REFUSED = (REFUSED, "status-trouble")
    UNKNOWN = (UNKNOWN, "muted")

    @property
    def glyph(self) -> str:
        return self.value[0]

    @property
    def role(self) -> str:
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Check:
    """``text`` in the verdict's colour, ``then`` (what to do) muted after it."""

    verdict: Verdict
    text: str
    then: str = ""


def check_lines(check: Check, width: int) -> list[Line]:
    """The sentence wrapped under its first word; a valid one keeps the colour in its glyph."""
    role = "muted" if check.verdict is Verdict.VALID else check.verdict.role
    line: Line = [Span(f"{check.verdict.glyph} ", check.verdict.role), Span(check.text, role)]
    if check.then:
        line.append(Span(f" {check.then}", "muted"))
    return wrapped(line, width, indent=2)
