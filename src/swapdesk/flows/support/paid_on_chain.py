"""What a transaction paid, in the words of the catalogue, and which orders that was meant for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.client.chain_lookup import ChainTransaction, Payment
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.flows.orders.order_transactions import PaidOnChain
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.encoding.text import identity_text
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token


class NamedTransaction(Struct, frozen=True):
    """A transaction that a text names, of which nobody knows that it paid an order."""

    hash: str
    asked: tuple[str, ...] = ()
    """Names of the chains that answered for it."""
    payments: tuple[PaidOnChain, ...] = ()
    """What it paid, and to whom, where a chain knows it."""

    @property
    def said(self) -> str:
        """``on no chain that was asked (Ethereum, Base)``."""
        if self.payments:
            paid = self.payments[0]
            return f"{paid.said}{f', to {paid.to}' if paid.to else ''}"
        if self.asked:
            return f"on no chain that was asked ({', '.join(self.asked)})"
        return "no chain could be asked for it"


def meant_by(paid: PaidOnChain, orders: Iterable[Order]) -> list[Order]:
    """The orders that a payment was meant for. Some share an address: their memo tells them apart,
    and of a payment without one of theirs what still waits for as much."""
    there = [order for order in orders if _same(paid.to, order.deposit_address)]
    waiting = [order for order in there if not deposit_arrived(order)]
    for chosen in (
        [order for order in there if (order.deposit_tag or None) == (paid.memo or None)],
        [order for order in waiting if order.in_amount == paid.amount],
        waiting,
    ):
        if chosen:
            return chosen
    return there


def _same(one: str, other: str | None) -> bool:
    if not one or other is None:
        return False
    return one.lower() == other.lower() if one.startswith("0x") else one == other


def not_on_chain(transaction: str, chain: str, catalog: Catalog, now: datetime) -> PaidOnChain:
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
        seen_at=now,
        missing=True,
    )


def paid_by(found: ChainTransaction, catalog: Catalog, now: datetime) -> list[PaidOnChain]:
    """Every receiver of a transaction as it was read at ``now``, what each got of one token added
    up; one without a receiver where it moved nothing."""
    got: dict[Payment, int] = {}
    for one in found.payments or (Payment("", 0),):
        to = replace(one, units=0)
        got[to] = got.get(to, 0) + one.units
    return [_paid(found, replace(to, units=units), catalog, now) for to, units in got.items()]


def _paid(
    found: ChainTransaction, payment: Payment, catalog: Catalog, now: datetime
) -> PaidOnChain:
    token = paid_token(found.chain, payment, catalog)
    # The list is the service's word, and a sandbox's ledger counts by it.
    decimals = payment.decimals
    if decimals is None and token is not None:
        decimals = token.decimals
    chain = catalog.chain(found.chain)
    return PaidOnChain(
        hash=found.hash,
        chain=found.chain,
        chain_name=chain.name if chain is not None else found.chain,
        to=payment.to,
        token_id=token.id if token is not None else None,
        symbol=token.symbol if token is not None else "",
        amount=None
        if token is None or decimals is None
        else short(from_base_units(payment.units, decimals)),
        memo=payment.memo,
        confirmations=found.confirmations,
        at=found.at,
        seen_at=now,
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
        # None as long as no block has it.
        int(str(found["confirmations"])) or None,
    )
