"""One checked thing in a sentence: ``✓ Ethereum address, checksum correct``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from swapdesk.flows.check_line import CheckLine
from swapdesk.tui.glyph_state import GlyphState
from swapdesk.tui.glyphs import DOT, REFUSED, TROUBLE, UNKNOWN, VALID
from swapdesk.tui.spans import Line, Span, wrapped


class Verdict(GlyphState):
    """Glyph and role of a check."""

    VALID = (VALID, "status-done")
    NOTE = (DOT, "muted")
    WARNING = (TROUBLE, "status-waiting")
    REFUSED = (REFUSED, "status-trouble")
    UNKNOWN = (UNKNOWN, "muted")


@dataclass(frozen=True, slots=True)
class Check:
    """``text`` in the verdict's colour, ``then`` (what to do) muted after it."""

    verdict: Verdict
    text: str
    then: str = ""


_BY_LEVEL = {
    "ok": Verdict.VALID,
    "note": Verdict.NOTE,
    "warn": Verdict.WARNING,
    "refuse": Verdict.REFUSED,
}


def checks_of(lines: Iterable[CheckLine]) -> list[Check]:
    """What a flow found out, as a form draws it."""
    return [Check(_BY_LEVEL[line.level], line.text) for line in lines]


def check_lines(check: Check, width: int) -> list[Line]:
    """The sentence wrapped under its first word; a valid one keeps the colour in its glyph."""
    role = "muted" if check.verdict is Verdict.VALID else check.verdict.role
    line: Line = [Span(f"{check.verdict.glyph} ", check.verdict.role), Span(check.text, role)]
    if check.then:
        line.append(Span(f" {check.then}", "muted"))
    return wrapped(line, width, indent=2)
