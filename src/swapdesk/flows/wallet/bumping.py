"""A higher fee for a transaction that waits: the same call once more, on the same nonce.

The wallet judges it again against what was confirmed for the first one. The chain executes one
of the two and never both, so whoever waits for the first takes the other as its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.clock import Clock
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.same_nonce import current, decisive
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import (
    GAS_UNITS,
    Replacement,
    Words,
    executed,
    kept,
    over,
)
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.payload import Payload
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import EXECUTED, FINAL, SignedTransaction, TransactionState

State = TransactionState


def _done(first: str, hash_: str | None) -> tuple[str, ...]:
    if hash_ == first:
        return (f"Executed: {first} itself counts, for the fee it was signed with.",)
    return (
        f"Executed for a higher fee: {hash_}",
        f"It is the same payment as {first}, which can never be executed any more.",
    )


WORDS = Words(
    noun="higher fee",
    kept="got no higher fee",
    over={
        State.MINED: "It is in a block already",
        State.REPLACED: "It was cancelled: another transaction took its place",
        State.LOST: "It can never be executed: its nonce was used elsewhere",
        State.ABANDONED: "It was given up and never sent",
    },
    done=_done,
    done_code="bumped",
    kept_code="NOT_BUMPED",
    open_code="STILL_WAITING",
)


def bumping(wallet: LocalWallet, clock: Clock, gas_units: int = GAS_UNITS) -> Replacement:
    """``gas_units`` is the bound where no more was confirmed for the first one, in the smallest
    unit of the chain's coin."""
    return Replacement(wallet, clock, _HigherFee(gas_units))


class _HigherFee:
    words = WORDS

    def __init__(self, gas_units: int) -> None:
        self._gas_units = gas_units

    def purpose(self, first: SignedTransaction) -> Purpose:
        return first.purpose

    async def never_sent(self, client: WalletClient, first: SignedTransaction) -> Outcome:
        return kept(WORDS, first.state, "It was never sent, so it waits for no fee.")

    def ended(self, first: SignedTransaction, same: Sequence[SignedTransaction]) -> Outcome | None:
        stands = decisive([one for one in same if one.purpose is first.purpose]) or first
        if stands.state in EXECUTED:
            return executed(stands.hash, stands.state)
        if stands.state is State.MINED or stands.state in FINAL:
            return over(WORDS, first, stands)
        cancelled = [
            one for one in same if one.purpose is Purpose.CANCEL and one.state not in FINAL
        ]
        if cancelled and first.purpose is not Purpose.CANCEL:
            reason = f"Its cancellation {cancelled[-1].hash} is under way."
            return kept(WORDS, first.state, reason)
        return None

    def earlier(
        self, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> SignedTransaction | None:
        later = same[same.index(first) + 1 :]
        dearer = [one for one in later if one.purpose is first.purpose and one.state not in FINAL]
        return dearer[-1] if dearer else None

    async def reviewed(
        self, client: WalletClient, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> tuple[Payload, Review]:
        return await client.bump(first.hash, self._gas_units)

    async def concluded(
        self, client: WalletClient, first: SignedTransaction, second: SignedTransaction
    ) -> Outcome:
        if second.state in EXECUTED:
            return executed(second.hash, second.state)
        return over(WORDS, first, await current(client, second))
