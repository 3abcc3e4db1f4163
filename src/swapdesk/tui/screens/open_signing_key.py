"""The key that opens what is being signed, alike on every screen that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.tui.commands.command import HIDDEN, READY, CommandState

if TYPE_CHECKING:
    from swapdesk.flows.signing.signing_session import SigningSession

SHOWN_BY_KEY = "you: s shows what is to be signed"
"""Who acts next where something waits for a signature."""


def signing_standing(signing: SigningSession | None) -> CommandState:
    if signing is None:
        return HIDDEN
    return READY if signing.waits else CommandState(verb=f"open {signing.NOUN}")
