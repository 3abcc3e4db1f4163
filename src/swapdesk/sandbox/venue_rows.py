"""The simulated exchanges: how each differs in price, depth, bounds, patience and reach."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal


@dataclass(frozen=True)
class VenueRow:
    """One exchange. Basis points off the mid price, book depth and bounds in US dollars.

    ``exchange_seconds`` of world time lie between a confirmed deposit and the payout;
    ``caution`` is by how much its quoted minutes exceed what it needs; ``latency`` is how
    long it takes to answer a quote, in seconds.
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
    without: frozenset[str] = field(default_factory=frozenset)
    """Assets it does not trade."""
    without_chains: frozenset[str] = field(default_factory=frozenset)
    enabled: bool = True
    deprecated: bool = False


def _venue(
    code: str,
    name: str,
    *,
    spread: str,
    depth: str,
    minimum: str,
    maximum: str,
    seconds: int,
    caution: str,
    latency: float,
    without: str = "",
    without_chains: str = "",
    enabled: bool = True,
    deprecated: bool = False,
) -> VenueRow:
    return VenueRow(
        code,
        name,
        Decimal(spread),
        Decimal(depth),
        Decimal(minimum),
        Decimal(maximum),
        seconds,
        Decimal(caution),
        latency,
        frozenset(without.split()),
        frozenset(without_chains.split()),
        enabled,
        deprecated,
    )


VENUE_ROWS: tuple[VenueRow, ...] = (
    _venue(
        "hy",
        "Halyard",
        spread="22",
        depth="90000000",
        minimum="20",
        maximum="400000",
        seconds=240,
        caution="1.8",
        latency=0.060,
        without="GATE TIDE WIF",
    ),
    _venue(
        "cb",
        "Cobalt",
        spread="27",
        depth="120000000",
        minimum="12",
        maximum="400000",
        seconds=330,
        caution="2.2",
        latency=0.110,
        without="KRILL",
    ),
    _venue(
        "ar",
        "Alder",
        spread="41",
        depth="60000000",
        minimum="15",
        maximum="250000",
        seconds=270,
        caution="1.9",
        latency=0.045,
        without="TIDE",
    ),
    _venue(
        "jn",
        "Juniper",
        spread="74",
        depth="150000000",
        minimum="10.5",
        maximum="400000",
        seconds=200,
        caution="1.7",
        latency=0.030,
        without="XMR BONK PEPE SHIB",
        without_chains="optimism",
    ),
    _venue(
        "kt",
        "Kestrel",
        spread="150",
        depth="35000000",
        minimum="30",
        maximum="150000",
        seconds=150,
        caution="1.8",
        latency=0.020,
        without="GATE NEAR",
    ),
    _venue(
        "gt",
        "Gantry",
        spread="14",
        depth="400000000",
        minimum="72315",
        maximum="400000",
        seconds=300,
        caution="1.9",
        latency=0.140,
        without="XMR KRILL TIDE GATE BONK WIF",
        without_chains="xrp",
    ),
    _venue(
        "tl",
        "Tiller",
        spread="56",
        depth="45000000",
        minimum="17",
        maximum="200000",
        seconds=210,
        caution="2.0",
        latency=0.085,
        without="XRP RLUSD",
        without_chains="bsc",
    ),
    _venue(
        "mw",
        "Merrow",
        spread="35",
        depth="20000000",
        minimum="20",
        maximum="100000",
        seconds=240,
        caution="1.8",
        latency=0.070,
        enabled=False,
        deprecated=True,
    ),
)
