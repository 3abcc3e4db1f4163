"""The service's catalogue in the sandbox: chains, tokens, which exchange trades them, and security
scans, whose result is a property of the token (contract 5.10)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache

from msgspec import Struct

from swapdesk.chain.addresses.kinds import ADDRESS_KINDS
from swapdesk.clock import Clock
from swapdesk.sandbox.node.solana.terms import CHAIN as SOLANA_CHAIN
from swapdesk.sandbox.tables import (
    ASSETS,
    CHAIN_ROWS,
    EVM_CHAINS,
    HONEST_ROWS,
    HOSTILE_ROWS,
    VENUE_ROWS,
    AssetRow,
    ChainIds,
    ChainRow,
    TokenSpec,
    VenueRow,
    swapped_on_chain,
)
from swapdesk.wire.chains import Chain, SwapProvider
from swapdesk.wire.tokens import (
    ScanResult,
    Token,
    TokenScanFeature,
    TokenSecurityScan,
    UnscannedReason,
)

_CREATED = datetime(2024, 7, 6, 21, 14, 22, tzinfo=UTC)
_CENT = Decimal("0.01")

INTERMEDIARIES = (("monero", "XMR"), ("ethereum", "ETH"), ("bitcoin", "BTC"))
"""Tokens over which private routes go, as (chain, symbol), the best first."""

_BUNDLED = frozenset({*EVM_CHAINS, SOLANA_CHAIN})
"""Chains on which one bundle or transaction can pay the deposits of a whole batch."""


class WorldToken(Struct, frozen=True, eq=False):
    """A token of the catalogue, with data that only the simulation has. Tokens are compared by
    identity."""

    token_id: str
    row: TokenSpec
    chain: ChainRow
    asset: AssetRow | None
    address: str | None

    @property
    def tradable(self) -> bool:
        """True if exchanges can list the token."""
        return self.row.traded and self.asset is not None


def asset_of(token: WorldToken) -> AssetRow:
    """Returns the asset of a token. Raises ValueError if the token has no price."""
    if token.asset is None:
        raise ValueError(f"{token.row.symbol} on {token.row.chain} has no price")
    return token.asset


def seed_bytes(*parts: object) -> bytes:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).digest()


def object_id(*parts: object) -> str:
    """Returns an id of 24 hexadecimal digits, derived from ``parts``; equal parts give equal
    ids."""
    return seed_bytes("object", *parts).hex()[:24]


@lru_cache(maxsize=1)
def chains_by_name() -> dict[str, ChainRow]:
    return {row.short_name: row for row in CHAIN_ROWS}


def _address_of(row: TokenSpec, chain: ChainRow) -> str | None:
    if row.native:
        return None
    return row.address or derive_contract(chain, seed_bytes("contract", row.chain, row.name))


def derive_contract(chain: ChainRow, seed: bytes) -> str:
    """Returns an identifier for a token on the chain, derived from the seed. It is a contract, an
    issuer or a number, depending on the chain, and belongs to nobody."""
    return ADDRESS_KINDS[chain.kind].generate_contract(chain.address(seed), seed)


@lru_cache(maxsize=1)
def world_tokens() -> dict[str, WorldToken]:
    """Returns every token by id; they are the same in every process and at every start."""
    tokens = {}
    for row in (*HONEST_ROWS, *HOSTILE_ROWS):
        chain = chains_by_name()[row.chain]
        token_id = row.token_id or object_id("token", row.chain, row.symbol, row.name)
        asset = ASSETS[row.asset] if row.asset is not None else None
        tokens[token_id] = WorldToken(token_id, row, chain, asset, _address_of(row, chain))
    return tokens


def keywords() -> dict[str, str]:
    """Returns the extra search terms of tokens, by token id."""
    return {
        token.token_id: token.asset.keywords
        for token in world_tokens().values()
        if token.asset is not None and token.asset.keywords
    }


def rows_by_id() -> dict[str, TokenSpec]:
    """Returns the table row of every token, by token id."""
    return {token.token_id: token.row for token in world_tokens().values()}


def find_token(chain: str, symbol: str) -> WorldToken:
    """Returns the first token with this symbol on a chain. Raises KeyError if there is none."""
    for token in world_tokens().values():
        if token.row.chain == chain and token.row.symbol == symbol:
            return token
    raise KeyError(f"{symbol}.{chain}")


def trades(venue: VenueRow, token: WorldToken) -> bool:
    """Returns True if the exchange lists the token."""
    return token.token_id in traded_by(venue)


@lru_cache(maxsize=64)
def traded_by(venue: VenueRow) -> frozenset[str]:
    """Returns the ids of all tokens that an exchange lists."""
    return frozenset(
        token.token_id
        for token in world_tokens().values()
        if token.asset is not None
        and token.tradable
        and token.asset.code not in venue.without
        and token.chain.short_name not in venue.without_chains
        and _lists(venue, token.asset)
    )


def _lists(venue: VenueRow, asset: AssetRow) -> bool:
    if asset.only is not None:
        return asset.only == venue.code
    chance = seed_bytes("listing", venue.code, asset.code)[0]
    return asset.everywhere or chance * 100 < venue.reach * 256


def provider_of(venue: VenueRow) -> SwapProvider:
    return SwapProvider(
        id=object_id("venue", venue.code),
        name=venue.name,
        short_name=venue.code,
        tx_url=f"https://{venue.name.lower()}.example/tx/",
        enabled=venue.enabled,
        deprecated=venue.deprecated,
        markup_supported=venue.markup,
        logo_url=f"https://{venue.name.lower()}.example/logo.svg",
    )


def build_chains(ids: ChainIds = "sandbox") -> list[Chain]:
    """Returns every chain of the catalogue, disabled ones included. ``ids`` says which EVM chain
    ids to use."""
    return [_chain(place, row, ids) for place, row in enumerate(CHAIN_ROWS)]


def _chain(place: int, row: ChainRow, ids: ChainIds) -> Chain:
    return Chain(
        id=object_id("chain", row.short_name),
        created=_CREATED,
        modified=_CREATED,
        name=row.name,
        short_name=row.short_name,
        short_name_v1=row.short_name.upper(),
        icon=f"https://icons.example/chains/{row.short_name}.svg",
        address_validation=row.address_pattern,
        token_address_validation=row.contract_pattern,
        memo_needed=row.needs_memo,
        explorer_url=f"{row.explorer}/{row.transaction_page}/{{txHash}}",
        address_url=f"{row.explorer}/{row.address_page}/{{address}}",
        priority=Decimal(place),
        kind=row.kind,
        chain_id=row.chain_id_of(ids),
        enabled=row.enabled,
    )


def build_tokens(chains: list[Chain], now: datetime) -> list[Token]:
    """Returns every token of the catalogue. ``now`` is the time from which the ages of earlier
    security scans are counted back."""
    by_name = {chain.short_name: chain for chain in chains}
    return [_token(token, by_name[token.row.chain], now) for token in world_tokens().values()]


def _token(token: WorldToken, chain: Chain, now: datetime) -> Token:
    row, asset = token.row, token.asset
    listed = asset if asset is not None and asset.listed else None
    price = listed.price if listed else Decimal(row.price) if row.price else None
    supply = listed.supply if listed else None
    cap = (supply * listed.price).quantize(_CENT) if listed and supply is not None else None
    mappings = sum(venue.enabled and trades(venue, token) for venue in VENUE_ROWS)
    has_cex = token.tradable and mappings > 0
    return Token(
        id=token.token_id,
        icon=f"https://icons.example/tokens/{token.token_id}.svg",
        address=token.address,
        chain=row.chain,
        chain_data=chain,
        decimals=row.decimals,
        symbol=row.symbol,
        name=row.name,
        created=_CREATED,
        modified=now - timedelta(hours=1),
        description=row.description,
        mainnet=row.native,
        enabled=row.enabled and token.chain.enabled,
        unverified=row.unverified,
        has_dex=swapped_on_chain(row) is not None,
        has_cex=has_cex,
        has_bundler=has_cex and row.on_chain and row.chain in _BUNDLED,
        # Contract 5.5: CEX support and two enabled mappings or more.
        has_self_private=has_cex and mappings >= 2,
        cex_token_id=_exchange_symbol(token) if has_cex else "",
        rank=None if listed is None or listed.rank is None else Decimal(listed.rank),
        cg_id=listed.market_id if listed else None,
        market_cap_change24h=listed.change if listed else None,
        circulating_supply=supply,
        price=price,
        market_cap=cap,
        volume=listed.volume if listed else None,
        fdv=cap,
        change=listed.change if listed else Decimal("-71.80") if row.price else None,
        priority=_priority(token),
        warning_message=row.warning,
        security_scan=scan_before(row, token.token_id, now),
    )


def _exchange_symbol(token: WorldToken) -> str:
    at_home = token.asset is not None and token.asset.home == token.row.chain
    symbol = token.row.symbol.upper()
    return symbol if at_home else symbol + token.row.chain.upper()


def _priority(token: WorldToken) -> Decimal | None:
    """Returns a key for sorting tokens, the best token lowest. A token on its asset's home chain
    precedes the same token on other chains. None for a token that is unverified or has no asset."""
    if token.asset is None or token.row.unverified:
        return None
    place = _places()[token.asset.code] * 1000
    if token.row.symbol != token.asset.code:
        place += 500
    if token.asset.home != token.row.chain:
        place += 10 + 10 * CHAIN_ROWS.index(token.chain)
    return Decimal(place + _siblings()[token.token_id])


@lru_cache(maxsize=1)
def _siblings() -> dict[str, int]:
    seen: Counter[tuple[str, str]] = Counter()
    siblings = {}
    for token in world_tokens().values():
        if token.asset is not None:
            place = (token.asset.code, token.row.chain)
            siblings[token.token_id] = seen[place]
            seen[place] += 1
    return siblings


@lru_cache(maxsize=1)
def _places() -> dict[str, int]:
    return {code: place for place, code in enumerate(ASSETS)}


PROVIDER = "Lookout"
SCAN_LIFE = timedelta(days=1)
RETRY_LIFE = timedelta(minutes=15)
"""Time for which a scan without a result is valid if the reason is temporary."""

SCAN_SECONDS = 0.4
"""Seconds that a scan takes."""

FRESH_AGE = timedelta(hours=2)
STALE_AGE = timedelta(days=9)
"""Age of a stale security scan when the sandbox's data begins."""

_PASSING = frozenset(
    {
        UnscannedReason.RATE_LIMITED,
        UnscannedReason.TIMEOUT,
        UnscannedReason.PROVIDER_ERROR,
        UnscannedReason.SCAN_PENDING,
    }
)

_DETAILS = {
    UnscannedReason.NOT_CONFIGURED: "No scanner is configured for this chain.",
    UnscannedReason.UNSUPPORTED_CHAIN: "The scanner does not know this chain.",
    UnscannedReason.NATIVE_TOKEN: "A native coin has no contract.",
    UnscannedReason.RATE_LIMITED: "The scanner asked us to wait.",
    UnscannedReason.TIMEOUT: "The scan took longer than 10 s.",
    UnscannedReason.PROVIDER_ERROR: "The scanner answered with an error.",
    UnscannedReason.NO_RESULT: "The scanner has nothing on this contract.",
    UnscannedReason.SCAN_PENDING: "The scan has begun and is not done.",
    UnscannedReason.NOT_A_TOKEN: "The contract is not that of a token.",
    UnscannedReason.UNKNOWN_RESULT_TYPE: "The scanner answered with a verdict of no known kind.",
}


def _feature(feature_id: str, kind: str, description: str) -> TokenScanFeature:
    return TokenScanFeature(feature_id=feature_id, type=kind, description=description)


_PUBLISHED = _feature("VERIFIED_CONTRACT", "Benign", "The source of the contract is published.")
_LIQUID = _feature("HIGH_TRADE_VOLUME", "Info", "Many addresses trade this token every day.")
_BRIDGED = _feature("BRIDGED", "Warning", "A copy of a token that lives on another chain.")
_MINTABLE = _feature("MINTABLE", "Warning", "The owner of the contract can make more of it.")
_FEE = _feature("TRANSFER_FEE", "Warning", "A transfer arrives with less than was sent.")
_IMPERSONATOR = _feature("IMPERSONATOR", "Malicious", "Copies the name of a well-known token.")
_HONEYPOT = _feature("HONEYPOT", "Malicious", "The contract refuses to sell what was bought.")
_DRAINER = _feature("KNOWN_ATTACKER", "Malicious", "Made by an address that robbed others.")

_VERDICTS = {
    "benign": (ScanResult.BENIGN, "Benign", Decimal("0.01")),
    "warning": (ScanResult.WARNING, "Spam risk", Decimal("0.46")),
    "malicious": (ScanResult.MALICIOUS, "Malicious", Decimal("0.98")),
}
"""By verdict in the table of tokens: the API's result, the scan provider's own word, and the
score."""
_WARNINGS = ((_MINTABLE, _PUBLISHED), (_FEE, _PUBLISHED), (_MINTABLE, _FEE))
_DANGERS = ((_IMPERSONATOR, _HONEYPOT), (_IMPERSONATOR,), (_HONEYPOT, _DRAINER))


class Scanner:
    def __init__(self, seed: int, clock: Clock, rows: Mapping[str, TokenSpec]) -> None:
        self._seed = seed
        self._clock = clock
        self._rows = rows

    async def scan(self, token: Token) -> TokenSecurityScan:
        """Scans a token, which takes SCAN_SECONDS; returns the result, which is valid until its
        ``expires_at``."""
        await self._clock.sleep(SCAN_SECONDS)
        return self.verdict(token, self._clock.now())

    def verdict(self, token: Token, now: datetime) -> TokenSecurityScan:
        """Returns what a scan of the token finds if it ends at the time ``now``."""
        row = self._rows.get(token.id)
        chance = _chance(self._seed, token.id, "verdict")
        verdict = _guess(token, chance) if row is None else row.verdict
        if _PASSING & {verdict} and _chance(self._seed, token.id, int(now.timestamp()) // 900) < 96:
            # What passes has passed, more often than not, when somebody looks again.
            verdict = "benign"
        bridged = row is not None and is_bridged(row)
        return scan_with(verdict, chance, now, bridged)


def scan_before(row: TokenSpec, token_id: str, begin: datetime) -> TokenSecurityScan | None:
    """Returns the scan that a token already had at ``begin``, when the sandbox's data began; None
    if never scanned."""
    if not row.seen:
        return None
    age = STALE_AGE if row.seen == "stale" else FRESH_AGE
    return scan_with(row.verdict, _chance(0, token_id), begin - age, is_bridged(row), SCAN_LIFE)


def is_bridged(row: TokenSpec) -> bool:
    """Returns True if the token in this row is a copy made by a bridge, such as ``USDC.e`` or
    ``BTC.b``."""
    return row.asset is not None and "." in row.symbol


def _chance(seed: int, *path: object) -> int:
    text = "\0".join(map(str, (seed, "scan", *path)))
    return hashlib.sha256(text.encode()).digest()[0]


def _guess(token: Token, chance: int) -> str:
    if token.mainnet:
        return UnscannedReason.NATIVE_TOKEN
    if token.chain_data.kind not in ("evm", "sol"):
        return UnscannedReason.UNSUPPORTED_CHAIN
    if token.unverified and chance < 90:
        return "malicious"
    if chance < 30:
        return "warning"
    if chance < 60:
        return tuple(_DETAILS)[chance % len(_DETAILS)]
    return "benign"


def scan_with(
    verdict: str, chance: int, at: datetime, bridged: bool, life: timedelta | None = None
) -> TokenSecurityScan:
    """Returns a scan made at ``at`` with a TokenSpec's ``verdict``. ``chance`` (0 to 255) selects
    the findings. ``bridged`` means that the token is a bridged copy. The scan is valid for
    ``life``; if None, the verdict decides."""
    if verdict not in _VERDICTS:
        reason = UnscannedReason(verdict)
        life = life or (RETRY_LIFE if reason in _PASSING else SCAN_LIFE)
        return TokenSecurityScan(
            provider=PROVIDER,
            result_type=ScanResult.UNSCANNED,
            unscanned_reason=reason,
            unscanned_detail=_DETAILS[reason],
            scanned_at=at,
            expires_at=at + life,
        )
    result, provider_verdict, score = _VERDICTS[verdict]
    features = {
        "benign": (_PUBLISHED, _LIQUID) if chance < 128 else (_PUBLISHED,),
        "warning": (_BRIDGED, _PUBLISHED) if bridged else _WARNINGS[chance % 3],
        "malicious": _DANGERS[chance % 3],
    }
    return TokenSecurityScan(
        provider=PROVIDER,
        result_type=result,
        provider_result_type=provider_verdict,
        malicious_score=score,
        features=list(features[verdict]),
        scanned_at=at,
        expires_at=at + (life or SCAN_LIFE),
    )
