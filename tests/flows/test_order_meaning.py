"""What is told of an order: its state, cause, money and who acts next, its history, what it
exchanges, the raw view, and what is said of all orders at once.

Displayed states only move forward, whatever arrives in whatever order.
"""

from __future__ import annotations

import itertools
import json
import random
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from corpus import Case, load
from flows.orders import BTC, DEPOSIT, NOW, intent, order, tracked
from flows.support.cases import ACT, BACK, DONE, EXCHANGING, EXPIRED, FAILED, REFUND, SOON
from rows import each_row
from sampling import examples
from service.world import BTC as LISTED_BTC
from service.world import ETH as LISTED_ETH
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.creation.order_verification import Created, CreateUnknown, OrderCheck
from swapdesk.flows.creation.resume import ResumeReport
from swapdesk.flows.failure_messages import OUTCOME_UNKNOWN
from swapdesk.flows.intents.intent import RELEASED, DepositRelease, Intent, IntentKind
from swapdesk.flows.orders.deposit_destination import deposit_destination
from swapdesk.flows.orders.order_fields import (
    ProceedsOutcome,
    deposit_arrived,
    deposit_doubted,
    get_label,
    proceeds,
    shown,
    symbols,
)
from swapdesk.flows.orders.order_history import legs_of
from swapdesk.flows.orders.order_merge import (
    PINNED,
    PROGRESS,
    contradicts,
    display_of,
    ended,
    may_follow,
    merge_order,
)
from swapdesk.flows.orders.order_sentence import created_words, order_sentence
from swapdesk.flows.orders.order_status import OrderStatus, order_status, reported_status
from swapdesk.flows.orders.raw_json import HIDDEN, raw_lines
from swapdesk.flows.orders.situations import SITUATIONS, Situation, situation_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.support_case import CaseFacts, diagnose
from swapdesk.flows.tracking.open_business import findings, quit_warning
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.tui.screens.deposit import SETTING_UP, deposit_state
from swapdesk.wire.encoding.codec import decode, encode_json
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.orders import DisplayStatus, Order


def said(one: TrackedOrder, now: datetime = SOON) -> OrderStatus:
    return order_status(one, now)


TOLD: list[tuple[str, dict[str, Any], Situation, str, str, str, str]] = [
    (
        "failed before", FAILED, SITUATIONS["failed before"],
        "The order failed before a deposit arrived. Do not send to it any more",
        "in your wallet, if you sent nothing.", "you", "ask for new quotes",
    ),
    (
        "failed after", {**FAILED, **ACT}, SITUATIONS["failed stuck"],
        "Halyard could not finish after the payment arrived",
        "with the service.",
        "you", "write to support with order h8Kq2PdT5mXcVbN3wRtY7z",
    ),
    (
        "refund pending", {"display_status": "FAILED", "in_status": 3, "refund_address": REFUND},
        SITUATIONS["failed returning"],
        f"Halyard could not finish after the payment arrived. The deposit goes back to"
        f" {REFUND[:4]} …{REFUND[-4:]}",
        "with the service.", "the service", "it sends the deposit back",
    ),
    (
        "refunded", {
            **BACK, "refund_amount": Decimal("0.49994"),
            "refund_chain": "Bitcoin", "refund_address": REFUND,
        },
        SITUATIONS["refunded"],
        f"0.49994 BTC came back to {REFUND[:4]} …{REFUND[-4:]} on Bitcoin."
        " That is 0.00006 BTC less than the order asked for",
        f"0.49994 BTC came back to {REFUND[:4]} …{REFUND[-4:]} on Bitcoin.",
        "nobody", "nothing is left to do",
    ),
    (
        "refunded whole",
        {**BACK, "refund_amount": Decimal("0.5")},
        SITUATIONS["refunded"], "0.5 BTC came back",
        "0.5 BTC came back on the chain it came from.", "nobody", "nothing is left to do",
    ),
    (
        "refund without amount", BACK, SITUATIONS["refunded"],
        "The BTC came back. The service does not say how much",
        "the BTC came back on the chain it came from.", "nobody", "nothing is left to do",
    ),
    (
        "private fixed",
        {
            **BACK, "anonymous": True, "fixed": True,
            "refund_amount": Decimal("0.5"),
        },
        SITUATIONS["refunded first token"],
        "The private swap at a fixed rate stopped part-way. 0.5 BTC, the token you sent, came back",
        "0.5 BTC came back on the chain it came from.", "nobody", "nothing is left to do",
    ),
    (
        "hold", {**EXCHANGING, "in_status": 8}, SITUATIONS["held"],
        "Halyard holds the payment for a compliance check; the service does not say what it asks"
        " for",
        "held at Halyard.",
        "you", "write to support with order h8Kq2PdT5mXcVbN3wRtY7z",
    ),
    (
        "hold in the second leg",
        {
            "display_status": "SECOND_EXCHANGE_IN_PROGRESS", "in_status": 5, "out_status": 8,
            "anonymous": True,
        },
        SITUATIONS["held"],
        "The second exchange holds the funds for a compliance check;"
        " the service does not say what it asks for",
        "held at the second exchange.", "you",
        "write to support with order h8Kq2PdT5mXcVbN3wRtY7z",
    ),
    (
        "released", EXCHANGING,
        SITUATIONS["exchanging"],
        "The exchange is in progress", "with Halyard.", "Halyard", "it exchanges and pays out",
    ),
    (
        "rerouted",
        {
            **DONE, "rerouted": True, "swap_name": "Cobalt", "out_amount": Decimal("14.498"),
            "quoted_out_amount": Decimal("14.524108"),
        },
        SITUATIONS["rerouted"],
        "The payout arrived. Halyard failed, Cobalt finished it, 0.18% less than quoted",
        "14.498 ETH arrived at the recipient.", "nobody", "nothing is left to do",
    ),
    (
        "fallback", {**DONE, "in_status": 10}, SITUATIONS["paid by fallback"],
        "The payout arrived. Halyard did not finish; the service paid it by another way",
        "14.524108 ETH arrived at the recipient.", "nobody", "nothing is left to do",
    ),
    (
        "not refundable", {**FAILED, **ACT, "non_refundable": True}, SITUATIONS["not refundable"],
        "The payment arrived and the order did not finish; the service says a refund is not"
        " possible any more",
        "with the service or its provider.",
        "you", "write to support with order h8Kq2PdT5mXcVbN3wRtY7z",
    ),
    (
        "deleted", {"display_status": "DELETED", "in_status": 1}, SITUATIONS["deleted"],
        "The service deleted the order. Do not send to it any more",
        "in your wallet, if you sent nothing.", "nobody", "nothing is left to do",
    ),
    (
        "expired", EXPIRED, SITUATIONS["expired"],
        "No deposit came before 14:32:11. The order is closed. Do not send to its address any more",
        "in your wallet, if you sent nothing.", "nobody", "do not send to this address any more",
    ),
    (
        "late", {"display_status": "EXPIRED", "in_status": 2, "refund_address": REFUND},
        SITUATIONS["late returning"],
        f"The deposit came after the deadline and goes back to {REFUND[:4]} …{REFUND[-4:]}",
        "with the service, after the deadline.",
        "the service", "it sends the deposit back",
    ),
    (
        "late without a way back", {**EXPIRED, **ACT},
        SITUATIONS["late stuck"],
        "The deposit came after the deadline, and no address for a refund is known",
        "with the service, after the deadline.",
        "you", "write to support with order h8Kq2PdT5mXcVbN3wRtY7z",
    ),
    (
        "excess", {**DONE, "fixed": True, "refund_amount": Decimal("0.1")},
        SITUATIONS["part returned"],
        "The payout arrived. More was deposited than asked for, and 0.1 BTC came back",
        "14.524108 ETH arrived at the recipient; 0.1 BTC came back.",
        "nobody", "nothing is left to do",
    ),
    (
        "setup without address", {"deposit_address": None, "status": -1}, SITUATIONS["setting up"],
        "The service has not given a deposit address yet", "in your wallet.",
        "the service", "it sets up the deposit address",
    ),
    (
        "never set up", {"deposit_address": None, **FAILED, "in_status": 0},
        SITUATIONS["never set up"],
        "The service never gave a deposit address, so nothing could be paid",
        "in your wallet.", "you", "ask for new quotes",
    ),
]  # fmt: skip


@each_row(
    ("facts", "wanted", "cause", "money", "actor", "act"),
    [row[1:] for row in TOLD],
)
def test_an_unhappy_path_is_told(
    facts: dict[str, Any], wanted: Situation, cause: str, money: str, actor: str, act: str
) -> None:
    of = intent()
    status = reported_status(order(of, **facts), of, now=NOW + timedelta(hours=1))
    assert status.situation is wanted
    assert status.cause == cause
    assert (status.money, status.actor, status.act) == (money, actor, act)


@each_row(
    ("out", "differs"),
    [("12.0", "17.38% less"), ("16.0", "10.16% more"), ("14.5", "")],
)
@each_row(
    ("facts", "pays"), [(EXCHANGING, "pays"), (DONE, "paid"), ({**DONE, "is_dex": True}, "paid")]
)
def test_a_short_or_an_excess_deposit_shows_in_what_is_paid(
    out: str, differs: str, facts: dict[str, Any], pays: str
) -> None:
    """What arrived is not known: the service names what it asked for, also afterwards. What a swap
    on chains paid is known."""
    one = tracked(intent(), **facts, out_amount=Decimal(out))
    doubted = bool(differs) and "is_dex" not in facts
    notes = reported_status(one.order, one.intent, now=SOON).notes
    unsaid = "The order asked for 0.5 BTC; the service does not say how much arrived"
    wanted = (f"It {pays} {differs} than you confirmed", *([unsaid] if doubted else []))
    assert notes == (wanted if differs else ())
    assert deposit_doubted(one.order, one.intent) is doubted
    assert ("0.5 BTC asked for to" in order_sentence(one, SOON)) is doubted


@each_row("address", [None, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"])
def test_a_failure_that_cannot_come_back_says_that_no_address_for_it_is_there(
    address: str | None,
) -> None:
    stuck = tracked(intent(), **FAILED, **ACT, refund_address=address)
    cause = diagnose(CaseFacts(SOON, stuck)).cause
    assert ("The order names no address for a refund." in cause) is (address is None)


@each_row("hostile", load("markup", "text")[:30], ids=lambda one: one.id)
def test_text_of_the_service_is_a_value_and_never_a_template(hostile: Any) -> None:
    for text in (safe_text(hostile.text, 60), "{paid}{name!r:>9}{0}", "%s{"):
        one = order(
            display_status=text, swap_name=text, in_symbol=text, out_symbol=text, refund_chain=text
        )
        for display in (text, "FAILED", "REFUNDED", "SWAP_COMPLETED"):
            state = one.model_copy(update={"display_status": display, "rerouted": True})
            status = reported_status(state, None, now=SOON)
            assert status.cause
            assert status.money
            diagnose(CaseFacts(SOON, TrackedOrder(state, None, None, False, NOW, "list")))


def test_an_order_closed_early_names_no_deadline_that_is_still_ahead() -> None:
    status = reported_status(order(display_status="EXPIRED", in_status=9), None, now=SOON)
    assert status.cause.startswith("No deposit came. The order is closed.")


def test_a_refund_of_a_short_deposit_blames_no_provider() -> None:
    """The service says what was asked for, not what came."""
    back = order(**BACK, refund_amount=Decimal("0.0001"))
    cause = reported_status(back, None, now=SOON).cause
    assert "kept" not in cause
    assert cause.endswith("That is 0.4999 BTC less than the order asked for")
    assert deposit_doubted(back, None)
    assert not deposit_doubted(order(**BACK, refund_amount=Decimal("0.499")), None)


def test_a_refund_names_its_chain_as_people_do() -> None:
    back = {**BACK, "refund_amount": Decimal("0.5")}
    chains = build_chains()
    chain = next(one for one in chains if one.short_name == "bitcoin")
    coin = next(one for one in build_tokens(chains, NOW) if one.chain == "bitcoin")
    one = order(**back, refund_chain=chain.short_name, in_token=coin)
    assert reported_status(one, None, now=SOON).cause == "0.5 BTC came back on Bitcoin"
    elsewhere = order(**back, refund_chain="elsewhere", in_token=coin)
    assert "came back on elsewhere" in reported_status(elsewhere, None, now=SOON).cause


def test_a_leg_status_that_nobody_knows_moves_no_money() -> None:
    """77 counted as later than waiting: what was never paid was "on its way"."""
    waiting = {"display_status": "WAITING_FOR_DEPOSIT", "in_status": 1, "anonymous": True}
    known, unknown = (order(**waiting, out_status=status) for status in (1, 77))
    told, plain = (reported_status(one, None, now=SOON) for one in (unknown, known))
    assert replace(told, legs=plain.legs) == plain
    for leg, row in ((77, SITUATIONS["failed unclear"]), (1, SITUATIONS["failed before"])):
        assert situation_of(order(display_status="FAILED", in_status=leg)) is row


def test_a_state_after_the_deposit_has_it_whatever_the_legs_are_said_to_be() -> None:
    """With leg status 77 a completed order had never got its deposit."""
    paid = {*DisplayStatus} - {"WAITING_FOR_DEPOSIT", "EXPIRED", "FAILED", "DELETED"}
    for one in DisplayStatus:
        told = tracked(display_status=one, in_status=77, out_status=77, deposit_address="there")
        assert deposit_arrived(told.order) is (one in paid), one
        assert (deposit_destination(told, ()) is not None) is (one in paid), one


# An order in its row

FINISHED: dict[str, Any] = {**DONE, "order_finished_received": NOW + timedelta(minutes=14)}
SENDING: dict[str, Any] = {"display_status": "SENDING_TO_RECEIVER", "in_status": 4}
TO_BOB = {
    route: intent(kind=IntentKind.PRIVATE_SEND, route=route, recipient_label="@bob")
    for route in ("standard", "private")
}


@each_row(
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
        (None, FINISHED, 20, "Completed", "took 14m", "done"),
        (None, {**FINISHED, "rerouted": True}, 20, "Rerouted", "took 14m", "done"),
        (None, {**FINISHED, "in_status": 10}, 20, "Paid by fallback", "took 14m", "done"),
        (None, {"display_status": "EXPIRED"}, 6, "Expired", "—", "expired"),
        (None, FAILED, 6, "Failed", "took 0s", "failed"),
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


LESS = {**DONE, "out_amount": Decimal("8.7")}
PLAINLY = {"word": "Completed", "sign": "done", "level": "done", "actor": "nobody"}


def hidden_as(standing: DepositRelease, **facts: Any) -> TrackedOrder:
    return tracked(withheld="Hidden.", standing=standing, **facts)


@each_row(
    ("one", "facts"),
    [
        # A payout below what was confirmed is not plainly completed.
        (
            tracked(intent(), **LESS),
            {**PLAINLY, "word": "Paid less", "sign": "trouble"},
        ),
        (tracked(intent(), **LESS), {"money": "8.7 ETH arrived at the recipient."}),
        (tracked(intent(), **{**DONE, "out_amount": Decimal(16)}), PLAINLY),
        (tracked(intent(), **DONE), PLAINLY),
        (tracked(intent(), **LESS, rerouted=True), {**PLAINLY, "word": "Rerouted"}),
        # Only a plain waiting order is payable.
        (tracked(), {"payable": True}),
        (tracked(action_required=True), {"payable": False}),
        (tracked(in_status=9), {"payable": False}),
        (tracked(in_status=8), {"payable": False}),
        (tracked(in_status=2), {"payable": False}),
        # A hidden address never is, and does not hide where money is.
        (
            hidden_as(DepositRelease.FOREIGN),
            {"word": "Not of this desk", "actor": "whoever made it", "payable": False},
        ),
        (
            hidden_as(DepositRelease.UNREPEATED),
            {"word": "Being compared", "actor": "the service", "payable": False},
        ),
        (
            hidden_as(DepositRelease.LOWER),
            {"word": "Gives less", "actor": "you", "payable": False},
        ),
        (
            hidden_as(DepositRelease.DIFFERS),
            {"word": "Do not pay", "actor": "you", "payable": False},
        ),
        (
            hidden_as(DepositRelease.CONTRADICTS),
            {"word": "Do not pay", "actor": "you", "payable": False},
        ),
        (
            hidden_as(DepositRelease.CONTRADICTS, **EXCHANGING),
            {"word": "Exchanging", "money": "with Halyard."},
        ),
        (
            tracked(intent(), **EXCHANGING, rerouted=True),
            {"told": "The exchange is in progress. Another provider took over from Halyard."},
        ),
    ],
)
def test_what_is_said_of_an_order(one: TrackedOrder, facts: dict[str, Any]) -> None:
    told = said(one)
    assert {name: getattr(told, name) for name in facts} == facts


def test_an_address_still_to_be_given_is_not_told_as_one_that_is_hidden() -> None:
    late = tracked(
        withheld="Not repeated.", standing=DepositRelease.UNREPEATED, deposit_address=None
    )
    summary = said(late)
    assert (summary.word, summary.payable) == ("Setting up", False)
    assert summary.cause == "The service has not given a deposit address yet"
    assert (summary.actor, summary.act) == ("the service", "it sets up the deposit address")
    found = diagnose(CaseFacts(SOON, late))
    assert (found.rule, found.cause) == ("setting-up", f"{summary.cause}.")
    assert "Do not pay" not in order_sentence(late, SOON)
    refused = tracked(withheld="It differs.", standing=DepositRelease.DIFFERS, deposit_address=None)
    assert said(refused).word == "Do not pay"
    assert "Do not pay: It differs." in order_sentence(refused, SOON)
    assert order_sentence(refused, SOON).count("It differs") == 1


def test_late_is_said_in_time_and_label() -> None:
    late, now = tracked(**EXCHANGING), NOW + timedelta(minutes=41)
    summary = said(late, now)
    assert summary.time.late
    assert created_words(late, summary, now) == (
        "created 14:02:11 · 41m, 27m over the expected time"
    )
    assert said(late).brief == "Halyard, ~8m"


# Its steps

WAITED, CONFIRMED = (0, {}), (2, {"display_status": "DEPOSIT_DETECTED", "in_status": 2})
BEGUN = (5, EXCHANGING)
CREATED, UNSEEN = ("created", "past", 0), ("deposit seen", "past", None)
SENT_LATER = ("sent to the recipient", "future", None)


@each_row(
    ("states", "now", "steps"),
    [
        # The times that this desk saw; of what nobody saw none.
        (
            [WAITED, CONFIRMED, BEGUN], 6,
            [CREATED, ("deposit seen", "past", 2), ("exchanging", "now", 5), SENT_LATER,
             ("finished", "future", 14)],
        ),
        (
            [WAITED, BEGUN], 6,
            [CREATED, UNSEEN, ("exchanging", "now", 5), SENT_LATER, ("finished", "future", 14)],
        ),
        # A hold stands where the leg stopped, and its end is not expected any more: nor that of
        # an order that waits for somebody, or is late.
        (
            [WAITED, (5, {**EXCHANGING, "in_status": 8})], 5,
            [CREATED, UNSEEN, ("exchanging", "past", 5), ("on hold", "trouble", 5), SENT_LATER,
             ("finished", "future", None)],
        ),
        (
            [WAITED, (5, {**EXCHANGING, "action_required": True})], 5,
            [CREATED, UNSEEN, ("exchanging", "now", 5), SENT_LATER, ("finished", "future", None)],
        ),
        (
            [WAITED, BEGUN], 20,
            [CREATED, UNSEEN, ("exchanging", "now", 5), SENT_LATER, ("finished", "future", None)],
        ),
        # What ended otherwise has no future.
        (
            [WAITED, (30, EXPIRED)], 30,
            [CREATED, ("expired", "ended", 30)],
        ),
        ([WAITED, (30, FAILED)], 30, [CREATED, ("failed", "trouble", 30)]),
        ([WAITED, (30, BACK)], 30, [CREATED, ("refunded", "ended", 30)]),
        (
            [WAITED, (6, {"is_dex": True})], 6,
            [CREATED, ("seen on the chain", "future", None),
             ("exchanging", "future", None), SENT_LATER, ("finished", "future", 14)],
        ),
    ],
)  # fmt: skip
def test_the_steps_of_a_leg(
    states: list[tuple[int, dict[str, Any]]], now: int, steps: list[tuple[str, str, int | None]]
) -> None:
    at = {minute: NOW + timedelta(minutes=minute) for minute in range(60)}
    events = [(at[minute], "stream", order(**facts)) for minute, facts in states]
    (leg,) = legs_of(events[-1][2], events, at[now])
    assert [(step.text, step.mark, step.at) for step in leg.steps] == [
        (text, mark, at.get(minute)) for text, mark, minute in steps
    ]
    reached = [text for text, mark, _ in steps if mark not in ("past", "future")]
    assert leg.word == (reached or ["waiting"])[-1]


def test_two_legs_and_the_end() -> None:
    begun, over = NOW + timedelta(minutes=8), NOW + timedelta(minutes=20)
    done = order(
        intent(route="private"), **DONE, out_status=5, out_created=begun,
        order_finished_received=over,
    )  # fmt: skip
    first, second = legs_of(done, [(over, "stream", done)], SOON, "@bob")
    assert first.word == second.word == "finished"
    assert (second.steps[0].at, second.steps[-1].at) == (begun, over)
    assert "sent to @bob" in [step.text for step in second.steps]
    assert all(step.mark == "past" for leg in (first, second) for step in leg.steps)


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
    for leg in legs_of(state, [(NOW, "stream", state)], SOON):
        assert leg.word
        assert leg.steps


# What it exchanges, and what came of it


NAMELESS = dict.fromkeys(("in_symbol", "out_symbol", "in_token_id", "out_token_id"))


@each_row(
    ("facts", "of", "called"),
    [
        # A token is called as it was confirmed, unless the service names another one.
        ({"in_symbol": "USDT", "out_symbol": "BTC"}, intent(), ("BTC", "ETH")),
        ({"in_symbol": "USDT", "out_symbol": "BTC"}, None, ("USDT", "BTC")),
        (
            {"in_symbol": "DOGE", "in_token_id": "6689b73ec90e45f3b3e51599"},
            intent(),
            ("DOGE", "ETH"),
        ),
        (NAMELESS, None, ("?", "?")),
        (NAMELESS, intent(), ("BTC", "ETH")),
        ({}, intent(token_in=replace(BTC, symbol="XBT")), ("XBT", "ETH")),
    ],
)
def test_a_token_is_called_by_the_names_of_this_desk(
    facts: dict[str, Any], of: Intent | None, called: tuple[str, str]
) -> None:
    one = tracked(of, **facts)
    assert symbols(order(**facts), of) == called
    if of is not None:
        assert f"0.5 {called[0]} to 14.524108 {called[1]}" in order_sentence(one, NOW)


@each_row(
    ("display", "outcome", "label", "spoken"),
    [
        (DisplayStatus.EXCHANGE_IN_PROGRESS, "ahead", "You get", " to 14.524108 ETH"),
        (DisplayStatus.SWAP_COMPLETED, "got", "You got", " to 14.524108 ETH"),
        *(
            (over, "missed", "You were to get", ", was to be 14.524108 ETH")
            for over in (DisplayStatus.FAILED, DisplayStatus.EXPIRED, DisplayStatus.DELETED)
        ),
        (DisplayStatus.REFUNDED, "came back", "Came back", ", came back 0.4999 BTC"),
    ],
)
def test_what_came_of_it(
    display: DisplayStatus, outcome: ProceedsOutcome, label: str, spoken: str
) -> None:
    over = order(display_status=display.value, refund_amount=Decimal("0.4999"))
    found = proceeds(over, intent())
    assert (found.outcome, get_label(found.outcome)) == (outcome, label)
    one = TrackedOrder(over, intent(), None, True, NOW, "journal")
    assert f"0.5 BTC{spoken}, standard" in order_sentence(one, NOW)


@each_row(
    ("facts", "of", "cells"),
    [
        ({"display_status": "FAILED"}, None, ("—", "")),
        ({"display_status": "REFUNDED"}, intent(), ("—", "")),
        (
            {"display_status": "REFUNDED", "refund_amount": Decimal("0.3")},
            intent(),
            ("0.3", "BTC"),
        ),
    ],
)
def test_a_list_shows_nothing_where_nothing_came(
    facts: dict[str, Any], of: Intent | None, cells: tuple[str, str]
) -> None:
    assert shown(proceeds(order(**facts), of)) == cells


def test_a_refund_of_an_unknown_amount_is_said_without_one() -> None:
    one = tracked(intent(), display_status="REFUNDED")
    assert "0.5 BTC, the BTC came back, standard" in order_sentence(one, NOW)


# The raw view


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


@each_row("raw", [b"", b"{", b"\xff\xfe", b"[" * 5000, b"<html>\x1b[2J"])
def test_the_raw_view_of_what_is_no_json(raw: bytes) -> None:
    assert all(line.isprintable() for line in raw_lines(raw))


# What is said of all orders


def test_quitting_counts_what_waits() -> None:
    moving, over = tracked(**EXCHANGING), tracked(**DONE)
    assert quit_warning([], SOON) is None
    assert quit_warning([over], SOON) is None
    assert quit_warning([tracked(), tracked(), moving, over], SOON) == (
        "2 orders wait for you. They go on without the desk and are here when you come back."
        " q quits."
    )
    assert quit_warning([moving], SOON).startswith("1 order is open. It goes on")
    assert "has not answered yet" in quit_warning([], SOON, creating=True)


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


@each_row(
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
    state = deposit_state(hidden, SOON)
    assert (state.head, state.payment) == (head, None)
    assert verdict in state.matches.text


SEVEN = (*PROGRESS[:6], DisplayStatus.SWAP_COMPLETED)


def shown_of(trace: tuple[str, ...], **told: Any) -> list[str | None]:
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
        ranks = [rank(display) for display in shown_of(trace)]
        assert ranks == sorted(ranks)
        assert shown_of(trace)[-1] == DisplayStatus.SWAP_COMPLETED


@given(st.lists(st.sampled_from([*DisplayStatus, "SOMETHING_NEW"]), max_size=30))
def test_any_trace_never_goes_back_and_known_ends_stay(trace: list[str]) -> None:
    seen = shown_of(tuple(trace), status=None)
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
    shown_of = merged or known
    for name in Order.model_fields:
        before, after = getattr(known, name), getattr(seen, name)
        stays = after is None or name not in then or (before is not None and name in PINNED)
        if name == "deposit_tag" and known.deposit_address is not None:
            stays = True
        assert getattr(shown_of, name) == (before if stays else after), name
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
    known = order(in_token=LISTED_BTC, out_token=LISTED_ETH)
    seen = order(
        in_token=LISTED_ETH, in_symbol="ETH", out_token=LISTED_BTC, out_symbol="BTC", in_status=2
    )
    kept = merge_order(known, seen)
    assert (kept.in_token, kept.out_token) == (LISTED_BTC, LISTED_ETH)
    assert (kept.in_symbol, kept.out_symbol) == ("BTC", "ETH")
    late = merge_order(order(in_token=None), order(in_token=LISTED_BTC))
    assert late.in_token == LISTED_BTC
