"""The key that opens what is being signed, alike on every screen that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from swapdesk.tui.commands.command import HIDDEN, READY, Standing

if TYPE_CHECKING:
    from swapdesk.flows.signing.signing_session import SigningSession
    from swapdesk.tui.base_screen import DeskScreen

SHOWN_BY_KEY = "you: s shows what is to be signed"
"""Who acts next where something waits for a signature."""


def signings_of(screen: DeskScreen) -> list[SigningSession]:
    """What is signed at this desk and not over."""
    return list(getattr(screen.app, "signings", ()))


def signing_standing(signing: SigningSession | None) -> Standing:
    if signing is None:
        return HIDDEN
    return READY if signing.waits else Standing(verb=f"open {signing.NOUN}")


def open_signing(screen: DeskScreen, signing: SigningSession | None) -> None:
    opened: Any = getattr(screen.app, "open_signing", None)
    if opened is not None and signing is not None:
        opened(signing)
