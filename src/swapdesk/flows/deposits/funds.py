"""Where the funds are on screens that speak of no single order: with the user, or also in
orders that are under way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from swapdesk.flows.orders.order_case import deposit_arrived
from swapdesk.flows.orders.tracked_order import TrackedOrder


@dataclass(frozen=True)
class Funds:
    """``where`` follows the word Funds; ``short`` the same for narrow screens."""

    where: str
    short: str


AT_HOME = Funds("in your wallet.", "in your wallet.")
NOT_READ = Funds("not looked at yet.", "not looked at yet.")
"""Before the journal is open."""


def funds_before_asking(open_orders: int) -> Funds:
    """Where the funds are while the service was not asked yet, by the orders that the journal
    knows as open. One that waited for its deposit may have it by now."""
    if not open_orders:
        return AT_HOME
    held = f"{open_orders:,} open {'order' if open_orders == 1 else 'orders'}"
    return Funds(f"in your wallet or in {held}, not asked yet.", f"in your wallet or in {held}.")


def funds_of(orders: Iterable[TrackedOrder]) -> Funds:
    """Where the funds are, of ``orders`` that are open: those with a deposit hold some. An order
    that waits for its deposit holds nothing yet."""
    count = sum(deposit_arrived(one.order) for one in orders)
    if not count:
        return AT_HOME
    held = f"{count:,} open {'order' if count == 1 else 'orders'}"
    short = held.replace(" open", "")
    return Funds(f"in your wallet, and in {held}; o shows where.", f"also in {short}.")
