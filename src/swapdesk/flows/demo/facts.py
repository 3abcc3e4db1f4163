"""What a demonstration is made of, and what is known at one of its stages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec import Struct

from swapdesk.client.chain_transfers import ChainTransfer
from swapdesk.client.sandbox_control import OrderLeg
from swapdesk.flows.demo.link_search import LinkSearch, Remainder
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.case_sheet import CaseSheet
from swapdesk.flows.support.order_search import Searched
from swapdesk.wire.orders import OrderStatusCode
from swapdesk.wire.quotes import RouteType
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.demo.demonstration import Demonstration


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


class StageRow(Struct, frozen=True):
    """One row of the table of a demonstration. ``act`` is done first; ``reached`` says whether
    the stage, or a later one, has come. ``more`` is told on demand; ``short`` is the name where
    there is little room."""

    name: str
    short: str
    title: str
    sentence: str
    more: str
    reached: Callable[[Facts], bool]
    act: Callable[[Demonstration], Awaitable[None]] | None = None


class Demo(Struct, frozen=True):
    """What is shown: ``route`` from ``sell`` to ``buy``, each ``symbol.chain``."""

    name: str
    title: str
    did: str
    """What Alice did: ``created a private send``."""
    route: RouteType
    sell: str
    buy: str | None
    """None: the same token."""
    amount: Decimal
    rows: tuple[StageRow, ...]
    receiver: str = "Bob"
    """Who is paid."""
    others: bool = False
    """Whether other customers use the sandbox meanwhile."""
    fault: str | None = None
    """What happens to the order."""


class Stage(Struct, frozen=True):
    """``number`` is 1 to as many as there are."""

    number: int
    row: StageRow
    facts: Facts
