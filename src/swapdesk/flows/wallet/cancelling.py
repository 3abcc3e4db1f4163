"""Taking back a transaction that waits: nothing is sent to oneself on its nonce, for more gas.

Nobody can promise that it works: the chain executes one of the two. One that no node has seen is
given up instead, which costs nothing. Until one of them counts, both may still be executed.
"""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.clock import Clock
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.same_nonce import current, decisive
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.own_promise import own_promise
from swapdesk.flows.wallet.replacement import (
    GAS_UNITS,
    Replacement,
    Words,
    executed,
    kept,
    over,
)
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import Payload, TransactionPayload
from swapdesk.wallet.promise import Asset, Purpose
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import EXECUTED, FINAL, SignedTransaction, TransactionState

_COIN = Asset("coin", 18, None)

State = TransactionState


def _done(first: str, hash_: str | None) -> tuple[str, ...]:
    if hash_ is None:
        return (f"Given up: {first} was never sent and never will be.",)
    return (
        f"Cancelled: {first} can never be executed.",
        f"Transaction {hash_}",
    )


WORDS = Words(
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
    done_code="cancelled",
    kept_code="NOT_CANCELLED",
    open_code="UNDECIDED",
)


def cancelling(wallet: LocalWallet, clock: Clock, gas_units: int = GAS_UNITS) -> Replacement:
    """``gas_units`` is the most that the cancellation may cost, in the smallest unit of the chain's
    coin. It is done once the first one can never be executed any more."""
    return Replacement(wallet, clock, _Cancellation(wallet, clock, gas_units))


class _Cancellation:
    words = WORDS

    def __init__(self, wallet: LocalWallet, clock: Clock, gas_units: int) -> None:
        self._wallet = wallet
        self._clock = clock
        self._gas_units = gas_units

    def purpose(self, first: SignedTransaction) -> Purpose:
        return Purpose.CANCEL

    async def never_sent(self, client: WalletClient, first: SignedTransaction) -> Outcome:
        if first.purpose is Purpose.CANCEL:
            return _itself(first)
        await client.abandon(first.hash)
        return executed(None)

    def ended(self, first: SignedTransaction, same: Sequence[SignedTransaction]) -> Outcome | None:
        if first.purpose is Purpose.CANCEL:
            return _itself(first)
        taken = [one for one in same if one.purpose is Purpose.CANCEL and one.state in EXECUTED]
        if taken:
            return executed(taken[-1].hash)
        stands = decisive([one for one in same if one.purpose is not Purpose.CANCEL]) or first
        if stands.state in FINAL or stands.state is State.MINED:
            return over(WORDS, first, stands)
        return None

    def earlier(
        self, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> SignedTransaction | None:
        waiting = [one for one in same if one.purpose is Purpose.CANCEL and one.state not in FINAL]
        return waiting[-1] if waiting else None

    async def reviewed(
        self, client: WalletClient, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> tuple[Payload, Review]:
        link = self._wallet.link(first.chain)
        if link is None:
            raise Refused(RefusalCode.OTHER_CHAIN, f"there is no node of {first.chain}")
        payload = TransactionPayload(Purpose.CANCEL, first.account, "0x", 0)
        # The newest of this nonce pays most for gas, and is what has to be outbid.
        newest = same[-1].hash if same else first.hash
        promise = own_promise(
            first.intent_id, first.account, link, _COIN, self._clock.now(), self._gas_units
        )
        return payload, await client.review(payload, promise, replaces=newest)

    async def concluded(
        self, client: WalletClient, first: SignedTransaction, second: SignedTransaction
    ) -> Outcome:
        first = await client.resolve(first.hash, resend=False)
        stands = await current(client, first)
        # An empty transaction that failed has used the nonce up as one that succeeded has.
        if second.state in EXECUTED:
            return executed(second.hash)
        return over(WORDS, first, stands)


def _itself(first: SignedTransaction) -> Outcome:
    return kept(WORDS, first.state, "It is a cancellation itself.")
