"""Every rule of the diagnosis has a case made from facts, and decides nothing but such cases."""

from __future__ import annotations

import contextlib
import re
from datetime import timedelta

import pytest
from msgspec.structs import replace

from flows.orders import NOW
from flows.support.cases import (
    AHEAD,
    CASES,
    EXCHANGING,
    HASH,
    OVERLAYS,
    PAYMENTS,
    REQUEST,
    SITUATIONS,
    Case,
    names,
    place_of,
)
from swapdesk.flows.orders import situations
from swapdesk.flows.orders.situations import Certainty, Situation
from swapdesk.flows.support import diagnosis as table
from swapdesk.flows.support.diagnosis import Owner

UNSAID = {Situation.WITHHELD_FOREIGN}
"""Situations that support never sees."""


@pytest.mark.parametrize("case", CASES, ids=names())
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


def test_every_rule_of_the_tables_has_a_case() -> None:
    told = {case.rule for case in (*SITUATIONS, *PAYMENTS)}
    assert told == {row.code.replace(" ", "-") for row in set(Situation) - UNSAID}


LOOKED_UP = tuple(case for case in SITUATIONS if case.rule != "last-heard")


@pytest.mark.parametrize("case", LOOKED_UP, ids=names(LOOKED_UP))
def test_a_case_is_another_one_without_its_row(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    row = Situation[case.rule.upper().replace("-", "_")]
    for name in ("_OF_DESK", "_OF_SERVICE"):
        rows = getattr(situations, name)
        monkeypatch.setattr(
            situations,
            name,
            {state: tuple(one for one in kept if one is not row) for state, kept in rows.items()},
        )
    # The last row of some states leaves none at all.
    without = None
    with contextlib.suppress(AssertionError):
        without = case.diagnosis().rule
    assert without != case.rule


@pytest.mark.parametrize("case", PAYMENTS, ids=names(PAYMENTS))
def test_a_payment_on_the_chain_is_what_decides(case: Case) -> None:
    assert not replace(case, paid=None).diagnosis().rule.startswith("payment-")


@pytest.mark.parametrize("case", OVERLAYS, ids=names(OVERLAYS))
def test_what_comes_on_top_goes_with_its_fact(case: Case) -> None:
    plain = replace(case, known=None, now=NOW + timedelta(minutes=6), route="standard")
    assert plain.diagnosis().rule == "exchanging"
    top, below = case.diagnosis(), plain.diagnosis()
    assert (top.money, top.certainty is Certainty.CERTAIN) == (below.money, False)
    assert below.cause.removesuffix(".") in top.cause


def test_a_wrong_clock_is_said_beside_every_cause() -> None:
    for case in CASES:
        wrong = case.diagnosis(known=AHEAD)
        assert "clock is 5m ahead" in wrong.cause
        if case.known is None:
            right = case.diagnosis()
            assert (wrong.rule, wrong.owner, wrong.money) == (right.rule, right.owner, right.money)


def test_what_is_over_is_not_held_up_by_a_silent_service() -> None:
    over = [case for case in SITUATIONS if case.order.get("display_status") in ("FAILED",)]
    for case in over:
        silent = table.DeskFacts(silent_since=NOW)
        assert case.diagnosis(known=silent).rule == case.rule


def test_support_is_told_what_to_pass_on() -> None:
    for case in CASES:
        found = case.diagnosis()
        if found.owner is not Owner.SUPPORT or case.tracked.get("in_batch"):
            continue
        assert found.acts.startswith("you: ")
        assert case.whole.service_id in found.acts
        assert REQUEST in found.acts
        unknown = case.diagnosis(request_id=None)
        assert "request" not in unknown.acts


def test_facts_name_field_and_time() -> None:
    held = Case("held", Owner.SUPPORT, "service", {**EXCHANGING, "in_status": 8})
    found = held.diagnosis(since=NOW)
    assert "It has been so since 14:02:11 UTC." in found.cause
    assert found.by == "No deadline is known."
    facts = found.facts
    assert "displayStatus EXCHANGE_IN_PROGRESS, read 14:02:11 UTC" in facts
    assert "leg state 8, read 14:02:11 UTC" in facts
    assert "expires 14:32:11 UTC" in facts
    shown = next(case for case in PAYMENTS if case.rule == "payment-too-little").diagnosis().facts
    assert f"chain: 0.4 BTC on Bitcoin, 2 confirmations, 14:05:11 UTC, {HASH}" in shown
    old = replace(held, now=NOW + timedelta(hours=49)).diagnosis().facts
    assert any("48 hours" in fact for fact in old)
    assert any("20 Nov" in fact for fact in old)


def test_money_that_reached_the_second_exchange_is_not_with_the_first() -> None:
    middle = next(case for case in SITUATIONS if case.rule == "at-middle").diagnosis()
    assert middle.money == "With the second exchange."
    assert middle.acts.startswith("the second exchange:")
