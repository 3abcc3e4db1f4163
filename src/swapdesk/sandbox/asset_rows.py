"""What exists to be traded: economic assets, whichever chains their tokens live on.

Base prices are US dollars per unit; the market moves around them. An asset that is not
``listed`` trades at the venues but has no USD price in the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class AssetRow:
    """``swing`` is the largest drift from the base price, in basis points.

    ``change`` is percent in 24 hours, ``supply`` units in circulation, ``volume`` USD in 24 h.
    """

    code: str
    price: Decimal
    swing: int
    home: str
    rank: int | None = None
    change: Decimal | None = None
    supply: Decimal | None = None
    volume: Decimal | None = None
    market_id: str | None = None
    listed: bool = True


def _asset(
    code: str,
    price: str,
    home: str,
    rank: int | None,
    change: str | None,
    supply: str | None,
    volume: str | None,
    market_id: str | None = None,
    *,
    swing: int = 80,
    listed: bool = True,
) -> AssetRow:
    return AssetRow(
        code,
        Decimal(price),
        swing,
        home,
        rank,
        None if change is None else Decimal(change),
        None if supply is None else Decimal(supply),
        None if volume is None else Decimal(volume),
        market_id,
        listed,
    )


ASSETS: dict[str, AssetRow] = {
    row.code: row
    for row in (
        _asset("BTC", "96420", "bitcoin", 1, "1.24", "19946000", "42100000000", "bitcoin"),
        _asset("ETH", "3311.06", "ethereum", 2, "-0.38", "120700000", "18900000000", "ethereum"),
        _asset(
            "USDT",
            "1.0000",
            "ethereum",
            3,
            "0.01",
            "183900000000",
            "88000000000",
            "tether",
            swing=3,
        ),
        _asset("XRP", "2.1874", "xrp", 4, "-1.06", "60100000000", "3900000000", "ripple"),
        _asset("BNB", "912.35", "bsc", 5, "0.72", "137700000", "2100000000", "binancecoin"),
        _asset("SOL", "138.94", "solana", 6, "3.02", "554000000", "5200000000", "solana"),
        _asset(
            "USDC",
            "1.0001",
            "ethereum",
            7,
            "0.01",
            "61800000000",
            "9400000000",
            "usd-coin",
            swing=3,
        ),
        _asset("DOGE", "0.1614", "bsc", 9, "-2.10", "151000000000", "1500000000", "dogecoin"),
        _asset("ADA", "0.4722", "bsc", 10, "-1.44", "36500000000", "690000000", "cardano"),
        _asset("LINK", "13.92", "ethereum", 14, "0.95", "697000000", "610000000", "chainlink"),
        _asset("XMR", "351.28", "monero", 19, "4.18", "18446000", "131000000", "monero"),
        _asset(
            "SHIB",
            "0.00000884",
            "ethereum",
            24,
            "-1.80",
            "589500000000000",
            "140000000",
            "shiba-inu",
        ),
        _asset("DAI", "0.9998", "ethereum", 26, "0.00", "5360000000", "120000000", "dai", swing=5),
        _asset("UNI", "7.31", "ethereum", 30, "2.66", "630000000", "310000000", "uniswap"),
        _asset("AAVE", "178.40", "ethereum", 33, "1.12", "15300000", "260000000", "aave"),
        _asset(
            "PEPE", "0.00000472", "ethereum", 35, "-3.31", "420690000000000", "420000000", "pepe"
        ),
        _asset("AVAX", "14.22", "avalanche", 18, "-0.91", "427000000", "390000000", "avalanche-2"),
        _asset("NEAR", "2.148", "ethereum", 38, "0.44", "1282000000", "230000000", "near"),
        _asset(
            "POL",
            "0.1402",
            "polygon",
            51,
            "-0.20",
            "10570000000",
            "71000000",
            "polygon-ecosystem-token",
        ),
        _asset("ARB", "0.2197", "arbitrum", 56, "0.35", "5560000000", "110000000", "arbitrum"),
        _asset("OP", "0.3268", "optimism", 72, "-0.48", "1880000000", "88000000", "optimism"),
        _asset("BONK", "0.00000962", "solana", 79, "-4.12", "82800000000000", "180000000", "bonk"),
        _asset(
            "JUP",
            "0.2371",
            "solana",
            86,
            "1.02",
            "3170000000",
            "39000000",
            "jupiter-exchange-solana",
        ),
        _asset("CAKE", "2.31", "bsc", 92, "0.17", "342000000", "74000000", "pancakeswap-token"),
        _asset("LDO", "0.7314", "ethereum", 101, "-0.66", "896000000", "66000000", "lido-dao"),
        _asset(
            "CRV", "0.4385", "ethereum", 104, "1.95", "1430000000", "95000000", "curve-dao-token"
        ),
        _asset("WIF", "0.3906", "solana", 131, "-5.20", "998000000", "130000000", "dogwifcoin"),
        _asset("PYTH", "0.0873", "solana", 140, "-0.72", "5750000000", "31000000", "pyth-network"),
        _asset("RAY", "1.214", "solana", 151, "0.88", "268000000", "28000000", "raydium"),
        _asset(
            "JTO",
            "0.4981",
            "solana",
            166,
            "-0.11",
            "427000000",
            "17000000",
            "jito-governance-token",
        ),
        _asset("GMX", "9.02", "arbitrum", 210, "0.26", "10300000", "5900000", "gmx"),
        _asset("AERO", "0.7043", "base", 84, "2.20", "906000000", "41000000", "aerodrome-finance"),
        _asset(
            "RLUSD", "0.9999", "xrp", 61, "0.01", "1020000000", "88000000", "ripple-usd", swing=5
        ),
        _asset("GATE", "42.50", "ethereum", 940, "0.00", "21000", "61000", swing=40),
        _asset("KRILL", "0.0137", "base", None, None, None, None, swing=120, listed=False),
        _asset("TIDE", "1.62", "arbitrum", None, None, None, None, swing=120, listed=False),
    )
}
"""By code, in the order of their rank; the order decides what a bare symbol means."""
