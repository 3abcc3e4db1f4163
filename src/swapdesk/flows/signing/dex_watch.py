"""What the work on a swap tells of itself while it goes on, for whoever shows it."""

from __future__ import annotations

from swapdesk.wallet.payload import Payload
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import SignedTransaction


class Watch:
    """Hears what happens and changes nothing of it; this one shows it to nobody."""

    def reviewed(self, payload: Payload, review: Review) -> None:
        """The agent judged a payload; nobody was asked yet, and nobody is if it refuses."""

    def signing(self, review: Review) -> None:
        """The trader agreed; the agent looks once more and signs."""

    def seen(self, signed: SignedTransaction) -> None:
        """A transaction was sent or looked for on its chain."""
