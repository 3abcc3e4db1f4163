"""The protocol of every on-chain venue. ``permission`` and ``next_signature`` say what a wallet
signs, ``prepare`` what it sends; ``progress`` follows the order. Amounts are in smallest units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Protocol

from msgspec import Struct, field

from swapdesk.chain.rpc.evm import Call
from swapdesk.service.venues.adapter import LegReport, Unavailable
from swapdesk.wire.chains import SwapProvider
from swapdesk.wire.dex import GivenSignature, SignatureRequirement
from swapdesk.wire.tokens import Token

AUTO_SLIPPAGE = Decimal("0.5")
"""Slippage in percent that is used if the request names none."""

CALLDATA_SECONDS = 120
"""Seconds after a create request during which its prepared transaction can be executed."""

SIGNATURE_SECONDS = 600
"""Seconds for which a signature stays valid after the quote has ended."""


class DexRefused(Exception):
    """Raised if a request does not fit its quote or the swap would fail. ``field`` is the wrong
    parameter; None if there is no single one."""

    def __init__(self, reason: str, field: str | None = None) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason


class DexQuestion(Struct, frozen=True):
    """A question for the price of a swap. ``amount`` is in smallest units of ``token_in``.
    ``slippage`` is in percent; None leaves the choice to the venue. ``sender`` and ``receiver`` are
    None if unknown."""

    token_in: Token
    token_out: Token
    amount: int
    slippage: Decimal | None = None
    sender: str | None = None
    receiver: str | None = None


class Plan(Struct, frozen=True):
    """What a venue promised with a quote, in smallest units. ``least`` is ``out`` minus the
    slippage; the receiver gets no less. ``fee`` is deducted from the token sold; ``value`` is the
    transaction's wei. ``path`` lists token contracts; coins appear as wrapped tokens."""

    amount: int
    out: int
    least: int
    slippage: Decimal
    path: tuple[str, ...]
    fee: int = 0
    value: int = 0

    def as_json(self) -> dict[str, Any]:
        """Returns the plan as JSON. Numbers are text, because many JSON readers would round
        them."""
        return {
            "amount": str(self.amount),
            "out": str(self.out),
            "least": str(self.least),
            "slippage": format(self.slippage, "f"),
            "path": list(self.path),
            "fee": str(self.fee),
            "value": str(self.value),
        }

    @classmethod
    def from_json(cls, plan: Mapping[str, Any]) -> Plan:
        return cls(
            amount=int(plan["amount"]),
            out=int(plan["out"]),
            least=int(plan["least"]),
            slippage=Decimal(plan["slippage"]),
            path=tuple(plan["path"]),
            fee=int(plan["fee"]),
            value=int(plan["value"]),
        )


class DexPrice(Struct, frozen=True):
    """What a venue would pay now, and its costs. ``gas`` is in gas units, 0 if the wallet sends
    nothing; the other costs are in the coin's smallest unit. ``impact`` is the share of the price
    lost by the swap's size. ``pays_sender_only`` is True if nobody but the signer can be paid."""

    plan: Plan
    minutes: Decimal
    impact: Decimal
    gas: int
    gas_wei: int = 0
    fee_wei: int = 0
    bridge_fee_wei: int = 0
    needs_permission: bool = False
    by_signature: bool = False
    pays_sender_only: bool = False


class Deal(Struct, frozen=True):
    """A quote that is being executed. ``expires`` is the end of the quote."""

    quote_id: str
    token_in: Token
    token_out: Token
    plan: Plan
    expires: datetime

    @property
    def signed_until(self) -> int:
        """The deadline of the deal's signatures, in seconds since 1970."""
        return int(self.expires.timestamp()) + SIGNATURE_SECONDS


class Permission(Struct, frozen=True):
    """The approvals and signatures that are still missing before the venue may take the tokens."""

    approvals: Sequence[Call] = ()
    """Calls of the sold token's contract that let the venue take the token."""
    signatures: Sequence[SignatureRequirement] = ()


class AgreedSwap(Struct, frozen=True):
    deal: Deal
    owner: str
    receiver: str
    now: datetime


class SwapToPrepare(AgreedSwap, frozen=True):
    """The swap of a create request, for a venue to prepare. The venue checks ``signatures``, which
    the owner made."""

    signatures: Sequence[GivenSignature]


class PreparedSwap(Struct, frozen=True):
    """What the wallet has to send for a swap; nothing if ``settled_by_venue``. ``metadata`` is
    shown with the order; ``notes`` are stored for the venue."""

    metadata: dict[str, Any]
    settled_by_venue: bool = False
    notes: dict[str, str] = field(default_factory=dict)


class RouteExecution(AgreedSwap, frozen=True):
    """The known state of an order's swap. ``hash`` is None until a transaction is confirmed. A
    venue that settles the swap itself may do so only if ``confirmed`` is True."""

    notes: Mapping[str, str]
    confirmed: bool
    hash: str | None
    deadline: datetime


class Progress(Struct, frozen=True):
    report: LegReport
    notes: dict[str, str] = field(default_factory=dict)


class DexVenue(Protocol):
    """An on-chain venue. Methods that ask a chain raise NodeError if the chain gives no valid
    answer."""

    @property
    def provider(self) -> SwapProvider: ...

    def supports(self, token_in: Token, token_out: Token) -> bool:
        """Returns True if the venue trades the pair, whatever the amount. Does no I/O."""
        ...

    async def quote(self, question: DexQuestion) -> DexPrice | Unavailable: ...

    async def permission(self, deal: Deal, owner: str, *, by_permit: bool) -> Permission:
        """Returns what ``owner`` still has to approve or, with ``by_permit``, to sign if the token
        supports that. Raises DexRefused."""
        ...

    async def allowed(self, deal: Deal, owner: str) -> bool: ...

    async def next_signature(
        self, deal: Deal, owner: str, given: GivenSignature, step: int
    ) -> list[SignatureRequirement]:
        """Returns what the owner has to sign after ``given``, the signature of step ``step``.
        Raises DexRefused."""
        ...

    async def prepare(self, swap: SwapToPrepare) -> PreparedSwap:
        """Returns what the wallet has to send, after a successful simulation. Raises DexRefused."""
        ...

    async def progress(self, execution: RouteExecution) -> Progress:
        """Performs the venue's own next step for an order, if any, and returns the order's
        progress."""
        ...
