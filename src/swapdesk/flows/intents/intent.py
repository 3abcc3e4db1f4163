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
"""By how many percent the output may be below the quote unless the user chooses otherwise. The
value is the service's own default (contract 6.6, ``slippage``)."""
COIN_DECIMALS = {"evm": 18, "sol": 9}
"""Decimals of the native coin for each kind of chain on which a wallet of this desk can sign."""
GAS_ROOM = 4
"""How many times the quoted gas a transaction may cost, because gas prices change until it is
mined."""
LEAST_GAS_USD = Decimal(5)
"""The amount in US dollars that one transaction may cost for gas even if the quote states less,
because the quote's gas does not include approvals."""
UNPRICED_GAS = Decimal("0.01")
"""The most that a transaction may cost for gas if the price of the coin is not known, in whole
coins."""
FEE_ROOM = Decimal("1.01")
"""How many times the quoted fee a bridge may charge, because a quote states the fee in rounded
dollars and the transaction pays it in coins."""


class DexTerms(Struct, frozen=True):
    """What the user confirmed about an on-chain swap. ``sender`` signs and pays; ``slippage`` is in
    percent. ``gas_units`` and ``fee_units`` are the most that one transaction may cost for gas and
    as fees of the venue, in the smallest unit of the native coin."""

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


def terms_of(
    quote: Quote,
    sender: str,
    coin_price: Decimal | None,
    slippage: Decimal = SLIPPAGE,
    *,
    kind: str = "evm",
) -> DexTerms:
    """Returns the terms of an on-chain swap with this quote. ``coin_price`` is the price of the
    native coin in US dollars, or None; ``kind`` is the kind of its chain."""
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
    """Returns the most that a transaction without a quote may cost for gas, in the smallest unit of
    the native coin. ``price`` is the coin's price in US dollars; None if unknown."""
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
    """Whether the order is created as an exchange or as a private send."""

    EXCHANGE = "exchange"
    PRIVATE_SEND = "private_send"


class TokenFacts(Struct, frozen=True):
    """What identifies a token when it is confirmed: its id and contract, and the names and kind of
    its chain."""

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
    """One confirmed swap or private send. Amounts are exact, in token units.

    ``amount_out`` is the payout of the quote, ``net_amount_out`` the amount by which quotes were
    compared. ``memo_waived`` is True if the user confirmed by typing that no memo is needed, on a
    chain that usually needs one. If ``fixed``, the quote promised ``amount_out`` until
    ``valid_until``. If ``receive``, the user stated ``amount_out`` and the quote answered with
    ``amount_in``.

    ``markup`` is in percent, None for the account's default. ``intermediate_refund`` is the address
    for a refund in the coin between the two legs, if a private swap fails there. ``dex`` are the
    terms of an on-chain swap, None for other routes.
    """

    id: str
    kind: IntentKind
    frozen_at: datetime
    token_in: TokenFacts
    token_out: TokenFacts
    amount_in: Decimal
    amount_out: Decimal
    net_amount_out: Decimal
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
    refund_address: str | None
    refund_memo: str | None
    fixed: bool = False
    receive: bool = False
    markup: Decimal | None = None
    intermediate_refund: str | None = None
    dex: DexTerms | None = None

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
        """Returns the intent in the form in which the journal stores it, with amounts as exact
        decimal text."""
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
    """The release of an order: whether its deposit address may be shown. Stored with the order in
    the journal."""

    FOREIGN = "foreign"
    """The order was not confirmed at this desk; the address stays hidden."""
    UNREPEATED = "unrepeated"
    """The order was created here and matches the intent, but the service has not returned it a
    second time."""
    LOWER = "lower"
    """The order matches the intent, except that its output is lower than the user agreed to. The
    user may accept the lower output."""
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
    """A release of an order. ``withheld`` is a sentence that says why the address is hidden; it is
    None only if the address is released."""

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
