"""What exists to be traded: economic assets, whichever chains their tokens live on.

Base prices are US dollars per unit; the market moves around them. An asset that is not
``listed`` trades at the venues but has no USD price in the catalogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from swapdesk.sandbox.tables import read_table

FULL = Decimal(1)
THIN = Decimal("0.004")
"""Share of an exchange's usual depth and largest amount that a thinly traded asset has."""


@dataclass(frozen=True)
class AssetRow:
    """``swing`` is the largest drift from the base price, in basis points.

    ``change`` is percent in 24 hours, ``supply`` units in circulation, ``volume`` USD in 24 h.
    ``everywhere`` is False for what every exchange decides by itself whether to list;
    ``only`` is the code of the one exchange that lists it.
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
    liquidity: Decimal = FULL
    everywhere: bool = True
    only: str | None = None


def _number(text: str) -> Decimal | None:
    return Decimal(text) if text else None


def _asset(line: dict[str, str]) -> AssetRow:
    flags = line["flags"].split()
    return AssetRow(
        code=line["code"],
        price=Decimal(line["price"]),
        swing=int(line["swing"]),
        home=line["home"],
        rank=int(line["rank"]) if line["rank"] else None,
        change=_number(line["change"]),
        supply=_number(line["supply"]),
        volume=_number(line["volume"]),
        market_id=line["market"] or None,
        listed="unlisted" not in flags,
        liquidity=THIN if "thin" in flags else FULL,
        everywhere="few" not in flags,
        only=next((flag[5:] for flag in flags if flag.startswith("only:")), None),
    )


ASSETS: dict[str, AssetRow] = {row.code: row for row in map(_asset, read_table("assets.tsv"))}
"""By code, in the order of their rank; the order decides what a bare symbol means."""
