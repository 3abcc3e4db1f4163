"""Where a create is, what may follow, and what the page says of it; pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum

from swapdesk.flows.creation.confirm_intent import Consent
from swapdesk.flows.creation.create_checks import Checked
from swapdesk.flows.creation.order_verification import CreateUnknown, NotCreated
from swapdesk.flows.failure_messages import OUTCOME_UNKNOWN, Failure
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.notation import clock_time, countdown, table_amount
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.flows.quotes.requote import follow_route
from swapdesk.flows.tracking.announcements import (
    code_and_request,
    quote_ended,
    rate_worse,
    refused_fields,
)
from swapdesk.tui.commands.create import NewQuote
from swapdesk.tui.widgets.form_fields import Check, Verdict
from swapdesk.tui.widgets.frame import MoneyState

URGENT_SECONDS = 15
ASKS_AGAIN = ("you: ask for new quotes", "you: try again")
"""What a failure asks for that the key of this screen does."""
FUNDS = "in your wallet."
CHANGED_MEANWHILE = "A name means another address now. Nothing was created."


class Step(Enum):
    """Where the form is. From ``SENT`` on nothing can be edited or sent again."""

    OPEN = "open"
    READY = "ready"
    FAILED = "failed"
    SENT = "sent"
    LOOKING = "looking"
    UNKNOWN = "unknown"


BUSY = (Step.SENT, Step.LOOKING, Step.UNKNOWN)


@dataclass
class CreateState:
    """One chosen route on its way to an order.

    ``intent`` is what the create key acts on, locked for review; ``sent_intent`` the id of the one
    that left. ``failed`` says why nothing was created, once that is known; ``said`` is what stands
    in place of the verdict. ``was`` is the figure of the quote before this one.
    """

    board: QuoteResult
    row: RankedQuote
    step: Step = Step.OPEN
    intent: Intent | None = None
    sent_intent: str | None = None
    said: Check | None = None
    failed: Failure | None = None
    was: Decimal | None = None

    @property
    def busy(self) -> bool:
        """Whether it left, so that nothing can be edited."""
        return self.step in BUSY

    def edited(self) -> None:
        """Another value: nothing is locked any more."""
        self.intent, self.step = None, Step.OPEN

    def lock(self, intent: Intent) -> None:
        self.intent, self.step = intent, Step.READY

    def unlock(self) -> None:
        self.intent = None
        if self.step is Step.READY:
            self.step = Step.OPEN

    def sent(self, intent: Intent, now: datetime) -> None:
        self.sent_intent = intent.id
        self.step, self.said = Step.SENT, said_sent(now)

    def looking(self) -> None:
        """No answer came; the desk looks for the order."""
        self.step, self.said = Step.LOOKING, said_looking()

    def ended(self, outcome: NotCreated | CreateUnknown) -> None:
        """The create came to an outcome that is no order."""
        self.step, self.said = said_ended(outcome)
        self.failed = outcome.failure
        if self.step is Step.FAILED:
            self.intent = None

    def requoted(self, board: QuoteResult) -> bool:
        """Take the same route of a new board; False when it is gone."""
        before, row = self.row, follow_route(board, self.row)
        if row is None:
            self.step, self.said = Step.FAILED, said_gone()
            return False
        self.step, self.said = Step.OPEN, None
        self.board, self.row = board, row
        self.was = before.figure if row.figure != before.figure else None
        return True


def verdict_of(
    step: Step,
    row: RankedQuote,
    checked: Checked,
    consent: Consent,
    now: datetime,
    *,
    typing: bool,
) -> Check:
    """The last line of the panel while the form is open or ready."""
    if row.expired(now):
        return Check(
            Verdict.WARNING, quote_ended(row.expires_at), f"{_asking_key(typing)} asks again."
        )
    if checked.problems:
        word = "problem" if checked.problems == 1 else "problems"
        return Check(Verdict.REFUSED, f"{checked.problems} {word}:", "create is locked")
    if consent.refused is not None:
        return Check(Verdict.REFUSED, consent.refused)
    if step is Step.READY:
        does = "c starts the signing" if row.on_chain else "c creates the order"
        return Check(Verdict.VALID, "c asks you to agree first" if consent.phrase else does)
    return Check(Verdict.VALID, "complete:", "enter freezes it")


def said_sent(now: datetime) -> Check:
    return Check(Verdict.UNKNOWN, f"asked at {clock_time(now)}, waiting for the answer")


def said_looking() -> Check:
    return Check(Verdict.WARNING, OUTCOME_UNKNOWN.cause, "The desk looks for it.")


def worse_quote(board: QuoteResult, row: RankedQuote, lost: Decimal) -> str:
    """A new quote that is worse than the one confirmed; ``lost`` is how much, in percent."""
    if not board.wish.receive:
        return rate_worse(board.token_out.symbol, row.key, lost)
    asked = f"{table_amount(row.figure)} {board.token_in.symbol}"
    return (
        f"The new quote asks for {asked}, {lost:.2f}% more than you confirmed. Nothing was created."
    )


def said_gone() -> Check:
    return Check(Verdict.REFUSED, "This route is gone.", "esc shows the others.")


def said_ended(outcome: NotCreated | CreateUnknown) -> tuple[Step, Check]:
    """Where the form is after an outcome that is no order, and what it says of it."""
    if isinstance(outcome, CreateUnknown):
        then = "It is not known yet. Nothing was paid. o shows the orders."
        return Step.UNKNOWN, Check(Verdict.WARNING, outcome.failure.cause, then)
    error = outcome.error
    second = code_and_request(error) if error is not None else outcome.code
    fields = " ".join(refused_fields(error)) if error is not None else ""
    said = f"{outcome.failure.cause} {fields}".strip()
    return Step.FAILED, Check(Verdict.REFUSED, said, second)


def _asking_key(typing: bool) -> str:
    """The key that asks for a new quote; in a field a letter is typed."""
    return NewQuote.IN_FIELDS if typing else NewQuote.shown_key()


def money_of(
    step: Step,
    row: RankedQuote,
    checked: Checked,
    now: datetime,
    *,
    typing: bool,
    whole: bool = True,
    after: Failure | None = None,
) -> MoneyState:
    """Where the money is and who acts next. ``typing``: a field has the focus; ``whole``: the
    frozen intent is seen in full; ``after`` is why nothing was created."""
    if step is Step.SENT:
        return MoneyState(FUNDS, "the service: it creates the order")
    if step in BUSY:
        where = "in your wallet; nothing was paid."
        return MoneyState(where, "the desk: it looks for the order")
    if step is Step.FAILED and after is not None and after.next not in ASKS_AGAIN:
        return MoneyState(f"{after.money}.", after.next)
    if step is Step.FAILED or row.expired(now):
        return MoneyState(FUNDS, f"you: {_asking_key(typing)} asks for a new quote, 1 quote")
    if step is Step.READY:
        left = (row.expires_at - now).total_seconds()
        if not whole:
            return MoneyState(FUNDS, "you: make the window larger", urgent=left < URGENT_SECONDS)
        does = "signs" if row.on_chain else "creates"
        next_ = f"you: c {does} within {countdown(left)}"
        return MoneyState(FUNDS, next_, urgent=left < URGENT_SECONDS)
    return MoneyState(FUNDS, _next_input(checked))


def _next_input(checked: Checked) -> str:
    if not checked.recipient.ok:
        return "you: correct the recipient" if checked.recipient.text else "you: say who gets it"
    if not checked.memo.ok:
        return f"you: type the {checked.memo.label}"
    if checked.refund is not None and not checked.refund.ok:
        again = "correct" if checked.refund.text else "type"
        return f"you: {again} the refund address"
    if checked.intermediate is not None and not checked.intermediate.ok:
        return "you: correct the refund address of the middle"
    return "you: enter shows the frozen intent"
