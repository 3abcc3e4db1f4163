"""The intent: what the user confirmed, frozen, and whether its deposit address may be shown.

An Intent is made once, at the review, and never changes. The same object is confirmed, journaled,
posted and compared. Gas and fees of an on-chain swap are units of the native coin.

An address is hidden at first. It is released only after the order was created for an intent of this
desk, compared with the intent, repeated by the service and compared again. A later contradiction
hides the address for good. If a floating rate falls before the deposit, the address is hidden until
the user accepts less (``agreed_output``).
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, Literal

from msgspec import Struct, convert
from msgspec.structs import asdict

from swapdesk.wire.encoding.codec import rfc3339
from swapdesk.wire.encoding.numbers import ROUGH, plain
from swapdesk.wire.quotes import Quote
from swapdesk.wire.tokens import Token

SLIPPAGE = Decimal("0.5")
"""The percentage below the quote that is accepted by default: the service's own default (contract
6.6, ``slippage``)."""
COIN_DECIMALS = {"evm": 18, "sol": 9}
"""Decimals of the native coin, by the kinds of chains that a wallet of this desk signs for."""
GAS_ROOM = 4
"""A transaction may cost this multiple of the quoted gas, because gas prices change until it is
mined."""
LEAST_GAS_USD = Decimal(5)
"""Gas that one transaction may always cost, in US dollars. It is needed because the gas stated in a
quote does not include approvals."""
UNPRICED_GAS = Decimal("0.01")
"""The most that a transaction may cost for gas, in whole coins, if the price of the coin is not
known."""
FEE_ROOM = Decimal("1.01")
"""The fee of a bridge may be this multiple of the quoted fee, because a quote states the fee in
rounded dollars and the transaction pays it in coins."""


class DexTerms(Struct, frozen=True):
    """The terms of an on-chain swap. ``sender`` signs and pays; ``slippage`` is in percent.
    ``gas_units`` and ``fee_units`` are the most that one transaction may pay for gas and as fees of
    the venue."""

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
    """Returns the terms of a quote. ``coin_price`` is the price of the native coin in US dollars,
    ``kind`` the kind of its chain."""
    # A venue that takes its own fee in the coin takes it together with the bridge's.
    fees = (quote.fee_usd or Decimal(0)) + (quote.bridge_fee_usd or Decimal(0))
    return DexTerms(
        sender,
        slippage,
        _gas(quote.gas_usd, coin_price, kind),
        _coins(fees * FEE_ROOM, coin_price, kind),
    )


def least_units(quoted: int, slippage: Decimal) -> int:
    """Returns the smallest output that is accepted, rounded down: ``quoted`` reduced by
    ``slippage`` percent."""
    return int(Fraction(100 - slippage) / 100 * quoted)


def gas_bound(price: Decimal | None, kind: str) -> int:
    """Returns the most that one transaction may cost for gas if no quote states its gas, in units
    of the native coin. ``price`` is the coin's price in US dollars; None if unknown."""
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
    """The kind of an intent, which decides the create call."""

    EXCHANGE = "exchange"
    PRIVATE_SEND = "private_send"


class TokenFacts(Struct, frozen=True):
    """The identity of a token as confirmed: its id and contract, with its chain in words."""

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

    ``amount_out`` is the payout of the quote, ``net_amount_out`` the amount the quote was ranked
    by. ``memo_waived`` records the typed waiver on a chain whose addresses usually need a memo.
    With ``fixed`` the quote promised ``amount_out`` until ``valid_until``. With ``receive`` the
    user stated ``amount_out`` and the quote answered with ``amount_in``.

    ``markup`` is in percent, None for the account's default. ``intermediate_refund`` may get the
    token between the legs back if a private swap fails there. ``dex`` are the terms of an on-chain
    swap, None for other routes.
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
        """The hash that is equal for intents of the same payment: pair, stated amount, recipient
        and memo."""
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
        """Returns the intent as the journal stores it, with amounts as exact decimal text."""
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
    """Whether the deposit address of an order may be shown, as stored with the order in the
    journal."""

    FOREIGN = "foreign"
    """The order was not confirmed at this desk; another program of the partner made it."""
    UNREPEATED = "unrepeated"
    """The order was created here, and the service has not repeated it in a second answer yet."""
    LOWER = "lower"
    """The order is what was confirmed, but its output is lower than the user agreed to. The user
    may accept the lower output."""
    DIFFERS = "differs"
    """The order is not what was confirmed."""
    CONTRADICTS = "contradicts"
    """A later answer of the service named another recipient or amount than an earlier one."""
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
    """A release state with the sentence that explains it; the sentence is None only if the address
    is released."""

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
