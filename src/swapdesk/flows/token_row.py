"""A token as a row of the list, and the one word about its security (spec: TokenSecurityScan).

Rows are light: twenty thousand of them are searched at every key. The whole token is decoded
on demand (``Catalog.token``).
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from swapdesk.wire.tokens import ScanResult, Token


class Verdict(StrEnum):
    """What the scan says, in the words of the screen. ``UNSCANNED`` never blocks."""

    BENIGN = "benign"
    WARNING = "warning"
    MALICIOUS = "malicious"
    UNSCANNED = "unscanned"
    STALE = "scan is old"
    DISABLED = "disabled"

    @property
    def word(self) -> str:
        return self.value


class CanDo(StrEnum):
    """What a token can be used for, in the three letters of its column."""

    CEX = "cex"
    DEX = "dex"
    BUNDLE = "bnd"
    SELF_PRIVATE = "slf"


class TokenRow(NamedTuple):
    """One token on one chain. ``price`` in USD, ``change`` in percent of 24 hours.

    ``enabled`` is False when the token or its chain is disabled. ``contract`` is None for a
    native coin. ``symbol_key`` and ``text_key`` are the lower-case texts that are searched.
    """

    id: str
    symbol: str
    name: str
    chain: str
    chain_name: str
    kind: str
    priority: Decimal | None
    rank: Decimal | None
    price: Decimal | None
    change: Decimal | None
    enabled: bool
    unverified: bool
    has_cex: bool
    has_dex: bool
    has_bundler: bool
    has_self_private: bool
    verdict: Verdict
    contract: str | None
    symbol_key: str
    text_key: str

    def can(self, what: CanDo) -> bool:
        return bool(self[_CAN_DO_FIELD[what]])

    @property
    def order(self) -> tuple[bool, Decimal, bool, Decimal, str, str]:
        """Priority, rank, symbol, id; unknown values last (wire decisions 8, "Query values")."""
        return (
            self.priority is None,
            self.priority if self.priority is not None else _ZERO,
            self.rank is None,
            self.rank if self.rank is not None else _ZERO,
            self.symbol_key,
            self.id,
        )


_ZERO = Decimal(0)
_CAN_DO_FIELD = {
    CanDo.CEX: TokenRow._fields.index("has_cex"),
    CanDo.DEX: TokenRow._fields.index("has_dex"),
    CanDo.BUNDLE: TokenRow._fields.index("has_bundler"),
    CanDo.SELF_PRIVATE: TokenRow._fields.index("has_self_private"),
}


def verdict_of(token: Token, now: datetime) -> Verdict:
    """The verdict at ``now``: branch on ``resultType`` only; an old scan is no clean bill.

    An old finding stays a finding. A result this desk does not know is treated as a warning.
    """
    if not (token.enabled and token.chain_data.enabled):
        return Verdict.DISABLED
    scan = token.security_scan
    if scan is None or scan.result_type in (None, ScanResult.UNSCANNED):
        return Verdict.UNSCANNED
    if scan.result_type == ScanResult.MALICIOUS:
        return Verdict.MALICIOUS
    if scan.result_type != ScanResult.BENIGN:
        return Verdict.WARNING
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
