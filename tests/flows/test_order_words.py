"""What the tracker says of an order, its history, the filter and the raw view."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.orders import DEPOSIT, NOW, intent, order, tracked
from swapdesk.flows.creation.order_verification import Created, CreateUnknown, OrderCheck
from swapdesk.flows.creation.resume import ResumeReport
from swapdesk.flows.failure_messages import OUTCOME_UNKNOWN
from swapdesk.flows.intents.intent import RELEASED, DepositRelease, Intent, IntentKind
from swapdesk.flows.orders.order_history import Leg, legs_of
from swapdesk.flows.orders.order_sentence import created_words, order_sentence
from swapdesk.flows.orders.order_status import OrderStatus, order_status
from swapdesk.flows.orders.raw_json import HIDDEN, raw_lines
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.diagnosis import diagnose
from swapdesk.flows.tracking.open_business import findings, quit_warning
from swapdesk.tui.screens.deposit import SETTING_UP, deposit_state
from swapdesk.wire.orders import DisplayStatus, Order

LATER = NOW + timedelta(minutes=6)


def said(one: TrackedOrder, now: datetime = LATER) -> OrderStatus:
    return order_status(one, now)


DONE: dict[str, Any] = {
    "display_status": "SWAP_COMPLETED", "in_status": 5,
    "order_finished_received": NOW + timedelta(minutes=14),
}  # fmt: skip
SENDING: dict[str, Any] = {"display_status": "SENDING_TO_RECEIVER", "in_status": 4}
EXCHANGING: dict[str, Any] = {"display_status": "EXCHANGE_IN_PROGRESS", "in_status": 3}
TO_BOB = {
    route: intent(kind=IntentKind.PRIVATE_SEND, route=route, recipient_label="@bob")
    for route in ("standard", "private")
}


@pytest.mark.parametrize(
    ("of", "facts", "minutes", "word", "time", "sign"),
    [
        (None, {}, 6, "Waiting for you", "24:00 left", "waiting"),
        (None, {}, 30, "Deadline over", "expired", "expired"),
        (None, EXCHANGING, 41, "Exchanging", "27m over", "moving"),
        (None, SENDING, 6, "Sending", "6m of ~14m", "moving"),
        (TO_BOB["standard"], SENDING, 6, "Sending to @bob", "6m of ~14m", "moving"),
        (
            TO_BOB["private"], {**SENDING, "in_status": 5, "out_status": 4}, 6,
            "Sending to @bob", "6m of ~14m", "moving",
        ),
        (None, DONE, 20, "Completed", "took 14m", "done"),
        (None, {**DONE, "rerouted": True}, 20, "Rerouted", "took 14m", "done"),
        (None, {**DONE, "in_status": 10}, 20, "Paid by fallback", "took 14m", "done"),
        (None, {"display_status": "EXPIRED"}, 6, "Expired", "—", "expired"),
        (None, {"display_status": "FAILED", "in_status": 6}, 6, "Failed", "took 0s", "failed"),
        (
            None, {"display_status": "TELEPORTING", "status": None}, 6,
            "Other (TELEPORTING)", "6m of ~14m", "unknown",
        ),
        (
            None, {"display_status": None, "status": None, "created": None}, 6,
            "Not known", "—", "unknown",
        ),
    ],
)  # fmt: skip
def test_an_order_in_its_row(
    of: Intent | None, facts: dict[str, Any], minutes: int, word: str, time: str, sign: str
) -> None:
    told = said(tracked(of, **facts), NOW + timedelta(minutes=minutes))
    assert (told.word, told.time.text, told.sign) == (word, time, sign)


def test_a_waiting_order_may_be_paid_until_its_deadline_and_is_urgent_before() -> None:
    told = said(tracked())
    assert (told.payable, told.urgent, told.time.short) == (True, False, "24:00")
    assert told.act == "send the deposit within 24:00"
    assert said(tracked(), NOW + timedelta(minutes=29)).urgent
    over = said(tracked(), NOW + timedelta(minutes=30))
    assert (over.payable, over.actor) == (False, "the service")


@pytest.mark.parametrize(
    ("standing", "word", "actor"),
    [
        (DepositRelease.FOREIGN, "Not of this desk", "whoever made it"),
        (DepositRelease.UNREPEATED, "Being compared", "the service"),
        (DepositRelease.LOWER, "Gives less", "you"),
        (DepositRelease.DIFFERS, "Do not pay", "you"),
        (DepositRelease.CONTRADICTS, "Do not pay", "you"),
    ],
)
def test_a_hidden_address_is_never_payable(standing: DepositRelease, word: str, actor: str) -> None:
    summary = said(tracked(withheld="Hidden.", standing=standing))
    assert (summary.word, summary.actor, summary.payable) == (word, actor, False)


def test_an_address_still_to_be_given_is_not_told_as_one_that_is_hidden() -> None:
    late = tracked(
        withheld="Not repeated.", standing=DepositRelease.UNREPEATED, deposit_address=None
    )
    summary = said(late)
    assert (summary.word, summary.payable) == ("Setting up", False)
    assert summary.cause == "The service has not given a deposit address yet"
    assert (summary.actor, summary.act) == ("the service", "it sets up the deposit address")
    found = diagnose(late, LATER)
    assert (found.rule, found.cause) == ("setting-up", f"{summary.cause}.")
    assert "Do not pay" not in order_sentence(late, LATER)
    refused = tracked(withheld="It differs.", standing=DepositRelease.DIFFERS, deposit_address=None)
    assert said(refused).word == "Do not pay"
    assert "Do not pay: It differs." in order_sentence(refused, LATER)
    assert order_sentence(refused, LATER).count("It differs") == 1


def test_a_hidden_address_does_not_hide_where_money_is() -> None:
    hidden = DepositRelease.CONTRADICTS
    moving = said(tracked(withheld="Hidden.", standing=hidden, **EXCHANGING))
    assert moving.word == "Exchanging"
    assert moving.money == "with Halyard."


def test_late_is_said_in_time_and_label() -> None:
    late, now = tracked(**EXCHANGING), NOW + timedelta(minutes=41)
    summary = said(late, now)
    assert summary.time.late
    assert created_words(late, summary, now) == (
        "created 14:02:11 · 41m, 27m over the expected time"
    )
    assert said(late).brief == "Halyard, ~8m"


def test_the_steps_name_who_is_paid_and_no_deposit_of_a_swap_on_chains() -> None:
    (leg,) = legs_of(order(), [], NOW, "@bob")
    assert [one.text for one in leg.steps][1:4] == ["deposit seen", "exchanging", "sent to @bob"]
    (leg,) = legs_of(order(is_dex=True), [], NOW, "@bob")
    assert [one.text for one in leg.steps][1] == "seen on the chain"


def seen(*states: tuple[float, Order]) -> list[tuple[datetime, str, Order]]:
    return [(NOW + timedelta(minutes=at), "stream", state) for at, state in states]


def marks(leg: Leg) -> list[tuple[str, str]]:
    return [(step.text, step.mark) for step in leg.steps]


def test_a_standard_leg_has_the_times_this_desk_saw() -> None:
    confirming = order(display_status=DisplayStatus.DEPOSIT_DETECTED.value, in_status=2)
    exchanging = order(display_status=DisplayStatus.EXCHANGE_IN_PROGRESS.value, in_status=3)
    (leg,) = legs_of(exchanging, seen((0, order()), (2, confirming), (5, exchanging)), LATER)
    assert marks(leg) == [
        ("created", "past"),
        ("deposit seen", "past"),
        ("exchanging", "now"),
        ("sent to the recipient", "future"),
        ("finished", "future"),
    ]
    assert [step.at for step in leg.steps[:3]] == [
        NOW,
        NOW + timedelta(minutes=2),
        NOW + timedelta(minutes=5),
    ]
    assert leg.steps[4].at == NOW + timedelta(minutes=14)


@pytest.mark.parametrize(
    ("facts", "minutes"),
    [({"in_status": 8}, 5), ({"in_status": 3, "action_required": True}, 5), ({"in_status": 3}, 20)],
    ids=["held", "somebody must act", "late"],
)
def test_an_end_that_nobody_knows_any_more_is_not_expected(
    facts: dict[str, Any], minutes: int
) -> None:
    stopped = order(display_status=DisplayStatus.EXCHANGE_IN_PROGRESS.value, **facts)
    now = NOW + timedelta(minutes=minutes)
    (leg,) = legs_of(stopped, seen((0, order()), (4, stopped)), now)
    assert leg.steps[-1].text == "finished"
    assert leg.steps[-1].at is None


def test_a_step_nobody_saw_has_no_time() -> None:
    exchanging = order(display_status=DisplayStatus.EXCHANGE_IN_PROGRESS.value, in_status=3)
    (leg,) = legs_of(exchanging, seen((0, order()), (5, exchanging)), LATER)
    assert (leg.steps[1].text, leg.steps[1].mark, leg.steps[1].at) == ("deposit seen", "past", None)


def test_two_legs_and_the_end() -> None:
    send = intent(route="private")
    done = order(
        send,
        display_status=DisplayStatus.SWAP_COMPLETED.value,
        in_status=5,
        out_status=5,
        out_created=NOW + timedelta(minutes=8),
        order_finished_received=NOW + timedelta(minutes=20),
    )
    first, second = legs_of(done, seen((0, order(send)), (20, done)), LATER)
    assert first.word == second.word == "finished"
    assert second.steps[0].at == NOW + timedelta(minutes=8)
    assert second.steps[-1].at == NOW + timedelta(minutes=20)
    assert all(step.mark == "past" for leg in (first, second) for step in leg.steps)


def test_a_hold_stands_where_the_leg_stopped() -> None:
    held = order(display_status=DisplayStatus.EXCHANGE_IN_PROGRESS.value, in_status=8)
    (leg,) = legs_of(held, seen((0, order()), (5, held)), LATER)
    assert marks(leg)[2:4] == [("exchanging", "past"), ("on hold", "trouble")]
    assert leg.word == "on hold"


@pytest.mark.parametrize(
    ("display", "leg_status", "mark"),
    [("EXPIRED", 9, "ended"), ("FAILED", 6, "trouble"), ("REFUNDED", 7, "ended")],
)
def test_an_order_that_ended_otherwise_has_no_future(
    display: str, leg_status: int, mark: str
) -> None:
    over = order(display_status=display, in_status=leg_status)
    (leg,) = legs_of(over, seen((0, order()), (30, over)), LATER)
    assert leg.steps[-1].mark == mark
    assert leg.steps[-1].text == display.lower()
    assert all(step.mark != "future" for step in leg.steps)


@given(
    display=st.sampled_from([None, "TELEPORTING", *[one.value for one in DisplayStatus]]),
    first=st.none() | st.integers(-3, 12),
    second=st.none() | st.integers(-3, 12),
    anonymous=st.none() | st.booleans(),
)
def test_the_legs_of_every_combination_have_words(
    display: str | None, first: int | None, second: int | None, anonymous: bool | None
) -> None:
    state = order(
        display_status=display, in_status=first, out_status=second, anonymous=anonymous, status=None
    )
    for leg in legs_of(state, seen((0, state)), LATER):
        assert leg.word
        assert leg.steps


def test_numbers_stay_in_their_own_digits() -> None:
    raw = b'{"inAmount":0.50000000000000000001,"eta":14,"big":1e400,"list":[1.10,null,true]}'
    shown = "\n".join(raw_lines(raw))
    assert '"inAmount": 0.50000000000000000001,' in shown
    assert "1e400" in shown
    assert "1.10" in shown


def test_what_must_not_be_paid_is_left_out_everywhere() -> None:
    document = {
        "depositAddress": DEPOSIT,
        "depositTag": "7",
        "receiverAddress": "there",
        "hashUrl": f"https://example.org/{DEPOSIT}",
        "nested": {"depositExtraId": "7", "copy": DEPOSIT},
    }
    shown = "\n".join(raw_lines(json.dumps(document).encode(), hidden=DEPOSIT))
    assert DEPOSIT not in shown
    assert shown.count(HIDDEN) == 5
    assert "there" in shown


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_the_raw_view_of_anything(document: Any) -> None:
    lines = raw_lines(json.dumps(document).encode())
    assert lines
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff\xfe", b"[" * 5000, b"<html>\x1b[2J"])
def test_the_raw_view_of_what_is_no_json(raw: bytes) -> None:
    assert all(line.isprintable() for line in raw_lines(raw))


def test_quitting_counts_what_waits() -> None:
    moving = tracked(display_status=DisplayStatus.EXCHANGE_IN_PROGRESS.value, in_status=3)
    over = tracked(display_status=DisplayStatus.SWAP_COMPLETED.value, in_status=5)
    assert quit_warning([], LATER) is None
    assert quit_warning([over], LATER) is None
    assert quit_warning([tracked(), tracked(), moving, over], LATER) == (
        "2 orders wait for you. They go on without the desk and are here when you come back."
        " q quits."
    )
    alone = quit_warning([moving], LATER)
    assert alone.startswith("1 order is open. It goes on")
    creating = quit_warning([], LATER, creating=True)
    assert "has not answered yet" in creating


def test_findings_name_each_outcome() -> None:
    confirmed = intent()
    created = Created(order(confirmed), OrderCheck((), None, False), RELEASED, True)
    report = ResumeReport(
        found=[(confirmed, created)],
        not_created=[intent(amount_in=Decimal(2))],
        unknown=[(confirmed, CreateUnknown(OUTCOME_UNKNOWN, confirmed.id, ()))],
        elsewhere=[confirmed],
    )
    found = findings(report)
    assert [one.kind for one in found] == ["found", "unknown", "not_created", "elsewhere"]
    assert found[0].said == "The order exists: h8Kq2P. It was not created twice."
    assert found[0].what == "0.5 BTC to ETH, standard"
    assert all("Nothing was paid." in one.said for one in found[1:3])


@pytest.mark.parametrize(
    ("standing", "address", "head", "verdict"),
    [
        (DepositRelease.UNREPEATED, None, SETTING_UP, "The address appears here."),
        (DepositRelease.UNREPEATED, DEPOSIT, "Hidden.", "The address appears here."),
        (DepositRelease.DIFFERS, None, "Hidden.", "Do not pay this order."),
    ],
)
def test_the_card_forbids_to_pay_only_what_was_refused(
    standing: DepositRelease, address: str | None, head: str, verdict: str
) -> None:
    hidden = tracked(withheld="Hidden.", standing=standing, deposit_address=address)
    state = deposit_state(hidden, LATER)
    assert (state.head, state.payment) == (head, None)
    assert verdict in state.matches.text
