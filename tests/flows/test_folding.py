"""Displayed states only move forward, whatever arrives in whatever order."""

from __future__ import annotations

import itertools
import random
from datetime import timedelta
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from corpus import Case, load
from flows.orders import NOW, order
from rows import each_row
from sampling import examples
from service.world import BTC, ETH
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.orders.order_merge import (
    PINNED,
    PROGRESS,
    contradicts,
    display_of,
    ended,
    may_follow,
    merge_order,
)
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.wire.encoding.codec import decode, encode_json
from swapdesk.wire.orders import DisplayStatus, Order

SEVEN = (*PROGRESS[:6], DisplayStatus.SWAP_COMPLETED)


def shown(trace: tuple[str, ...], **told: Any) -> list[str | None]:
    known = order()
    seen = [display_of(known)]
    for display in trace:
        known = merge_order(known, order(display_status=display, **told)) or known
        seen.append(display_of(known))
    return seen


def rank(display: str | None) -> int:
    everything = [*PROGRESS, *(d for d in DisplayStatus if d not in PROGRESS)]
    return everything.index(DisplayStatus(display))


def test_every_permutation_of_a_trace_is_shown_moving_forward() -> None:
    every = list(itertools.permutations(SEVEN))
    for trace in random.Random(7).sample(every, examples(len(every), part=12)):
        ranks = [rank(display) for display in shown(trace)]
        assert ranks == sorted(ranks)
        assert shown(trace)[-1] == DisplayStatus.SWAP_COMPLETED


@given(st.lists(st.sampled_from([*DisplayStatus, "SOMETHING_NEW"]), max_size=30))
def test_any_trace_never_goes_back_and_known_ends_stay(trace: list[str]) -> None:
    seen = shown(tuple(trace), status=None)
    for before, after in itertools.pairwise(seen):
        assert may_follow(before, after)
        if ended(before) and before != after:
            assert before in (DisplayStatus.EXPIRED, DisplayStatus.FAILED)
            assert after in (DisplayStatus.REFUNDED, DisplayStatus.DELETED)


def test_duplicates_change_nothing() -> None:
    seen = order(display_status="EXCHANGE_IN_PROGRESS", status=2)
    once = merge_order(order(), seen)
    assert merge_order(once, seen) is None


def test_a_full_update_is_kept_itself_and_a_partial_one_is_put_together() -> None:
    full = order(display_status="EXCHANGE_IN_PROGRESS", out_amount=Decimal("7"))
    assert merge_order(order(), full) is full
    partial = Order(service_id=full.service_id, display_status="EXCHANGE_IN_PROGRESS")
    merged = merge_order(order(), partial)
    assert merged == order().model_copy(update={"display_status": "EXCHANGE_IN_PROGRESS"})


def test_the_digits_to_pay_stay_those_that_were_first_told() -> None:
    seen = order(display_status="DEPOSIT_DETECTED", in_amount=Decimal("0.500"))
    kept = merge_order(order(in_amount=Decimal("0.5")), seen)
    assert (str(kept.in_amount), kept.display_status) == ("0.5", "DEPOSIT_DETECTED")


CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "display_status": st.sampled_from([None, *PROGRESS]),
        "out_amount": st.sampled_from([None, Decimal("1.50"), Decimal("1.5"), Decimal(2)]),
        "deposit_address": st.sampled_from([None, "a", "b"]),
        "deposit_tag": st.sampled_from([None, "1", "2"]),
        "in_amount": st.sampled_from([None, Decimal("0.5"), Decimal(1)]),
        "fixed": st.booleans(),
        "rerouted": st.sampled_from([None, True]),
    },
)


@given(CHANGES, CHANGES)
def test_every_field_is_the_newest_that_may_be_told(
    first: dict[str, Any], then: dict[str, Any]
) -> None:
    known, seen = Order(service_id="x", **first), Order(service_id="x", **then)
    merged = merge_order(known, seen)
    if not may_follow(display_of(known), display_of(seen)):
        assert merged is None
        return
    shown = merged or known
    for name in Order.model_fields:
        before, after = getattr(known, name), getattr(seen, name)
        stays = after is None or name not in then or (before is not None and name in PINNED)
        if name == "deposit_tag" and known.deposit_address is not None:
            stays = True
        assert getattr(shown, name) == (before if stays else after), name
    if merged is not None:
        told = merged.model_fields_set
        assert known.model_fields_set <= told <= known.model_fields_set | seen.model_fields_set


PROMISED = {"fixed": True}
LESS = {"fixed": True, "out_amount": Decimal("14.5")}
NOISE = order().out_amount * (1 - Decimal("1e-16"))


@each_row(
    ("known", "seen", "said"),
    [
        ({}, {}, None),
        (
            {},
            {"deposit_address": derive_address("bitcoin", b"e" * 32)},
            "another deposit address",
        ),
        ({}, {"deposit_tag": "1"}, "another deposit memo"),
        ({}, {"receiver_address": derive_address("evm", b"z" * 32)}, "another recipient"),
        # A fixed rate is a promise until the deposit arrives.
        (PROMISED, LESS, "the service now pays out less than the fixed amount"),
        (PROMISED, {"fixed": False}, "the service now says that the rate is not fixed"),
        (PROMISED, {**LESS, "in_status": 2}, None),
        (PROMISED, {"fixed": False, "in_status": 2}, None),
        (PROMISED, {**LESS, "display_status": "DEPOSIT_DETECTED"}, None),
        (PROMISED, {"fixed": False, "display_status": "DEPOSIT_DETECTED"}, None),
        # What it leaves open.
        (PROMISED, {}, None),
        (PROMISED, {"fixed": True, "out_amount": Decimal(15)}, None),
        (PROMISED, {"fixed": True, "out_amount": NOISE}, None),
        ({"fixed": False}, {"fixed": False, "out_amount": Decimal(1)}, None),
    ],
)
def test_what_contradicts_what_was_told_before(
    known: dict[str, Any], seen: dict[str, Any], said: str | None
) -> None:
    found = contradicts(order(**known), order(**seen))
    assert found is None if said is None else said in found


def test_an_older_copy_of_the_same_state_is_dropped() -> None:
    known = order(modified=NOW + timedelta(seconds=5), swap_name="Cobalt")
    assert merge_order(known, order(modified=NOW, swap_name="Halyard")) is None


@each_row(
    ("status", "first", "second", "private", "display"),
    [
        (-2, 0, None, False, "WAITING_FOR_DEPOSIT"),
        (0, 1, None, False, "WAITING_FOR_DEPOSIT"),
        (1, 2, None, False, "DEPOSIT_DETECTED"),
        (2, 3, None, False, "EXCHANGE_IN_PROGRESS"),
        (2, 4, None, False, "SENDING_TO_RECEIVER"),
        (2, 4, 0, True, "SENDING_TO_INTERMEDIARY"),
        (3, 5, 1, True, "REACHED_INTERMEDIARY"),
        (3, 5, 2, True, "INITIATING_SECOND_EXCHANGE"),
        (3, 5, 8, True, "SECOND_EXCHANGE_IN_PROGRESS"),
        (3, 5, 4, True, "SENDING_TO_RECEIVER"),
        (3, 5, 99, True, "REACHED_INTERMEDIARY"),
        (4, 5, None, False, "SWAP_COMPLETED"),
        (8, 1, None, False, "DELETED"),
        (99, 1, None, False, "HOVERING"),
    ],
)
def test_a_display_status_without_a_word_hides_no_status(
    status: int, first: int, second: int | None, private: bool, display: str
) -> None:
    told = {"status": status, "in_status": first, "out_status": second, "anonymous": private}
    assert display_of(order(display_status="HOVERING", **told)) == display
    absent = "99" if status == 99 else display
    assert display_of(order(display_status=None, **told)) == absent


@each_row("case", load("order_state", name="answers"), ids=lambda case: case.id)
def test_what_an_answer_makes_of_an_order_that_waited(case: Case) -> None:
    answer = {"serviceId": order().service_id, **case.input}
    known = merge_order(order(), decode(Order, encode_json(answer), side="client")) or order()
    assert display_of(known) == case.expect["display"]
    said = order_status(TrackedOrder(known, None, None, False, NOW, "read"), NOW)
    assert said.payable is case.expect["payable"]
    assert (known.in_amount, known.deposit_address) == (Decimal("0.5"), order().deposit_address)


def test_an_unknown_state_is_not_waiting_and_hides_nothing_better() -> None:
    hovering = order(display_status="HOVERING", status=None)
    unknown = merge_order(order(), hovering)
    assert display_of(unknown) == "HOVERING"
    moving = order(display_status="DEPOSIT_DETECTED")
    assert merge_order(moving, hovering) is None
    assert merge_order(unknown, moving) is not None
    early = order(modified=NOW - timedelta(seconds=1))
    assert merge_order(unknown, early) is None
    assert merge_order(unknown, order()) is not None


def test_the_tokens_of_an_order_keep_their_names() -> None:
    known = order(in_token=BTC, out_token=ETH)
    seen = order(in_token=ETH, in_symbol="ETH", out_token=BTC, out_symbol="BTC", in_status=2)
    kept = merge_order(known, seen)
    assert (kept.in_token, kept.out_token) == (BTC, ETH)
    assert (kept.in_symbol, kept.out_symbol) == ("BTC", "ETH")
    late = merge_order(order(in_token=None), order(in_token=BTC))
    assert late.in_token == BTC
