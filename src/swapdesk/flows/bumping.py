"""A higher fee for a transaction that waits: the same call once more, on the same nonce.

The wallet judges it again against what was confirmed for the first one. The chain executes one
of the two and never both, so whoever waits for the first takes the other as its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.clock import Clock
from swapdesk.flows.delivery import deliver
from swapdesk.flows.local_wallet import LocalWallet
from swapdesk.flows.replacement import looked_at, same_nonce, standing, telling
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import WalletError
from swapdesk.wallet.payload import Payload
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import FINAL, SignedTransaction, TransactionState

GAS_UNITS = 10**16
"""What may be paid for gas where no more was confirmed: 0.01 of the chain's coin."""
State = TransactionState


@dataclass(frozen=True)
class Proposed:
    """What would be signed in the place of ``first``. ``review.refused``: nothing can be."""

    first: SignedTransaction
    payload: Payload
    review: Review


@dataclass(frozen=True)
class UnderWay:
    """A higher fee for ``first`` was signed before, and is not final."""

    first: SignedTransaction
    bump: SignedTransaction


@dataclass(frozen=True)
class Executed:
    """The call counts. ``hash`` is the one of its transactions that the chain took; ``failed``:
    it was executed in vain, and its gas is paid."""

    first: str
    hash: str
    failed: bool = False


@dataclass(frozen=True)
class NotBumped:
    """There is nothing that could pay more: ``state`` is its own."""

    first: str
    state: TransactionState
    reason: str


@dataclass(frozen=True)
class StillWaiting:
    """Neither was executed yet. The same bytes are sent again, never new ones."""

    first: str
    hash: str
    reason: str = ""


Outcome = Executed | NotBumped | StillWaiting


class Bumping:
    """Of one wallet. Methods raise WalletError for what happened before anything was sent."""

    def __init__(self, wallet: LocalWallet, clock: Clock) -> None:
        self._wallet = wallet
        self._clock = clock

    async def propose(
        self, hash_: str, gas_units: int = GAS_UNITS
    ) -> Outcome | Proposed | UnderWay:
        """The review of the same call for a higher fee, which may cost up to ``gas_units`` or
        what was confirmed at first; the one that was signed before; or the end, where nothing
        waits any more."""
        client = await self._wallet.client()
        first = await looked_at(client, hash_)
        if first.nonce is None:
            reason = "On Solana it ends by itself once its blockhash has expired."
            return NotBumped(hash_, first.state, reason)
        if first.state is State.SIGNED:
            return NotBumped(hash_, first.state, "It was never sent, so it waits for no fee.")
        same = same_nonce(first, await client.transactions(first.intent_id))
        ended = self._ended(first, same)
        if ended is not None:
            return ended
        later = same[same.index(first) + 1 :]
        dearer = [one for one in later if one.purpose is first.purpose and one.state not in FINAL]
        if dearer:
            return UnderWay(first, dearer[-1])
        return Proposed(first, *await client.bump(hash_, gas_units))

    def _ended(
        self, first: SignedTransaction, same: tuple[SignedTransaction, ...]
    ) -> Outcome | None:
        stands = telling([one for one in same if one.purpose is first.purpose]) or first
        if stands.state in (State.SUCCEEDED, State.FAILED):
            return Executed(first.hash, stands.hash, failed=stands.state is State.FAILED)
        if stands.state is State.MINED or stands.state in FINAL:
            return _over(first, stands)
        cancelled = [
            one for one in same if one.purpose is Purpose.CANCEL and one.state not in FINAL
        ]
        if cancelled and first.purpose is not Purpose.CANCEL:
            reason = f"Its cancellation {cancelled[-1].hash} is under way."
            return NotBumped(first.hash, first.state, reason)
        return None

    async def bump(self, proposed: Proposed | UnderWay, phrase: str | None = None) -> Outcome:
        """Sign what was proposed (nothing, where it was signed before), send it, and wait until
        one of the two counts."""
        client = await self._wallet.client()
        if isinstance(proposed, UnderWay):
            return await self._delivered(client, proposed.first, proposed.bump)
        signed = await client.sign(proposed.review, phrase)
        if not isinstance(signed, SignedTransaction):
            reason = "The wallet signed something else than a transaction."
            return NotBumped(proposed.first.hash, proposed.first.state, reason)
        return await self._delivered(client, proposed.first, signed)

    async def _delivered(
        self, client: WalletClient, first: SignedTransaction, bump: SignedTransaction
    ) -> Outcome:
        came = await deliver(client, self._clock, bump, contested=True)
        one = came.transaction
        if one.state in (State.SUCCEEDED, State.FAILED):
            return Executed(first.hash, one.hash, failed=one.state is State.FAILED)
        if not came.final:
            return StillWaiting(first.hash, one.hash, came.reason)
        try:
            return _over(first, await standing(client, one))
        except WalletError as error:
            return StillWaiting(first.hash, one.hash, error.words)


def _over(first: SignedTransaction, stands: SignedTransaction) -> NotBumped:
    said = {
        State.MINED: f"It is in a block already, as {stands.hash}.",
        State.REPLACED: "It was cancelled: another transaction took its place.",
        State.LOST: "It can never be executed: its nonce was used elsewhere.",
        State.ABANDONED: "It was given up and never sent.",
    }
    return NotBumped(first.hash, stands.state, said.get(stands.state, "It still waits."))
