"""What to send for an order, and where its deposit went.

The amount to send is ``inAmount`` with no more digits than the token has decimals. Excess digits
beyond noise are rounded up, because a deposit that is too small is not credited. Address and memo
are those journaled when the order was created. A withheld address is shown only if this desk paid
to it, or once the order has ended and its deposit arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import ClassVar

from msgspec import Struct

from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.notation import copied_amount, exact_amount
from swapdesk.flows.orders.order_fields import (
    deposit_arrived,
    deposit_doubted,
    send_label,
    symbols,
)
from swapdesk.flows.orders.order_merge import display_of, ended, linked_deposit
from swapdesk.flows.orders.order_transactions import OrderTransaction, PaidOnChain, folded_hash
from swapdesk.flows.orders.situations import deposit_on_chain
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.numbers import NumberError, quantize, short, to_base_units
from swapdesk.wire.orders import Order

_PAYS = frozenset({"deposit", "bundle"})


def own_payment(made: Sequence[OrderTransaction]) -> OrderTransaction | None:
    """Returns the newest payment of the order's deposit in ``made`` that this desk sent and that
    did not fail; None if there is none."""
    return next(
        (sent for sent in made[::-1] if sent.own and sent.role in _PAYS and sent.fate != "failed"),
        None,
    )


def named_deposit(order: Order, made: Sequence[OrderTransaction]) -> str | None:
    """Returns the hash of the deposit transaction that the service names or once named; None if the
    service has never named a deposit."""
    named = (sent.hash for sent in made if sent.fate == "seen")
    return next(named, None) or linked_deposit(order)


def deposit_hash(order: Order, made: Sequence[OrderTransaction]) -> str | None:
    """Returns the hash of this desk's deposit transaction or, if there is none, of the transaction
    that the service names; None if neither is known."""
    own = own_payment(made)
    return own.hash if own is not None else named_deposit(order, made)


def other_deposit(order: Order, made: Sequence[OrderTransaction]) -> str | None:
    """Returns the hash of the deposit that the service names, if it is not the deposit that this
    desk sent; otherwise None."""
    own, named = own_payment(made), named_deposit(order, made)
    if own is None or named is None or folded_hash(own.hash) == folded_hash(named):
        return None
    return named


ARRIVED = "the deposit arrived there; do not send to it again"
ON_ITS_WAY = "this desk sent the deposit there; do not send to it again"


class DepositDestination(Struct, frozen=True):
    """The address, memo and chain that a deposit went to. ``arrived`` is True once the service has
    seen the deposit."""

    PRINTED: ClassVar = {
        "address": "address", "memo": "memo", "chain": "chain", "arrived": "arrived",
        "warning": "warning",
    }  # fmt: skip

    address: str
    memo: str | None
    chain: str | None
    arrived: bool

    @property
    def warning(self) -> str:
        """A warning, as part of a sentence, not to pay the deposit a second time."""
        return ARRIVED if self.arrived else ON_ITS_WAY


def deposit_destination(
    tracked: TrackedOrder, made: Sequence[OrderTransaction]
) -> DepositDestination | None:
    """Returns where the deposit went. None for a DEX swap, if no deposit is known, or if its
    address is withheld or unknown."""
    order, own = tracked.order, own_payment(made)
    arrived = deposit_arrived(order)
    hidden = tracked.withheld is not None and not ended(display_of(order))
    if order.is_dex or (own is None and (hidden or not arrived)):
        return None
    address = own.address if own is not None and own.address else order.deposit_address
    if address is None:
        return None
    memo = order.deposit_tag if address == order.deposit_address else None
    token = token_to_pay(tracked)
    return DepositDestination(address, memo, token.chain if token is not None else None, arrived)


NOISE = Decimal("0.000001")
"""Largest distance from a whole number of smallest units that is rounded away."""

_WIDE = Context(prec=200)


class PayableAmount(Struct, frozen=True):
    """The amount to send for an order. ``exact`` is the number, ``shown`` its text with grouped
    digits. ``note`` says why it differs from the service's amount; None if it does not."""

    exact: Decimal
    shown: str
    note: str | None


def payable_amount(
    order: Order, decimals: int | None, symbol: str | None = None
) -> PayableAmount | None:
    """Returns the amount to send, rounded to ``decimals`` places if they are known. None if the
    service names no amount. If ``symbol`` is None, the order's symbol is used."""
    amount = order.in_amount
    if amount is None:
        return None
    if decimals is None or _whole(amount, decimals):
        return PayableAmount(amount, exact_amount(amount), None)
    unit = Decimal(1).scaleb(-decimals)
    nearest = amount.quantize(unit, ROUND_HALF_EVEN, context=_WIDE)
    away = abs(_WIDE.subtract(amount, nearest))
    symbol = symbol or symbols(order)[0]
    if nearest > 0 and away <= _WIDE.multiply(unit, NOISE):
        exact, how = nearest, "this is the same amount without the noise"
    else:
        exact, how = quantize(amount, decimals, up=True), "this is rounded up"
    exact = short(exact)
    named = f"{copied_amount(amount)} {symbol}"
    note = f"The service says {named}. {symbol} has {decimals} decimals; {how}."
    return PayableAmount(exact, exact_amount(exact), note)


def amount_to_pay(tracked: TrackedOrder) -> PayableAmount | None:
    token = token_to_pay(tracked)
    if token is None:
        return payable_amount(tracked.order, None)
    return payable_amount(tracked.order, token.decimals, token.symbol)


def token_to_pay(tracked: TrackedOrder) -> TokenFacts | None:
    """Returns the token to send: the one that the user confirmed, or else the one that the order
    names. None if neither is known."""
    if tracked.intent is not None:
        return tracked.intent.token_in
    token = tracked.order.in_token
    return TokenFacts.of(token) if token is not None else None


def symbol_to_pay(tracked: TrackedOrder) -> str:
    token = token_to_pay(tracked)
    return token.symbol if token is not None else tracked.symbols[0]


def deposit_known(
    tracked: TrackedOrder, made: Sequence[OrderTransaction] = ()
) -> PaidOnChain | None:
    """Returns the deposit as chains show it: the payments that were looked up and this desk's own
    confirmed payment, added up. None if no chain shows a payment. The service does not report what
    arrived (contract 8.1)."""
    own = own_payment(made) if made else tracked.own_payment
    if own is None or own.fate != "confirmed" or own.by == "faucet":
        return tracked.deposit
    token, amount = token_to_pay(tracked), amount_to_pay(tracked)
    looked_up = {folded_hash(payment.hash) for payment in tracked.payments}
    if token is None or amount is None or folded_hash(own.hash) in looked_up:
        return tracked.deposit
    sent = PaidOnChain(
        hash=own.hash,
        chain=token.chain,
        chain_name=token.chain_name,
        to=own.address or tracked.order.deposit_address or "",
        token_id=token.id,
        symbol=token.symbol,
        amount=amount.exact,
        memo=tracked.order.deposit_tag,
        confirmations=1,
        at=None,
        seen_at=tracked.seen_at,
    )
    return deposit_on_chain(tracked.order, (*tracked.payments, sent))


def kept_of(order: Order, deposit: PaidOnChain | None) -> Decimal | None:
    """Returns how much of a refunded deposit the provider kept, in token units. None for a DEX
    swap, or if an amount is unknown."""
    if deposit is None or not deposit.moved or deposit.amount is None or order.is_dex:
        return None
    if order.refund_amount is None or _other_token(order, deposit):
        return None
    return max(Decimal(0), _WIDE.subtract(deposit.amount, order.refund_amount))


def sent_otherwise(order: Order, deposit: PaidOnChain) -> bool:
    """Returns whether a chain shows another amount or token than the order asked for. False for a
    DEX swap."""
    if not deposit.moved or order.is_dex:
        return False
    return _other_token(order, deposit) or (
        order.in_amount is not None and deposit.amount != order.in_amount
    )


def asked_only(tracked: TrackedOrder) -> bool:
    """Returns whether a list marks the order's amount as "asked for", because a different amount or
    token is known or suspected to have arrived."""
    deposit = tracked.deposit
    if deposit is not None and deposit.moved:
        return sent_otherwise(tracked.order, deposit)
    return deposit_doubted(tracked.order, tracked.intent)


def _other_token(order: Order, deposit: PaidOnChain) -> bool:
    return order.in_token is not None and order.in_token.id != deposit.token_id


def sent_amounts(
    tracked: TrackedOrder, made: Sequence[OrderTransaction] = ()
) -> list[tuple[str, Decimal, str, str]]:
    """Returns the amounts to show as sent, each with label, amount, symbol and chain name. What a
    chain shows comes before what the order asks for."""
    order, deposit = tracked.order, deposit_known(tracked, made)
    amounts: list[tuple[str, Decimal, str, str]] = []
    if deposit is not None and deposit.moved and deposit.amount is not None and not order.is_dex:
        amounts.append(("You sent", deposit.amount, deposit.symbol, deposit.chain_name))
    if order.in_amount is not None and (
        not amounts or (deposit is not None and sent_otherwise(order, deposit))
    ):
        chain = order.in_token.chain_data.name if order.in_token is not None else ""
        label = "Asked for" if amounts else send_label(order, tracked.proceeds.outcome)
        amounts.append((label, order.in_amount, tracked.symbols[0], chain))
    return amounts


def _whole(amount: Decimal, decimals: int) -> bool:
    try:
        to_base_units(amount, decimals)
    except NumberError:
        return False
    return True
