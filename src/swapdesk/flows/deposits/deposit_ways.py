"""Who can pay the deposit of an order from here: the profile's wallet, or the sandbox's faucet.

The wallet pays on chains whose node this profile knows; the faucet pays everything, on chains
that the sandbox only keeps in its ledger as well.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from enum import Enum

from swapdesk.clock import Clock
from swapdesk.flows.deposits.funding import MAY_BE_PAID, SENT_BEFORE, SandboxFaucet, not_payable
from swapdesk.flows.failure_messages import NO_JOURNAL
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.journal.outgoing_writes import OutgoingWrite, OutgoingWrites
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wallet.accounts import ChainLink, Kind

log = logging.getLogger(__name__)

PAYS_ON = frozenset({Kind.EVM, Kind.SOLANA})
"""Kinds of chains on which the wallet pays deposits."""
_NODES = frozenset({"evm", "sol"})
"""The same as the service names them."""


class PayBy(Enum):
    WALLET = "wallet"
    FAUCET = "faucet"


class DepositWays:
    """``chains`` are the nodes of now, ``faucet`` the sandbox's, None live or not connected."""

    def __init__(
        self,
        chains: Callable[[], Sequence[ChainLink]],
        faucet: Callable[[], SandboxFaucet | None],
        clock: Clock,
        calls: OutgoingWrites,
        *,
        live: bool,
    ) -> None:
        self._chains = chains
        self._faucet = faucet
        self._clock = clock
        self._calls = calls
        self._live = live
        self._lacks: dict[str, str] = {}

    def node(self, tracked: TrackedOrder) -> ChainLink | None:
        """Of the chain that the order is paid on, where the wallet pays there."""
        if tracked.intent is None:
            return None
        chain = tracked.intent.token_in.chain.lower()
        links = (one for one in self._chains() if one.kind in PAYS_ON)
        return next((one for one in links if one.name.lower() == chain), None)

    def simulated(self, tracked: TrackedOrder) -> bool:
        """Whether the order is paid on a chain that exists in the sandbox's ledger alone."""
        return not self._live and tracked.intent is not None and self.node(tracked) is None

    def of(self, tracked: TrackedOrder) -> PayBy | None:
        """Who pays at the key; the faucet also where the wallet was found to lack something."""
        faucet = self._faucet() is not None
        if self.node(tracked) is not None and not (faucet and tracked.service_id in self._lacks):
            return PayBy.WALLET
        return PayBy.FAUCET if faucet else None

    def missing(self, tracked: TrackedOrder) -> str | None:
        """What the wallet would need to pay it; None where it pays, or never could."""
        intent = tracked.intent
        if intent is None or self.node(tracked) is not None or intent.token_in.kind not in _NODES:
            return None
        return f"no node of {intent.token_in.chain_name} is configured"

    def lacks(self, service_id: str, reason: str) -> None:
        """The wallet cannot pay this order, so that the faucet is offered."""
        self._lacks[service_id] = reason

    def lack_of(self, tracked: TrackedOrder) -> str | None:
        """What the wallet was found to lack for this order, in sentences."""
        return self._lacks.get(tracked.service_id)

    # What was paid

    def refusal(self, tracked: TrackedOrder) -> str | None:
        """Why the wallet must not pay it now; None where it may, or may go on with it."""
        payment = self.payment(tracked.service_id)
        if isinstance(payment, str):
            return payment
        if payment is None:
            return not_payable(tracked, self._clock.now())
        if payment.state is StepState.ACKED:
            return SENT_BEFORE
        return None if payment.by_wallet else MAY_BE_PAID

    def payment(self, service_id: str) -> OutgoingWrite | str | None:
        """The payment of an order that stands in the journal; a sentence where it has none."""
        try:
            return self._calls.payment_of(service_id)
        except JournalUnavailable as error:
            log.warning("it is not known whether %s was paid: %s", service_id, error)
            return NO_JOURNAL.cause

    def paid(self, tracked: TrackedOrder) -> bool:
        """Whether the deposit is known to have left."""
        payment = self.payment(tracked.service_id)
        return isinstance(payment, OutgoingWrite) and payment.state is StepState.ACKED

    def under_way(self, tracked: TrackedOrder) -> bool:
        """Whether the wallet began to pay it, and how that ends is not known."""
        payment = self.payment(tracked.service_id)
        return (
            isinstance(payment, OutgoingWrite)
            and payment.by_wallet
            and payment.state is not StepState.ACKED
        )
