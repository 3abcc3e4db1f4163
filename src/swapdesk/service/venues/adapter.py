"""The protocol every centralized venue speaks, whether simulated or real.

Quotes are free of side effects. ``open`` is the only call that creates something at the
venue; it carries our own key, and the same key always finds the same deposit, so a crash
or a lost answer is settled by asking again with ``find`` (wire decisions 2.7).
All amounts are Decimal in token units.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Protocol

from swapdesk.wire.orders import LegStatus
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import Token


class VenueFailure(Exception):
    """A venue did not do what was asked. ``reason`` is fit for a log, not for a trader."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Transient(VenueFailure):
    """Nothing happened at the venue; asking again may work."""


class Rejected(VenueFailure):
    """The venue refused definitely; nothing happened there."""


class Ambiguous(VenueFailure):
    """The outcome is not known. ``find`` by key decides; ``open`` is never called again blindly."""


@dataclass(frozen=True)
class VenueLimits:
    """Bounds of one leg on the amount sent, in units of the token sent."""

    minimum: Decimal
    maximum: Decimal


@dataclass(frozen=True)
class VenueQuote:
    """What the venue would pay now. ``minutes`` is its estimate from deposit to payout."""

    amount_in: Decimal
    amount_out: Decimal
    minutes: Decimal
    limits: VenueLimits


@dataclass(frozen=True)
class Unavailable:
    """Why the venue does not price this leg; ``limits`` when the amount is the reason."""

    reason: str
    limits: VenueLimits | None = None


@dataclass(frozen=True)
class LegOrder:
    """What ``open`` is asked for: one leg of an order, floating, by amount sent.

    ``amount_out`` is what was quoted for the leg; the venue may answer with less or more.
    """

    key: str
    token_in: Token
    token_out: Token
    amount_in: Decimal
    amount_out: Decimal
    payout_address: str
    payout_tag: str | None
    refund_address: str | None
    refund_tag: str | None
    expires: datetime


@dataclass(frozen=True)
class DepositInstruction:
    """Where and what to pay. ``amount_in`` may be restated with the venue's rounding."""

    address: str
    tag: str | None
    amount_in: Decimal
    amount_out: Decimal


@dataclass(frozen=True)
class LegReport:
    """State of one leg at the venue, as far as it has come."""

    status: LegStatus
    amount_in: Decimal | None = None
    """What arrived."""
    amount_out: Decimal | None = None
    """What was or will be paid out."""
    deposit_hash: str | None = None
    payout_hash: str | None = None
    refund_hash: str | None = None
    refund_amount: Decimal | None = None
    refund_chain: str | None = None
    confirmations: int | None = None
    confirmations_needed: int | None = None
    deposit_arrived: bool = False


class CentralizedVenue(Protocol):
    """One centralized exchange. ``provider`` is its public record, also in ``GET /swaps``."""

    @property
    def provider(self) -> SwapProvider: ...

    @property
    def poll_seconds(self) -> float:
        """How long to wait between two reports of the same leg."""
        ...

    def supports(self, token_in: Token, token_out: Token) -> bool:
        """Whether the venue trades the pair at all. Pure, no I/O."""
        ...

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        """Bounds now, or None for a pair that is not traded."""
        ...

    async def quote(
        self, token_in: Token, token_out: Token, amount_in: Decimal
    ) -> VenueQuote | Unavailable:
        """Price one leg. Raises VenueFailure."""
        ...

    async def open(self, leg: LegOrder) -> DepositInstruction:
        """Create the leg, or return what the same key created before. Raises VenueFailure."""
        ...

    async def find(self, key: str) -> DepositInstruction | None:
        """What ``open`` created under this key; None when nothing. Raises VenueFailure."""
        ...

    async def report(self, key: str) -> LegReport | None:
        """State of the leg; None for an unknown key. Raises VenueFailure."""
        ...
