"""The protocol of every centralized venue, simulated or real. Only ``open`` creates something,
under an idempotency key; ``find`` tells what it created (contract 7.8). Amounts are Decimal in
whole tokens."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Protocol

from msgspec import Struct

from swapdesk.wire.chains import SwapProvider
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import Token


class VenueFailure(Exception):
    """Raised if a venue did not do what was asked. The message must not be shown to a trader."""


class Transient(VenueFailure):
    """Raised if a call had no effect at the venue and the same call may succeed later."""


class Rejected(VenueFailure):
    """Raised if the venue refused a call permanently; the call had no effect there."""


class Ambiguous(VenueFailure):
    """Raised if it is unknown whether a call took effect. ``open`` must not be repeated before
    ``find`` has shown what the venue did."""


class DepositAddressesInUse(Rejected):
    """Raised if open orders hold all static deposit addresses of the venue on this chain."""


class RateExpired(Rejected):
    """Raised if the fixed rate of the leg ended before the leg was opened."""


class VenueTraits(Struct, frozen=True):
    """What a venue supports besides floating swaps by the amount sent. ``payout_wallets`` is the
    number of wallets that pay out; 0 if the venue does not distinguish wallets. Fees are in percent
    of the leg's dollar value."""

    fixed: bool = False
    static_deposits: bool = False
    requires_refund_address: bool = False
    payout_wallets: int = 0
    fee: Decimal = Decimal(0)
    fixed_fee: Decimal = Decimal(0)


class Terms(Struct, frozen=True):
    """The terms of a leg. If ``receive`` is True, the stated amount is the amount received,
    otherwise the amount sent. ``markup`` is in percent of the output (contract 6.10, 6.13)."""

    fixed: bool = False
    receive: bool = False
    markup: Decimal = Decimal(0)


FLOATING = Terms()


class VenueLimits(Struct, frozen=True):
    """The smallest and the largest amount that a leg takes, in units of the token sent."""

    minimum: Decimal
    maximum: Decimal


class VenueQuote(Struct, frozen=True):
    """What the venue would pay now. ``minutes`` is the time from deposit to payout. ``rate`` and
    ``valid_until`` are None on floating terms."""

    amount_in: Decimal
    amount_out: Decimal
    minutes: Decimal
    limits: VenueLimits
    rate: str | None = None
    valid_until: datetime | None = None


class Unavailable(Struct, frozen=True):
    """The answer of a venue that does not price a leg. ``limits`` is None unless the reason is the
    amount."""

    reason: str
    limits: VenueLimits | None = None


class LegOrder(Struct, frozen=True):
    """A leg to be opened at a venue. On fixed terms the venue keeps both amounts or refuses; on
    floating terms it may change ``amount_out``. ``payout_wallet`` is the index of a hot wallet;
    None means the first."""

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
    """Where and how much to pay for a leg. The venue may have rounded ``amount_in``."""

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
    """True if the venue will not swap the deposit and waits for ``send_on`` to say where to forward
    it."""
    held: bool = False
    """True if the venue holds a further deposit that the leg does not need and that it cannot
    return."""


class CentralizedVenue(Protocol):
    """A centralized exchange. ``provider`` is its public record, also shown by ``GET /swaps``."""

    @property
    def provider(self) -> SwapProvider: ...

    @property
    def traits(self) -> VenueTraits: ...

    @property
    def poll_seconds(self) -> float: ...

    def supports(self, token_in: Token, token_out: Token) -> bool:
        """Returns True if the venue trades the pair, whatever the amount. Does no I/O."""
        ...

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        """Returns the venue's current bounds for the amount sent; None if the venue does not trade
        the pair."""
        ...

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> VenueQuote | Unavailable:
        """Prices one leg for an amount to send or, if ``terms.receive``, to receive. Returns
        Unavailable if there is no price. Raises VenueFailure."""
        ...

    async def open(self, leg: LegOrder) -> DepositInstruction:
        """Creates the leg at the venue; the same key gets the same leg. Raises VenueFailure."""
        ...

    async def find(self, key: str) -> DepositInstruction | None:
        """Returns the deposit instruction that ``open`` returned for this key; None if there is
        none. Raises VenueFailure."""
        ...

    async def report(self, key: str) -> LegReport | None:
        """Returns the state of the leg with this key; None if the venue does not know the key.
        Raises VenueFailure."""
        ...

    async def send_on(self, key: str, address: str, tag: str | None) -> None:
        """Forwards a failed leg's deposit to this address; a repetition does nothing. Raises
        Rejected if the venue holds no deposit or sent it elsewhere."""
        ...
