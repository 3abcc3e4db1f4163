"""What a created order owes to what was confirmed: every way to differ, an estimate that falls
before the deposit, the bounds of a swap on chains, and what to send."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from flows.following import sighted, tracker_of
from flows.orders import BTC, ETH, NOW, RECIPIENT, created_here, intent, order
from rows import each_row
from service.world import BITCOIN
from service.world import BTC as LISTED
from service.world import USDC as TOKEN
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.cli.order_reports import deposit_of
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.order_verification import (
    agreed_output,
    check_order,
    check_repeat,
    lower_output,
    moved_output,
)
from swapdesk.flows.intents.intent import (
    DepositRelease,
    TokenFacts,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.deposit_destination import PayableAmount, payable_amount
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.order_transactions import Source
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.tui.screens.deposit import payment_of
from swapdesk.tui.screens.order import order_facts
from swapdesk.wire.encoding.numbers import as_double, to_base_units
from swapdesk.wire.orders import DisplayStatus, LegStatus

OTHER = derive_address("evm", b"o" * 32)
OTHER_DEPOSIT = derive_address("bitcoin", b"x" * 32)


REFUND = {"refund_address": derive_address("bitcoin", b"f" * 32)}
MIDDLE = {"route": "private", "intermediate_refund": "4" + "A" * 94}
FIXED = {"fixed": True, "amount_in": Decimal("0.5"), "amount_out": Decimal("14.498")}
STATED = {**FIXED, "receive": True, "amount_out": Decimal(2)}
MINE = derive_address("evm", b"m" * 32)
CONTRACT = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
USDC = {
    "token_in": replace(ETH, symbol="USDC", contract=CONTRACT, decimals=6),
    "refund_address": MINE,
}
NAMED = {"token_out": TokenFacts.of(TOKEN)}
OTHER_TOKEN = "the token to receive differs"


@each_row(
    ("confirmed", "change", "said"),
    [
        ({}, {}, ""),
        ({}, {"in_token_id": ETH.id}, "the token to send differs"),
        ({}, {"in_token_id": None, "in_symbol": "LTC"}, "the token to send differs"),
        ({}, {"in_token_id": None, "in_symbol": None}, "the token to send differs"),
        ({}, {"in_token_id": None, "in_symbol": "btc"}, ""),
        ({}, {"out_token_id": BTC.id}, "the token to receive differs"),
        (NAMED, {"out_token": TOKEN}, ""),
        (NAMED, {"out_token": TOKEN, "out_token_id": None}, ""),
        (NAMED, {"out_token": TOKEN.model_copy(update={"address": CONTRACT})}, OTHER_TOKEN),
        (NAMED, {"out_token": TOKEN.model_copy(update={"id": BTC.id})}, OTHER_TOKEN),
        (NAMED, {"out_token": TOKEN.model_copy(update={"chain_data": BITCOIN})}, OTHER_TOKEN),
        ({}, {"receiver_address": OTHER}, "the recipient differs"),
        ({}, {"receiver_address": None}, "the recipient differs"),
        ({}, {"receiver_address": RECIPIENT.lower()}, ""),
        ({}, {"receiver_tag": "77"}, "the memo of the recipient differs"),
        ({}, {"anonymous": True}, "it takes the private route"),
        ({}, {"anonymous": None}, "it takes the private route"),
        ({"route": "private", "provider": None}, {"anonymous": False}, "it is not private"),
        ({}, {"in_amount": Decimal("0.50005001")}, "it asks for 0.50005001 BTC instead of 0.5"),
        ({}, {"in_amount": Decimal("0.4499")}, "it asks for 0.4499 BTC instead of 0.5"),
        ({}, {"in_amount": Decimal("0.50005")}, ""),
        ({}, {"in_amount": Decimal("0.49")}, ""),
        ({}, {"in_amount": None}, "it does not say what to pay"),
        ({}, {"in_amount": Decimal(0)}, "it does not say what to pay"),
        ({}, {"out_amount": None}, "it does not say what you get"),
        ({}, {"out_amount": Decimal("14.524108") * Decimal("0.99")}, ""),
        ({}, {"expires": NOW + timedelta(seconds=29)}, "its deadline is too near"),
        ({}, {"expires": NOW + timedelta(seconds=30)}, ""),
        ({}, {"expires": None}, "its deadline is too near"),
        (REFUND, {}, ""),
        (REFUND, {"refund_address": None}, "the refund address differs"),
        (REFUND, {"refund_address": OTHER_DEPOSIT}, "the refund address differs"),
        (MIDDLE, {}, ""),
        (
            MIDDLE,
            {"intermediate_refund_address": "4" + "B" * 94},
            "the refund address of the middle differs",
        ),
        # A fixed rate is a promise to the last digit.
        ({}, {"fixed": True}, "its rate is fixed"),
        (FIXED, {"fixed": False}, "its rate is not fixed"),
        (FIXED, {"fixed": True}, ""),
        (FIXED, {"fixed": True, "out_amount": Decimal("14.4980000000000002")}, ""),
        (FIXED, {"fixed": True, "out_amount": Decimal("14.5")}, ""),
        (
            FIXED,
            {"fixed": True, "out_amount": Decimal("14.4979999999999")},
            "it pays 14.4979999999999 ETH instead of",
        ),
        (
            FIXED,
            {"fixed": True, "in_amount": Decimal("0.500000000001")},
            "it asks for 0.500000000001 BTC instead of 0.5",
        ),
        (STATED, {"fixed": True}, ""),
        (
            STATED,
            {"fixed": True, "out_amount": Decimal("1.99")},
            "it pays 1.99 ETH instead of the fixed 2",
        ),
        # No exchange can have given these deposit addresses.
        ({}, {"deposit_address": OTHER}, "its deposit address is no address on Bitcoin"),
        (USDC, {"deposit_address": derive_address("evm", b"d" * 32)}, ""),
        (
            USDC,
            {"deposit_address": CONTRACT.lower()},
            "its deposit address is no address on Ethereum",
        ),
        (USDC, {"deposit_address": RECIPIENT}, "its deposit address is the recipient"),
        (USDC, {"deposit_address": RECIPIENT.lower()}, "its deposit address is the recipient"),
        (USDC, {"deposit_address": MINE}, "its deposit address is the refund address"),
        (USDC, {"deposit_address": RECIPIENT, "deposit_tag": "7741"}, ""),
    ],
)
def test_a_hard_difference_hides_the_address(
    confirmed: dict[str, Any], change: dict[str, Any], said: str
) -> None:
    wanted = intent(**confirmed)
    check = check_order(wanted, order(wanted, **change), now=NOW)
    assert check.payable is (not said), check.hard
    assert (check.verdict.withheld is None) is (not said)
    assert any(one.startswith(said) for one in check.hard) is bool(said)
    assert said in (check.verdict.withheld or "")


@each_row(("provider", "changed"), [({}, False), ({"in_": "co"}, True)])
def test_another_provider_is_shown_and_not_refused(provider: dict[str, Any], changed: bool) -> None:
    check = check_order(intent(), order(**provider), now=NOW)
    assert (check.payable, check.provider_changed) == (True, changed)


@each_row(
    "change",
    [
        {"deposit_address": OTHER_DEPOSIT},
        {"deposit_tag": "104882716"},
        {"in_amount": Decimal("0.51")},
    ],
)
def test_the_repeated_order_must_repeat_what_is_paid(change: dict[str, Any]) -> None:
    assert check_repeat(order(), order()) == ()
    assert len(check_repeat(order(), order(**change))) == 1


def test_what_is_compared_is_the_net_amount_that_was_confirmed() -> None:
    better = intent(net_amount_out=Decimal("15"))
    assert check_order(better, order(better), now=NOW).lower_by is not None


@given(st.decimals("0.00000001", "1000", places=8), st.decimals("0", "1000", places=8))
def test_less_than_a_fixed_promise_is_never_payable(promise: Decimal, paid: Decimal) -> None:
    promised = intent(**{**FIXED, "amount_out": promise, "net_amount_out": promise})
    check = check_order(promised, order(promised, fixed=True, out_amount=paid), now=NOW)
    assert check.payable is (paid >= promise)
    assert check.lower_by is None


@given(
    st.decimals("0.00000001", "1000", places=8),
    st.decimals("0.00000001", "1000", places=8),
    st.decimals("0", "10", places=2),
)
def test_a_floating_output_is_payable_within_the_tolerance_only(
    confirmed: Decimal, paid: Decimal, tolerance: Decimal
) -> None:
    asked = intent(amount_out=confirmed, net_amount_out=confirmed)
    check = check_order(asked, order(asked, out_amount=paid), now=NOW, lower_tolerance=tolerance)
    assert check.hard == ()
    assert check.payable is ((confirmed - paid) * 100 <= tolerance * confirmed)


CONFIRMED = Decimal("14.524108")
HALF = Decimal("7.262054")


class Known(Struct):
    """One released order of this desk, and what the service says of it next."""

    path: Path
    journal: Journal
    orders: Tracker

    @property
    def now(self) -> TrackedOrder:
        return self.orders.get(order().service_id)

    def seen(self, source: Source = "stream", **changes: Any) -> TrackedOrder:
        after = sighted(self.orders, order(**changes), source)
        self.journal.orders.record([(after.order, source, after.ended)])
        return after

    def accept(self, amount: Decimal) -> TrackedOrder:
        self.journal.orders.accept_output(order().service_id, amount)
        self.orders.adopt(order().service_id)
        return self.now

    def restarted(self) -> TrackedOrder:
        return tracker_of(self.journal).get(order().service_id)


@pytest.fixture
def known(path: Path, journal: Journal, clock: ManualClock) -> Known:
    created_here(journal, order())
    return Known(path, journal, tracker_of(journal, clock))


def test_a_fall_hides_the_address_until_it_is_accepted(known: Known) -> None:
    assert known.now.withheld is None
    fallen = known.seen(out_amount=CONFIRMED * Decimal("0.97"))
    assert fallen.standing is DepositRelease.LOWER
    assert fallen.withheld == (
        "This order gives 3.00% less than you confirmed."
        " The address stays hidden until you accept that."
    )
    assert known.restarted().withheld == fallen.withheld
    given, said = lower_output(fallen)
    assert said[0] == (
        "This order gives 14.088384 ETH: 3.00% less than the 14.524108 ETH you confirmed."
    )
    accepted = known.accept(given)
    assert (accepted.standing, accepted.withheld) == (DepositRelease.RELEASED, None)
    assert known.restarted().accepted == given
    assert known.seen(out_amount=given).withheld is None


def test_a_further_fall_is_asked_about_against_what_was_accepted(known: Known) -> None:
    known.seen(out_amount=HALF)
    known.accept(HALF)
    again = known.seen(out_amount=HALF * Decimal("0.9"))
    assert "10.00% less than you accepted" in (again.withheld or "")


@pytest.mark.parametrize(
    ("outs", "standing"),
    [
        # Many small falls are one large fall.
        (["0.996", "0.992016", "0.988047936"], DepositRelease.LOWER),
        # An estimate that comes back shows the address again.
        (["0.5", "1"], DepositRelease.RELEASED),
    ],
)
def test_the_newest_estimate_is_held_against_what_was_agreed(
    known: Known, outs: list[str], standing: DepositRelease
) -> None:
    for out in outs:
        known.seen(out_amount=CONFIRMED * Decimal(out))
    assert known.now.standing is standing
    assert known.restarted().withheld == known.now.withheld


def test_what_is_accepted_is_what_was_shown(known: Known) -> None:
    shown = known.seen(out_amount=CONFIRMED * Decimal("0.97")).order.out_amount
    known.seen(out_amount=HALF)
    assert known.accept(shown).standing is DepositRelease.LOWER


@pytest.mark.parametrize("out", ["0.995", "1", "1.2"])
def test_within_the_tolerance_nothing_is_asked(known: Known, out: str) -> None:
    after = known.seen(out_amount=CONFIRMED * Decimal(out))
    assert after.withheld is None
    assert moved_output(after) == (None if out == "1" else CONFIRMED)


@pytest.mark.parametrize("asked", [True, False])
def test_a_deposit_ends_the_question(known: Known, asked: bool) -> None:
    if asked:
        known.seen(out_amount=HALF)
    paid = {"display_status": DisplayStatus.DEPOSIT_DETECTED.value, "status": 1}
    after = known.seen("read", out_amount=HALF, in_status=LegStatus.CONFIRMING, **paid)
    assert after.standing is DepositRelease.RELEASED
    assert lower_output(after) is None


def test_a_contradiction_is_never_accepted(known: Known) -> None:
    known.seen(out_amount=HALF)
    known.seen(deposit_address="bc1qother")
    assert known.accept(HALF).standing is DepositRelease.CONTRADICTS
    assert known.restarted().accepted is None
    assert known.seen(out_amount=CONFIRMED).standing is DepositRelease.CONTRADICTS


def test_two_desks_of_one_home_agree_on_what_was_accepted(known: Known) -> None:
    fallen = order(out_amount=HALF)
    other_journal = Journal.open(known.path, ManualClock())
    other = tracker_of(other_journal)
    known.seen(out_amount=HALF)
    known.accept(HALF)
    seen = sighted(other, fallen)
    assert (seen.withheld, seen.accepted) == (None, HALF)
    other_journal.close()


def test_a_journal_that_takes_nothing_still_hides_and_shows_nothing(known: Known) -> None:
    known.journal.close()
    assert sighted(known.orders, order(out_amount=HALF)).standing is DepositRelease.LOWER
    assert sighted(known.orders, order()).standing is DepositRelease.LOWER


def test_what_was_agreed_to_is_the_better_word_of_the_quote() -> None:
    confirmed = intent(amount_out=Decimal(2), net_amount_out=Decimal(1))
    assert agreed_output(confirmed) == 2
    assert agreed_output(confirmed, Decimal("1.5")) == Decimal("1.5")


UNIT = Decimal("0.000001")
AS_RETURNED = ("0.5", "0.50", "2500", "0.123456", "1.2340000000")


def pay(amount: str, decimals: int | None = 6) -> PayableAmount:
    return payable_amount(order(in_amount=Decimal(amount), in_symbol="XRP"), decimals)


@each_row(
    ("amount", "sent", "how"),
    [
        # What the token can hold is sent as it was returned.
        *((amount, amount, None) for amount in AS_RETURNED),
        ("0.30000000000000004", "0.3", "without the noise"),
        ("0.29999999999999999", "0.3", "without the noise"),
        ("99999999.000000999999", "99999999.000001", "without the noise"),
        ("0.1234561", "0.123457", "rounded up"),
        ("0.1234569", "0.123457", "rounded up"),
        ("0.123456000002", "0.123457", "rounded up"),
        ("0.0000000000000001", "0.000001", "rounded up"),
    ],
)
def test_more_digits_than_the_token_has(amount: str, sent: str, how: str | None) -> None:
    found = pay(amount)
    assert str(found.exact) == sent
    if how is None:
        assert found.note is None
    else:
        assert found.shown.replace(",", "") == sent
        assert f"{amount} XRP" in found.note
        assert how in found.note


@given(st.integers(1, 10**15), st.integers(0, 18))
def test_the_noise_of_a_double_never_changes_what_is_sent(units: int, decimals: int) -> None:
    amount = as_double(Decimal(units).scaleb(-decimals))
    found = payable_amount(order(in_amount=amount), decimals)
    assert to_base_units(found.exact, decimals) == units


@given(st.decimals(min_value="0.0000000001", max_value=10**9, places=12))
def test_never_less_and_never_a_unit_more(amount: Decimal) -> None:
    found = payable_amount(order(in_amount=amount), 6)
    assert to_base_units(found.exact, 6) > 0
    assert -UNIT * UNIT <= found.exact - amount < UNIT


def test_no_amount_and_no_decimals() -> None:
    assert payable_amount(order(in_amount=None), 6) is None
    assert str(pay("0.30000000000000004", None).exact) == "0.30000000000000004"


def test_the_token_and_its_chain_are_called_as_they_were_confirmed() -> None:
    """The id of a token is compared; the words an order writes beside it are not believed."""
    chain = BITCOIN.model_copy(update={"short_name": BTC.chain, "name": "Litecoin"})
    token = LISTED.model_copy(
        update={"id": BTC.id, "symbol": "USDT", "address": None, "chain_data": chain}
    )
    renamed = order(in_token=token, in_symbol="USDT", in_amount=Decimal("0.5000000001"))
    assert check_order(intent(), renamed, now=NOW).verdict.payable
    tracked = TrackedOrder(renamed, intent(), None, False, NOW, "create")
    payment = payment_of(tracked, NOW)
    assert (payment.amount, payment.network) == ("0.50000001 BTC", "Bitcoin")
    assert "USDT" not in payment.note
    facts = order_facts(tracked, order_status(tracked, NOW), NOW, live=False)
    send = next(fact for fact in facts if fact.label == "Send")
    assert (send.value, send.note, send.copied) == ("0.50000001 BTC", "on Bitcoin", "0.50000001")
    deposit = deposit_of(tracked, NOW)
    assert (deposit.symbol, deposit.chain) == ("BTC", "bitcoin")
