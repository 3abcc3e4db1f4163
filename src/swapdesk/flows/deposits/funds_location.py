"""Says where the user's money is, for screens that show no single order: in the wallet, in orders
under way, or stuck in ended orders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from swapdesk.flows.journal.journal_file import JournalUnavailable

if TYPE_CHECKING:
    from swapdesk.flows.journal.order_log import OrderLog
    from swapdesk.flows.orders.tracked_order import TrackedOrder


class Funds(Struct, frozen=True):
    """Where the money is, in words. ``short`` is for narrow screens."""

    where: str
    short: str


AT_HOME = Funds("in your wallet.", "in your wallet.")
NOT_READ = Funds("not looked at yet.", "not looked at yet.")
"""Shown before the journal has been read."""


def funds_now(
    running: Iterable[TrackedOrder] | None,
    journaled: OrderLog | None,
    stranded: int = 0,
    looked_for: int = 0,
    skipped: int = 0,
) -> Funds:
    """Returns where the money is. ``running`` is None until the service has answered; until then,
    ``journaled`` is used. ``stranded`` counts ended orders whose owner has to act, ``looked_for``
    requests with unknown outcome, ``skipped`` unreadable orders."""
    if running is not None:
        funds = funds_of(running, stranded)
        more = ""
        if looked_for:
            order = "An order" if looked_for == 1 else f"{looked_for:,} orders"
            more = f" {order} may exist: the desk looks."
        if skipped:
            more += f" {skipped:,} {_orders(skipped)} of the service cannot be read."
        return Funds(f"{funds.where}{more}", f"{funds.short}{more}")
    if journaled is None:
        return NOT_READ
    try:
        open_orders = journaled.count_open()
    except JournalUnavailable:
        return NOT_READ
    if not open_orders:
        return AT_HOME
    held = f"{open_orders:,} open {_orders(open_orders)}"
    return Funds(f"in your wallet or in {held}, not asked yet.", f"in your wallet or in {held}.")


def funds_of(orders: Iterable[TrackedOrder], stranded: int = 0) -> Funds:
    """Returns where the money is. An open order holds money only after its deposit. ``stranded`` is
    the number of ended orders whose owner has to act."""
    # Only now: where the funds are stands in the first frame, before any model is loaded.
    from swapdesk.flows.orders.order_fields import deposit_arrived

    count = sum(deposit_arrived(order.order) for order in orders)
    if not count and not stranded:
        return AT_HOME
    open_ = f"{count:,} open {_orders(count)}"
    if not stranded:
        short = open_.replace(" open", "")
        return Funds(f"in your wallet, and in {open_}; o shows where.", f"also in {short}.")
    needs = "needs you" if stranded == 1 else "need you"
    needy = f"{stranded:,} {_orders(stranded)} that {needs}"
    if not count:
        return Funds(f"in your wallet, and in {needy}; o shows where.", f"also in {needy}.")
    where = f"in your wallet, in {open_} and in {needy}; o shows where."
    return Funds(where, f"also in {count + stranded:,} orders; {stranded:,} {needs}.")


def _orders(count: int) -> str:
    return "order" if count == 1 else "orders"
