"""Which keys work where the form of a create is; pure."""

from __future__ import annotations

from collections.abc import Callable

from swapdesk.flows.creation.confirm_intent import Consent
from swapdesk.flows.creation.create_checks import Checked
from swapdesk.tui.commands.command import HIDDEN, READY, Command, CommandState
from swapdesk.tui.commands.create import (
    Back,
    Complete,
    Edit,
    FieldAbove,
    FieldBelow,
    NewQuote,
    NextField,
)
from swapdesk.tui.commands.everywhere import HideAmounts, Keys, Palette, ReleaseMouse
from swapdesk.tui.screens.create_state import BUSY, Step

NOT_WHOLE = "enlarge the window"


def standing_of(
    verb: type[Command],
    step: Step,
    *,
    typing: bool,
    expired: bool,
    asked: str = "",
    most: int = 1,
    on_chain: bool = False,
    at_end: Callable[[], bool],
    locked: Callable[[], str],
) -> CommandState:
    """``typing``: a field has the focus; else the intent has, which is locked or can be.
    ``at_end``: enter locks it for review. ``locked`` says why nothing can be created, if so.
    ``asked`` says why no new quote can be asked for; one may cost ``most`` calls."""
    if verb in (Back, HideAmounts, ReleaseMouse):
        return READY
    if step in BUSY:
        return HIDDEN
    if verb in (Keys, Palette):
        return READY
    if verb in (Complete, FieldBelow, FieldAbove):
        return READY if typing else HIDDEN
    over = step is Step.FAILED or expired
    if verb is Edit:
        return HIDDEN if typing else READY
    if verb is NextField:
        if not typing and (step is Step.READY or over or not at_end()):
            return HIDDEN
        return CommandState(verb="freeze intent") if at_end() else READY
    if verb is NewQuote:
        if not over:
            return HIDDEN
        key = NewQuote.IN_FIELDS if typing else ""
        if asked:
            return CommandState(locked=asked, key=key)
        return CommandState(cost="1 quote" if most == 1 else f"1 to {most} quotes", key=key)
    if typing or over:
        return HIDDEN
    why, named = locked(), "start signing" if on_chain else ""
    return CommandState(locked=why, verb=named) if why else CommandState(verb=named)


def locked(
    checked: Checked, consent: Consent, *, connected: bool, frozen: bool, whole: bool
) -> str:
    """Why the create key does not work; empty when it does. ``whole``: the frozen intent is on
    the screen with everything in it."""
    problems = checked.problems
    if problems:
        return f"{problems} {'problem' if problems == 1 else 'problems'}"
    if consent.refused is not None:
        return consent.refused.rstrip(".")
    if not connected:
        return "the service is not connected"
    if not frozen:
        return "enter freezes the intent"
    return "" if whole else NOT_WHOLE
