"""What is known at one stage of a demonstration."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from swapdesk.client.chain_transfers import ChainTransfer
from swapdesk.client.sandbox_control import OrderLeg
from swapdesk.flows.demo.link_search import LinkSearch, Remainder
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.case_sheet import CaseSheet
from swapdesk.flows.support.order_search import Searched
from swapdesk.wire.orders import OrderStatusCode
from swapdesk.wire.tokens import Token

HOW_FAR = {
    "WAITING": 1,
    "CONFIRMING": 2,
    "VERIFYING": 3,
    "EXCHANGING": 3,
    "SENDING": 4,
    "FINISHED": 5,
    "FALLBACK": 5,
}
"""How far a leg is by its status; one that failed is nowhere on the way."""


class DemoFailed(Exception):
    """The demonstration cannot go on; the sentence says why."""


class SupportWork(Struct, frozen=True):
    """What support did: the message of the customer, where it was looked for, and the answer."""

    message: str
    searched: tuple[Searched, ...]
    sheet: CaseSheet
    replied: bool = False


class Movement(Struct, frozen=True):
    """A payment in the words of the catalogue."""

    transfer: ChainTransfer
    amount: Decimal | None
    """None for a token that the catalogue does not have."""
    symbol: str


class SwapOffer(Struct, frozen=True):
    """A usable DEX quote. ``signed``: its venue takes signatures in place of a transaction."""

    venue: str
    out: Decimal
    chosen: bool
    signed: bool


class SentTransaction(Struct, frozen=True):
    """A transaction from Alice's account. ``height`` is None while it is in no block; ``fee`` in
    wei."""

    hash: str
    at: datetime
    to: str
    height: int | None = None
    fee: int = 0


class SwapFacts(Struct, frozen=True):
    """How far a swap on a chain has come. ``approvals`` is None until the route was asked for
    them; ``spender`` may take Alice's tokens then. ``least`` arrives, or nothing leaves her
    account. ``holds`` is what her account has of the token that is bought."""

    account: str
    bought: Token
    offers: tuple[SwapOffer, ...]
    venue: str
    least: Decimal
    approvals: tuple[SentTransaction, ...] | None = None
    spender: str = ""
    sent: SentTransaction | None = None
    told: datetime | None = None
    holds: Decimal = Decimal(0)

    @property
    def fee(self) -> int:
        """Of all transactions, in wei."""
        sent = () if self.sent is None else (self.sent,)
        return sum(one.fee for one in (*(self.approvals or ()), *sent))


class Facts(Struct, frozen=True):
    """What is known at one moment.

    ``tracked`` is None before there is an order. ``moved`` are the payments of the case on the
    local chains: to and from the addresses of the order, oldest first. ``fee`` is what Alice paid
    to the chain, in its coins. ``remains`` is there once Bob was paid. ``swap`` is of a swap on a
    chain, which has no ``legs``.
    """

    at: datetime
    created: datetime
    sold: Token
    amount: Decimal
    tracked: TrackedOrder | None
    legs: tuple[OrderLeg, ...]
    bob: str
    money: str
    """Where the money is, and who acts next."""
    next: str
    chains: frozenset[str]
    """The chains that are read."""
    coin: str
    """What the chain of the deposit takes fees in."""
    moved: tuple[Movement, ...] = ()
    paid: ChainTransfer | None = None
    got: ChainTransfer | None = None
    fee: Decimal | None = None
    search: LinkSearch | None = None
    remains: Remainder | None = None
    support: SupportWork | None = None
    swap: SwapFacts | None = None

    @property
    def ended(self) -> bool:
        return self.tracked is not None and self.tracked.ended

    @property
    def completed(self) -> bool:
        """Whether it ended with what was wanted."""
        if self.swap is not None:
            order = None if self.tracked is None else self.tracked.order
            return order is not None and order.status == OrderStatusCode.FINISHED
        return self.ended and self.legs[-1].status in ("FINISHED", "FALLBACK")

    @property
    def hash(self) -> str | None:
        """Of the newest transaction."""
        if self.moved:
            return self.moved[-1].transfer.hash
        if self.swap is None:
            return None
        sent = self.swap.sent or next(iter(reversed(self.swap.approvals or ())), None)
        return None if sent is None else sent.hash
