"""The one loop that sends signed transactions: a swap's, a deposit's, a bundle's, the trader's own.

The same bytes are sent however often, never new ones. At most one of the transactions on a nonce
is executed, and the chain says which. One with a higher fee is the same payment under another
hash; one that cancels it is no payment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import Failure
from swapdesk.flows.transactions.outcome import SAME_AGAIN, Outcome, refused, still_open
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.protocol import RefusalCode, Refused, WalletError
from swapdesk.wallet.transactions import EXECUTED, FINAL, SignedTransaction, TransactionState

State = TransactionState
_DECISIVE = (
    EXECUTED,
    frozenset({State.MINED}),
    frozenset({State.SENDING, State.SENT}),
)
"""The first of these that one is in tells how all of them stand."""


def same_nonce(
    one: SignedTransaction, signed: Sequence[SignedTransaction]
) -> tuple[SignedTransaction, ...]:
    """Those of ``signed`` that share the nonce of ``one``, itself among them, in that order; of
    Solana, which has no nonces, those of its hash."""
    if one.nonce is None:
        return tuple(each for each in signed if each.hash == one.hash)
    place = (one.chain, one.account, one.nonce)
    return tuple(each for each in signed if (each.chain, each.account, each.nonce) == place)


def same_payment(
    one: SignedTransaction, signed: Sequence[SignedTransaction]
) -> tuple[SignedTransaction, ...]:
    """Those of :func:`same_nonce` that do what ``one`` does: for one intent and purpose a nonce
    holds a single call, whatever its fee."""
    told = (one.intent_id, one.purpose)
    return tuple(each for each in same_nonce(one, signed) if (each.intent_id, each.purpose) == told)


def decisive(signed: Sequence[SignedTransaction]) -> SignedTransaction | None:
    """The one of several for the same payment that tells how it stands: executed, else in a
    block, else on its way, else the newest. A higher fee that was never sent says nothing about
    the payment that was."""
    for states in _DECISIVE:
        found = [one for one in signed if one.state in states]
        if found:
            return found[-1]
    return signed[-1] if signed else None


def under_way(signed: Sequence[SignedTransaction], *purposes: Purpose) -> SignedTransaction | None:
    """The one of these purposes that is not over and tells how it stands. A cancellation is signed
    under the intent of what it takes back, and does nothing of it."""
    return decisive([one for one in signed if one.purpose in purposes and one.state not in FINAL])


async def current(client: WalletClient, one: SignedTransaction) -> SignedTransaction:
    """The transaction that tells how the payment of ``one`` stands: itself, or one with a higher
    fee. Raises WalletError."""
    if one.nonce is None:
        return one
    return decisive(same_payment(one, await client.transactions(one.intent_id))) or one


async def looked_at(client: WalletClient, hash_: str) -> SignedTransaction:
    """A transaction of the wallet as its chain has it now. It is looked at only: sending it once
    more is not wanted where something shall take its place. Raises WalletError; Refused for one
    that was not signed here."""
    one = next((one for one in await client.transactions() if one.hash == hash_), None)
    if one is None:
        raise Refused(RefusalCode.NO_TRANSACTION, "this wallet signed no such transaction")
    if one.nonce is None or one.state in FINAL or one.state is State.SIGNED:
        return one
    return await client.resolve(hash_, resend=False)


class Pace(Struct, frozen=True):
    """Seconds between two looks at a chain or two questions to the service, and for how long a
    payment is followed before it is left to the next start."""

    look: float = 1.0
    patience: float = 300.0


OWN = Pace(patience=90.0)
"""For a transaction that the trader signed by itself, not as a step of a swap, and waits for."""


class Delivered(Struct, frozen=True):
    """How far it came: ``transaction`` tells how the payment stands, final or not; ``reason`` what
    chain or wallet said last; ``error`` what ended the following before its end, None where time
    ran out."""

    transaction: SignedTransaction
    reason: str = ""
    error: WalletError | None = None

    @property
    def final(self) -> bool:
        return self.transaction.state in FINAL

    def outcome(self, code: str, in_vain: Failure, meanwhile: str) -> Outcome:
        """Of what the trader signed by itself. ``in_vain`` and its ``code``: nothing came of it;
        ``meanwhile``: where the money is until that is known."""
        one = self.transaction
        if one.state is State.SUCCEEDED:
            return Outcome(hash=one.hash)
        if self.final:
            cause = f"{in_vain.cause} The transaction is {one.state}."
            return refused(code, replace(in_vain, cause=cause), one.hash)
        cause = f"The transaction {one.hash} is not confirmed yet. {self.reason}".strip()
        return still_open("ON_ITS_WAY", Failure(cause, meanwhile, SAME_AGAIN), one.hash)


async def deliver(
    client: WalletClient,
    clock: Clock,
    signed: SignedTransaction,
    pace: Pace,
    *,
    wanted: Callable[[], bool] = lambda: True,
    contested: bool = False,
    until: datetime | None = None,
    seen: Callable[[SignedTransaction], None] = lambda _: None,
) -> Delivered:
    """Send it and wait until it counts, or another of its nonce does; not for ever.

    ``wanted``: whether it may still leave; what no node has seen is given up otherwise.
    ``contested``: another transaction of its nonce may be executed at any moment, so a node that
    does not take this one is asked what became of them. ``until``: nobody waits for its end
    longer. ``seen`` is told how it stands after every look.
    """
    ends = clock.monotonic() + pace.patience
    stands, reason = signed, signed.problem or ""
    while stands.state not in FINAL:
        try:
            stands = await _look(client, signed, wanted())
            seen(stands)
            reason = stands.problem or ""
        except WalletError as error:
            if not _passes(error, signed, contested=contested):
                return Delivered(stands, error.words, error)
            reason = error.words
        late = until is not None and clock.now() >= until
        if stands.state in FINAL or late or clock.monotonic() >= ends:
            break
        await clock.sleep(pace.look)
    return Delivered(stands, reason)


async def _look(client: WalletClient, signed: SignedTransaction, wanted: bool) -> SignedTransaction:
    """The bytes once more where the chain does not have them, and what became of them."""
    # What a Solana node has not executed may still be kept from it.
    found = await client.resolve(signed.hash, resend=wanted or signed.nonce is not None)
    if found.state is TransactionState.SIGNED:
        found = await (client.broadcast(signed.hash) if wanted else client.abandon(signed.hash))
    return await current(client, found)


def _passes(error: WalletError, signed: SignedTransaction, *, contested: bool) -> bool:
    """Whether a later look may tell more. Bytes that a Solana node does not take may be executed
    until their blockhash ends, and the chain then tells that they were not."""
    if not isinstance(error, Refused):
        return False
    if error.code is RefusalCode.CHAIN_REFUSED:
        return contested or signed.nonce is None
    return error.code is RefusalCode.CHAIN_UNREACHABLE
