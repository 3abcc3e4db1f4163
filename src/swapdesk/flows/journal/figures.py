"""Figures that the service states anew with every sighting of an order.

A restart needs none of them: the desk asks the service for every open order when it starts and
judges the answer as it judges any other. What a restart does need (states, hashes, ids,
addresses, what is to be paid, what came back) is not among them.
"""

from __future__ import annotations

from swapdesk.flows.journal.folding import PROGRESS, display_of
from swapdesk.wire.orders import DisplayStatus, Order

FIGURES = frozenset({"modified", "out_amount", "in_amount_usd", "out_amount_usd", "eta"})
_UNDER_WAY = frozenset(PROGRESS) - {DisplayStatus.WAITING_FOR_DEPOSIT}


def only_figures(known: Order, seen: Order) -> bool:
    """Whether two states of an order under way differ in :data:`FIGURES` alone.

    Never of an order that waits for its deposit, whose output decides whether its address may
    be shown, and never of one that ended, whose output is what was paid.
    """
    if display_of(seen) not in _UNDER_WAY:
        return False
    told = seen.__dict__
    return all(
        told[name] is value or told[name] == value
        for name, value in known.__dict__.items()
        if name not in FIGURES
    )
