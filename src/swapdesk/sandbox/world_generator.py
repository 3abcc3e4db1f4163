"""Generates catalogues of any size from a seed, for tests, benchmarks and large sandboxes. No
exchange trades a generated token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import accumulate
from random import Random

from swapdesk.chain.addresses import base58
from swapdesk.sandbox.tables import ChainIds, ChainRow
from swapdesk.sandbox.world import (
    SCAN_LIFE,
    build_chains,
    build_tokens,
    chains_by_name,
    derive_contract,
    object_id,
    scan_with,
    seed_bytes,
)
from swapdesk.wire.chains import Chain
from swapdesk.wire.tokens import Token, TokenSecurityScan, UnscannedReason

_FIRST_WORDS = """
Baby Safe Moon Quantum Hyper Meta Solar Lunar Astro Cyber Neo Ultra Golden Silver Iron Liquid
Frozen Rapid Silent Brave Lucky Happy Angry Sleepy Dark Bright Cosmic Ocean River Mountain Desert
Arctic Amber Coral Copper Crystal Drift Echo Ember Falcon Fern Flint Fox Galaxy Ghost Glacier
Harbor Hawk Hedge Honey Indigo Ivory Jade Karma Kite Lava Lotus Magnet Maple Marble Mint Nebula
Nova Oak Onyx Opal Orbit Orchid Otter Pearl Phoenix Pixel Plasma Prism Pulse Quartz Raven Reef
Ripple Rocket Royal Ruby Sage Shadow Sigma Spark Spruce Stellar Storm Summit Swift Tiger Titan
Topaz Turbo Velvet Vertex Violet Vortex Wave Willow Wolf Zen Zephyr Zero
"""
_SECOND_WORDS = """
Inu Doge Cat Frog Bear Bull Whale Shark Ape Panda Hamster Protocol Finance Network Chain Swap DAO
Labs Cash Coin Token Gold Dollar Euro Credit Vault Yield Stake Pay Card Bank Fund Index Bridge
Oracle Node Cloud Data AI Agent Game Land Verse World Guild Quest Arena Sport Music Art Health
Energy Carbon Water Food Travel Estate Land Trade Exchange Market Capital
"""
_FIRST, _SECOND = _FIRST_WORDS.split(), _SECOND_WORDS.split()
_FOREIGN = (
    "\u732b\u5e01",
    "\u72d7\u72d7\u5e01",
    "\u5409\u7965\u7269",
    "\u041a\u043e\u0442\u0438\u043a",
    "\u03a7\u03c1\u03c5\u03c3\u03cc\u03c2",
    "\u30b3\u30a4\u30f3",
    "\ubb34\uad81\ud654",
    "S\u00e3o Coin",
    "M\u00fcnze",
    "\u0639\u0645\u0644\u0629",
    "Pepe \U0001f438",
    "Moon \U0001f315",
    "Caf\u00e9 Token",
)


def draw_name(random: Random) -> tuple[str, str]:
    """Draws a random symbol and name."""
    kind = random.random()
    if kind < 0.015:
        name = random.choice(_FOREIGN)
        return name.split()[0][:12], name
    first, second = random.choice(_FIRST), random.choice(_SECOND)
    if kind < 0.25:
        return first[: random.randint(3, 6)].upper(), first
    if kind < 0.60:
        return (first[: random.randint(2, 4)] + second[:2]).upper(), f"{first} {second}"
    if kind < 0.75:
        return (first[0] + second[: random.randint(2, 4)]).upper(), f"{first} {second}"
    if kind < 0.85:
        return second[:5].upper(), f"{first} {second}"
    if kind < 0.92:
        third = random.choice(_SECOND)
        return (first[0] + second[0] + third[0]).upper(), f"{first} {second} {third}"
    number = random.choice(("2.0", "3000", "X", "69", "420", "404", "V2", "Classic"))
    return (first[:4] + number[:2]).upper(), f"{first} {second} {number}"


FEWEST, MOST = 1_000, 100_000
"""Smallest and largest number of tokens in a catalogue."""

_SHARES = {
    "solana": 27,
    "ethereum": 24,
    "bsc": 18,
    "base": 12,
    "arbitrum": 5,
    "polygon": 4,
    "optimism": 2,
    "avalanche": 2,
    "tron": 1.5,
    "sui": 1,
    "ton": 1,
    "linea": 0.6,
    "scroll": 0.5,
    "zksync": 0.5,
    "blast": 0.4,
    "mantle": 0.3,
    "gnosis": 0.2,
}
"""Percentage of the generated tokens on each chain, about as in public lists."""

_COPIED = ("USDC", "USDT", "ETH", "BTC", "SOL", "PEPE", "SHIB", "UNI", "LINK", "TRUMP", "ARB")
_FIRST_PLACE = 1_000_000
_CREATED = datetime(2024, 7, 6, 21, 14, 22, tzinfo=UTC)
_CENT = Decimal("0.01")
_REASONS = tuple(reason for reason in UnscannedReason if reason != UnscannedReason.NATIVE_TOKEN)


def build_catalog(
    seed: int, count: int, begin: datetime, ids: ChainIds = "sandbox"
) -> tuple[list[Chain], list[Token]]:
    """Returns the sandbox's chains and tokens, with generated tokens added until there are
    ``count``. ``begin`` is when the sandbox's data begins. Raises ValueError for a count outside
    FEWEST to MOST."""
    if not FEWEST <= count <= MOST:
        raise ValueError(f"a catalogue has {FEWEST} to {MOST} tokens, not {count}")
    chains = build_chains(ids)
    tokens = build_tokens(chains, begin)
    tokens += generate_tokens(seed, count - len(tokens), chains, begin)
    return chains, tokens


def generate_tokens(
    seed: int, count: int, chains: Sequence[Chain], begin: datetime
) -> Iterator[Token]:
    """Yields ``count`` generated tokens on these chains. With the same seed, a smaller ``count``
    yields the first tokens of the same sequence."""
    places = [chain for chain in chains if chain.short_name in _SHARES]
    weights = list(accumulate(_SHARES[chain.short_name] for chain in places))
    random = Random(f"tokens {seed}")
    for number in range(count):
        chain = random.choices(places, cum_weights=weights)[0]
        yield _token(seed, number, chain, random, begin)


def _token(seed: int, number: int, chain: Chain, random: Random, begin: datetime) -> Token:
    symbol, name = draw_name(random)
    copies = random.random() < 0.03
    if copies:
        symbol = random.choice(_COPIED)
    unverified = copies or random.random() < 0.27
    price = _price(random) if random.random() < 0.7 else None
    supply = Decimal(random.randint(1, 999)) * 10 ** random.randint(3, 12)
    cap = None if price is None else (price * supply).quantize(_CENT)
    row = chains_by_name()[chain.short_name]
    token_id = object_id("generated", seed, number)
    return Token(
        id=token_id,
        icon=f"https://icons.example/tokens/{token_id}.svg",
        address=_contract(row, seed_bytes("generated contract", seed, number)),
        chain=row.short_name,
        chain_data=chain,
        decimals=_decimals(row, random),
        symbol=symbol,
        name=name,
        created=_CREATED + timedelta(minutes=random.randint(0, 1_000_000)),
        modified=begin - timedelta(minutes=random.randint(1, 10_000)),
        description=f"{name} is a token on {row.name}." if random.random() < 0.4 else None,
        enabled=chain.enabled and random.random() < 0.98,
        unverified=unverified,
        rank=Decimal(number + 1000) if cap is not None and not unverified else None,
        cg_id=f"generated-{number}" if cap is not None and not unverified else None,
        market_cap_change24h=_change(random) if cap is not None else None,
        circulating_supply=supply if cap is not None else None,
        price=price,
        market_cap=cap,
        volume=None if cap is None else (cap / random.randint(5, 5000)).quantize(_CENT),
        fdv=cap,
        change=_change(random) if price is not None else None,
        priority=None if unverified else Decimal(_FIRST_PLACE + number),
        warning_message="Copies the name of another token." if copies else "",
        security_scan=_scan(copies, unverified, random, begin),
    )


def _price(random: Random) -> Decimal:
    return Decimal(random.randint(1000, 9999)).scaleb(random.choice(range(-13, 1)))


def _change(random: Random) -> Decimal:
    percent = max(-99.99, random.gauss(0, 4) * (8 if random.random() < 0.05 else 1))
    return Decimal(percent).quantize(_CENT)


def _decimals(chain: ChainRow, random: Random) -> int:
    usual = {"evm": 18, "sol": 6, "tron": 18}.get(chain.kind, 9)
    return usual if random.random() < 0.85 else random.choice((0, 2, 4, 5, 6, 8, 9, 12, 18, 24))


def _contract(chain: ChainRow, seed: bytes) -> str:
    # A mint on Solana need not be a point of the curve, which takes long to look for.
    return base58.encode(seed) if chain.kind == "sol" else derive_contract(chain, seed)


def _scan(
    copies: bool, unverified: bool, random: Random, begin: datetime
) -> TokenSecurityScan | None:
    chance = random.random()
    stale, byte = random.random() < 0.2, random.randrange(256)
    if chance > 0.4:
        return None
    if chance < 0.03 or (copies and chance < 0.3):
        verdict = "malicious"
    elif chance < 0.07 or (unverified and chance < 0.1):
        verdict = "warning"
    elif chance < 0.14:
        verdict = str(_REASONS[byte % len(_REASONS)])
    else:
        verdict = "benign"
    age = timedelta(hours=random.randint(25, 900)) if stale else timedelta(hours=byte % 20)
    return scan_with(verdict, byte, begin - age, False, SCAN_LIFE)
