"""The protocol of every centralized venue, whether simulated or real.

Quotes are free of side effects. ``open`` is the only call that creates something at the venue; it
carries our own key, and the same key always finds the same deposit, so a crash or a lost answer is
settled by asking again with ``find`` (contract 7.8). All amounts are Decimal in token units.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Protocol

from msgspec import Struct

from swapdesk.wire.chains import SwapProvider
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import Token


class VenueFailure(Exception):
    """A venue did not do what was asked. The message is fit for a log, not for a trader."""


class Transient(VenueFailure):
    """Nothing happened at the venue; asking again may work."""


class Rejected(VenueFailure):
    """The venue refused definitely; nothing happened there."""


class Ambiguous(VenueFailure):
    """The outcome is unknown. ``find`` by key decides; ``open`` is never called again blindly."""


class DepositAddressesInUse(Rejected):
    """All static deposit addresses of the venue on this chain are held by open orders."""


class RateExpired(Rejected):
    """The fixed rate of the leg ended before it was opened."""


class VenueTraits(Struct, frozen=True):
    """Capabilities of a venue besides floating swaps by amount sent.

    ``payout_wallets`` is how many hot wallets it pays from, 0 when it does not tell them apart.
    ``fee`` and ``fixed_fee`` are what it keeps of a leg on floating and on fixed terms, in percent
    of the dollars.
    """

    fixed: bool = False
    static_deposits: bool = False
    requires_refund_address: bool = False
    payout_wallets: int = 0
    fee: Decimal = Decimal(0)
    fixed_fee: Decimal = Decimal(0)


class Terms(Struct, frozen=True):
    """How a leg is priced.

    ``receive``: the amount is what shall arrive; ``markup`` in percent of the output (contract
    6.10, 6.13).
    """

    fixed: bool = False
    receive: bool = False
    markup: Decimal = Decimal(0)


FLOATING = Terms()


class VenueLimits(Struct, frozen=True):
    """Bounds of one leg on the amount sent, in units of the token sent."""

    minimum: Decimal
    maximum: Decimal


class VenueQuote(Struct, frozen=True):
    """What the venue would pay now.

    ``minutes`` is its estimate from deposit to payout. With fixed terms ``rate`` names the promise
    at the venue and ``valid_until`` its end.
    """

    amount_in: Decimal
    amount_out: Decimal
    minutes: Decimal
    limits: VenueLimits
    rate: str | None = None
    valid_until: datetime | None = None


class Unavailable(Struct, frozen=True):
    """Why the venue does not price this leg; ``limits`` when the amount is the reason."""

    reason: str
    limits: VenueLimits | None = None


class LegOrder(Struct, frozen=True):
    """One leg of an order, to be opened.

    ``amount_out`` is what was quoted for the leg; on floating terms the venue may answer with less
    or more, on fixed terms it keeps both amounts or refuses. ``rate`` repeats the quote's.
    ``payout_wallet`` asks for one of the venue's hot wallets, by index; None for the first.
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
    terms: Terms = FLOATING
    rate: str | None = None
    payout_wallet: int | None = None


class DepositInstruction(Struct, frozen=True):
    """Where and what to pay. ``amount_in`` may be restated with the venue's rounding."""

    address: str
    tag: str | None
    amount_in: Decimal
    amount_out: Decimal


class LegReport(Struct, frozen=True):
    status: LegStatus
    amount_in: Decimal | None = None
    amount_out: Decimal | None = None
    deposit_hash: str | None = None
    payout_hash: str | None = None
    refund_hash: str | None = None
    refund_amount: Decimal | None = None
    refund_chain: str | None = None
    confirmations: int | None = None
    confirmations_needed: int | None = None
    deposit_arrived: bool = False
    declined: bool = False
    """The venue will not swap what arrived, holds it, and forwards it where ``send_on`` says."""
    held: bool = False
    """A deposit beyond what the leg takes is at the venue, which cannot return it."""


class CentralizedVenue(Protocol):
    """One centralized exchange. ``provider`` is its public record, also in ``GET /swaps``."""

    @property
    def provider(self) -> SwapProvider: ...

    @property
    def traits(self) -> VenueTraits: ...

    @property
    def poll_seconds(self) -> float: ...

    def supports(self, token_in: Token, token_out: Token) -> bool:
        """Returns whether the venue trades the pair at all. Pure, no I/O."""
        ...

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        """Returns current bounds; None for a pair that is not traded."""
        ...

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> VenueQuote | Unavailable:
        """Prices one leg for ``amount`` of the side ``terms`` names. Raises VenueFailure."""
        ...

    async def open(self, leg: LegOrder) -> DepositInstruction:
        """Creates the leg, or returns what the same key created before. Raises VenueFailure."""
        ...

    async def find(self, key: str) -> DepositInstruction | None:
        """Returns what ``open`` created under this key; None for nothing. Raises VenueFailure."""
        ...

    async def report(self, key: str) -> LegReport | None:
        """Returns the state of the leg; None for an unknown key. Raises VenueFailure."""
        ...

    async def send_on(self, key: str, address: str, tag: str | None) -> None:
        """Forwards a failed leg's deposit to this address; an earlier forwarding stands.

        Raises Rejected when the venue holds no deposit of the leg, or sent it elsewhere.
        """
        ...
