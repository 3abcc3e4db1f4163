"""Whatever a service says in whatever combination, an order has one cause, one owner, and a place
of its money that the facts allow.

The facts are all products of the fields that decide. Which places they allow is worked out here
from the contract (8.4 to 8.16) alone, without the table that is under test.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import islice, product
from typing import Any

import pytest

from flows.orders import DEPOSIT, NOW, order
from flows.support.cases import COIN, REFUND, paid, place_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.diagnosis import Diagnosis, Owner, diagnose
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order

DISPLAYS = (None, "TELEPORTING", *(one.value for one in DisplayStatus))
LEGS = (None, 77, *(one.value for one in LegStatus))
ROUTES = (
    *(("standard", None),),
    *(("dex", None),),
    *(("private", second) for second in LEGS),
)
FLAGS = tuple(product((None, True), repeat=3))
STRIDE = 7
"""A sample takes every seventh: no axis has a multiple of seven values."""

BEFORE, AFTER = NOW + timedelta(minutes=6), NOW + timedelta(minutes=50)


Facts = tuple[Order, bool, bool]
"""An order, whether its deadline has passed, and whether the chain shows its deposit."""


def state(
    display: str | None, first: int | None, second: int | None, route: str, **flags: Any
) -> Order:
    update = {
        "display_status": display,
        "in_status": first,
        "out_status": second,
        "anonymous": route == "private",
        "is_dex": route == "dex",
        "deposit_address": None if route == "dex" else DEPOSIT,
        **flags,
    }
    return _WAITING.model_copy(update=update)


def diagnosis(one: Order, over: bool = False, seen: bool = False) -> Diagnosis:
    payments = (_PAYMENT,) if seen else ()
    tracked = TrackedOrder(one, None, None, False, NOW, "read", payments=payments)
    return diagnose(tracked, AFTER if over else BEFORE)


def was_paid(one: Order) -> bool:
    """Whether the service says that the deposit came: by a state behind it, by a leg that had it,
    by a second leg that was paid from it, or by asking for somebody to recover it."""
    legs = {2, 3, 4, 5, 7, 8, 10}
    return (
        one.display_status in _BEHIND
        or one.in_status in legs
        or one.out_status in {*legs, 6, 9}
        or bool(one.action_required)
    )


_WAITING = order(in_token=COIN, in_token_id=COIN.id, status=None)
_PAYMENT = paid()
_BEHIND = {
    "DEPOSIT_DETECTED",
    "EXCHANGE_IN_PROGRESS",
    "SENDING_TO_INTERMEDIARY",
    "REACHED_INTERMEDIARY",
    "INITIATING_SECOND_EXCHANGE",
    "SECOND_EXCHANGE_IN_PROGRESS",
    "SENDING_TO_RECEIVER",
    "SWAP_COMPLETED",
    "REFUNDED",
}
_ENDED = {"SWAP_COMPLETED", "REFUNDED", "EXPIRED", "FAILED", "DELETED"}


def every_facts(stride: int) -> Iterator[Facts]:
    axes = product(DISPLAYS, LEGS, ROUTES, FLAGS, (None, REFUND), (False, True), (False, True))
    for place in islice(axes, 0, None, stride):
        display, first, (route, second), (act, lost, rerouted), refund, over, seen = place
        one = state(
            display, first, second, route, action_required=act, non_refundable=lost,
            rerouted=rerouted, refund_address=refund, fixed=lost,
            refund_amount=Decimal("0.4") if refund and rerouted else None,
        )  # fmt: skip
        yield one, over, seen


def allowed_places(one: Order, seen: bool) -> set[str]:
    display, paid, legs = one.display_status, was_paid(one), (one.in_status, one.out_status)
    if display == "SWAP_COMPLETED":
        return {"recipient"} if one.refund_amount is None else {"recipient", "back"}
    if display == "REFUNDED":
        return {"back"}
    if seen and not paid and not one.is_dex:
        return {"to the service"}
    if display is None:
        return {"not known"}
    if not paid:
        # A failure does not say whether the deposit came before it; what was not executed on a
        # chain is in the wallet.
        places = {"wallet, if unsent", "either", *(["wallet"] if one.is_dex else [])}
    else:
        places = {"service"}
        if 7 in legs and display not in _ENDED:
            places.add("back")
        if 10 in legs or display == "SENDING_TO_RECEIVER":
            places.add("to the recipient")
        if display in ("WAITING_FOR_DEPOSIT", "DEPOSIT_DETECTED"):
            places.add("to the service")
    if display == "TELEPORTING":
        places.add("not known")
    return places


def allowed_owners(one: Order, over: bool, seen: bool) -> set[Owner]:
    """Who can act at all: the customer only before the deposit came or after all is over, support
    where the service asks for somebody or stands still, nobody only at the end."""
    display, paid, marked = one.display_status, was_paid(one), bool(one.action_required)
    if display in ("SWAP_COMPLETED", "REFUNDED"):
        return {Owner.SUPPORT if marked and display == "SWAP_COMPLETED" else Owner.NOBODY}
    if display in _ENDED:
        if paid:
            waits = one.refund_address is not None and not marked and not one.non_refundable
            return {Owner.SERVICE} if waits and display != "DELETED" else {Owner.SUPPORT}
        if seen and not one.is_dex:
            return {Owner.SUPPORT}
        return {Owner.NOBODY, Owner.CUSTOMER, Owner.SUPPORT}
    if display is not None and (8 in (one.in_status, one.out_status) or marked):
        return {Owner.SUPPORT}
    owners = {Owner.SERVICE, Owner.CHAIN}
    if paid or display == "TELEPORTING":
        # Far over its time; an unknown state is under way.
        return owners | ({Owner.SUPPORT} if over else set())
    if not over and not seen and not one.is_dex:
        owners.add(Owner.CUSTOMER)
    return owners


def test_every_combination_has_one_cause_one_owner_and_a_possible_place(
    pytestconfig: pytest.Config,
) -> None:
    rules: set[str] = set()
    for one, over, seen in every_facts(1 if pytestconfig.getoption("--full") else STRIDE):
        found = diagnosis(one, over, seen)
        assert place_of(found.money) in allowed_places(one, seen), (one, over, seen, found)
        assert found.owner in allowed_owners(one, over, seen), (one, over, seen, found)
        assert found.cause.endswith("."), (one, found)
        assert found.acts.endswith("."), (one, found)
        assert "{" not in found.cause + found.money + found.acts + found.by, (one, found)
        rules.add(found.rule)
    assert len(rules) >= 40


BY_NUMBERS = {
    -2: "WAITING_FOR_DEPOSIT",
    -1: "WAITING_FOR_DEPOSIT",
    0: "WAITING_FOR_DEPOSIT",
    1: "DEPOSIT_DETECTED",
    4: "SWAP_COMPLETED",
    5: "EXPIRED",
    6: "FAILED",
    7: "REFUNDED",
    8: "DELETED",
}
"""The displayed state by ``status`` alone (contract 8.6); 2 and 3 take the legs."""
EXCHANGING = {4: "SENDING_TO_RECEIVER", None: "EXCHANGE_IN_PROGRESS"}
SECOND_LEG = {
    0: "REACHED_INTERMEDIARY",
    1: "REACHED_INTERMEDIARY",
    2: "INITIATING_SECOND_EXCHANGE",
    3: "SECOND_EXCHANGE_IN_PROGRESS",
    4: "SENDING_TO_RECEIVER",
    8: "SECOND_EXCHANGE_IN_PROGRESS",
}


def test_a_state_in_numbers_alone_means_the_same() -> None:
    told = [(status, display, leg, None) for status, display in BY_NUMBERS.items() for leg in LEGS]
    told += [(2, display, leg or 3, None) for leg, display in EXCHANGING.items()]
    told += [(3, display, 5, second) for second, display in SECOND_LEG.items()]
    for status, display, first, second in told:
        whole = state(display, first, second, "standard" if second is None else "private")
        numbers = whole.model_copy(update={"display_status": None, "status": status})
        one, other = diagnosis(numbers), diagnosis(whole)
        assert (one.rule, one.owner, one.money) == (other.rule, other.owner, other.money), told
