"""What takes the place of a transaction that waits: a higher fee for it, or its cancellation.

Both are transactions on its nonce that pay more for gas. The chain executes one of the two and
never both, and nobody can promise which. The way there is one, :class:`Replacement`; what a
higher fee or a cancellation is made of and what its end means is a :class:`ReplacementKind`
(:mod:`~swapdesk.flows.wallet.bumping`, :mod:`~swapdesk.flows.wallet.cancelling`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.transactions.delivery import OWN
from swapdesk.flows.transactions.outcome import Outcome, refused, still_open
from swapdesk.flows.transactions.same_nonce import looked_at, same_nonce
from swapdesk.flows.transactions.transactor import Proposal, SignedAction, Transactor, UnderWay
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import WalletError
from swapdesk.wallet.payload import Payload
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import SignedTransaction, TransactionState

GAS_UNITS = 10**16
"""What may be paid for gas where no more was confirmed: 0.01 of the chain's coin."""
REVERTED = "REVERTED"
WAITS = "in your wallet, or where the transaction takes it once it is executed"
_SOLANA = "On Solana it ends by itself once its blockhash has expired."
_AGAIN = "you: give the same command again; the same bytes are sent, never new ones"
_LISTED = "you: swapdesk wallet transactions lists what was signed"

State = TransactionState
_NEVER = frozenset({State.REPLACED, State.LOST, State.ABANDONED, State.SIGNED})


@dataclass(frozen=True)
class Words:
    """How one kind of replacement is spoken of. ``kept`` follows the transaction it is said of,
    ``over`` says why a transaction in that state waits for nothing. ``done_code``,
    ``kept_code`` and ``open_code`` are for scripts."""

    noun: str
    kept: str
    over: Mapping[TransactionState, str]
    done: Callable[[str, str | None], tuple[str, ...]]
    """Sentences, from the hash of the first one and of what the chain executed; the second is
    None where nothing was, because no node had the first."""
    done_code: str
    kept_code: str
    open_code: str

    def signed_before(self, second: SignedTransaction) -> str:
        signed = f"A {self.noun} was signed before, as {second.hash}."
        return f"{signed} The same transaction is sent again."

    def not_sent(self, error: WalletError) -> str:
        return f"No {self.noun} was sent: {error.words}."

    @property
    def undecided(self) -> str:
        return f"The {self.noun} was signed, and neither of the two is executed yet."

    def stays(self, kept: Outcome, name: str = "It") -> str:
        return f"{name} {self.kept}. {kept.cause}"


def executed(hash_: str | None, state: TransactionState | None = None) -> Outcome:
    """What was asked for holds. ``hash_`` is what the chain executed, which may be the first one
    itself; None where no node had it. In vain where ``state`` is FAILED: its gas is paid."""
    if state is not State.FAILED:
        return Outcome(hash=hash_)
    said = f"{hash_} was executed and failed; its gas is paid."
    return refused(REVERTED, Failure(said, "in your wallet, less the gas", _LISTED), hash_)


class ReplacementKind(Protocol):
    """What a higher fee is made of, or a cancellation. ``first`` is what waits, ``same`` all of its
    nonce, itself among them, oldest first."""

    words: Words

    async def never_sent(self, client: WalletClient, first: SignedTransaction) -> Outcome: ...

    def ended(self, first: SignedTransaction, same: Sequence[SignedTransaction]) -> Outcome | None:
        """The end, where nothing waits any more."""

    def earlier(
        self, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> SignedTransaction | None:
        """What was signed for this before, and is not final."""

    def purpose(self, first: SignedTransaction) -> Purpose: ...

    async def reviewed(
        self, client: WalletClient, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> tuple[Payload, Review]: ...

    async def concluded(
        self, client: WalletClient, first: SignedTransaction, second: SignedTransaction
    ) -> Outcome:
        """What ``second``, which is final, means for ``first``."""


class Replacement:
    """Of transactions of one wallet. Methods raise WalletError for what happened before anything
    was sent."""

    def __init__(self, wallet: LocalWallet, clock: Clock, kind: ReplacementKind) -> None:
        self._wallet = wallet
        self._clock = clock
        self._kind = kind
        self.words = kind.words

    async def propose(self, hash_: str) -> Outcome | Proposal | UnderWay:
        """The review of what would take its place; what was signed for that before; or the end,
        where nothing waits any more."""
        client = await self._wallet.client()
        first = await looked_at(client, hash_)
        if first.nonce is None:
            return kept(self.words, first.state, _SOLANA)
        if first.state is State.SIGNED:
            return await self._kind.never_sent(client, first)
        same = same_nonce(first, await client.transactions(first.intent_id))
        ended = self._kind.ended(first, same)
        if ended is not None:
            return ended
        earlier = self._kind.earlier(first, same)
        if earlier is not None:
            return UnderWay(earlier, replaces=first)

        async def review() -> tuple[Payload, Review]:
            return await self._kind.reviewed(client, first, same)

        action = SignedAction(self._kind.purpose(first), first.intent_id, review, replaces=first)
        return await Transactor(client, self._clock, OWN).propose(action)

    async def replace(self, step: Proposal | UnderWay, phrase: str | None = None) -> Outcome:
        """Sign what was proposed (nothing, where it was signed before), send it, and wait until
        one of the two counts."""
        client = await self._wallet.client()
        first = step.replaces
        assert first is not None, "a replacement takes a place"
        came = await Transactor(client, self._clock, OWN).send(step, phrase)
        second, reason = came.transaction, came.reason
        if came.final:
            try:
                return await self._kind.concluded(client, first, second)
            except WalletError as error:
                reason = error.words
        said = (
            f"Neither {first.hash} nor its {self.words.noun} {second.hash} is executed yet; one of"
            f" the two will be, never both. {reason}"
        )
        return still_open(self.words.open_code, Failure(said.rstrip(), WAITS, _AGAIN), second.hash)


def kept(words: Words, state: TransactionState, reason: str) -> Outcome:
    """Nothing takes its place, and nothing more is done. ``state`` is its own."""
    money = "in your wallet" if state in _NEVER else "where the transaction takes it"
    return refused(words.kept_code, Failure(reason, money, _LISTED))


def over(words: Words, first: SignedTransaction, stands: SignedTransaction) -> Outcome:
    """``stands`` tells how the payment of ``first`` stands: itself, or one with a higher fee."""
    reason = words.over.get(stands.state, "It still waits")
    if stands.hash != first.hash:
        reason += f", as {stands.hash} for a higher fee"
    return kept(words, stands.state, f"{reason}.")
