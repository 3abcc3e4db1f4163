"""Consent that is typed before an intent leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App

from swapdesk.flows.creation.confirm_intent import Consent
from swapdesk.flows.payees.recipients import Challenge
from swapdesk.tui.session import LiveGuard
from swapdesk.tui.widgets.overlay import Question, TypedConfirm

FIRST_PAYMENT = "First payment to this address"


def ask_before_sending(
    app: App[Any],
    guard: LiveGuard,
    consent: Consent,
    challenge: Challenge | None,
    *,
    hide: Callable[[frozenset[int]], None],
    stands: Callable[[], bool],
    send: Callable[[], None],
) -> None:
    """One question after the other; ``send`` once all words were typed.

    The first payment to an address asks for characters that ``hide`` takes off the screen
    meanwhile. ``stands`` says after each question whether the intent is still the one that was
    asked about.
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

    def challenged() -> None:
        if challenge is None:
            consented()
            return
        hide(challenge.hidden)

        def typed(yes: bool | None) -> None:
            hide(frozenset())
            if yes and stands():
                consented()

        app.push_screen(TypedConfirm(first_payment(challenge)), typed)

    def live() -> None:
        guard.agree()
        challenged()

    if guard.asks:
        asked(guard.question(), live)
    else:
        challenged()


def first_payment(challenge: Challenge, title: str = FIRST_PAYMENT) -> Question:
    """The question for a group that is hidden on the screen."""
    return Question(
        title,
        challenge.question,
        challenge.answer,
        "compare",
        asked="Four characters",
        wrong="Those are not its characters. Compare the whole address with its source.",
        folds=challenge.folds,
    )
