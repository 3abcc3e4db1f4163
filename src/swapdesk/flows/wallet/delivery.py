"""A transaction that the trader signed by itself, not as a step of a swap, on its way to its end.

The same bytes are sent however often, never new ones; which of the transactions on its nonce is
executed in the end is for the chain to say.
"""

from __future__ import annotations

from dataclasses import dataclass

from swapdesk.clock import Clock
from swapdesk.flows.wallet.one_nonce import standing
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import AgentGone, Refused
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.transactions import FINAL, SignedTransaction, TransactionState

LOOK_SECONDS = 1.0
PATIENCE_SECONDS = 90.0


@dataclass(frozen=True)
class Delivered:
    """How far it came: ``transaction`` tells how it stands, final or not; ``reason`` what chain
    or wallet said last."""

    transaction: SignedTransaction
    reason: str = ""

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
    client: WalletClient, clock: Clock, signed: SignedTransaction, *, contested: bool = False
) -> Delivered:
    """Send it and wait until it counts, or another of its nonce does; not for ever.

    ``contested``: another transaction of its nonce may be executed at any moment, so a node that
    does not take this one is asked what became of them.
    """
    until = clock.monotonic() + PATIENCE_SECONDS
    one, reason, refused = signed, "", False
    while True:
        try:
            if one.state is TransactionState.SIGNED and not refused:
                one = await client.broadcast(signed.hash)
            else:
                one = await client.resolve(signed.hash)
            one = await standing(client, one)
            reason = one.problem or ""
            if one.state in FINAL:
                return Delivered(one, reason)
        except AgentGone as gone:
            return Delivered(one, gone.words)
        except Refused as said_no:
            reason = said_no.words
            refused = said_no.code is RefusalCode.CHAIN_REFUSED
            if said_no.code is not RefusalCode.CHAIN_UNREACHABLE and not (contested and refused):
                return Delivered(one, reason)
        if clock.monotonic() >= until:
            return Delivered(one, reason)
        await clock.sleep(LOOK_SECONDS)
