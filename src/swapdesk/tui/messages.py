"""What reaches the application from its workers; only handlers touch widgets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.message import Message

if TYPE_CHECKING:
    from swapdesk.flows.creation.order_verification import CreateOutcome
    from swapdesk.flows.creation.resume import ResumeReport
    from swapdesk.flows.intents.intent import Intent
    from swapdesk.flows.signing.signing_session import SigningSession
    from swapdesk.flows.transactions import Outcome


class StartMoved(Message):
    """The start of the desk came a step further, ended or failed."""


class Connected(Message):
    """The service is there, for the first time or again."""


@dataclass
class BusinessSettled(Message):
    """A later look found out about requests without a known outcome."""

    report: ResumeReport


class PastKnown(Message):
    """Every order of the journal is in view."""


@dataclass
class OrdersChanged(Message):
    """Orders with these ids changed; an empty set stands for the state of the stream."""

    ids: frozenset[str]


class CreateWaiting(Message):
    """The create got no answer; the desk looks for the order."""


@dataclass
class CreateEnded(Message):
    """The create of this intent came to its outcome."""

    intent: Intent
    outcome: CreateOutcome


@dataclass
class SigningMoved(Message):
    """Something is to be shown of a swap on chains or of a deposit: a step, a review, a
    confirmation. ``signing_id`` is that of its intent, or of its order."""

    signing_id: str


@dataclass
class SigningEnded(Message):
    """The work on a swap, a deposit or a group came to where it was asked to, ended or stopped; its
    session says how."""

    signing: SigningSession[Any]


@dataclass
class NotReplaced(Message):
    """Nothing took the place of the transaction that a session waits for, or not yet; ``said``
    tells why in sentences."""

    signing: SigningSession[Any]
    said: str


@dataclass
class DepositPaid(Message):
    """The sandbox paid the deposit of an order, or refused to."""

    service_id: str
    outcome: Outcome


@dataclass
class TokenChosen(Message):
    """A token for the line of the first screen, as it is written there."""

    spec: str


@dataclass
class BatchMoved(Message):
    """A group of a batch came to something. ``failure`` is why one did not, in sentences."""

    batch_id: str
    failure: str = ""
