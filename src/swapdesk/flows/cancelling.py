"""Taking back a transaction that waits: nothing is sent to oneself on its nonce, for more gas.

Nobody can promise that it works: the chain executes one of the two. One that no node has seen is
given up instead, which costs nothing. Until one of them counts, both may still be executed.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from swapdesk.clock import Clock
from swapdesk.flows.delivery import deliver
from swapdesk.flows.local_wallet import LocalWallet
from swapdesk.flows.replacement import looked_at, same_nonce, standing, telling
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused, WalletError
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.promise import Asset, Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import FINAL, SignedTransaction, TransactionState

GAS_UNITS = 10**16
"""Most that may be paid for gas: 0.01 of the chain's coin."""
_VALID = timedelta(minutes=5)
_COIN = Asset("coin", 18, None)

State = TransactionState
_EXECUTED = frozenset({State.SUCCEEDED, State.FAILED})


@dataclass(frozen=True)
class Proposed:
    """What would be signed in the place of ``first``. ``review.refused``: nothing can be."""

    first: SignedTransaction
    payload: TransactionPayload
    review: Review


@dataclass(frozen=True)
class UnderWay:
    """An earlier run signed the cancellation and it is not final."""

    first: SignedTransaction
    cancellation: SignedTransaction


@dataclass(frozen=True)
class Cancelled:
    """The transaction can never be executed. ``hash`` is what took its place; None where it was
    given up before any node had it."""

    first: str
    hash: str | None


@dataclass(frozen=True)
class NotCancelled:
    """It stays as it is: ``state`` is its own, and nothing more is done."""

    first: str
    state: TransactionState
    reason: str


@dataclass(frozen=True)
class Undecided:
    """Both wait, and either may be executed. The same bytes are sent again, never new ones."""

    first: str
    hash: str
    reason: str = ""


Outcome = Cancelled | NotCancelled | Undecided


class Cancelling:
    """Of one wallet. Methods raise WalletError for what happened before anything was sent."""

    def __init__(self, wallet: LocalWallet, clock: Clock) -> None:
        self._wallet = wallet
        self._clock = clock

    async def propose(self, hash_: str) -> Outcome | Proposed | UnderWay:
        """The review of the cancellation; one that is under way; or the end, where there is
        nothing to cancel any more. One that was never sent is given up."""
        client = await self._wallet.client()
        first = await looked_at(client, hash_)
        if first.purpose is Purpose.CANCEL:
            return NotCancelled(hash_, first.state, "It is a cancellation itself.")
        if first.nonce is None:
            reason = "On Solana it ends by itself once its blockhash has expired."
            return NotCancelled(hash_, first.state, reason)
        if first.state is State.SIGNED:
            await client.abandon(hash_)
            return Cancelled(hash_, None)
        same = same_nonce(first, await client.transactions(first.intent_id))
        taken = [one for one in same if one.purpose is Purpose.CANCEL and one.state in _EXECUTED]
        if taken:
            return Cancelled(hash_, taken[-1].hash)
        stands = telling([one for one in same if one.purpose is not Purpose.CANCEL]) or first
        if stands.state in FINAL or stands.state is State.MINED:
            return _over(first, stands)
        earlier = [one for one in same if one.purpose is Purpose.CANCEL and one.state not in FINAL]
        if earlier:
            return UnderWay(first, earlier[-1])
        link = self._wallet.link(first.chain)
        if link is None:
            raise Refused(RefusalCode.OTHER_CHAIN, f"there is no node of {first.chain}")
        payload = TransactionPayload(Purpose.CANCEL, first.account, "0x", 0)
        # The newest of this nonce pays most for gas, and is what has to be outbid.
        review = await client.review(
            payload, self._promise(first, link), replaces=same[-1].hash if same else hash_
        )
        return Proposed(first, payload, review)

    def _promise(self, first: SignedTransaction, link: ChainLink) -> Promise:
        return Promise(
            intent_id=first.intent_id,
            account=first.account,
            chain=link.name,
            chain_id=link.chain_id,
            sell=_COIN,
            sell_units=0,
            buy=_COIN,
            chain_out=link.name,
            least_units=0,
            quoted_units=0,
            recipient=first.account,
            venue=None,
            quote_id=None,
            valid_until=self._clock.now() + _VALID,
            gas_units=GAS_UNITS,
        )

    async def cancel(self, proposed: Proposed | UnderWay, phrase: str | None = None) -> Outcome:
        """Sign what was proposed (nothing, where it was signed before), send it, and wait until
        one of the two counts."""
        client = await self._wallet.client()
        if isinstance(proposed, UnderWay):
            return await self._delivered(client, proposed.first, proposed.cancellation)
        signed = await client.sign(proposed.review, phrase)
        if not isinstance(signed, SignedTransaction):
            reason = "The wallet signed something else than a transaction."
            return NotCancelled(proposed.first.hash, proposed.first.state, reason)
        return await self._delivered(client, proposed.first, signed)

    async def _delivered(
        self, client: WalletClient, first: SignedTransaction, cancellation: SignedTransaction
    ) -> Outcome:
        came = await deliver(client, self._clock, cancellation, contested=True)
        if not came.final:
            return Undecided(first.hash, came.transaction.hash, came.reason)
        try:
            first = await client.resolve(first.hash, resend=False)
            stands = await standing(client, first)
        except WalletError as error:
            return Undecided(first.hash, came.transaction.hash, error.words)
        # An empty transaction that failed has used the nonce up as one that succeeded has.
        if came.transaction.state in _EXECUTED:
            return Cancelled(first.hash, came.transaction.hash)
        return _over(first, stands)


def _over(first: SignedTransaction, stands: SignedTransaction) -> NotCancelled:
    """``stands`` tells how its payment stands: itself, or one with a higher fee."""
    said = {
        State.SUCCEEDED: "It was executed already",
        State.FAILED: "It was executed already and failed; its gas is paid",
        State.MINED: "It is in a block already",
        State.REPLACED: "Another transaction took its place already",
        State.LOST: "It can never be executed: its nonce was used elsewhere",
        State.ABANDONED: "It was given up and never sent",
    }
    reason = said.get(stands.state, "It still waits")
    if stands.hash != first.hash:
        reason += f", as {stands.hash} for a higher fee"
    return NotCancelled(first.hash, stands.state, f"{reason}.")
