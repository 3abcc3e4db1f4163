"""Replaces a waiting transaction, either by the same call with a higher fee or by a cancellation.

The replacement has the same nonce and pays more for gas. The chain executes exactly one transaction
for each nonce, and nobody can promise which. Until one of the two is final, either may be executed.
:class:`Replacement` is what both ways have in common; each way is a :class:`ReplacementKind`.

A higher fee is judged by what was confirmed for the first transaction. A cancellation pays nothing
to the account itself. If no node has seen the first transaction, it is given up at no cost, and no
cancellation is signed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.acts import State
from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.transactions import (
    Delivered,
    Outcome,
    Step,
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
"""The most that a replacement may pay for gas if the user confirmed no higher amount: 0.01 of the
native coin, in base units."""
REVERTED = "REVERTED"
WAITS = "in your wallet, or where the transaction takes it once it is executed"
_SOLANA = "On Solana it ends by itself once its blockhash has expired."
_AGAIN = "you: give the same command again; the same bytes are sent, never new ones"
_LISTED = "you: swapdesk wallet transactions lists what was signed"

_NEVER = frozenset({"replaced", "lost", "abandoned", "signed"})


class ReplacementKind(Struct, frozen=True):
    """The texts and functions of one way to replace a waiting transaction. In the functions, the
    first transaction is the waiting one; a sequence has all transactions with the same nonce,
    oldest first."""

    noun: str
    kept: str
    over: Mapping[TransactionWord, str]
    done: Callable[[str, str | None], tuple[str, ...]]
    """Returns the sentences shown after success, given the hash of the first transaction and the
    hash of the executed one. The second hash is None if no node had the first transaction."""
    done_code: str
    kept_code: str
    open_code: str
    never_sent: Callable[[Replacement, WalletClient, SignedTransaction], Awaitable[Outcome]]
    """Returns the outcome for a first transaction that was never sent to a node."""
    ended: Callable[[SignedTransaction, Sequence[SignedTransaction]], Outcome | None]
    """Returns the outcome if the first transaction no longer waits; None if it can be replaced."""
    reviewed: Callable[
        [Replacement, WalletClient, SignedTransaction, Sequence[SignedTransaction]],
        Awaitable[tuple[Payload, Review]],
    ]
    concluded: Callable[[WalletClient, SignedTransaction, SignedTransaction], Awaitable[Outcome]]
    """Returns the outcome of the first transaction once the second one, its replacement, is
    final."""
    purpose: Purpose | None = None
    """The purpose of the replacement; None if the replacement has the first transaction's
    purpose."""

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
    """Returns the outcome of a finished replacement. ``hash_`` is the executed transaction, None if
    the waiting transaction was given up unsent. ``failed`` is True if the execution failed and only
    cost gas."""
    if not failed:
        return Outcome(hash=hash_)
    cause = f"{hash_} was executed and failed; its gas is paid."
    return refused(REVERTED, Failure(cause, "in your wallet, less the gas", _LISTED), hash_)


class Replacement:
    """Replaces waiting transactions. ``gas_units`` is the most to pay for gas, in the coin's base
    units, unless the user confirmed more. A WalletError from a method means that nothing was
    sent."""

    def __init__(
        self, wallet: LocalWallet, clock: Clock, kind: ReplacementKind, gas_units: int = GAS_UNITS
    ) -> None:
        self.wallet = wallet
        self.clock = clock
        self.kind = kind
        self.gas_units = gas_units

    async def propose(self, hash_: str) -> Outcome | Step:
        """Returns a step that replaces the transaction ``hash_``, or an outcome if it cannot be
        replaced. If a replacement was signed earlier, the step sends this replacement again."""
        client, kind = await self.wallet.client(), self.kind
        first = await looked_at(client, hash_)
        if first.nonce is None:
            return kept(kind, first, _SOLANA)
        if first.state is State.PREPARED:
            return await kind.never_sent(self, client, first)
        same = same_nonce(first, await client.transactions(first.intent_id))
        ended = kind.ended(first, same)
        if ended is not None:
            return ended
        purpose = kind.purpose or first.purpose
        others = same if kind.purpose is not None else same[same.index(first) + 1 :]
        earlier = [
            transaction
            for transaction in others
            if transaction.purpose is purpose and not transaction.final
        ]
        step = Step(
            client=self.wallet.client,
            clock=self.clock,
            ended=partial(self._ended, first),
            replaces=first,
        )
        if earlier:
            return replace(step, transaction=earlier[-1])
        payload, review = await kind.reviewed(self, client, first, same)
        return replace(step, payload=payload, review=review)

    async def _ended(self, first: SignedTransaction, came: Delivered) -> Outcome:
        second, reason = came.transaction, came.reason
        if came.final:
            try:
                return await self.kind.concluded(await self.wallet.client(), first, second)
            except WalletError as error:
                reason = error.words
        said = (
            f"Neither {first.hash} nor its {self.kind.noun} {second.hash} is executed yet; one of"
            f" the two will be, never both. {reason}"
        )
        return still_open(self.kind.open_code, Failure(said.rstrip(), WAITS, _AGAIN), second.hash)


def kept(kind: ReplacementKind, signed: SignedTransaction, reason: str) -> Outcome:
    """Returns the outcome if a transaction cannot be replaced. ``reason`` is a sentence that says
    why."""
    money = "in your wallet" if signed.word in _NEVER else "where the transaction takes it"
    return refused(kind.kept_code, Failure(reason, money, _LISTED))


def over(kind: ReplacementKind, first: SignedTransaction, stands: SignedTransaction) -> Outcome:
    """Returns the outcome if ``first`` no longer waits. ``stands`` is the transaction that takes
    effect: ``first`` itself or its replacement."""
    reason = kind.over.get(stands.word, "It still waits")
    if stands.hash != first.hash:
        reason += f", as {stands.hash} for a higher fee"
    return kept(kind, stands, f"{reason}.")


def _fee_done(first: str, hash_: str | None) -> tuple[str, ...]:
    if hash_ == first:
        return (f"Executed: {first} itself counts, for the fee it was signed with.",)
    return (
        f"Executed for a higher fee: {hash_}",
        f"It is the same payment as {first}, which can never be executed any more.",
    )


async def _fee_of_unsent(_: Replacement, client: WalletClient, first: SignedTransaction) -> Outcome:
    return kept(HIGHER_FEE, first, "It was never sent, so it waits for no fee.")


def _fee_ended(first: SignedTransaction, same: Sequence[SignedTransaction]) -> Outcome | None:
    stands = (
        decisive([transaction for transaction in same if transaction.purpose is first.purpose])
        or first
    )
    if stands.executed:
        return executed(stands.hash, failed=stands.code == "FAILED")
    if stands.mined or stands.final:
        return over(HIGHER_FEE, first, stands)
    cancelled = [
        transaction
        for transaction in same
        if transaction.purpose is Purpose.CANCEL and not transaction.final
    ]
    if cancelled and first.purpose is not Purpose.CANCEL:
        reason = f"Its cancellation {cancelled[-1].hash} is under way."
        return kept(HIGHER_FEE, first, reason)
    return None


async def _fee_concluded(
    client: WalletClient, first: SignedTransaction, second: SignedTransaction
) -> Outcome:
    if second.executed:
        return executed(second.hash, failed=second.code == "FAILED")
    return over(HIGHER_FEE, first, await current(client, second))


HIGHER_FEE = ReplacementKind(
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
    never_sent=_fee_of_unsent,
    ended=_fee_ended,
    reviewed=lambda of, client, first, same: client.bump(first.hash, of.gas_units),
    concluded=_fee_concluded,
)


_COIN = Asset("coin", 18, None)


def _cancel_done(first: str, hash_: str | None) -> tuple[str, ...]:
    if hash_ is None:
        return (f"Given up: {first} was never sent and never will be.",)
    return (
        f"Cancelled: {first} can never be executed.",
        f"Transaction {hash_}",
    )


async def _give_up(_: Replacement, client: WalletClient, first: SignedTransaction) -> Outcome:
    if first.purpose is Purpose.CANCEL:
        return _itself(first)
    await client.abandon(first.hash)
    return executed(None)


def _cancel_ended(first: SignedTransaction, same: Sequence[SignedTransaction]) -> Outcome | None:
    if first.purpose is Purpose.CANCEL:
        return _itself(first)
    taken = [
        transaction
        for transaction in same
        if transaction.purpose is Purpose.CANCEL and transaction.executed
    ]
    if taken:
        return executed(taken[-1].hash)
    stands = (
        decisive([transaction for transaction in same if transaction.purpose is not Purpose.CANCEL])
        or first
    )
    if stands.final or stands.mined:
        return over(CANCELLATION, first, stands)
    return None


async def _cancel_reviewed(
    of: Replacement,
    client: WalletClient,
    first: SignedTransaction,
    same: Sequence[SignedTransaction],
) -> tuple[Payload, Review]:
    link = of.wallet.link(first.chain)
    if link is None:
        raise Refused("other_chain", f"there is no node of {first.chain}")
    payload = TransactionPayload(Purpose.CANCEL, first.account, "0x", 0)
    # The newest of this nonce pays most for gas, and is what has to be outbid.
    newest = same[-1].hash if same else first.hash
    promise = own_promise(first.intent_id, first.account, link, _COIN, of.clock.now(), of.gas_units)
    return payload, await client.review(payload, promise, replaces=newest)


async def _cancel_concluded(
    client: WalletClient, first: SignedTransaction, second: SignedTransaction
) -> Outcome:
    first = await client.resolve(first.hash, resend=False)
    stands = await current(client, first)
    # An empty transaction that failed has used the nonce up as one that succeeded has.
    if second.executed:
        return executed(second.hash)
    return over(CANCELLATION, first, stands)


def _itself(first: SignedTransaction) -> Outcome:
    return kept(CANCELLATION, first, "It is a cancellation itself.")


CANCELLATION = ReplacementKind(
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
    never_sent=_give_up,
    ended=_cancel_ended,
    reviewed=_cancel_reviewed,
    concluded=_cancel_concluded,
    purpose=Purpose.CANCEL,
)
"""The cancellation of a transaction. It has succeeded once the first transaction can never be
executed."""
