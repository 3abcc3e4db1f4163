"""The simulated exchanges: how each differs in price, depth, bounds, patience and reach.

``venues.tsv`` has a line for each; what the node, the prices and the catalogue read is a VenueRow.
"""

from __future__ import annotations

import re
from decimal import Decimal

from msgspec import Struct

from swapdesk.sandbox.tables import read_table

ON_CHAIN_NAMES = {
    "ba": "Basalt AMM",
    "fa": "Fathom AMM",
    "is": "Isthmus",
    "me": "Meridian",
    "at": "Atoll",
}
"""On-chain venues by provider code; they are ``service.venues.onchain`` on the sandbox's chains."""

PAYOUT_WALLETS = 5
"""Hot wallets every exchange pays from (contract 17.7)."""

STATIC_ADDRESSES = 2
"""Deposit addresses per chain of an exchange that has static ones (contract 17.7)."""


class Outage(Struct, frozen=True):
    """Closed for ``minutes`` out of every ``every`` minutes of sandbox time.

    The first closed minute is minute ``first`` of each round; rounds count from the epoch.
    """

    minutes: int
    every: int
    first: int = 0


class VenueRow(Struct, frozen=True, eq=False):
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


def _venue(line: dict[str, str]) -> VenueRow:
    flags = line["flags"].split()
    low, _, high = line["slow"].partition("-")
    outage = [int(number) for number in re.findall(r"[0-9]+", line["outage"])]
    return VenueRow(
        code=line["code"],
        name=line["name"],
        spread=Decimal(line["spread"]),
        depth=Decimal(line["depth"]),
        minimum=Decimal(line["minimum"]),
        maximum=Decimal(line["maximum"]),
        exchange_seconds=int(line["seconds"]),
        caution=Decimal(line["caution"]),
        latency=float(line["latency"]),
        without=frozenset(line["without"].split()),
        without_chains=frozenset(line["without_chains"].split()),
        fixed_spread=Decimal(line["fixed"]) if line["fixed"] else None,
        markup="markup" in flags,
        reach=int(line["reach"]),
        memo_deposits="no-memos" not in flags,
        static_deposits="static-deposits" in flags,
        requires_refund_address="needs-refund-address" in flags,
        slow=(float(low), float(high)) if low else None,
        outage=Outage(*outage) if outage else None,
        enabled="disabled" not in flags,
        deprecated="deprecated" in flags,
        refund_fee=Decimal(line["refund_fee"] or 0),
        tells_refund="hides-refund" not in flags,
    )


VENUE_ROWS: tuple[VenueRow, ...] = tuple(map(_venue, read_table("venues.tsv")))
