"""Which orders a filter line keeps: ``private hold >1h``.

Every word must match. ``>1h`` and ``<30m`` compare the time passed, everything else is looked
for in the id, the tokens, the route, the state, the provider and the recipient.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from swapdesk.flows.order_state import symbols
from swapdesk.flows.order_summary import OrderSummary
from swapdesk.flows.tracked_order import TrackedOrder

_AGE = re.compile(r"([<>])(\d{1,4})([smhd])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def matches(text: str, tracked: TrackedOrder, summary: OrderSummary, now: datetime) -> bool:
    """Whether an order stays under the filter; an empty line keeps all."""
    words = text.lower().split()
    if not words:
        return True
    found = _searched(tracked, summary)
    return all(_one(word, tracked, found, now) for word in words)


def _one(word: str, tracked: TrackedOrder, found: str, now: datetime) -> bool:
    asked = _AGE.fullmatch(word)
    if asked is None:
        return word in found
    if tracked.order.created is None:
        return False
    sign, number, unit = asked.groups()
    limit = timedelta(seconds=int(number) * _UNITS[unit])
    passed = now - tracked.order.created
    return passed > limit if sign == ">" else passed < limit


def _searched(tracked: TrackedOrder, summary: OrderSummary) -> str:
    order, intent = tracked.order, tracked.intent
    sent, received = symbols(order)
    parts = [
        order.service_id,
        sent,
        received,
        "private" if order.anonymous else "standard",
        summary.word,
        "finished" if summary.ended else "open",
        order.swap_name or "",
        order.receiver_address or "",
        (intent.recipient_label or "") if intent is not None else "",
    ]
    parts += ["late"] if summary.late else []
    return "\n".join(parts).lower()
