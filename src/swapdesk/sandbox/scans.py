"""Security verdicts of the sandbox's tokens: the scanner a live service would buy.

What a scan finds is a property of the token; how long it stands, and whether the scanner
had a bad moment, follow the seed and sandbox time (contract 5.10).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal

from swapdesk.clock import Clock
from swapdesk.sandbox.tables import TokenSpec
from swapdesk.wire.tokens import (
    ScanResult,
    Token,
    TokenScanFeature,
    TokenSecurityScan,
    UnscannedReason,
)

PROVIDER = "Lookout"
SCAN_LIFE = timedelta(days=1)
RETRY_LIFE = timedelta(minutes=15)
"""How long a scan stands that found nothing for a reason that passes."""

SCAN_SECONDS = 0.4
"""How long the scanner takes."""

FRESH_AGE = timedelta(hours=2)
STALE_AGE = timedelta(days=9)
"""How long ago tokens were scanned that were selected before the world began."""

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

_WARNINGS = ((_MINTABLE, _PUBLISHED), (_FEE, _PUBLISHED), (_MINTABLE, _FEE))
_DANGERS = ((_IMPERSONATOR, _HONEYPOT), (_IMPERSONATOR,), (_HONEYPOT, _DRAINER))


class Scanner:
    """Scans tokens: those with a row in ``rows``, by token id, and any others."""

    def __init__(self, seed: int, clock: Clock, rows: Mapping[str, TokenSpec]) -> None:
        self._seed = seed
        self._clock = clock
        self._rows = rows

    async def scan(self, token: Token) -> TokenSecurityScan:
        """The verdict a scan comes to now; to be made again after ``expires_at``."""
        await self._clock.sleep(SCAN_SECONDS)
        return self.verdict(token, self._clock.now())

    def verdict(self, token: Token, now: datetime) -> TokenSecurityScan:
        """What a scan finds that ends at ``now``."""
        row = self._rows.get(token.id)
        chance = _chance(self._seed, token.id, "verdict")
        found = _guess(token, chance) if row is None else row.verdict
        if _PASSING & {found} and _chance(self._seed, token.id, int(now.timestamp()) // 900) < 96:
            # What passes has passed, more often than not, when somebody looks again.
            found = "benign"
        bridged = row is not None and is_bridged(row)
        return scan_with(found, chance, now, bridged)


def scan_before(row: TokenSpec, token_id: str, begin: datetime) -> TokenSecurityScan | None:
    """The scan a token had when the world began; None when nobody had selected it."""
    if not row.seen:
        return None
    age = STALE_AGE if row.seen == "stale" else FRESH_AGE
    return scan_with(row.verdict, _chance(0, token_id), begin - age, is_bridged(row), SCAN_LIFE)


def is_bridged(row: TokenSpec) -> bool:
    """``USDC.e``, ``BTC.b``: a copy made by a bridge."""
    return row.asset is not None and "." in row.symbol


def _chance(seed: int, *path: object) -> int:
    """A byte out of a seed and a path of names."""
    text = "\0".join(map(str, (seed, "scan", *path)))
    return hashlib.sha256(text.encode()).digest()[0]


def _guess(token: Token, chance: int) -> str:
    """The verdict on a token nobody wrote a row for."""
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
    found: str, chance: int, at: datetime, bridged: bool, life: timedelta | None = None
) -> TokenSecurityScan:
    """The record of a scan made at ``at`` that found what a TokenSpec calls ``verdict``.

    ``chance``, a byte, chooses among the findings that go with it.
    """
    if found == "benign":
        features = [_PUBLISHED, _LIQUID] if chance < 128 else [_PUBLISHED]
        result, told, score = ScanResult.BENIGN, "Benign", Decimal("0.01")
    elif found == "warning":
        features = [_BRIDGED, _PUBLISHED] if bridged else list(_WARNINGS[chance % 3])
        result, told, score = ScanResult.WARNING, "Spam risk", Decimal("0.46")
    elif found == "malicious":
        features = list(_DANGERS[chance % 3])
        result, told, score = ScanResult.MALICIOUS, "Malicious", Decimal("0.98")
    else:
        reason = UnscannedReason(found)
        life = life or (RETRY_LIFE if reason in _PASSING else SCAN_LIFE)
        return TokenSecurityScan(
            provider=PROVIDER,
            result_type=ScanResult.UNSCANNED,
            unscanned_reason=reason,
            unscanned_detail=_DETAILS[reason],
            scanned_at=at,
            expires_at=at + life,
        )
    return TokenSecurityScan(
        provider=PROVIDER,
        result_type=result,
        provider_result_type=told,
        malicious_score=score,
        features=features,
        scanned_at=at,
        expires_at=at + (life or SCAN_LIFE),
    )
