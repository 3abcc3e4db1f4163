"""Swaps on chains and deposits that are not over, as rows of the first screen; pure."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.flows.signing.signing_session import SigningSession, Stage
from swapdesk.tui.glyphs import MOVING, TROUBLE, WAITING
from swapdesk.tui.screens.sign_facts import subject_of
from swapdesk.tui.spans import LineLike, Span

MOST = 3
_SAID = {
    Stage.REVIEW: (WAITING, "status-waiting", "waits for your signature. s shows it."),
    Stage.LOCKED: (WAITING, "status-waiting", "waits for the pass phrase. s asks for it."),
    Stage.WORKING: (MOVING, "status-moving", "is under way. s shows its steps."),
    Stage.STOPPED: (TROUBLE, "status-waiting", "stopped. s shows why, and goes on."),
}


def under_way(sessions: Sequence[SigningSession]) -> list[LineLike]:
    """One row each, those first that wait for the trader."""
    found = sorted(sessions, key=lambda one: not one.waits)
    rows: list[LineLike] = []
    for one in found[:MOST]:
        glyph, role, said = _SAID[one.stage]
        rows.append(
            [Span(f"{glyph} ", role), Span(subject_of(one), bold=True), Span(f"  {said}", role)]
        )
    if len(found) > MOST:
        rows.append(Span(f"  and {len(found) - MOST} more", "muted"))
    return rows
