"""A whole token: its model from the bytes of the cache, its verdict and its row.

Models take longer to load than a list takes to be searched: what searches imports
``token_row`` and never this.
"""

from __future__ import annotations

from datetime import datetime

from swapdesk.flows.catalog.token_row import TokenRow, Verdict
from swapdesk.wire.encoding.codec import decode_json, validate
from swapdesk.wire.tokens import ScanResult, Token


def whole_token(body: bytes, chain_body: bytes) -> Token:
    """The token of the JSON of the cache, which keeps its chain apart. Raises CodecError."""
    value = decode_json(body, side="client")
    assert isinstance(value, dict)  # written by the catalogue
    value["chainData"] = decode_json(chain_body, side="client")
    return validate(Token, value, side="client")


def verdict_of(token: Token, now: datetime) -> Verdict:
    """The verdict at ``now``: branch on ``resultType`` only; an old scan is no clean bill.

    An old finding stays a finding.
    """
    if not (token.enabled and token.chain_data.enabled):
        return Verdict.DISABLED
    scan = token.security_scan
    if scan is None or scan.result_type in (None, ScanResult.UNSCANNED):
        return Verdict.UNSCANNED
    if scan.result_type == ScanResult.MALICIOUS:
        return Verdict.MALICIOUS
    if scan.result_type == ScanResult.WARNING:
        return Verdict.WARNING
    if scan.result_type != ScanResult.BENIGN:
        return Verdict.UNKNOWN
    return Verdict.STALE if scan.expires_at <= now else Verdict.BENIGN


def row_of(token: Token, now: datetime) -> TokenRow:
    """The row of a whole token."""
    chain = token.chain_data
    return TokenRow(
        id=token.id.lower(),
        symbol=token.symbol,
        name=token.name,
        chain=chain.short_name,
        chain_name=chain.name,
        kind=chain.kind,
        priority=token.priority,
        rank=token.rank,
        price=token.price,
        change=token.change,
        enabled=token.enabled and chain.enabled,
        unverified=token.unverified,
        has_cex=token.has_cex,
        has_dex=token.has_dex,
        has_bundler=token.has_bundler,
        has_self_private=token.has_self_private,
        verdict=verdict_of(token, now),
        contract=token.address,
        symbol_key=token.symbol.lower(),
        text_key=text_key(token),
    )


def text_key(token: Token) -> str:
    """Everything a token is found by: symbol, name, chain, contract and exchange symbol."""
    chain = token.chain_data
    parts = (
        token.symbol,
        token.name,
        chain.short_name,
        chain.name,
        token.address or "",
        token.cex_token_id,
    )
    return " ".join(parts).lower()
