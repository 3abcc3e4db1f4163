"""The tables of the sandbox's world, as tab-separated files beside this module: chains, assets,
tokens and exchanges.

Slow chains have faster blocks than in reality. Base prices are US dollars per unit. Contracts are
the real ones if they are well known, otherwise derived and nobody's. ``HOSTILE_ROWS`` are tokens,
traded by nobody, whose names attack whoever shows them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Literal

from msgspec import Struct

from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, derive_address, published_shape
from swapdesk.chain.deployments import SANDBOX_CHAIN_IDS
from swapdesk.sandbox.node.solana.terms import CHAIN, PATH


def read_table(name: str) -> Iterator[dict[str, str]]:
    """Yields the rows of a table beside this module, by heading; a missing cell is empty."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    first, *lines = text.splitlines()
    headings = first.split("\t")
    for line in lines:
        values = line.split("\t")
        values += [""] * (len(headings) - len(values))
        yield dict(zip(headings, values, strict=True))


class ChainRow(Struct, frozen=True):
    """A chain of the catalogue. ``beat`` says whether its blocks follow the speed of world time
    (``world``) or not (``slots``). ``confirmations`` is the number of confirmations after which a
    venue credits a deposit."""

    name: str
    short_name: str
    kind: str
    block_ms: int
    confirmations: int
    first_height: int
    explorer: str
    address_page: str
    transaction_page: str = "tx"
    chain_id: int | None = None
    enabled: bool = True
    beat: Literal["world", "slots"] = "world"

    def chain_id_of(self, ids: ChainIds) -> int | None:
        """Returns the chain id of an EVM chain, otherwise None. The sandbox's ids differ from the
        real ones, so that no program confuses the chains."""
        if self.chain_id is None or ids == "sandbox":
            return self.chain_id
        return self.chain_id - SANDBOX_CHAIN_IDS

    @property
    def address_pattern(self) -> str:
        """Regular expression for the form of a payout address on this chain (contract 5.1)."""
        return published_shape(self.kind, self.name)

    @property
    def contract_pattern(self) -> str:
        """Regular expression for the form of a token's contract on this chain (contract 5.1)."""
        return ADDRESS_KINDS[self.kind].contract_shape

    def address(self, seed: bytes) -> str:
        """Returns the address on this chain derived from 32 bytes; nobody has its private key."""
        return derive_address(self.kind, seed, self.name)

    @property
    def needs_memo(self) -> bool:
        """True if exchanges tell their clients apart by a memo on this chain (contract 5.1)."""
        memo = ADDRESS_KINDS[self.kind].memo
        return memo is not None and memo.per_client


def _chain(line: dict[str, str]) -> ChainRow:
    flags = line["flags"].split()
    return ChainRow(
        name=line["name"],
        short_name=line["short"],
        kind=line["kind"],
        block_ms=int(line["block_ms"]),
        confirmations=int(line["confirmations"]),
        first_height=int(line["first_height"]),
        explorer=line["explorer"],
        address_page=line["address_page"],
        transaction_page=line["transaction_page"],
        chain_id=SANDBOX_CHAIN_IDS + int(line["chain_id"]) if line["chain_id"] else None,
        enabled="disabled" not in flags,
        beat="slots" if "slots" in flags else "world",
    )


CHAIN_ROWS: tuple[ChainRow, ...] = tuple(map(_chain, read_table("chains.tsv")))


ChainIds = Literal["sandbox", "real"]
"""Which EVM chain ids the sandbox uses: its own, 1,337,000,000 + the real id (interfaces 3), or the
real ones."""

GAS_LIMIT = 30_000_000
"""Gas limit of every block; it is fixed, although py-evm would let it drift."""

_GWEI = 10**9

_LOWEST_BASE_FEES = {
    "ethereum": 1_500_000_000,
    "base": 5_000_000,
    "arbitrum": 10_000_000,
    "polygon": 25 * _GWEI,
    "bsc": 50_000_000,
}
"""Lowest base fee in wei per gas, by chain. Otherwise gas on a quiet chain would seem free."""

EVM_CHAINS = tuple(_LOWEST_BASE_FEES)
"""Short names of the EVM chains that the sandbox runs itself."""


class ChainTerms(Struct, frozen=True):
    """An embedded EVM chain. ``block_ms`` is the world time between blocks. After a transaction
    that somebody waits for, ``confirmations`` - 1 more blocks are made in any case."""

    short_name: str
    chain_id: int
    block_ms: int
    confirmations: int
    lowest_base_fee: int


def chain_terms(ids: ChainIds = "sandbox") -> dict[str, ChainTerms]:
    """Returns the properties of every embedded EVM chain by short name. ``ids`` says which chain
    ids they have."""
    terms = {}
    for row in CHAIN_ROWS:
        fee = _LOWEST_BASE_FEES.get(row.short_name)
        chain_id = row.chain_id_of(ids)
        if fee is None or chain_id is None:
            continue
        terms[row.short_name] = ChainTerms(
            row.short_name, chain_id, row.block_ms, row.confirmations, fee
        )
    return terms


def chain_lines(terms: dict[str, ChainTerms], node: str) -> list[dict[str, object]]:
    """Returns the embedded chains for the ready line (interfaces 2); Solana has no chain id.
    ``node`` is the node's URL."""
    lines = [
        {
            "shortName": name,
            "kind": "evm",
            "chainId": chain.chain_id,
            "rpc": f"{node}/evm/{name}",
        }
        for name, chain in terms.items()
    ]
    return [*lines, {"shortName": CHAIN, "kind": "sol", "chainId": None, "rpc": f"{node}{PATH}"}]


Seen = Literal["", "fresh", "stale"]
"""A token's security scan when the sandbox's data begins: none (empty), recent (``fresh``) or long
ago (``stale``)."""


class TokenSpec(Struct, frozen=True):
    """A row of the table of tokens. ``asset`` is None for a token without a price. ``verdict`` is
    the result of a security scan (contract 5.12); ``token_id`` is the id at the public service
    (contract 17.9)."""

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
"""Factor from an exchange's usual depth and largest amount to those for a thinly traded asset."""


class AssetRow(Struct, frozen=True):
    """A row of the table of assets. ``swing`` is the largest price drift in basis points;
    ``change`` (percent) and ``volume`` (USD) refer to 24 hours."""

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
    """True if every exchange lists the asset; exchanges list only some of the others."""

    only: str | None = None
    """Code of the only exchange that lists the asset; None if there is no such restriction."""

    keywords: str = ""
    """Extra search terms for tokens of this asset (contract 5.6)."""


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
"""Assets by code, in the order of rank. A symbol without a chain means the token of the first such
asset."""


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
"""The last rank whose assets pools and makers hold."""


def swapped_on_chain(row: TokenSpec) -> AssetRow | None:
    """Returns the token's asset if a pool or a maker on its chain trades the token; otherwise
    None."""
    return pooled(row) or quoted_by_maker(row)


def pooled(row: TokenSpec) -> AssetRow | None:
    """Returns the asset of a token if an EVM chain has a pool for the token or for its wrapped
    form; otherwise None."""
    return _held(row) if row.chain in EVM_CHAINS else None


def quoted_by_maker(row: TokenSpec) -> AssetRow | None:
    """Returns the asset of a token that the market maker on Solana holds; None for any other token.
    The maker holds no wrapped or bridged copies."""
    return _held(row) if row.chain == CHAIN and row.traded else None


def _held(row: TokenSpec) -> AssetRow | None:
    if not row.enabled or row.unverified or row.asset is None:
        return None
    asset = ASSETS[row.asset]
    if asset.rank is None or asset.rank > LAST_RANK or asset.liquidity != FULL:
        return None
    return asset


ON_CHAIN_NAMES = {
    "ba": "Basalt AMM",
    "fa": "Fathom AMM",
    "is": "Isthmus",
    "me": "Meridian",
    "at": "Atoll",
}
"""Names of the on-chain venues by provider code. The adapters are in ``service.venues.onchain``."""

PAYOUT_WALLETS = 5
"""How many hot wallets every exchange pays from (contract 17.7)."""

STATIC_ADDRESSES = 2
"""How many deposit addresses an exchange with static addresses has on each chain (contract
17.7)."""


class VenueRow(Struct, frozen=True, eq=False):
    """A row of the table of exchanges. Spreads are basis points from the mid price;
    ``fixed_spread`` is None without fixed rates. ``depth``, ``minimum`` and ``maximum`` are US
    dollars. ``exchange_seconds`` are world time; ``latency`` and ``slow`` are seconds."""

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
    """Codes of the assets that the exchange does not trade."""
    without_chains: frozenset[str] = frozenset()
    fixed_spread: Decimal | None = None
    markup: bool = False
    reach: int = 100
    """Of the assets whose ``everywhere`` is False, the percentage that the exchange lists."""
    memo_deposits: bool = True
    """True if all legs on a chain with memos share one address."""
    static_deposits: bool = False
    """True if the exchange has two deposit addresses on each chain, used in turn."""
    requires_refund_address: bool = False
    slow: tuple[float, float] | None = None
    outage: tuple[int, int, int] | None = None
    """When the exchange is closed, in minutes of sandbox time: (duration, period, start within the
    period); None for never."""
    enabled: bool = True
    deprecated: bool = False
    refund_fee: Decimal = Decimal(0)
    """Percentage of a refund that the exchange keeps."""
    tells_refund: bool = True
    """True if the exchange reports the amount of a refund."""


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
        outage=(outage[0], outage[1], outage[2]) if outage else None,
        enabled="disabled" not in flags,
        deprecated="deprecated" in flags,
        refund_fee=Decimal(line["refund_fee"] or 0),
        tells_refund="hides-refund" not in flags,
    )


VENUE_ROWS: tuple[VenueRow, ...] = tuple(map(_venue, read_table("venues.tsv")))
