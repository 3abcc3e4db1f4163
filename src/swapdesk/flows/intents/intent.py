"""The intent, which is the swap that the user confirmed, and the rule when an order's deposit
address may be shown.

An Intent is made once, at the review, and never changes: the same object is confirmed, journaled,
posted and compared. Gas and fees of an on-chain swap are in units of the native coin.

An address is hidden at first. It is released only after the order was created for an intent of this
desk, compared with the intent, sent by the service in a second answer and compared again. If a
later answer contradicts the order, the address is hidden for good. If a floating rate falls before
the deposit, the address is hidden until the user accepts the lower output (``agreed_output``).
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, convert
from msgspec.structs import asdict

from swapdesk.wire.encoding.codec import rfc3339
from swapdesk.wire.encoding.numbers import ROUGH, plain
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.wire.quotes import Quote

SLIPPAGE = Decimal("0.5")
"""The default for how many percent the output may fall below the quote; the service's own (contract
6.6)."""
COIN_DECIMALS = {"evm": 18, "sol": 9}
"""Decimals of the native coin, by kind of chain on which this desk signs."""
GAS_ROOM = 4
"""How many times the quoted gas a transaction may cost, because gas prices change."""
LEAST_GAS_USD = Decimal(5)
"""US dollars that gas may always cost, because a quote's gas omits approvals."""
UNPRICED_GAS = Decimal("0.01")
"""The most whole coins for a transaction's gas while the coin's price is unknown."""
FEE_ROOM = Decimal("1.01")
"""How many times the quoted fee a bridge may charge, because quotes state it in rounded dollars."""


class DexTerms(Struct, frozen=True):
    """What the user confirmed about an on-chain swap."""

    sender: str
    """The address that signs and pays."""
    slippage: Decimal
    """In percent."""
    gas_units: int
    """The most gas one transaction may cost, in the coin's smallest unit."""
    fee_units: int = 0
    """The most venue fees of one transaction, in the same unit."""

    def as_json(self) -> dict[str, Any]:
        return {
            "sender": self.sender,
            "slippage": plain(self.slippage),
            "gas_units": str(self.gas_units),
            "fee_units": str(self.fee_units),
        }


def terms_of(
    quote: Quote,
    sender: str,
    coin_price: Decimal | None,
    slippage: Decimal = SLIPPAGE,
    *,
    kind: str = "evm",
) -> DexTerms:
    """Returns the terms of an on-chain swap. ``coin_price`` is the price of the chain's coin in US
    dollars, or None if unknown; ``kind`` is the chain's kind."""
    # A venue that takes its own fee in the coin takes it together with the bridge's.
    fees = (quote.fee_usd or Decimal(0)) + (quote.bridge_fee_usd or Decimal(0))
    return DexTerms(
        sender,
        slippage,
        _gas(quote.gas_usd, coin_price, kind),
        _coins(fees * FEE_ROOM, coin_price, kind),
    )


def least_units(quoted: int, slippage: Decimal) -> int:
    """Returns the smallest accepted output, rounded down to whole units: ``quoted`` minus
    ``slippage`` percent."""
    return int(Fraction(100 - slippage) / 100 * quoted)


def gas_bound(price: Decimal | None, kind: str) -> int:
    """Returns the most that a transaction without a quote may cost for gas, in the coin's smallest
    unit. ``price`` is the coin's price in US dollars, or None if unknown."""
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


Route = Literal["standard", "private", "dex"]


class IntentKind(StrEnum):
    EXCHANGE = "exchange"
    PRIVATE_SEND = "private_send"


class TokenFacts(Struct, frozen=True):
    """The facts that identify a token in a confirmed intent."""

    id: str
    symbol: str
    chain: str
    chain_name: str
    kind: str
    contract: str | None
    decimals: int
    chain_id: int | None = None

    @classmethod
    def of(cls, token: Token) -> TokenFacts:
        chain = token.chain_data
        return cls(
            id=token.id.lower(),
            symbol=token.symbol,
            chain=chain.short_name,
            chain_name=chain.name,
            kind=chain.kind,
            contract=token.address,
            decimals=token.decimals,
            chain_id=chain.chain_id,
        )


class Intent(Struct, frozen=True):
    """One confirmed swap or private send. Amounts are exact, in token units."""

    id: str
    kind: IntentKind
    frozen_at: datetime
    token_in: TokenFacts
    token_out: TokenFacts
    amount_in: Decimal
    amount_out: Decimal
    """The payout of the quote."""
    net_amount_out: Decimal
    """The amount by which quotes were compared."""
    route: Route
    provider: str | None
    provider_name: str | None
    quote_id: str
    valid_until: datetime
    minutes: Decimal | None
    recipient: str
    recipient_label: str | None
    memo: str | None
    memo_waived: bool
    """True if the user confirmed, by typing, that no memo is needed."""
    refund_address: str | None
    refund_memo: str | None
    fixed: bool = False
    """True if the quote promised ``amount_out`` until ``valid_until``."""
    receive: bool = False
    """True if the user stated ``amount_out`` and the quote ``amount_in``."""
    markup: Decimal | None = None
    """In percent; None for the account's default."""
    intermediate_refund: str | None = None
    """Gets a refund in the coin between a private swap's two exchanges."""
    dex: DexTerms | None = None
    """The terms of an on-chain swap; None for other routes."""

    @property
    def fingerprint(self) -> str:
        """A hash that is equal for two intents if they are the same payment: the same kind, tokens,
        stated amount, recipient and memo."""
        facts = "\n".join(
            (
                self.kind,
                self.token_in.id,
                self.token_out.id,
                # Every quote answers a stated output with another amount to send.
                f"={plain(self.amount_out)}" if self.receive else plain(self.amount_in),
                self.recipient,
                self.memo or "",
            )
        )
        return hashlib.sha256(facts.encode()).hexdigest()[:16]

    def as_json(self) -> dict[str, Any]:
        """Returns the intent as the journal stores it, with amounts as decimal text."""
        values = {name: _plain_value(value) for name, value in asdict(self).items()}
        return values | {"dex": None if self.dex is None else self.dex.as_json()}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Intent:
        return convert(data, cls, strict=False)


def _plain_value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return plain(value)
    if isinstance(value, datetime):
        return rfc3339(value)
    return asdict(value) if isinstance(value, Struct) else value


class DepositRelease(StrEnum):
    """Whether an order's deposit address may be shown, and why not. The journal stores these
    values."""

    FOREIGN = "foreign"
    """The order was not confirmed at this desk; the address stays hidden."""
    UNREPEATED = "unrepeated"
    """Created here and as confirmed, but not returned by the service a second time."""
    LOWER = "lower"
    """As confirmed, except for a lower output, which the user may accept."""
    DIFFERS = "differs"
    """The order differs from what was confirmed."""
    CONTRADICTS = "contradicts"
    """Two answers of the service about the order name different recipients or amounts."""
    RELEASED = "released"


MAY_FOLLOW: dict[DepositRelease, frozenset[DepositRelease]] = {
    DepositRelease.FOREIGN: frozenset(
        {DepositRelease.UNREPEATED, DepositRelease.DIFFERS, DepositRelease.CONTRADICTS}
    ),
    DepositRelease.UNREPEATED: frozenset(
        {
            DepositRelease.LOWER,
            DepositRelease.DIFFERS,
            DepositRelease.CONTRADICTS,
            DepositRelease.RELEASED,
        }
    ),
    DepositRelease.LOWER: frozenset(
        {
            DepositRelease.LOWER,
            DepositRelease.DIFFERS,
            DepositRelease.CONTRADICTS,
            DepositRelease.RELEASED,
        }
    ),
    DepositRelease.RELEASED: frozenset({DepositRelease.LOWER, DepositRelease.CONTRADICTS}),
    DepositRelease.DIFFERS: frozenset({DepositRelease.CONTRADICTS}),
    DepositRelease.CONTRADICTS: frozenset(),
}

FOREIGN_TEXT = "This order was not confirmed at this desk; its deposit address stays hidden."
IN_BATCH_TEXT = "This order is of a batch, which pays it; its deposit address stays hidden here."
UNREPEATED_TEXT = "The service has not repeated this order yet; its address stays hidden."
NO_ADDRESS_TEXT = "The service has not given the deposit address yet."
NO_SUCH_TEXT = "The service knows no order of this id. Nothing was paid, and nothing is to be paid."


class ReleaseVerdict(Struct, frozen=True):
    """Whether a deposit address may be shown. ``withheld`` says why not; None if the address may be
    shown."""

    standing: DepositRelease
    withheld: str | None

    @property
    def payable(self) -> bool:
        return self.standing is DepositRelease.RELEASED


FOREIGN = ReleaseVerdict(DepositRelease.FOREIGN, FOREIGN_TEXT)
UNREPEATED = ReleaseVerdict(DepositRelease.UNREPEATED, UNREPEATED_TEXT)
RELEASED = ReleaseVerdict(DepositRelease.RELEASED, None)


def contradiction(reason: str) -> ReleaseVerdict:
    return ReleaseVerdict(DepositRelease.CONTRADICTS, f"Do not pay this order: {reason}.")
