"""What a transaction paid, and how that differs from what an order asked for.

The chain shows what the service does not tell: another token or chain, a missing memo, less or
more than asked for, a payment after the deadline.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from msgspec import Struct

from swapdesk.client.chain_lookup import ChainTransaction, Payment
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.journal.order_merge import display_of, ended
from swapdesk.flows.notation import exact_amount
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.encoding.text import identity_text
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token


class PaidOnChain(Struct, frozen=True):
    """One receiver of a transaction, in the words of the catalogue."""

    hash: str
    chain: str
    """Short name: ``tron``."""
    chain_name: str
    to: str
    token_id: str | None
    """None for a token that the catalogue does not have."""
    symbol: str
    amount: Decimal | None
    """None where its decimals are not known."""
    memo: str | None
    confirmations: int | None
    """None while it waits for a block."""
    at: datetime | None
    """Time of its block, where the chain tells one."""
    failed: bool = False
    """It was executed in vain and moved nothing."""
    underpriced: bool = False
    """It waits, and offers less than what a block costs now."""
    missing: bool = False
    """This desk sent it, and its chain does not know it."""

    @property
    def what(self) -> str:
        """``12,000 USDT``, or ``another token`` where nobody knows it."""
        if self.amount is None:
            return "a token that the catalogue does not have"
        return f"{exact_amount(self.amount)} {self.symbol}"

    @property
    def words(self) -> str:
        """The same to a customer, behind "your"."""
        return "payment of another token" if self.amount is None else self.what

    @property
    def said(self) -> str:
        """``12,000 USDT on Tron, 19 confirmations``."""
        if self.failed:
            return f"a transaction on {self.chain_name} that failed"
        if self.missing:
            return f"no such transaction on {self.chain_name}"
        waits = "not in a block yet"
        depth = waits if self.confirmations is None else f"{self.confirmations:,} confirmations"
        return f"{self.what} on {self.chain_name}, {depth}"


class PaymentMatch(StrEnum):
    """How a payment to the deposit address stands to the order, the worst first."""

    MISSING = "missing"
    FAILED = "failed"
    WRONG_CHAIN = "wrong chain"
    WRONG_TOKEN = "wrong token"
    NO_MEMO = "memo missing"
    WRONG_MEMO = "another memo"
    UNDERPRICED = "underpriced"
    UNCONFIRMED = "not in a block"
    CLOSED_BEFORE = "closed before"
    """It waits for a block, and the order is closed."""
    LATE_STUCK = "late stuck"
    """After the deadline, and the order names no address for a refund."""
    LATE = "late"
    CLOSED_WITHOUT = "closed without"
    """It arrived, and the order was closed as one that was not paid."""
    TOO_LITTLE = "too little"
    TOO_MUCH = "too much"
    AS_ASKED = "as asked"


def match_payment(order: Order, paid: PaidOnChain) -> PaymentMatch:
    """How ``paid`` stands to what ``order`` asked for (contract 8.10 to 8.12)."""
    asked = order.in_token
    if paid.missing:
        return PaymentMatch.MISSING
    if paid.failed:
        return PaymentMatch.FAILED
    if order.is_dex:
        return _waiting(paid) or PaymentMatch.AS_ASKED
    if asked is not None and asked.chain != paid.chain:
        return PaymentMatch.WRONG_CHAIN
    if asked is not None and paid.token_id != asked.id:
        return PaymentMatch.WRONG_TOKEN
    if order.deposit_tag and not paid.memo:
        return PaymentMatch.NO_MEMO
    if order.deposit_tag and paid.memo != order.deposit_tag:
        return PaymentMatch.WRONG_MEMO
    closed = ended(display_of(order))
    if (waits := _waiting(paid)) is not None:
        return PaymentMatch.CLOSED_BEFORE if closed else waits
    if paid.at is not None and order.expires is not None and paid.at > order.expires:
        return PaymentMatch.LATE if order.refund_address else PaymentMatch.LATE_STUCK
    if closed:
        return PaymentMatch.CLOSED_WITHOUT
    if paid.amount is None or order.in_amount is None or paid.amount == order.in_amount:
        return PaymentMatch.AS_ASKED
    return PaymentMatch.TOO_LITTLE if paid.amount < order.in_amount else PaymentMatch.TOO_MUCH


def _waiting(paid: PaidOnChain) -> PaymentMatch | None:
    if paid.confirmations is not None:
        return None
    return PaymentMatch.UNDERPRICED if paid.underpriced else PaymentMatch.UNCONFIRMED


def not_on_chain(transaction: str, chain: str, catalog: Catalog) -> PaidOnChain:
    """A transaction that was sent and that its chain does not know."""
    known = catalog.chain(chain)
    return PaidOnChain(
        hash=transaction,
        chain=chain,
        chain_name=known.name if known is not None else chain,
        to="",
        token_id=None,
        symbol="",
        amount=None,
        memo=None,
        confirmations=None,
        at=None,
        missing=True,
    )


def paid_by(found: ChainTransaction, catalog: Catalog) -> list[PaidOnChain]:
    """Every receiver of a transaction; one without a receiver where it moved nothing."""
    payments: Sequence[Payment] = found.payments or (Payment("", 0),)
    return [_paid(found, payment, catalog) for payment in payments]


def _paid(found: ChainTransaction, payment: Payment, catalog: Catalog) -> PaidOnChain:
    token = paid_token(found.chain, payment, catalog)
    chain = catalog.chain(found.chain)
    return PaidOnChain(
        hash=found.hash,
        chain=found.chain,
        chain_name=chain.name if chain is not None else found.chain,
        to=payment.to,
        token_id=token.id if token is not None else None,
        symbol=token.symbol if token is not None else "",
        amount=short(from_base_units(payment.units, token.decimals)) if token is not None else None,
        memo=payment.memo,
        confirmations=found.confirmations,
        at=found.at,
        failed=found.failed,
        underpriced=found.underpriced,
    )


def paid_token(chain: str, payment: Payment, catalog: Catalog) -> Token | None:
    """What was paid; None where the catalogue does not have it."""
    if payment.token_id is not None:
        return catalog.token(payment.token_id)
    if payment.contract is not None:
        rows = [row for row in catalog.rows_of_contract(payment.contract) if row.chain == chain]
    else:
        rows = [row for row in catalog.rows if row.chain == chain and row.contract is None]
    return catalog.token(rows[0].id) if rows else None


def read_transfer(found: dict[str, Any]) -> ChainTransaction:
    """A payment as the sandbox tells it (``SandboxControl.transfer``). Raises KeyError, ValueError
    or TypeError for another shape."""
    tag = found["tag"]
    payment = Payment(
        identity_text(str(found["to"]), 200),
        int(str(found["units"])),
        memo=identity_text(str(tag), 64) if tag else None,
        token_id=str(found["token"]),
    )
    return ChainTransaction(
        str(found["chain"]),
        identity_text(str(found["hash"]), 200),
        (payment,),
        int(str(found["confirmations"])),
    )
