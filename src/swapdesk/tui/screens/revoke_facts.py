"""Ending an allowance by keys: what is asked before it, and what is said once it ended. Pure."""

from __future__ import annotations

from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import Proposal, UnderWay
from swapdesk.tui.screens.wallet_rows import Subject
from swapdesk.tui.widgets.typed_confirm import Question

WORD = "revoke"


def revoke_question(subject: Subject, proposed: Proposal | UnderWay) -> Question:
    """Everything the wallet says of what is signed, and the word to type."""
    if isinstance(proposed, UnderWay):
        what = ["This was signed before. The same transaction is sent again, never a new one."]
    else:
        review = proposed.review
        what = [f"{review.title}."]
        what += [f"{one.field}: {one.signed}" for one in review.lines]
        what += [f"{one.words} ({one.code})" for one in review.findings]
        what += [f"Digest {review.digest}"]
    name = subject.account.name or subject.account.address
    return Question(f"End an allowance of {name} on {subject.chain}", what, WORD, "sign and send")


def revoke_said(outcome: Outcome) -> tuple[str, str]:
    """The notice of an end, and its severity."""
    if outcome.done:
        return "Revoked: nobody may take this any more.", "information"
    if outcome.refused:
        return outcome.cause, "error"
    return "Sent, not confirmed yet. x sends the same transaction again.", "warning"
