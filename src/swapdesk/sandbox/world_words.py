"""What tokens are called, as lists of tokens read: much of a kind, some odd, a few foreign."""

from __future__ import annotations

from random import Random

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
    """A symbol and a name: mostly two words and three to six letters."""
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
