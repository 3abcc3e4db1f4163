"""A higher fee for a transaction that waits: the same call once more, on the same nonce.

The wallet judges it again against what was confirmed for the first one. The chain executes one
of the two and never both, so whoever waits for the first takes the other as its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from swapdesk.flows.transactions.same_nonce import current, decisive
from swapdesk.flows.wallet.replacement import Done, Kept, Outcome, Replacement, Words
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.payload import Payload
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import EXECUTED, FINAL, SignedTransaction, TransactionState

State = TransactionState


def _done(ended: Done) -> tuple[str, ...]:
    if ended.hash == ended.first:
        return (f"Executed: {ended.first} itself counts, for the fee it was signed with.",)
    return (
        f"Executed for a higher fee: {ended.hash}",
        f"It is the same payment as {ended.first}, which can never be executed any more.",
    )


class Bumping(Replacement):
    """``gas_units`` is the bound where no more was confirmed for the first one."""

    words: ClassVar[Words] = Words(
        noun="higher fee",
        kept="got no higher fee",
        over={
            State.MINED: "It is in a block already",
            State.REPLACED: "It was cancelled: another transaction took its place",
            State.LOST: "It can never be executed: its nonce was used elsewhere",
            State.ABANDONED: "It was given up and never sent",
        },
        done=_done,
    )

    async def _never_sent(self, client: WalletClient, first: SignedTransaction) -> Outcome:
        return Kept(first.hash, first.state, "It was never sent, so it waits for no fee.")

    def _ended(self, first: SignedTransaction, same: Sequence[SignedTransaction]) -> Outcome | None:
        stands = decisive([one for one in same if one.purpose is first.purpose]) or first
        if stands.state in EXECUTED:
            return Done(first.hash, stands.hash, failed=stands.state is State.FAILED)
        if stands.state is State.MINED or stands.state in FINAL:
            return self._over(first, stands)
        cancelled = [
            one for one in same if one.purpose is Purpose.CANCEL and one.state not in FINAL
        ]
        if cancelled and first.purpose is not Purpose.CANCEL:
            reason = f"Its cancellation {cancelled[-1].hash} is under way."
            return Kept(first.hash, first.state, reason)
        return None

    def _earlier(
        self, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> SignedTransaction | None:
        later = same[same.index(first) + 1 :]
        dearer = [one for one in later if one.purpose is first.purpose and one.state not in FINAL]
        return dearer[-1] if dearer else None

    async def _reviewed(
        self, client: WalletClient, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> tuple[Payload, Review]:
        return await client.bump(first.hash, self._gas_units)

    async def _concluded(
        self, client: WalletClient, first: SignedTransaction, second: SignedTransaction
    ) -> Outcome:
        if second.state in EXECUTED:
            return Done(first.hash, second.hash, failed=second.state is State.FAILED)
        return self._over(first, await current(client, second))
