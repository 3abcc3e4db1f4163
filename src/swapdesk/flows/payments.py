"""Payments of deposits as operations of the journal.

Each payment of a deposit is one operation. Until this operation is refused, no other one can be
recorded for the same deposit, so that no deposit is paid twice. A payment by a bundle, or as a part
of a batch, is a child of the operation that pays all of them, and changes its state together with
that operation.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, ClassVar, Literal

from msgspec import Struct

from swapdesk.flows.journal.ledger import LEFT, ClaimTaken, Ledger, Operation, State
from swapdesk.wire.encoding.numbers import from_base_units, short

By = Literal["faucet", "wallet", "bundle"]


class Sum(Struct, frozen=True, omit_defaults=True):
    """An amount of one token: ``amount`` in whole tokens, ``units`` in the token's smallest units.
    ``contract`` is the token's contract (on Solana its mint), or None for the chain's own coin.
    ``prepaid`` is True if the EntryPoint contract of smart accounts keeps this amount to pay for
    gas."""

    PRINTED: ClassVar = {"token": "symbol", "contract": "contract", "amount": "amount"}

    symbol: str
    decimals: int
    contract: str | None
    units: int
    prepaid: bool = False

    @property
    def amount(self) -> Decimal:
        return short(from_base_units(self.units, self.decimals))


# Deposits


def payment_of(ledger: Ledger, service_id: str) -> Operation | None:
    """Returns the recorded payment of an order's deposit, whichever process recorded it. None if
    there is none, or if the payment was refused."""
    return ledger.holder(_claim(service_id))


def begin_payment(
    ledger: Ledger,
    service_id: str,
    by: By,
    body: bytes = b"",
    *,
    payer: str | None = None,
    state: State | None = None,
    hash_: str | None = None,
) -> Operation:
    """Records the payment of an order's deposit before it is sent or shown for signature. ``payer``
    is the operation that pays several orders at once, or None. Raises ClaimTaken if the order
    already has a payment that was not refused."""
    return ledger.begin(
        "deposit",
        {"by": by, "body": body.decode("utf-8", "replace")},
        parent=payer,
        subject=service_id,
        claim=_claim(service_id),
        state=state or (State.PREPARED if by == "wallet" else State.SENT),
        hash=hash_,
    )


def end_payment(ledger: Ledger, act: Operation, hash_: str | None, **told: Any) -> bool:
    """Records that the transaction ``hash_`` paid a deposit, even if ``act`` was recorded as
    refused, so that nobody pays again. ``told`` are further facts to record. Returns True if the
    state of ``act`` changed."""
    with ledger.transaction():
        moved = ledger.move(act.id, State.DONE, hash=hash_, **told)
        if not moved and act.subject and payment_of(ledger, act.subject) is None:
            begin_payment(
                ledger,
                act.subject,
                act.body["by"],
                payer=act.parent,
                state=State.DONE,
                hash_=hash_,
            )
        return moved


def waits_for_signature(payment: Operation) -> bool:
    """Returns True if no signature for this payment exists, because the wallet was not asked
    yet."""
    return payment.state is State.PREPARED


def unanswered(ledger: Ledger) -> list[Operation]:
    """Returns calls and payments with an unknown outcome, oldest first. Payments that belong to a
    batch are left out."""
    return ledger.where(
        "kind IN ('call', 'deposit') AND state IN ('prepared', 'sent', 'unknown')"
        " AND parent IS NULL AND json_extract(body, '$.by') IS NOT 'bundle'"
    )


def commit_signed(ledger: Ledger, id_: str, hash_: str) -> bool:
    """Commits the hash of an operation's transaction, or of its replacement, before the transaction
    is sent. Returns False if the operation has ended."""
    moved = ledger.move(id_, State.SENT, hash=hash_)
    return moved or ledger.tell(id_, among=LEFT, hash=hash_)


def _claim(service_id: str) -> str:
    return f"deposit:{service_id}"


def pay_by(ledger: Ledger, payer: str, service_ids: Iterable[str]) -> None:
    """Records that only the operation ``payer``, such as a bundle, pays these orders. ``payer`` may
    replace an ended bundle whose payment is unknown. Raises ClaimTaken if an order has any other
    payment that was not refused."""
    for service_id in service_ids:
        stands = payment_of(ledger, service_id)
        if stands is None:
            begin_payment(ledger, service_id, "bundle", payer=payer)
        elif stands.body["by"] != "bundle" or not ledger.hand_over(stands.id, payer):
            raise ClaimTaken(stands)


def paid_by(ledger: Ledger, payer: str, service_ids: Iterable[str], hash_: str | None) -> None:
    """Records that ``payer``, such as a bundle, paid these orders by the transaction ``hash_``,
    even if their payments were recorded as refused or unknown."""
    for service_id in service_ids:
        stands = payment_of(ledger, service_id)
        if stands is None:
            begin_payment(ledger, service_id, "bundle", payer=payer, state=State.DONE, hash_=hash_)
        elif stands.body["by"] == "bundle":
            ledger.move(stands.id, State.DONE, hash=hash_)


# Transactions of the wallet


def end_transaction(
    ledger: Ledger, act: Operation, state: State, *, code: str | None = None, hash_: str | None
) -> bool:
    """Commits how a transaction of the wallet ended, also for the deposits that it pays. Returns
    True if the state changed. The state DONE is committed even if a refusal was recorded before."""
    if act.kind == "deposit" and state is State.DONE:
        return end_payment(ledger, act, hash_)
    with ledger.transaction():
        moved = ledger.move(act.id, state, code=code, hash=hash_)
        if state is State.DONE:
            paid_by(ledger, act.id, paid_orders(act), hash_)
        elif moved:
            ledger.move_parts(act.id, "deposit", State.REFUSED)
        return moved


def paid_orders(act: Operation) -> tuple[str, ...]:
    """Returns the ids of the orders whose deposits a wallet transaction pays directly, without a
    bundle."""
    return tuple(act.body.get("service_ids", ()))
