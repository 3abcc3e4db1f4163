"""What must be agreed to, word by word, before an intent leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App

from swapdesk.flows.consent import Consent
from swapdesk.tui.live_guard import LiveGuard
from swapdesk.tui.widgets.typed_confirm import Question, TypedConfirm


def ask_before_sending(
    app: App[Any],
    guard: LiveGuard,
    consent: Consent,
    *,
    stands: Callable[[], bool],
    send: Callable[[], None],
) -> None:
    """One question after the other; ``send`` once all words were typed.

    ``stands`` says after each of them whether the intent is still the one that was asked about.
    """

    def asked(question: Question, agreed: Callable[[], None]) -> None:
        def typed(yes: bool | None) -> None:
            if yes and stands():
                agreed()

        app.push_screen(TypedConfirm(question), typed)

    def consented() -> None:
        if not consent.phrase:
            send()
            return
        asked(
            Question("Before this order is created", consent.lines, consent.phrase, "agree"), send
        )

    def live() -> None:
        guard.agree()
        consented()

    if guard.asks:
        asked(guard.question(), live)
    else:
        consented()
