"""Taking back a transaction that waits: nothing is sent to oneself on its nonce, for more gas.

Nobody can promise that it works: the chain executes one of the two. One that no node has seen is
given up instead, which costs nothing. Until one of them counts, both may still be executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from swapdesk.flows.transactions.same_nonce import current, decisive
from swapdesk.flows.wallet.own_promise import own_promise
from swapdesk.flows.wallet.replacement import Done, Kept, Outcome, Replacement, Words
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import Payload, TransactionPayload
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.promise import Asset, Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import EXECUTED, FINAL, SignedTransaction, TransactionState

_COIN = Asset("coin", 18, None)

State = TransactionState


def _done(ended: Done) -> tuple[str, ...]:
    if ended.hash is None:
        return (f"Given up: {ended.first} was never sent and never will be.",)
    return (
        f"Cancelled: {ended.first} can never be executed.",
        f"Transaction {ended.hash}",
    )


class Cancelling(Replacement):
    """``gas_units`` is the most that the cancellation may cost. It is done once the first can
    never be executed any more."""

    words: ClassVar[Words] = Words(
        noun="cancellation",
        kept="was not cancelled",
        over={
            State.SUCCEEDED: "It was executed already",
            State.FAILED: "It was executed already and failed; its gas is paid",
            State.MINED: "It is in a block already",
            State.REPLACED: "Another transaction took its place already",
            State.LOST: "It can never be executed: its nonce was used elsewhere",
            State.ABANDONED: "It was given up and never sent",
        },
        done=_done,
    )

    async def _never_sent(self, client: WalletClient, first: SignedTransaction) -> Outcome:
        if first.purpose is Purpose.CANCEL:
            return _itself(first)
        await client.abandon(first.hash)
        return Done(first.hash, None)

    def _ended(self, first: SignedTransaction, same: Sequence[SignedTransaction]) -> Outcome | None:
        if first.purpose is Purpose.CANCEL:
            return _itself(first)
        taken = [one for one in same if one.purpose is Purpose.CANCEL and one.state in EXECUTED]
        if taken:
            return Done(first.hash, taken[-1].hash)
        stands = decisive([one for one in same if one.purpose is not Purpose.CANCEL]) or first
        if stands.state in FINAL or stands.state is State.MINED:
            return self._over(first, stands)
        return None

    def _earlier(
        self, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> SignedTransaction | None:
        waiting = [one for one in same if one.purpose is Purpose.CANCEL and one.state not in FINAL]
        return waiting[-1] if waiting else None

    async def _reviewed(
        self, client: WalletClient, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> tuple[Payload, Review]:
        link = self._wallet.link(first.chain)
        if link is None:
            raise Refused(RefusalCode.OTHER_CHAIN, f"there is no node of {first.chain}")
        payload = TransactionPayload(Purpose.CANCEL, first.account, "0x", 0)
        # The newest of this nonce pays most for gas, and is what has to be outbid.
        newest = same[-1].hash if same else first.hash
        return payload, await client.review(payload, self._promise(first, link), replaces=newest)

    def _promise(self, first: SignedTransaction, link: ChainLink) -> Promise:
        return own_promise(
            first.intent_id, first.account, link, _COIN, self._clock.now(), self._gas_units
        )

    async def _concluded(
        self, client: WalletClient, first: SignedTransaction, second: SignedTransaction
    ) -> Outcome:
        first = await client.resolve(first.hash, resend=False)
        stands = await current(client, first)
        # An empty transaction that failed has used the nonce up as one that succeeded has.
        if second.state in EXECUTED:
            return Done(first.hash, second.hash)
        return self._over(first, stands)


def _itself(first: SignedTransaction) -> Kept:
    return Kept(first.hash, first.state, "It is a cancellation itself.")
