"""One simulated exchange: what the node, the prices and the catalogue read of it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

PAYOUT_WALLETS = 5
"""Hot wallets every exchange pays from (contract 17.7)."""

STATIC_ADDRESSES = 2
"""Deposit addresses per chain of an exchange that has static ones (contract 17.7)."""


@dataclass(frozen=True)
class Outage:
    """Closed for ``minutes`` out of every ``every`` minutes of sandbox time.

    The first closed minute is minute ``first`` of each round; rounds count from the epoch.
    """

    minutes: int
    every: int
    first: int = 0


@dataclass(frozen=True, eq=False)
class VenueRow:
    """One exchange. Basis points off the mid price, book depth and bounds in US dollars.

    ``exchange_seconds`` of world time lie between a confirmed deposit and the payout;
    ``caution`` is by how much its quoted minutes exceed what it needs; ``latency`` is how
    long it usually takes to answer a quote, in seconds, and ``slow`` between what it takes in
    its bad moments. ``fixed_spread`` None: no fixed rates.
    """

    code: str
    name: str
    spread: Decimal
    depth: Decimal
    minimum: Decimal
    maximum: Decimal
    exchange_seconds: int
    caution: Decimal
    latency: float
    without: frozenset[str] = frozenset()
    """Assets it does not trade."""
    without_chains: frozenset[str] = frozenset()
    fixed_spread: Decimal | None = None
    markup: bool = False
    reach: int = 100
    """Percent it lists of the assets that every exchange decides on by itself."""
    memo_deposits: bool = True
    """On chains with memos one address for all and a memo for each; else an address for each."""
    static_deposits: bool = False
    """Two deposit addresses on each chain, taken in turns by open orders."""
    requires_refund_address: bool = False
    slow: tuple[float, float] | None = None
    outage: Outage | None = None
    enabled: bool = True
    deprecated: bool = False
    refund_fee: Decimal = Decimal(0)
    """Percent of a deposit it keeps when it sends one back."""
    tells_refund: bool = True
    """Whether it says how much it sent back."""
