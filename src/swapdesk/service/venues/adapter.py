"""The protocol of every centralized venue, whether simulated or real.

Quotes have no side effects. Only ``open`` creates something at the venue. It carries a key of this
service, and the same key always finds the same deposit. After a crash or a lost answer, ``find``
with the key tells what was created (contract 7.8). All amounts are Decimal in token units.
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
    """Raised if a venue did not do what was asked. The message is fit for a log, not for a
    trader."""


class Transient(VenueFailure):
    """Raised if nothing happened at the venue and asking again may work."""


class Rejected(VenueFailure):
    """Raised if the venue refused for good; nothing happened there."""


class Ambiguous(VenueFailure):
    """Raised if it is unknown whether the venue did what was asked. Only a call of ``find`` with
    the leg's key can tell, so ``open`` is not repeated before that call has been answered."""


class DepositAddressesInUse(Rejected):
    """Raised if open orders hold all static deposit addresses of the venue on this chain."""


class RateExpired(Rejected):
    """Raised if the fixed rate of the leg ended before the leg was opened."""


class VenueTraits(Struct, frozen=True):
    """What a venue can do besides floating swaps by the amount sent.

    ``payout_wallets`` is the number of hot wallets that it pays from, 0 if it does not distinguish
    them. ``fee`` and ``fixed_fee`` are what it keeps of a leg on floating and on fixed terms, in
    percent of the dollar value.
    """

    fixed: bool = False
    static_deposits: bool = False
    requires_refund_address: bool = False
    payout_wallets: int = 0
    fee: Decimal = Decimal(0)
    fixed_fee: Decimal = Decimal(0)


class Terms(Struct, frozen=True):
    """The terms on which a leg is priced.

    ``receive`` is True if the amount asked for is the amount received. ``markup`` is in percent of
    the output (contract 6.10, 6.13).
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

    ``minutes`` is its estimate from deposit to payout. On fixed terms ``rate`` identifies the fixed
    rate at the venue, and ``valid_until`` is when that rate ends.
    """

    amount_in: Decimal
    amount_out: Decimal
    minutes: Decimal
    limits: VenueLimits
    rate: str | None = None
    valid_until: datetime | None = None


class Unavailable(Struct, frozen=True):
    """The reason why the venue does not price this leg; ``limits`` are set if the amount is the
    reason."""

    reason: str
    limits: VenueLimits | None = None


class LegOrder(Struct, frozen=True):
    """A leg of an order, to be opened at a venue.

    ``amount_out`` is the amount that was quoted for the leg. On floating terms the venue may answer
    with a different amount; on fixed terms it keeps the amounts sent and received, or refuses.
    ``rate`` identifies the quoted fixed rate. ``payout_wallet`` is the index of the hot wallet from
    which the venue shall pay; None means its first one.
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
    """The deposit that a venue expects for a leg. ``amount_in`` may be rounded by the venue."""

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
    """True if the venue will not swap the deposit that arrived. It then keeps the deposit until
    ``send_on`` says where to forward it."""
    held: bool = False
    """True if the venue has received a deposit that the leg does not need, and cannot return it."""


class CentralizedVenue(Protocol):
    """A centralized exchange. ``provider`` is its public record, also shown by ``GET /swaps``."""

    @property
    def provider(self) -> SwapProvider: ...

    @property
    def traits(self) -> VenueTraits: ...

    @property
    def poll_seconds(self) -> float: ...

    def supports(self, token_in: Token, token_out: Token) -> bool:
        """Returns True if the venue trades the pair at all. Pure, no I/O."""
        ...

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        """Returns the current bounds; None if the pair is not traded."""
        ...

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> VenueQuote | Unavailable:
        """Prices one leg; ``amount`` is received if ``terms.receive``, otherwise sent. Raises
        VenueFailure."""
        ...

    async def open(self, leg: LegOrder) -> DepositInstruction:
        """Creates the leg, or returns what the same key created before. Raises VenueFailure."""
        ...

    async def find(self, key: str) -> DepositInstruction | None:
        """Returns what ``open`` created under this key; None if nothing. Raises VenueFailure."""
        ...

    async def report(self, key: str) -> LegReport | None:
        """Returns the state of the leg with this key; None if the venue does not know the key.
        Raises VenueFailure."""
        ...

    async def send_on(self, key: str, address: str, tag: str | None) -> None:
        """Forwards the deposit of a failed leg to this address; does nothing if it was sent there
        before.

        Raises Rejected if the venue holds no deposit of the leg, or sent it elsewhere.
        """
        ...
