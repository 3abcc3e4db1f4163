"""The legs of an order: their keys at the venues, and what each venue is asked to open.

A key always means one venue: a try on another route has another key (contract 17.5).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Literal

from swapdesk.service.orders.recipients import is_address
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.venues.adapter import DepositInstruction, LegOrder, Terms
from swapdesk.wire.tokens import Token

Position = Literal["in", "out", "back"]
"""``back`` returns the token originally sent, when a private order fails part-way."""

SECOND_LEG_PATIENCE = timedelta(hours=24)
"""How much longer the second deposit address of a private order waits than the first."""


def refusals(order: StoredOrder) -> list[str]:
    """``in:code`` and ``out:code`` of each leg a venue refused so far, in order."""
    listed = order.detail.get("refusals")
    return listed.split(",") if isinstance(listed, str) and listed else []


def opened_in_vain(order: StoredOrder) -> list[str]:
    """Codes of the venues that opened the second leg of a route whose first leg was refused."""
    listed = order.detail.get("openedInVain")
    return listed.split(",") if isinstance(listed, str) and listed else []


def moves(order: StoredOrder) -> list[str]:
    """Codes of the venues that gave up a leg of the order after its deposit arrived."""
    listed = order.detail.get("moves")
    return listed.split(",") if isinstance(listed, str) and listed else []


def leg_key(order: StoredOrder, position: Position) -> str:
    """The key of a leg: ``<serviceId>:in``, and ``#2`` after it on the second route tried.

    A leg that another venue took over has the key that was written down for it.
    """
    written = order.detail.get(f"{position}Key")
    if isinstance(written, str):
        return written
    return _numbered(order, position, len(refusals(order)) + 1)


def next_key(order: StoredOrder, position: Position) -> str:
    """A key for this leg that no venue has seen yet."""
    return _numbered(order, position, len(refusals(order)) + len(moves(order)) + 2)


def _numbered(order: StoredOrder, position: Position, number: int) -> str:
    return f"{order.service_id}:{position}" + (f"#{number}" if number > 1 else "")


def terms_of(order: StoredOrder, position: Position) -> Terms:
    """What the venue of a leg is held to; the markup is taken by the leg that pays out."""
    pays_out = position == "out" or order.route == "standard"
    return Terms(order.fixed, order.receive, order.markup if pays_out else Decimal(0))


def _rate(order: StoredOrder, number: int) -> str | None:
    return order.rates[number] if order.fixed and len(order.rates) > number else None


def routes_with(
    refused: Iterable[str],
    opened: Iterable[str],
    codes: Iterable[str],
    route: Literal["standard", "private"],
) -> frozenset[tuple[str, ...]]:
    """Every route of ``codes`` over a venue that refused, or that would know both ends.

    A venue asked for one leg of a private order, whatever it answered, knows that end and is
    never asked for the other leg. ``opened`` are venues that know the receiver already.
    """
    everyone = tuple(codes)
    found: set[tuple[str, ...]] = set()
    for refusal in refused:
        code = refusal.partition(":")[2]
        if route == "standard":
            found.add((code,))
        else:
            found.update((code, other) for other in everyone)
            found.update((other, code) for other in everyone)
    for code in opened:
        found.update((code, other) for other in everyone)
    return frozenset(found)


def only_leg(order: StoredOrder, token_in: Token, token_out: Token) -> LegOrder:
    """The one leg of a standard order, paid out to the receiver."""
    return LegOrder(
        key=leg_key(order, "in"),
        token_in=token_in,
        token_out=token_out,
        amount_in=order.amount_in,
        amount_out=order.amount_out,
        payout_address=order.receiver_address,
        payout_tag=order.receiver_tag,
        refund_address=order.refund_address,
        refund_tag=order.refund_tag,
        expires=order.expires,
        terms=terms_of(order, "in"),
        rate=_rate(order, 0),
        payout_wallet=order.payout_wallet,
    )


def second_leg(order: StoredOrder, middle: Token, token_out: Token) -> LegOrder:
    """The leg of a private order that pays the receiver; it waits longer than the first."""
    return LegOrder(
        key=leg_key(order, "out"),
        token_in=middle,
        token_out=token_out,
        amount_in=order.middle_amount or order.amount_in,
        amount_out=order.amount_out,
        payout_address=order.receiver_address,
        payout_tag=order.receiver_tag,
        refund_address=intermediate_refund(order, middle),
        refund_tag=None,
        expires=order.expires + SECOND_LEG_PATIENCE,
        terms=terms_of(order, "out"),
        rate=_rate(order, 1),
        payout_wallet=order.payout_wallet,
    )


def intermediate_refund(order: StoredOrder, middle: Token) -> str | None:
    """Where a second leg may give the intermediary back.

    Nobody is told the intermediary, so an address given for another chain counts as none. A
    fixed order gets back the token originally sent, and never the intermediary.
    """
    given = order.detail.get("intermediateRefundAddress")
    if order.fixed or not isinstance(given, str) or not is_address(given, middle):
        return None
    return given


def first_leg(
    order: StoredOrder, token_in: Token, middle: Token, second: DepositInstruction
) -> LegOrder:
    """The leg of a private order that takes the deposit and pays it on to the second."""
    return LegOrder(
        key=leg_key(order, "in"),
        token_in=token_in,
        token_out=middle,
        amount_in=order.amount_in,
        amount_out=order.middle_amount or second.amount_in,
        payout_address=second.address,
        payout_tag=second.tag,
        refund_address=order.refund_address,
        refund_tag=order.refund_tag,
        expires=order.expires,
        terms=terms_of(order, "in"),
        rate=_rate(order, 0),
    )
