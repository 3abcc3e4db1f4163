"""Every rule of the diagnosis has a case made from facts. Whatever a service says in whatever
combination, an order has one cause, one owner, and a place of its money that the facts allow.

The facts are all products of the fields that decide. Which places they allow is worked out here
from the contract (8.4 to 8.16) alone, without the table that is under test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import islice, product
from typing import Any

import pytest
from msgspec.structs import replace

from flows.orders import DEPOSIT, NOW, order
from flows.support.cases import (
    AHEAD,
    CASES,
    COIN,
    HASH,
    OVERLAYS,
    PAYMENTS,
    REFUND,
    REQUEST,
    SITUATIONS,
    Case,
    case_of,
    paid,
    place_of,
    rule_of,
)
from swapdesk.flows.orders.situations import Certainty, Situation
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.diagnosis import DeskFacts, Diagnosis, Owner, diagnose
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order

UNSAID = {Situation.WITHHELD_FOREIGN}
"""Situations that support never sees."""


@pytest.mark.parametrize("case", CASES, ids=rule_of)
def test_each_rule_decides_its_case(case: Case) -> None:
    found = case.diagnosis()
    assert (found.rule, found.owner, place_of(found.money)) == (case.rule, case.owner, case.place)
    for part in (found.cause, found.money, found.acts, found.by):
        assert part.endswith("."), part
        assert "{" not in part, part
        assert ".." not in part, part
        assert part is found.acts or not part[0].islower(), part
    assert found.facts
    assert found.certainty in Certainty
    # "You" is whoever helps, and has none of the customer's money; a batch is paid from here.
    if not case.tracked.get("in_batch"):
        for part in (found.cause, found.money):
            assert not re.search("your wallet|you sent|you confirmed|you pay", part), part
        if found.owner is Owner.SUPPORT:
            assert found.acts.startswith("you: ")
            assert case.whole.service_id in found.acts
            assert REQUEST in found.acts
            assert "request" not in case.diagnosis(request_id=None).acts
    # A wrong clock is said beside every cause.
    wrong = case.diagnosis(known=AHEAD)
    assert "clock is 5m ahead" in wrong.cause
    assert case.known or (wrong.rule, wrong.owner, wrong.money) == (
        found.rule, found.owner, found.money,
    )  # fmt: skip


def test_every_rule_of_the_tables_has_a_case() -> None:
    told = {case.rule for case in (*SITUATIONS, *PAYMENTS)}
    assert told == {row.code.replace(" ", "-") for row in set(Situation) - UNSAID}


@pytest.mark.parametrize("case", OVERLAYS, ids=rule_of)
def test_what_comes_on_top_goes_with_its_fact(case: Case) -> None:
    plain = replace(case, known=None, now=NOW + timedelta(minutes=6), route="standard")
    assert plain.diagnosis().rule == "exchanging"
    top, below = case.diagnosis(), plain.diagnosis()
    assert (top.money, top.certainty is Certainty.CERTAIN) == (below.money, False)
    assert below.cause.removesuffix(".") in top.cause


def test_what_is_over_is_not_held_up_by_a_silent_service() -> None:
    over = [case for case in SITUATIONS if case.order.get("display_status") in ("FAILED",)]
    for case in over:
        silent = DeskFacts(silent_since=NOW)
        assert case.diagnosis(known=silent).rule == case.rule


def test_facts_name_field_and_time() -> None:
    held = case_of("held")
    found = held.diagnosis(since=NOW)
    assert "It has been so since 14:02:11 UTC." in found.cause
    assert found.by == "No deadline is known."
    facts = found.facts
    assert "displayStatus EXCHANGE_IN_PROGRESS, read 14:02:11 UTC" in facts
    assert "leg state 8, read 14:02:11 UTC" in facts
    assert "expires 14:32:11 UTC" in facts
    shown = case_of("payment-too-little").diagnosis().facts
    assert f"chain: 0.4 BTC on Bitcoin, 2 confirmations, 14:05:11 UTC, {HASH}" in shown
    old = replace(held, now=NOW + timedelta(hours=49)).diagnosis().facts
    assert any("48 hours" in fact for fact in old)
    assert any("20 Nov" in fact for fact in old)


def test_money_that_reached_the_second_exchange_is_not_with_the_first() -> None:
    middle = case_of("at-middle").diagnosis()
    assert middle.money == "With the second exchange."
    assert middle.acts.startswith("the second exchange:")


# Every combination

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
FIRST_LEG = {4: "SENDING_TO_RECEIVER", None: "EXCHANGE_IN_PROGRESS"}
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
    told += [(2, display, leg or 3, None) for leg, display in FIRST_LEG.items()]
    told += [(3, display, 5, second) for second, display in SECOND_LEG.items()]
    for status, display, first, second in told:
        whole = state(display, first, second, "standard" if second is None else "private")
        numbers = whole.model_copy(update={"display_status": None, "status": status})
        one, other = diagnosis(numbers), diagnosis(whole)
        assert (one.rule, one.owner, one.money) == (other.rule, other.owner, other.money), told
