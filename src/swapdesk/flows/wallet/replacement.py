"""What takes the place of a transaction that waits: a higher fee for it, or its cancellation.

Both are transactions on its nonce that pay more for gas. The chain executes one of the two and
never both, and nobody can promise which; until one counts, either may be executed.
:class:`Replacement` is the way both go, and a :class:`ReplacementKind` is what one of them is
made of. A higher fee is the same call once more, judged again against what was confirmed for the
first. A cancellation sends nothing to the account itself; a transaction that no node has seen is
given up instead, which costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from swapdesk.acts import State
from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.transactions import (
    OWN,
    Outcome,
    Proposal,
    SignedAction,
    Transactor,
    UnderWay,
    current,
    decisive,
    looked_at,
    refused,
    same_nonce,
    still_open,
)
from swapdesk.flows.wallet.local_wallet import LocalWallet, own_promise
from swapdesk.wallet.answers import Review, SignedTransaction, TransactionWord
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Asset, Payload, Purpose, TransactionPayload
from swapdesk.wallet.protocol import Refused, WalletError

GAS_UNITS = 10**16
"""What may be paid for gas where no more was confirmed: 0.01 of the chain's coin."""
REVERTED = "REVERTED"
WAITS = "in your wallet, or where the transaction takes it once it is executed"
_SOLANA = "On Solana it ends by itself once its blockhash has expired."
_AGAIN = "you: give the same command again; the same bytes are sent, never new ones"
_LISTED = "you: swapdesk wallet transactions lists what was signed"

_NEVER = frozenset({"replaced", "lost", "abandoned", "signed"})


class Words(Struct, frozen=True):
    """How one kind of replacement is spoken of. ``kept`` follows the transaction it is said of,
    ``over`` says why a transaction of that word waits for nothing. ``done_code``,
    ``kept_code`` and ``open_code`` are for scripts."""

    noun: str
    kept: str
    over: Mapping[TransactionWord, str]
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


def executed(hash_: str | None, *, failed: bool = False) -> Outcome:
    """What was asked for holds. ``hash_`` is what the chain executed, which may be the first one
    itself; None where no node had it. In vain where it ``failed``: its gas is paid."""
    if not failed:
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
            return kept(self.words, first, _SOLANA)
        if first.state is State.PREPARED:
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


def kept(words: Words, signed: SignedTransaction, reason: str) -> Outcome:
    """Nothing takes its place, and nothing more is done."""
    money = "in your wallet" if signed.word in _NEVER else "where the transaction takes it"
    return refused(words.kept_code, Failure(reason, money, _LISTED))


def over(words: Words, first: SignedTransaction, stands: SignedTransaction) -> Outcome:
    """``stands`` tells how the payment of ``first`` stands: itself, or one with a higher fee."""
    reason = words.over.get(stands.word, "It still waits")
    if stands.hash != first.hash:
        reason += f", as {stands.hash} for a higher fee"
    return kept(words, stands, f"{reason}.")


def _fee_done(first: str, hash_: str | None) -> tuple[str, ...]:
    if hash_ == first:
        return (f"Executed: {first} itself counts, for the fee it was signed with.",)
    return (
        f"Executed for a higher fee: {hash_}",
        f"It is the same payment as {first}, which can never be executed any more.",
    )


HIGHER_FEE = Words(
    noun="higher fee",
    kept="got no higher fee",
    over={
        "mined": "It is in a block already",
        "replaced": "It was cancelled: another transaction took its place",
        "lost": "It can never be executed: its nonce was used elsewhere",
        "abandoned": "It was given up and never sent",
    },
    done=_fee_done,
    done_code="bumped",
    kept_code="NOT_BUMPED",
    open_code="STILL_WAITING",
)


def bumping(wallet: LocalWallet, clock: Clock, gas_units: int = GAS_UNITS) -> Replacement:
    """``gas_units`` is the bound where no more was confirmed for the first one, in the smallest
    unit of the chain's coin."""
    return Replacement(wallet, clock, _HigherFee(gas_units))


class _HigherFee:
    words = HIGHER_FEE

    def __init__(self, gas_units: int) -> None:
        self._gas_units = gas_units

    def purpose(self, first: SignedTransaction) -> Purpose:
        return first.purpose

    async def never_sent(self, client: WalletClient, first: SignedTransaction) -> Outcome:
        return kept(HIGHER_FEE, first, "It was never sent, so it waits for no fee.")

    def ended(self, first: SignedTransaction, same: Sequence[SignedTransaction]) -> Outcome | None:
        stands = decisive([one for one in same if one.purpose is first.purpose]) or first
        if stands.executed:
            return executed(stands.hash, failed=stands.code == "FAILED")
        if stands.mined or stands.final:
            return over(HIGHER_FEE, first, stands)
        cancelled = [one for one in same if one.purpose is Purpose.CANCEL and not one.final]
        if cancelled and first.purpose is not Purpose.CANCEL:
            reason = f"Its cancellation {cancelled[-1].hash} is under way."
            return kept(HIGHER_FEE, first, reason)
        return None

    def earlier(
        self, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> SignedTransaction | None:
        later = same[same.index(first) + 1 :]
        dearer = [one for one in later if one.purpose is first.purpose and not one.final]
        return dearer[-1] if dearer else None

    async def reviewed(
        self, client: WalletClient, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> tuple[Payload, Review]:
        return await client.bump(first.hash, self._gas_units)

    async def concluded(
        self, client: WalletClient, first: SignedTransaction, second: SignedTransaction
    ) -> Outcome:
        if second.executed:
            return executed(second.hash, failed=second.code == "FAILED")
        return over(HIGHER_FEE, first, await current(client, second))


_COIN = Asset("coin", 18, None)


def _cancel_done(first: str, hash_: str | None) -> tuple[str, ...]:
    if hash_ is None:
        return (f"Given up: {first} was never sent and never will be.",)
    return (
        f"Cancelled: {first} can never be executed.",
        f"Transaction {hash_}",
    )


CANCELLATION = Words(
    noun="cancellation",
    kept="was not cancelled",
    over={
        "succeeded": "It was executed already",
        "failed": "It was executed already and failed; its gas is paid",
        "mined": "It is in a block already",
        "replaced": "Another transaction took its place already",
        "lost": "It can never be executed: its nonce was used elsewhere",
        "abandoned": "It was given up and never sent",
    },
    done=_cancel_done,
    done_code="cancelled",
    kept_code="NOT_CANCELLED",
    open_code="UNDECIDED",
)


def cancelling(wallet: LocalWallet, clock: Clock, gas_units: int = GAS_UNITS) -> Replacement:
    """``gas_units`` is the most that the cancellation may cost, in the smallest unit of the chain's
    coin. It is done once the first one can never be executed any more."""
    return Replacement(wallet, clock, _Cancellation(wallet, clock, gas_units))


class _Cancellation:
    words = CANCELLATION

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
        taken = [one for one in same if one.purpose is Purpose.CANCEL and one.executed]
        if taken:
            return executed(taken[-1].hash)
        stands = decisive([one for one in same if one.purpose is not Purpose.CANCEL]) or first
        if stands.final or stands.mined:
            return over(CANCELLATION, first, stands)
        return None

    def earlier(
        self, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> SignedTransaction | None:
        waiting = [one for one in same if one.purpose is Purpose.CANCEL and not one.final]
        return waiting[-1] if waiting else None

    async def reviewed(
        self, client: WalletClient, first: SignedTransaction, same: Sequence[SignedTransaction]
    ) -> tuple[Payload, Review]:
        link = self._wallet.link(first.chain)
        if link is None:
            raise Refused("other_chain", f"there is no node of {first.chain}")
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
        if second.executed:
            return executed(second.hash)
        return over(CANCELLATION, first, stands)


def _itself(first: SignedTransaction) -> Outcome:
    return kept(CANCELLATION, first, "It is a cancellation itself.")
