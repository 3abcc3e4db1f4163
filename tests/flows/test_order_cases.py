"""Every combination of states, legs and flags has words; each unhappy path says the right ones."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from itertools import islice, product
from typing import Any

import pytest
from msgspec.structs import replace

from corpus import load
from flows.orders import NOW, intent, order
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.orders.deposit_destination import deposit_destination
from swapdesk.flows.orders.order_fields import deposit_arrived, deposit_doubted
from swapdesk.flows.orders.order_sentence import order_sentence
from swapdesk.flows.orders.order_status import order_status, reported_status
from swapdesk.flows.orders.situations import OF_PAYMENT, Situation, situation_of
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.support.diagnosis import diagnose
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.wire.encoding.text import safe_text
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order

LATER = NOW + timedelta(minutes=6)
REFUND = derive_address("bitcoin", b"f" * 32)
DISPLAYS = [None, "TELEPORTING", *[one.value for one in DisplayStatus]]
NEXT = ("you", "the service", "the chain", "nobody")


def tracked(state: Order, of: Intent | None = None) -> TrackedOrder:
    return TrackedOrder(state, of, None, False, NOW, "list")


def case(**facts: Any) -> Situation:
    return situation_of(order(**facts))


def test_every_row_is_of_the_service_or_of_the_desk() -> None:
    for row in Situation:
        of_service, of_desk = row.meaning.when is not None, row.meaning.known is not None
        named = row is Situation.LAST_HEARD or row in OF_PAYMENT
        assert of_service + of_desk + named == 1, row
        assert not of_service or None not in (row.meaning.money, row.meaning.by), row
    codes = [row.code for row in Situation]
    assert len(codes) == len(set(codes))


def test_every_flag_is_said() -> None:
    """All flags over every displayed state and the legs that flags go with."""
    flags = product(
        DISPLAYS,
        (None, LegStatus.WAITING, LegStatus.FAILED, LegStatus.EXCHANGING, LegStatus.FALLBACK),
        (True, None),
        (True, None),
        (True, None),
        (True, False),
        (None, "there"),
        (None, REFUND),
        (None, Decimal("0.4")),
    )
    reached = set()
    # No axis has a multiple of three values.
    for display, leg, act, lost, moved, fixed, deposit, refund, back in islice(flags, 0, None, 3):
        for private in (True, False):
            one = Order(
                service_id="h8Kq2PdT5mXcVbN3wRtY7z",
                display_status=display,
                in_status=leg,
                anonymous=private,
                action_required=act,
                non_refundable=lost,
                rerouted=moved,
                fixed=fixed,
                deposit_address=deposit,
                refund_address=refund,
                refund_amount=back,
                in_amount=Decimal("0.5"),
                in_symbol="BTC",
            )
            said = reported_status(one, now=LATER)
            for part in (said.word, said.cause, said.money, said.act, said.by):
                assert part, one
                assert "{" not in part, one
            assert said.actor in NEXT or said.actor.startswith("the "), one
            assert (said.money[-1], said.cause[-1] == ".") == (".", False), one
            reached.add(said.situation)
    assert not {Situation.FAILED_STUCK, Situation.NOT_REFUNDABLE, Situation.PART_RETURNED} - reached


FAILED = {"display_status": "FAILED", "in_status": 6}
HELD_BACK = {"action_required": True}
OVER = {"display_status": "SWAP_COMPLETED", "in_status": 5}

TOLD: list[tuple[str, dict[str, Any], Situation, str, str, str, str]] = [
    (
        "failed before", FAILED, Situation.FAILED_BEFORE,
        "The order failed before a deposit arrived. Do not send to it any more",
        "in your wallet, if you sent nothing.", "you", "ask for new quotes",
    ),
    (
        "failed after", {**FAILED, **HELD_BACK}, Situation.FAILED_STUCK,
        "Halyard could not finish after the payment arrived",
        "with the service.",
        "you", "write to support with order h8Kq2PdT5mXcVbN3wRtY7z",
    ),
    (
        "refund pending", {"display_status": "FAILED", "in_status": 3, "refund_address": REFUND},
        Situation.FAILED_RETURNING,
        f"Halyard could not finish after the payment arrived. The deposit goes back to"
        f" {REFUND[:4]} …{REFUND[-4:]}",
        "with the service.", "the service", "it sends the deposit back",
    ),
    (
        "refunded", {
            "display_status": "REFUNDED", "in_status": 7, "refund_amount": Decimal("0.49994"),
            "refund_chain": "Bitcoin", "refund_address": REFUND,
        },
        Situation.REFUNDED,
        f"0.49994 BTC came back to {REFUND[:4]} …{REFUND[-4:]} on Bitcoin."
        " That is 0.00006 BTC less than the order asked for",
        f"0.49994 BTC came back to {REFUND[:4]} …{REFUND[-4:]} on Bitcoin.",
        "nobody", "nothing is left to do",
    ),
    (
        "refunded whole",
        {"display_status": "REFUNDED", "in_status": 7, "refund_amount": Decimal("0.5")},
        Situation.REFUNDED, "0.5 BTC came back",
        "0.5 BTC came back on the chain it came from.", "nobody", "nothing is left to do",
    ),
    (
        "refund without amount", {"display_status": "REFUNDED", "in_status": 7}, Situation.REFUNDED,
        "The BTC came back. The service does not say how much",
        "the BTC came back on the chain it came from.", "nobody", "nothing is left to do",
    ),
    (
        "private fixed",
        {
            "display_status": "REFUNDED", "in_status": 7, "anonymous": True, "fixed": True,
            "refund_amount": Decimal("0.5"),
        },
        Situation.REFUNDED_FIRST_TOKEN,
        "The private swap at a fixed rate stopped part-way. 0.5 BTC, the token you sent, came back",
        "0.5 BTC came back on the chain it came from.", "nobody", "nothing is left to do",
    ),
    (
        "hold", {"display_status": "EXCHANGE_IN_PROGRESS", "in_status": 8}, Situation.HELD,
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
        Situation.HELD,
        "The second exchange holds the funds for a compliance check;"
        " the service does not say what it asks for",
        "held at the second exchange.", "you",
        "write to support with order h8Kq2PdT5mXcVbN3wRtY7z",
    ),
    (
        "released", {"display_status": "EXCHANGE_IN_PROGRESS", "in_status": 3},
        Situation.EXCHANGING,
        "The exchange is in progress", "with Halyard.", "Halyard", "it exchanges and pays out",
    ),
    (
        "rerouted",
        {
            **OVER, "rerouted": True, "swap_name": "Cobalt", "out_amount": Decimal("14.498"),
            "quoted_out_amount": Decimal("14.524108"),
        },
        Situation.REROUTED,
        "The payout arrived. Halyard failed, Cobalt finished it, 0.18% less than quoted",
        "14.498 ETH arrived at the recipient.", "nobody", "nothing is left to do",
    ),
    (
        "fallback", {**OVER, "in_status": 10}, Situation.PAID_BY_FALLBACK,
        "The payout arrived. Halyard did not finish; the service paid it by another way",
        "14.524108 ETH arrived at the recipient.", "nobody", "nothing is left to do",
    ),
    (
        "not refundable", {**FAILED, **HELD_BACK, "non_refundable": True}, Situation.NOT_REFUNDABLE,
        "The payment arrived and the order did not finish; the service says a refund is not"
        " possible any more",
        "with the service or its provider.",
        "you", "write to support with order h8Kq2PdT5mXcVbN3wRtY7z",
    ),
    (
        "deleted", {"display_status": "DELETED", "in_status": 1}, Situation.DELETED,
        "The service deleted the order. Do not send to it any more",
        "in your wallet, if you sent nothing.", "nobody", "nothing is left to do",
    ),
    (
        "expired", {"display_status": "EXPIRED", "in_status": 9}, Situation.EXPIRED,
        "No deposit came before 14:32:11. The order is closed. Do not send to its address any more",
        "in your wallet, if you sent nothing.", "nobody", "do not send to this address any more",
    ),
    (
        "late", {"display_status": "EXPIRED", "in_status": 2, "refund_address": REFUND},
        Situation.LATE_RETURNING,
        f"The deposit came after the deadline and goes back to {REFUND[:4]} …{REFUND[-4:]}",
        "with the service, after the deadline.",
        "the service", "it sends the deposit back",
    ),
    (
        "late without a way back", {"display_status": "EXPIRED", "in_status": 9, **HELD_BACK},
        Situation.LATE_STUCK,
        "The deposit came after the deadline, and no address for a refund is known",
        "with the service, after the deadline.",
        "you", "write to support with order h8Kq2PdT5mXcVbN3wRtY7z",
    ),
    (
        "excess", {**OVER, "fixed": True, "refund_amount": Decimal("0.1")}, Situation.PART_RETURNED,
        "The payout arrived. More was deposited than asked for, and 0.1 BTC came back",
        "14.524108 ETH arrived at the recipient; 0.1 BTC came back.",
        "nobody", "nothing is left to do",
    ),
    (
        "setup without address", {"deposit_address": None, "status": -1}, Situation.SETTING_UP,
        "The service has not given a deposit address yet", "in your wallet.",
        "the service", "it sets up the deposit address",
    ),
    (
        "never set up", {"deposit_address": None, **FAILED, "in_status": 0}, Situation.NEVER_SET_UP,
        "The service never gave a deposit address, so nothing could be paid",
        "in your wallet.", "you", "ask for new quotes",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "wanted", "cause", "money", "actor", "act"),
    [row[1:] for row in TOLD],
    ids=[row[0] for row in TOLD],
)
def test_an_unhappy_path_is_told(
    facts: dict[str, Any], wanted: Situation, cause: str, money: str, actor: str, act: str
) -> None:
    of = intent()
    status = reported_status(order(of, **facts), of, now=NOW + timedelta(hours=1))
    assert status.situation is wanted
    assert status.cause == cause
    assert (status.money, status.actor, status.act) == (money, actor, act)


@pytest.mark.parametrize(
    ("out", "differs"),
    [("12.0", "17.38% less"), ("16.0", "10.16% more"), ("14.5", "")],
)
@pytest.mark.parametrize(
    ("display", "pays"), [("EXCHANGE_IN_PROGRESS", "pays"), ("SWAP_COMPLETED", "paid")]
)
def test_a_short_or_an_excess_deposit_shows_in_what_is_paid(
    out: str, differs: str, display: str, pays: str
) -> None:
    """What arrived is not known: the service names what it asked for, also afterwards."""
    of = intent()
    state = order(of, display_status=display, in_status=3, out_amount=Decimal(out))
    notes = reported_status(state, of, now=LATER).notes
    unsaid = "The order asked for 0.5 BTC; the service does not say how much arrived"
    wanted = (f"It {pays} {differs} than you confirmed", unsaid)
    assert notes == (wanted if differs else ())
    assert deposit_doubted(state, of) is bool(differs)
    line = order_sentence(tracked(state, of), LATER)
    assert ("0.5 BTC asked for to" in line) is bool(differs)


@pytest.mark.parametrize(
    ("facts", "word", "sign"),
    [
        ({"out_amount": Decimal("8.7")}, "Paid less", "trouble"),
        ({"out_amount": Decimal("16")}, "Completed", "done"),
        ({}, "Completed", "done"),
        ({"out_amount": Decimal("8.7"), "rerouted": True}, "Rerouted", "done"),
    ],
)
def test_a_payout_below_what_was_confirmed_is_not_plainly_completed(
    facts: dict[str, Any], word: str, sign: str
) -> None:
    of = intent()
    state = order(of, display_status="SWAP_COMPLETED", in_status=5, **facts)
    said = order_status(tracked(state, of), LATER)
    assert (said.word, said.sign, said.level) == (word, sign, "done")
    assert said.money.endswith("ETH arrived at the recipient.")
    assert said.actor == "nobody"


def test_what_a_swap_on_chains_paid_is_known() -> None:
    of = intent()
    facts = {"display_status": "SWAP_COMPLETED", "in_status": 5, "is_dex": True}
    state = order(of, **facts, out_amount=Decimal(12))
    assert reported_status(state, of, now=LATER).notes == (
        "It paid 17.38% less than you confirmed",
    )
    assert not deposit_doubted(state, of)


@pytest.mark.parametrize(
    "flag", [{"action_required": True}, {"in_status": 9}, {"in_status": 8}, {"in_status": 2}]
)
def test_only_a_plain_waiting_order_is_payable(flag: dict[str, Any]) -> None:
    assert order_status(tracked(order()), LATER).payable
    assert not order_status(tracked(order(**flag)), LATER).payable


def test_a_rerouted_order_under_way_says_so() -> None:
    moving = order(display_status="EXCHANGE_IN_PROGRESS", in_status=3, rerouted=True)
    said = order_status(tracked(moving, intent()), LATER)
    assert said.told == "The exchange is in progress. Another provider took over from Halyard."


@pytest.mark.parametrize("address", [None, "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"])
def test_a_failure_that_cannot_come_back_says_that_no_address_for_it_is_there(
    address: str | None,
) -> None:
    stuck = order(**{**FAILED, "action_required": True, "refund_address": address})
    cause = diagnose(tracked(stuck, intent()), LATER).cause
    assert ("The order names no address for a refund." in cause) is (address is None)


@pytest.mark.parametrize("hostile", load("markup", "text")[:30], ids=lambda one: one.id)
def test_text_of_the_service_is_a_value_and_never_a_template(hostile: Any) -> None:
    for text in (safe_text(hostile.text, 60), "{paid}{name!r:>9}{0}", "%s{"):
        one = order(
            display_status=text, swap_name=text, in_symbol=text, out_symbol=text, refund_chain=text
        )
        for display in (text, "FAILED", "REFUNDED", "SWAP_COMPLETED"):
            state = one.model_copy(update={"display_status": display, "rerouted": True})
            status = reported_status(state, None, now=LATER)
            assert status.cause
            assert status.money
            diagnose(tracked(state), LATER)


def test_an_order_closed_early_names_no_deadline_that_is_still_ahead() -> None:
    status = reported_status(order(display_status="EXPIRED", in_status=9), None, now=LATER)
    assert status.cause.startswith("No deposit came. The order is closed.")


def test_a_refund_of_a_short_deposit_blames_no_provider() -> None:
    """The service says what was asked for, not what came."""
    back = {"display_status": "REFUNDED", "in_status": 7, "refund_amount": Decimal("0.0001")}
    cause = reported_status(order(**back), None, now=LATER).cause
    assert "kept" not in cause
    assert cause.endswith("That is 0.4999 BTC less than the order asked for")
    assert deposit_doubted(order(**back), None)
    whole = {**back, "refund_amount": Decimal("0.499")}
    assert not deposit_doubted(order(**whole), None)


def test_a_refund_names_its_chain_as_people_do() -> None:
    back = {"display_status": "REFUNDED", "in_status": 7, "refund_amount": Decimal("0.5")}
    chains = build_chains()
    chain = next(one for one in chains if one.short_name == "bitcoin")
    coin = next(one for one in build_tokens(chains, NOW) if one.chain == "bitcoin")
    one = order(**back, refund_chain=chain.short_name, in_token=coin)
    assert reported_status(one, None, now=LATER).cause == "0.5 BTC came back on Bitcoin"
    elsewhere = order(**back, refund_chain="elsewhere", in_token=coin)
    assert "came back on elsewhere" in reported_status(elsewhere, None, now=LATER).cause


def test_a_leg_status_that_nobody_knows_moves_no_money() -> None:
    """77 counted as later than waiting: what was never paid was "on its way"."""
    waiting = {"display_status": "WAITING_FOR_DEPOSIT", "in_status": 1, "anonymous": True}
    known, unknown = (order(**waiting, out_status=status) for status in (1, 77))
    said, plain = (reported_status(one, None, now=LATER) for one in (unknown, known))
    assert replace(said, legs=plain.legs) == plain
    failed = {"display_status": "FAILED", "deposit_address": "x"}
    assert case(**failed, in_status=77) is Situation.FAILED_UNCLEAR
    assert case(**failed, in_status=1) is Situation.FAILED_BEFORE


def test_a_state_after_the_deposit_has_it_whatever_the_legs_are_said_to_be() -> None:
    """With leg status 77 a completed order had never got its deposit."""
    paid = {*DisplayStatus} - {"WAITING_FOR_DEPOSIT", "EXPIRED", "FAILED", "DELETED"}
    for one in DisplayStatus:
        said = order(display_status=one, in_status=77, out_status=77, deposit_address="there")
        assert deposit_arrived(said) is (one in paid), one
        assert (deposit_destination(tracked(said), ()) is not None) is (one in paid), one
