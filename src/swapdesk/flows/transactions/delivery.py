"""The one loop that sends signed transactions: a swap's, a deposit's, a bundle's and the trader's
own.

The same bytes are sent however often, never new ones. Which of the transactions on its nonce is
executed in the end is for the chain to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from swapdesk.clock import Clock
from swapdesk.flows.transactions.same_nonce import current
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused, WalletError
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.transactions import FINAL, SignedTransaction, TransactionState


@dataclass(frozen=True)
class Pace:
    """Seconds between two looks at a chain or two questions to the service, and for how long a
    payment is followed before it is left to the next start."""

    look: float = 1.0
    patience: float = 300.0


OWN = Pace(patience=90.0)
"""For a transaction that the trader signed by itself, not as a step of a swap, and waits for."""


@dataclass(frozen=True)
class Delivered:
    """How far it came: ``transaction`` tells how the payment stands, final or not; ``reason`` what
    chain or wallet said last; ``error`` what ended the following before its end, None where time
    ran out."""

    transaction: SignedTransaction
    reason: str = ""
    error: WalletError | None = None

    @property
    def final(self) -> bool:
        return self.transaction.state in FINAL


@dataclass(frozen=True)
class OnItsWay:
    """Sent, or perhaps sent, and not counted yet. The same bytes are sent again, never new
    ones."""

    hash: str
    reason: str = ""


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
