"""Figures that the service states anew with every sighting of an order.

A restart needs none of them: the desk asks the service for every open order when it starts and
judges the answer as it judges any other. What a restart does need (states, hashes, ids,
addresses, what is to be paid, what came back) is not among them.
"""

from __future__ import annotations

from collections.abc import Collection

from swapdesk.flows.journal.folding import PROGRESS, display_of, other_objects
from swapdesk.wire.orders import DisplayStatus, Order

FIGURES = frozenset({"modified", "out_amount", "in_amount_usd", "out_amount_usd", "eta"})
_UNDER_WAY = frozenset(PROGRESS) - {DisplayStatus.WAITING_FOR_DEPOSIT}


def only_figures(known: Order, seen: Order, others: Collection[str] | None = None) -> bool:
    """Whether two states of an order under way differ in :data:`FIGURES` alone. ``others`` is
    what ``other_objects`` says of the two, where the caller knows.

    Never of an order that waits for its deposit, whose output decides whether its address may
    be shown, and never of one that ended, whose output is what was paid.
    """
    if display_of(seen) not in _UNDER_WAY:
        return False
    were, are = known.__dict__, seen.__dict__
    others = other_objects(known, seen) if others is None else others
    return all(name in FIGURES or were[name] == are[name] for name in others)
