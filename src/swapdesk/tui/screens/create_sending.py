"""The half of the create screen that acts: an intent leaves once, and its outcome comes back."""

from __future__ import annotations

from swapdesk.flows.creation.confirm_intent import Consent
from swapdesk.flows.creation.order_verification import NotCreated, Unknown
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.payees.recipients import RecipientCheck, challenge_for
from swapdesk.tui.page import Page
from swapdesk.tui.screens.create_asking import ask_before_sending
from swapdesk.tui.screens.create_words import Step, said_ended, said_looking, said_sent
from swapdesk.tui.widgets.check_line import Check


class Sending(Page):
    """``sent_intent`` is the id of the intent that left. The other half draws and types."""

    step: Step = Step.OPEN
    sent_intent: str | None = None
    failed: Failure | None = None
    """Why nothing was created, once that is known."""
    _intent: Intent | None = None
    _said: Check | None = None

    def consent(self) -> Consent:
        """What must be agreed to before the intent leaves."""
        return Consent()

    def recipient(self) -> RecipientCheck | None:
        """Who gets it, as the form has it."""
        return None

    def hide(self, positions: frozenset[int]) -> None:
        """Draw these places of the recipient as dots."""

    def expired(self) -> bool:
        """Whether the quote of the intent is over."""
        return False

    def show(self) -> None:
        """Draw what stands now."""

    def do_create(self) -> None:
        intent = self._intent
        if intent is None or self.step is not Step.READY:
            return

        def stands() -> bool:
            return self._intent is intent and self.step is Step.READY and not self.expired()

        recipient = self.recipient()
        ask_before_sending(
            self.app,
            self.session.live_guard,
            self.consent(),
            challenge_for(recipient, intent.id) if recipient is not None else None,
            hide=self.hide,
            stands=stands,
            send=lambda: self._send(intent),
        )

    def _send(self, intent: Intent) -> None:
        if self.step is not Step.READY or not self.controls.creates.create(intent):
            self.show_notice(
                "Another order is being created. This one was not sent: press c again later.",
                "warning",
            )
            return
        self.sent_intent = intent.id
        self.step = Step.SENT
        self._said = said_sent(self.now())
        self.step_changed("sent")
        self.show()

    def waiting(self) -> None:
        """No answer came; the desk looks for the order."""
        if self.step is Step.SENT:
            self.step = Step.LOOKING
            self._said = said_looking()
            self.show()

    def ended(self, outcome: NotCreated | Unknown) -> None:
        """The create came to an outcome that is no order."""
        self.refresh_frame()
        self.step, self._said = said_ended(outcome)
        self.failed = outcome.failure
        if self.step is Step.FAILED:
            self._intent = None
        self.step_changed(self.step.value)
        self.show()
