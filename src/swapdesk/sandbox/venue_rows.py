"""The simulated exchanges: how each differs in price, depth, bounds, patience and reach."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

PAYOUT_WALLETS = 5
"""Hot wallets every exchange pays from (wire decisions 8, "Quotes")."""

STATIC_ADDRESSES = 2
"""Deposit addresses per chain of an exchange that has static ones (wire decisions 8)."""


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
    fixed: str | None = None,
    markup: bool = False,
    reach: int,
    without: str = "",
    without_chains: str = "",
    memo_deposits: bool = True,
    static_deposits: bool = False,
    requires_refund_address: bool = False,
    slow: tuple[float, float] | None = None,
    outage: Outage | None = None,
    enabled: bool = True,
    deprecated: bool = False,
    refund_fee: str = "0",
    tells_refund: bool = True,
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
        None if fixed is None else Decimal(fixed),
        markup,
        reach,
        memo_deposits,
        static_deposits,
        requires_refund_address,
        slow,
        outage,
        enabled,
        deprecated,
        Decimal(refund_fee),
        tells_refund,
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
        refund_fee="0.25",
        reach=70,
        without_chains="algorand kusama",
        fixed="44",
        markup=True,
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
        reach=90,
        fixed="55",
        markup=True,
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
        refund_fee="0.2",
        reach=60,
        without_chains="celestia sonic",
        fixed="62",
        markup=True,
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
        refund_fee="0.15",
        reach=45,
        without_chains="optimism celo blast osmosis",
        markup=True,
        without="XMR BONK PEPE SHIB",
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
        refund_fee="0.3",
        tells_refund=False,
        reach=80,
        without_chains="kusama dash algorand",
        fixed="190",
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
        reach=10,
        without_chains="xrp ton celo blast scroll gnosis",
        fixed="30",
        markup=True,
        without="XMR KRILL TIDE GATE BONK WIF",
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
        reach=55,
        without_chains="bsc sui mantle linea",
        markup=True,
        without="XRP RLUSD",
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
        reach=50,
        enabled=False,
        deprecated=True,
    ),
    _venue(
        "sx",
        "Saxby",
        spread="64",
        depth="30000000",
        minimum="25",
        maximum="120000",
        seconds=220,
        caution="1.9",
        latency=0.055,
        refund_fee="0.3",
        reach=30,
        without_chains="ton stellar polkadot kusama celestia",
        fixed="88",
        markup=True,
        without="XMR GATE TIDE KRILL",
        memo_deposits=False,
        static_deposits=True,
    ),
    _venue(
        "qy",
        "Quay",
        spread="105",
        depth="70000000",
        minimum="22",
        maximum="300000",
        seconds=260,
        caution="2.0",
        latency=0.090,
        refund_fee="0.1",
        reach=40,
        without_chains="cardano dash scroll blast",
        fixed="130",
        markup=True,
        without="XMR GATE KRILL BONK",
        memo_deposits=False,
        requires_refund_address=True,
    ),
    _venue(
        "lb",
        "Larboard",
        spread="33",
        depth="80000000",
        minimum="18",
        maximum="350000",
        seconds=310,
        caution="2.1",
        latency=0.180,
        reach=65,
        without_chains="gnosis zksync",
        markup=True,
        without="GATE TIDE KRILL",
        slow=(1.5, 2.5),
    ),
    _venue(
        "fm",
        "Fathom",
        spread="30",
        depth="50000000",
        minimum="14",
        maximum="180000",
        seconds=230,
        caution="1.8",
        latency=0.065,
        reach=50,
        without_chains="algorand osmosis sonic",
        fixed="58",
        markup=True,
        without="GATE TIDE RLUSD",
        outage=Outage(minutes=3, every=20, first=7),
    ),
    _venue(
        "pl",
        "Pell",
        spread="92",
        depth="12000000",
        minimum="8",
        maximum="25000",
        seconds=130,
        caution="1.7",
        latency=0.025,
        reach=35,
        without_chains="bitcoin bitcoincash dash litecoin dogecoin monero",
        without="XMR GATE NEAR TIDE KRILL",
    ),
)
