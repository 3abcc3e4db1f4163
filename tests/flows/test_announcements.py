"""What is said after a deadline is what is known."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from flows.orders import NOW, order
from swapdesk.flows.tracking.announcements import deadline_passed

EXPIRED = {"display_status": "EXPIRED", "status": 5}


@pytest.mark.parametrize(
    ("facts", "minutes", "said"),
    [
        ({}, 60, "The deadline passed. Do not send to its address any more."),
        (EXPIRED, 60, "No deposit came before 14:32:11. The order is closed."),
        (EXPIRED, 0, "No deposit came. The order is closed."),
        ({**EXPIRED, "action_required": True}, 60, "A deposit came after the deadline and is with"),
    ],
    ids=["only this desk saw it pass", "closed", "closed early", "deposit came late"],
)
def test_after_a_deadline_only_what_is_known_is_said(
    facts: dict[str, Any], minutes: int, said: str
) -> None:
    told = deadline_passed(order(**facts), NOW + timedelta(minutes=minutes), closed=bool(facts))
    assert told.startswith(said)
