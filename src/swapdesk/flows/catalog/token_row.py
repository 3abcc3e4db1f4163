"""A token as a row of the list, and the one word about its security (contract 5.11).

Rows are light: twenty thousand of them are searched at every key, before any model is loaded.
The whole token is decoded on demand (``Catalog.token``).
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple


class Verdict(StrEnum):
    """What the scan says, in the words of the screen. ``UNSCANNED`` never blocks."""

    BENIGN = "benign"
    WARNING = "warning"
    UNKNOWN = "unknown"
    """A result that this desk does not know; to be accepted as a warning is."""
    MALICIOUS = "malicious"
    UNSCANNED = "unscanned"
    STALE = "scan is old"
    DISABLED = "disabled"


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
        """Whether it can be used so now: what is disabled can nothing."""
        return self.enabled and bool(self[_CAN_DO_FIELD[what]])

    @property
    def order(self) -> tuple[bool, Decimal, bool, Decimal, str, str]:
        """Priority, rank, symbol, id; unknown values last (contract 5.8)."""
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
