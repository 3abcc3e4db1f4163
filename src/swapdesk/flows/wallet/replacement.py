"""What takes the place of a transaction that waits: a higher fee for it, or its cancellation.

Both are transactions on its nonce that pay more for gas. The chain executes one of the two and
never both, and nobody can promise which. What a replacement is made of and what its end means is
its own (:mod:`~swapdesk.flows.wallet.bumping`, :mod:`~swapdesk.flows.wallet.cancelling`); the
way there is one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from swapdesk.clock import Clock
from swapdesk.flows.transactions.delivery import OWN, deliver
from swapdesk.flows.transactions.same_nonce import looked_at, same_nonce
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import WalletError
from swapdesk.wallet.payload import Payload
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import SignedTransaction, TransactionState

GAS_UNITS = 10**16
"""What may be paid for gas where no more was confirmed: 0.01 of the chain's coin."""
_SOLANA = "On Solana it ends by itself once its blockhash has expired."

State = TransactionState


@dataclass(frozen=True)
class Proposed:
    """What would be signed in the place of ``first``. ``review.refused``: nothing can be."""

    first: SignedTransaction
    payload: Payload
    review: Review


@dataclass(frozen=True)
class UnderWay:
    """``second`` was signed in the place of ``first`` before, and is not final."""

    first: SignedTransaction
    second: SignedTransaction


@dataclass(frozen=True)
class Done:
    """What was asked for holds. ``hash`` is what the chain executed, which may be ``first``
    itself where that was asked for; None where nothing was, because no node had ``first``.
    ``failed``: it was executed in vain, and its gas is paid."""

    first: str
    hash: str | None
    failed: bool = False


@dataclass(frozen=True)
class Kept:
    """Nothing takes its place: ``state`` is its own, and nothing more is done."""

    first: str
    state: TransactionState
    reason: str


@dataclass(frozen=True)
class Undecided:
    """Both wait, and either may be executed. The same bytes are sent again, never new ones."""

    first: str
    hash: str
    reason: str = ""


Outcome = Done | Kept | Undecided


@dataclass(frozen=True)
class Words:
    """How one kind of replacement is spoken of. ``kept`` follows the transaction it is said of,
    ``over`` says why a transaction in that state waits for nothing."""

    noun: str
    kept: str
    over: Mapping[TransactionState, str]
    done: Callable[[Done], tuple[str, ...]]
    """Sentences; not of what was executed in vain."""

    def signed_before(self, second: SignedTransaction) -> str:
        signed = f"A {self.noun} was signed before, as {second.hash}."
        return f"{signed} The same transaction is sent again."

    def not_sent(self, error: WalletError) -> str:
        return f"No {self.noun} was sent: {error.words}."

    def stays(self, ended: Kept, name: str = "It") -> str:
        return f"{name} {self.kept}. {ended.reason}"

    def either(self, ended: Undecided) -> str:
        said = (
            f"Neither {ended.first} nor its {self.noun} {ended.hash} is executed yet; one of the"
            f" two will be, never both. {ended.reason}"
        )
        return said.rstrip()

    @property
    def undecided(self) -> str:
        return f"The {self.noun} was signed, and neither of the two is executed yet."


class Replacement(ABC):
    """Of transactions of one wallet. Methods raise WalletError for what happened before anything
    was sent."""

    words: ClassVar[Words]

    def __init__(self, wallet: LocalWallet, clock: Clock, gas_units: int = GAS_UNITS) -> None:
        """``gas_units`` is what may be paid for gas, in the smallest unit of the chain's coin."""
        self._wallet = wallet
        self._clock = clock
        self._gas_units = gas_units

    async def propose(self, hash_: str) -> Outcome | Proposed | UnderWay:
        """The review of what would take its place; what was signed for that before; or the end,
        where nothing waits any more."""
        client = await self._wallet.client()
        first = await looked_at(client, hash_)
        if first.nonce is None:
            return Kept(hash_, first.state, _SOLANA)
        if first.state is State.SIGNED:
            return await self._never_sent(client, first)
        same = same_nonce(first, await client.transactions(first.intent_id))
        ended = self._ended(first, same)
        if ended is not None:
            return ended
        earlier = self._earlier(first, same)
        if earlier is not None:
            return UnderWay(first, earlier)
        return Proposed(first, *await self._reviewed(client, first, same))

    async def replace(self, proposed: Proposed | UnderWay, phrase: str | None = None) -> Outcome:
        """Sign what was proposed (nothing, where it was signed before), send it, and wait until
        one of the two counts."""
        client = await self._wallet.client()
        first = proposed.first
        if isinstance(proposed, UnderWay):
            return await self._delivered(client, first, proposed.second)
        signed = await client.sign(proposed.review, phrase)
        if not isinstance(signed, SignedTransaction):
            reason = "The wallet signed something else than a transaction."
            return Kept(first.hash, first.state, reason)
        return await self._delivered(client, first, signed)

    async def _delivered(
        self, client: WalletClient, first: SignedTransaction, second: SignedTransaction
    ) -> Outcome:
        came = await deliver(client, self._clock, second, OWN, contested=True)
        if not came.final:
            return Undecided(first.hash, came.transaction.hash, came.reason)
        try:
            return await self._concluded(client, first, came.transaction)
        except WalletError as error:
            return Undecided(first.hash, came.transaction.hash, error.words)

    def _over(self, first: SignedTransaction, stands: SignedTransaction) -> Kept:
        """``stands`` tells how the payment of ``first`` stands: itself, or one with a higher
        fee."""
        reason = self.words.over.get(stands.state, "It still waits")
        if stands.hash != first.hash:
            reason += f", as {stands.hash} for a higher fee"
        return Kept(first.hash, stands.state, f"{reason}.")

    @abstractmethod
    async def _never_sent(self, client: WalletClient, first: SignedTransaction) -> Outcome: ...

    @abstractmethod
    def _ended(self, first: SignedTransaction, same: Sequence[SignedTransaction]) -> Outcome | None:
        """``same``: all of its nonce, itself among them, oldest first."""

    @abstractmethod
    def _earlier(
        self, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> SignedTransaction | None: ...

    @abstractmethod
    async def _reviewed(
        self, client: WalletClient, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> tuple[Payload, Review]: ...

    @abstractmethod
    async def _concluded(
        self, client: WalletClient, first: SignedTransaction, second: SignedTransaction
    ) -> Outcome:
        """What ``second``, which is final, means for ``first``."""
