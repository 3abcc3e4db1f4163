"""What is said after a deadline is what is known."""

from __future__ import annotations

from datetime import timedelta

from flows.orders import NOW, order
from swapdesk.flows.tracking.announcements import deadline_passed

AFTER = NOW + timedelta(hours=1)


def test_a_deadline_that_only_this_desk_saw_pass_closes_nothing() -> None:
    assert deadline_passed(order(), AFTER, closed=False) == (
        "The deadline passed. Do not send to its address any more."
    )


def test_a_closed_order_without_a_deposit_says_so() -> None:
    said = deadline_passed(order(display_status="EXPIRED", status=5), AFTER, closed=True)
    assert said.startswith("No deposit came before 14:32:11.")


def test_a_late_deposit_is_never_called_missing() -> None:
    late = order(display_status="EXPIRED", status=5, action_required=True)
    said = deadline_passed(late, AFTER, closed=True)
    assert "is with the service" in said
    assert "No deposit" not in said


def test_an_order_closed_early_names_no_deadline() -> None:
    said = deadline_passed(order(display_status="EXPIRED", status=5), NOW, closed=True)
    assert said.startswith("No deposit came. The order is closed.")
