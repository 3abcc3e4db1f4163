"""Security verdicts of the sandbox's tokens (spec: TokenSecurityScan)."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal

from swapdesk.sandbox.token_rows import Scan
from swapdesk.wire.tokens import ScanResult, TokenScanFeature, TokenSecurityScan, UnscannedReason

PROVIDER = "Lookout"
_AGE = timedelta(hours=2)
_LIFE = timedelta(days=1)


def _feature(feature_id: str, kind: str, description: str) -> TokenScanFeature:
    return TokenScanFeature(feature_id=feature_id, type=kind, description=description)


_BENIGN = [_feature("VERIFIED_CONTRACT", "Benign", "The source of the contract is published.")]
_WARNING = [
    _feature("BRIDGED", "Warning", "A copy of a token that lives on another chain."),
    _feature("VERIFIED_CONTRACT", "Benign", "The source of the contract is published."),
]
_MALICIOUS = [
    _feature("IMPERSONATOR", "Malicious", "Copies the name of a well-known token."),
    _feature("HONEYPOT", "Malicious", "The contract refuses to sell what was bought."),
]


def scan_of(scan: Scan, now: datetime) -> TokenSecurityScan | None:
    """The verdict at ``now``; None for a token that was never looked at."""
    scanned = now - _AGE
    expires = scanned + _LIFE
    if scan == "none":
        return None
    if scan == "expired":
        scanned, expires = now - timedelta(days=9), now - timedelta(days=8)
    if scan in ("benign", "expired"):
        return TokenSecurityScan(
            provider=PROVIDER,
            result_type=ScanResult.BENIGN,
            provider_result_type="Benign",
            malicious_score=Decimal("0.01"),
            features=_BENIGN,
            scanned_at=scanned,
            expires_at=expires,
        )
    if scan == "warning":
        return TokenSecurityScan(
            provider=PROVIDER,
            result_type=ScanResult.WARNING,
            provider_result_type="Spam risk",
            malicious_score=Decimal("0.46"),
            features=_WARNING,
            scanned_at=scanned,
            expires_at=expires,
        )
    if scan == "malicious":
        return TokenSecurityScan(
            provider=PROVIDER,
            result_type=ScanResult.MALICIOUS,
            provider_result_type="Malicious",
            malicious_score=Decimal("0.98"),
            features=_MALICIOUS,
            scanned_at=scanned,
            expires_at=expires,
        )
    native = scan == "native"
    return TokenSecurityScan(
        provider=PROVIDER,
        result_type=ScanResult.UNSCANNED,
        unscanned_reason=UnscannedReason.NATIVE_TOKEN if native else UnscannedReason.TIMEOUT,
        unscanned_detail=(
            "A native coin has no contract." if native else "The scan took longer than 10 s."
        ),
        scanned_at=scanned,
        expires_at=expires,
    )
