"""What is confirmed of an on-chain swap beside what every intent has: account and bounds.

Amounts of gas and fees are units of the native coin of the chain that is paid on.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any

from swapdesk.wire.encoding.numbers import ROUGH, plain
from swapdesk.wire.quotes import Quote

SLIPPAGE = Decimal("0.5")
"""Percent under the quote that is taken where nobody said how much: the service's own choice
(contract 6.6, ``slippage``)."""
COIN_DECIMALS = {"evm": 18, "sol": 9}
"""Of the native coin, by the kinds of chains that a wallet of this desk signs for."""
GAS_ROOM = 4
"""How many times the gas of a quote one transaction may cost: prices move until it is mined."""
LEAST_GAS_USD = Decimal(5)
"""What one transaction may always cost; approvals are not part of a quote's gas."""
UNPRICED_GAS = Decimal("0.01")
"""The bound in coins where the coin has no price."""
FEE_ROOM = Decimal("1.01")
"""A quote tells the bridge fee in dollars, rounded, and the transaction carries it in coins."""


@dataclass(frozen=True)
class DexTerms:
    """``sender`` signs and pays; ``slippage`` in percent; ``gas_units`` the most that one
    transaction may pay for gas, ``fee_units`` the most that goes along as fees of the venue."""

    sender: str
    slippage: Decimal
    gas_units: int
    fee_units: int = 0

    def as_json(self) -> dict[str, Any]:
        return {
            "sender": self.sender,
            "slippage": plain(self.slippage),
            "gas_units": str(self.gas_units),
            "fee_units": str(self.fee_units),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DexTerms:
        return cls(
            str(data["sender"]),
            Decimal(data["slippage"]),
            int(data["gas_units"]),
            int(data["fee_units"]),
        )


def terms_of(
    quote: Quote,
    sender: str,
    coin_price: Decimal | None,
    slippage: Decimal = SLIPPAGE,
    *,
    kind: str = "evm",
) -> DexTerms:
    """The terms of a quote; ``coin_price`` in dollars of the native coin of its chain, which is
    of this ``kind``."""
    # A venue that takes its own fee in the coin takes it together with the bridge's.
    fees = (quote.fee_usd or Decimal(0)) + (quote.bridge_fee_usd or Decimal(0))
    return DexTerms(
        sender,
        slippage,
        _gas(quote.gas_usd, coin_price, kind),
        _coins(fees * FEE_ROOM, coin_price, kind),
    )


def least_units(quoted: int, slippage: Decimal) -> int:
    """What was quoted less the slippage, rounded down."""
    return int(Fraction(100 - slippage) / 100 * quoted)


def gas_bound(price: Decimal | None, kind: str) -> int:
    """The most that one transaction may pay for gas where no quote says what it needs."""
    return _gas(None, price, kind)


def _gas(gas_usd: Decimal | None, price: Decimal | None, kind: str) -> int:
    if price is None or price <= 0:
        return int(UNPRICED_GAS.scaleb(COIN_DECIMALS[kind]))
    return _coins(max(LEAST_GAS_USD, GAS_ROOM * (gas_usd or Decimal(0))), price, kind)


def _coins(usd: Decimal, price: Decimal | None, kind: str) -> int:
    if usd <= 0 or price is None or price <= 0:
        return 0
    coins = ROUGH.divide(usd, price)
    return int(coins.scaleb(COIN_DECIMALS[kind]).to_integral_value(ROUND_CEILING))
