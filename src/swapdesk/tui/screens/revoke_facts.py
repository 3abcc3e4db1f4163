"""Ending an allowance by keys: what is asked before it, and what is said once it ended. Pure."""

from __future__ import annotations

from swapdesk.flows.transactions.delivery import OnItsWay
from swapdesk.flows.wallet.revoking import Ended, NotRevoked, Open, Proposed, Revoked
from swapdesk.tui.screens.wallet_rows import Subject
from swapdesk.tui.widgets.typed_confirm import Question

WORD = "revoke"


def revoke_question(subject: Subject, proposed: Proposed | Open) -> Question:
    """Everything the wallet says of what is signed, and the word to type."""
    if isinstance(proposed, Open):
        what = ["This was signed before. The same transaction is sent again, never a new one."]
    else:
        review = proposed.review
        what = [f"{review.title}."]
        what += [f"{one.field}: {one.signed}" for one in review.lines]
        what += [f"{one.words} ({one.code})" for one in review.findings]
        what += [f"Digest {review.digest}"]
    name = subject.account.name or subject.account.address
    return Question(f"End an allowance of {name} on {subject.chain}", what, WORD, "sign and send")


def revoke_said(ended: Ended) -> tuple[str, str]:
    """The notice of an end, and its severity."""
    match ended:
        case Revoked():
            return "Revoked: nobody may take this any more.", "information"
        case NotRevoked():
            return f"The allowance stands. {ended.reason}", "error"
        case OnItsWay():
            return "Sent, not confirmed yet. x sends the same transaction again.", "warning"
