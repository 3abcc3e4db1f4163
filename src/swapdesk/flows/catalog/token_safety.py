"""Checks whether a token may be used: it may be disabled, malicious, warned about or an imitation.

Only ``resultType`` of the security scan decides, and a missing scan never blocks a token (contract
5.11). Importing the models takes longer than searching a list, so the search imports ``token_list``
and never this module.
"""

from __future__ import annotations

from datetime import datetime

from swapdesk.flows.catalog.confusables import code_points, is_plain, suspicion
from swapdesk.flows.catalog.token_list import TokenRow, Verdict
from swapdesk.flows.check_line import CheckLine
from swapdesk.wire.encoding.codec import decode_json, validate
from swapdesk.wire.tokens import ScanResult, Token


def whole_token(body: bytes, chain_body: bytes) -> Token:
    """Decodes a token and its chain, which the catalogue file stores apart. Raises CodecError."""
    value = decode_json(body, side="client")
    assert isinstance(value, dict)  # written by the catalogue
    value["chainData"] = decode_json(chain_body, side="client")
    return validate(Token, value, side="client")


_VERDICTS: dict[str | None, Verdict] = {
    None: Verdict.UNSCANNED,
    ScanResult.UNSCANNED: Verdict.UNSCANNED,
    ScanResult.MALICIOUS: Verdict.MALICIOUS,
    ScanResult.WARNING: Verdict.WARNING,
    ScanResult.BENIGN: Verdict.BENIGN,
}
"""The verdict for each ``resultType`` of a security scan. Any other result is ``UNKNOWN``."""


def verdict_of(token: Token, now: datetime) -> Verdict:
    """Returns the verdict at ``now``. Only a benign scan expires; a warning does not."""
    if not (token.enabled and token.chain_data.enabled):
        return Verdict.DISABLED
    scan = token.security_scan
    if scan is None:
        return Verdict.UNSCANNED
    if scan.result_type == ScanResult.BENIGN and scan.expires_at <= now:
        return Verdict.STALE
    return _VERDICTS.get(scan.result_type, Verdict.UNKNOWN)


def row_of(token: Token, now: datetime) -> TokenRow:
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
    """Returns a token's searchable text in lower case."""
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


def check_token(
    token: Token, *, now: datetime, imitates: TokenRow | None = None
) -> tuple[CheckLine, ...]:
    """Returns the lines about a token's state. A ``refuse`` line forbids its use; a ``warn`` line
    needs consent. ``imitates`` is the token that ``token`` looks like, or None."""
    verdict = verdict_of(token, now)
    on = f"{token.symbol} on {token.chain_data.name}"
    lines: list[CheckLine] = []
    if refusal := token_refusal(token):
        lines.append(CheckLine("refuse", refusal))
    if imitates is not None:
        original = f"{imitates.symbol} on {imitates.chain_name}"
        lines.append(
            CheckLine("refuse", f"{on} looks like {original} and is not. {_identity(token)}")
        )
    if token.warning_message:
        lines.append(CheckLine("warn", f'The service says: "{token.warning_message}"'))
    if verdict is Verdict.WARNING:
        lines.append(CheckLine("warn", f"A scan warns of {on}."))
    elif verdict is Verdict.UNKNOWN and token.security_scan is not None:
        result = token.security_scan.result_type
        lines.append(CheckLine("warn", f"A scan says {result} of {on}: an unknown result."))
    elif verdict is Verdict.STALE:
        lines.append(CheckLine("note", f"The scan of {on} is old."))
    if token.unverified:
        lines.append(CheckLine("warn", f"{on} is not verified. {_identity(token)}"))
    return (*lines, *_spelling(token))


def token_refusal(token: Token) -> str:
    """Returns why the token cannot be swapped at all; empty if it can."""
    chain = token.chain_data
    if not chain.enabled:
        return f"{chain.name} is disabled at the service."
    if not token.enabled:
        return f"{token.symbol} on {chain.name} is disabled at the service."
    scan = token.security_scan
    if scan is not None and scan.result_type == ScanResult.MALICIOUS:
        return f"A scan found {token.symbol} on {chain.name} malicious. It cannot be chosen."
    return ""


def _identity(token: Token) -> str:
    return f"Compare its contract: {token.address}." if token.address else "It has no contract."


def _spelling(token: Token) -> list[CheckLine]:
    odd = suspicion(token.symbol)
    if odd is None and is_plain(token.symbol):
        return []
    phrase = odd or "has unusual characters"
    return [CheckLine("warn", f"The symbol {phrase}: {code_points(token.symbol)}.")]
