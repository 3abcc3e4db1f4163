"""What exists to be traded: assets, their tokens on chains, and which of these chains trade.

``assets.tsv`` and ``tokens.tsv`` have a line for each. Base prices are US dollars per unit; the
market moves around them. Contracts are those of the real chains where they are well known; all
others are derived and belong to nobody.

``HOSTILE_ROWS`` have issuers that attack whoever reads their names: markup, control bytes,
look-alikes. Nobody trades them. They are in the catalogue so that every screen, table and pipe
meets such text. Half a surrogate pair is not among them: no JSON answer can carry one.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from msgspec import Struct

from swapdesk.sandbox.chain_rows import EVM_CHAINS
from swapdesk.sandbox.node.solana.terms import CHAIN
from swapdesk.sandbox.tables import read_table

Seen = Literal["", "fresh", "stale"]
"""How the world begins: never selected, scanned a short while ago, or scanned long ago."""


class TokenSpec(Struct, frozen=True):
    """One token. ``asset`` is its key in ASSETS, None when nothing prices it.

    ``verdict`` is what a scan finds: ``benign``, ``warning``, ``malicious`` or the reason why
    it finds nothing (contract 5.12). ``token_id`` is set where the public service's
    own id is known (contract 17.9).
    """

    chain: str
    symbol: str
    name: str
    decimals: int
    asset: str | None
    address: str | None = None
    native: bool = False
    enabled: bool = True
    unverified: bool = False
    traded: bool = True
    on_chain: bool = True
    verdict: str = "benign"
    seen: Seen = ""
    warning: str = ""
    description: str | None = None
    token_id: str | None = None
    price: str | None = None


_SEEN: dict[str, Seen] = {"": "", "fresh": "fresh", "stale": "stale"}


def _token(line: dict[str, str]) -> TokenSpec:
    flags = line["flags"].split()
    return TokenSpec(
        chain=line["chain"],
        symbol=line["symbol"],
        name=line["name"],
        decimals=int(line["decimals"]),
        asset=line["asset"] or None,
        address=line["contract"] or None,
        native="native" in flags,
        enabled="disabled" not in flags,
        unverified="unverified" in flags,
        traded="untraded" not in flags,
        on_chain="off-chain" not in flags,
        verdict=line["verdict"],
        seen=_SEEN[line["seen"]],
        warning=line["warning"],
        description=line["description"] or None,
        token_id=line["id"] or None,
        price=line["price"] or None,
    )


HONEST_ROWS: tuple[TokenSpec, ...] = tuple(map(_token, read_table("tokens.tsv")))


FULL = Decimal(1)
THIN = Decimal("0.004")
"""Share of an exchange's usual depth and largest amount that a thinly traded asset has."""


class AssetRow(Struct, frozen=True):
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
    keywords: str = ""
    """What its tokens are found by beside their names (contract 5.6)."""


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
        keywords=line["keywords"],
    )


ASSETS: dict[str, AssetRow] = {row.code: row for row in map(_asset, read_table("assets.tsv"))}
"""By code, in the order of their rank; the order decides what a bare symbol means."""


_ESC = "\x1b"
_BEL = "\x07"
_ST = f"{_ESC}\\"
_STOLEN = "c3dhcGRlc2s="

_MARKUP = (
    "[red]x[/]",
    "A[/]B",
    "[@click=app.quit]x[/]",
    "[type=x, v={'a[0]'}]",
    '{"b": [true, false]}',
    "\\[red]",
    "[link=https://example.invalid]USDC[/link]",
    ":skull: [b]bold",
)
_CONTROL = (
    f"{_ESC}]52;c;{_STOLEN}{_BEL}",
    f"{_ESC}]52;c;{_STOLEN}{_ST}",
    f"{_ESC}]8;;https://example.invalid{_ST}USDC{_ESC}]8;;{_ST}",
    f"{_ESC}]0;title{_BEL}",
    f"{_ESC}[6n",
    f"{_ESC}[2J{_ESC}[H",
    "\x9b2J",
    f"{_ESC}P1$q{_ST}",
    "A\rB\x08C\x00D\x7fE\tF",
)
_HIDDEN = (
    "\u202eCDSU",
    "\u2066USDC\u2069",
    "US\u200bDC",
    "U\u0405D\u0421",
    "\uff35\uff33\uff24\uff23",
    "USDC\u3164",
    "\u00adUSDC",
    "e" + "\u0301" * 60,
)
_LONG = ("W" * 200, "A\n" * 100)

_SCANS: tuple[tuple[str, Seen], ...] = (
    ("malicious", "fresh"),
    ("TIMEOUT", "fresh"),
    ("warning", "fresh"),
    ("malicious", ""),
)
_CHAINS = ("ethereum", "base", "arbitrum", "bsc")
# One of each family stays in the default list; the others need ``unverified=true``.
_SHOWN = frozenset({_MARKUP[2], _CONTROL[4], _HIDDEN[3], _LONG[0]})


def _row(position: int, text: str) -> TokenSpec:
    hostile_symbol = len(text) <= 20
    verdict, seen = _SCANS[position % len(_SCANS)]
    return TokenSpec(
        chain=_CHAINS[position % len(_CHAINS)],
        symbol=text if hostile_symbol else f"BAD{position}",
        name=text,
        decimals=18,
        asset=None,
        unverified=text not in _SHOWN,
        traded=False,
        verdict=verdict,
        seen=seen,
        warning=text if position % 3 == 0 else "",
        description=f"{text} {text}" if position % 2 else None,
    )


HOSTILE_ROWS: tuple[TokenSpec, ...] = tuple(
    _row(position, text) for position, text in enumerate((*_MARKUP, *_CONTROL, *_HIDDEN, *_LONG))
)


LAST_RANK = 120
"""Of the assets that are held on chains: what is traded less has nobody for its other side."""


def swapped_on_chain(row: TokenSpec) -> AssetRow | None:
    """The asset of a token that a pool or a maker of its chain trades; None when nobody does."""
    return pooled(row) or quoted_by_maker(row)


def pooled(row: TokenSpec) -> AssetRow | None:
    """The asset of a token that stands in a pool of its EVM chain, or whose wrapped form does;
    None when it cannot be traded there."""
    return _held(row) if row.chain in EVM_CHAINS else None


def quoted_by_maker(row: TokenSpec) -> AssetRow | None:
    """The asset of a token that the maker on Solana holds; None when it does not. Wrapped and
    bridged copies, which exchanges do not take either, are none of its business."""
    return _held(row) if row.chain == CHAIN and row.traded else None


def _held(row: TokenSpec) -> AssetRow | None:
    if not row.enabled or row.unverified or row.asset is None:
        return None
    asset = ASSETS[row.asset]
    if asset.rank is None or asset.rank > LAST_RANK or asset.liquidity != FULL:
        return None
    return asset
