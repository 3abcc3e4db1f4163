"""What a created order owes to what was confirmed: every way to differ, an estimate that falls
before the deposit, the bounds of a swap on chains, and what to send.

Which order an intent became: what contradicts decides, the user compares, chooses or gives up
after a whole look, and support gets the request that created it.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from flows.faulty_network import After, lose_answer, on
from flows.following import sighted, tracker_of
from flows.orders import BTC, ETH, NOW, RECIPIENT, created_here, intent, order
from flows.orders import intent as confirmed
from flows.orders import order as ordered
from rows import each_row
from service.world import BITCOIN
from service.world import BTC as LISTED
from service.world import USDC as TOKEN
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.cli.order_reports import deposit_of
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.creates import become_order, begin_create, open_creates
from swapdesk.flows.creation.order_verification import (
    SKEW,
    Created,
    CreateUnknown,
    agreed_output,
    check_order,
    check_repeat,
    lower_output,
    match,
    moved_output,
)
from swapdesk.flows.creation.resume import (
    UNSAID,
    CandidateRefused,
    Candidates,
    Look,
    OrderCandidate,
    compared,
    resume,
)
from swapdesk.flows.intents.intent import UNREPEATED, DepositRelease, Intent, TokenFacts
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.orders.deposit_destination import PayableAmount, payable_amount
from swapdesk.flows.orders.order_status import order_status
from swapdesk.flows.orders.order_transactions import Source
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import begin_payment
from swapdesk.flows.support.support_case import create_request
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.tui.screens.deposit import payment_of
from swapdesk.tui.screens.order import order_facts
from swapdesk.wire.encoding.numbers import as_double, to_base_units
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.orders import DisplayStatus, LegStatus, Order
from world import World

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


def by_hand(trade: World) -> Candidates:
    return Candidates(trade.api, trade.journal, trade.flow, trade.clock)


def gone(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    raise httpx2.RemoteProtocolError("gone", request=request)


async def unknown(trade: World, intent: Intent | None = None) -> Intent:
    """An intent whose create was carried out, and no answer came back for a minute."""
    intent = intent or await trade.quoted()
    trade.network.after = gone
    assert isinstance(await trade.over_time(trade.flow.create(intent)), CreateUnknown)
    trade.network.after = None
    return intent


@pytest.fixture
async def lost(trade: World) -> Intent:
    """One whose answer never came."""
    return await unknown(trade)


async def twin_of(trade: World, intent: Intent) -> str:
    """Another program of the partner creates the same payment."""
    other = await trade.quoted()
    receipt = await trade.api.create_exchange(
        ExchangeRequest(quote_id=other.quote_id, address_to=intent.recipient)
    )
    return receipt.made.service_id


async def test_two_orders_alike_are_listed_with_their_facts_and_one_is_chosen(
    trade: World,
) -> None:
    asked = await trade.quoted()
    twin = await twin_of(trade, asked)
    intent = await unknown(trade, asked)
    outcome = await trade.flow.resolve(intent, trade.entry(intent.id).server_at, ())
    assert isinstance(outcome, CreateUnknown)
    candidates = by_hand(trade)
    look = await candidates.look(intent.id)
    assert len(look.candidates) == 2
    assert look.complete
    assert all(one.certain for one in look.candidates)
    assert look.said == "2 orders since then may be this one."
    wanted = next(one for one in look.candidates if one.service_id != twin)
    created = await candidates.choose(look, wanted.service_id)
    assert isinstance(created, Created)
    assert created.withheld is None
    entry = trade.entry(intent.id)
    assert (entry.state, entry.subject) == (State.DONE, wanted.service_id)
    assert open_creates(trade.journal.ledger) == []
    assert trade.network.posts() == 2
    with pytest.raises(CandidateRefused, match="known by now"):
        await candidates.choose(look, twin)


async def test_an_order_made_after_the_quote_ended_is_not_taken_for_ours(
    trade: World, lost: Intent
) -> None:
    trade.clock.advance(120)
    twin = await twin_of(trade, lost)
    look = await by_hand(trade).look(lost.id)
    assert [one.certain for one in look.candidates] == [True, False]
    assert look.candidates[1].service_id == twin
    outcome = await trade.flow.resolve(lost, trade.entry(lost.id).server_at, ())
    assert isinstance(outcome, Created)
    assert outcome.order.service_id == look.candidates[0].service_id


async def test_giving_up_needs_a_whole_fresh_look_and_the_phrase(
    trade: World, lost: Intent
) -> None:
    candidates = by_hand(trade)
    look = await candidates.look(lost.id)
    with pytest.raises(CandidateRefused, match="none of the orders found"):
        await candidates.choose(look, "nothing-here")
    with pytest.raises(CandidateRefused, match="Not the same"):
        candidates.give_up(look, "give up")
    with pytest.raises(CandidateRefused, match="did not see every order"):
        candidates.give_up(replace(look, complete=False), look.phrase)
    trade.clock.advance(601)
    with pytest.raises(CandidateRefused, match="too old"):
        candidates.give_up(look, look.phrase)
    trade.network.after = gone
    with pytest.raises(CandidateRefused, match="could not be asked"):
        await trade.over_time(candidates.look(lost.id))
    trade.network.after = None
    again = await candidates.look(lost.id)
    candidates.give_up(again, again.phrase)
    entry = trade.entry(lost.id)
    assert (entry.state, entry.code) == (State.REFUSED, "ABANDONED")
    assert open_creates(trade.journal.ledger) == []
    begin_create(trade.journal.ledger, replace(lost, id="again"), "digest")


async def test_an_order_the_service_forgot_can_still_be_given_up(
    trade: World, lost: Intent
) -> None:
    trade.clock.advance(49 * 3600)
    candidates = by_hand(trade)
    look = await candidates.look(lost.id)
    assert not look.complete
    assert look.said.startswith("The service does not list every order since then any more")
    candidates.give_up(look, look.phrase)
    assert open_creates(trade.journal.ledger) == []


async def test_what_is_settled_or_not_here_is_refused_in_words(trade: World) -> None:
    with pytest.raises(CandidateRefused, match="holds no such request"):
        await by_hand(trade).look("none")
    intent = await trade.quoted()
    await trade.created(intent)
    with pytest.raises(CandidateRefused, match="known by now"):
        await by_hand(trade).look(intent.id)
    trade.flow.running.add(intent.id)
    with pytest.raises(CandidateRefused, match="at this moment"):
        await by_hand(trade).look(intent.id)


def test_the_facts_tell_the_same_from_the_unsaid() -> None:
    intent = confirmed(memo="7")
    facts = {one.label: one for one in compared(intent, ordered(intent))}
    assert [one.same for one in facts.values()] == [True, True, True, True, True, None, None]
    bare = ordered(intent, in_amount=None, receiver_address=None, receiver_tag="8", anonymous=None)
    facts = {one.label: one for one in compared(intent, bare)}
    assert facts["You send"].found == UNSAID
    assert facts["Recipient"].same is None
    assert facts["Memo"].same is False
    assert facts["Route"].found == UNSAID


def test_what_is_not_as_confirmed_is_named_beside_the_match() -> None:
    intent = confirmed()
    same, less = ordered(intent), ordered(intent, out_amount=intent.amount_out - 1)
    alike = OrderCandidate(same, True, compared(intent, same))
    lower = OrderCandidate(less, True, compared(intent, less))
    assert (alike.said, lower.said) == ("every field", "every field but You get")
    assert replace(lower, certain=False).said == "as far as said but You get"


def test_the_phrase_is_the_payments_own() -> None:
    now = confirmed().frozen_at
    one, other = confirmed(), confirmed(memo="8")
    first, second = Look(one, now, now, (), True), Look(other, now, now, (), True)
    assert first.phrase != second.phrase
    assert first.phrase.endswith(one.fingerprint[:4])
    assert first.said == "No order since then is this one."


async def test_what_a_start_still_looks_for_is_not_given_up_meanwhile(
    trade: World, lost: Intent
) -> None:
    """Else its order would be found a moment after the same payment was asked for again."""
    candidates = by_hand(trade)
    look = await candidates.look(lost.id)
    asked, go = asyncio.Event(), asyncio.Event()
    trade.network.gate = (asked, go)
    starting = asyncio.create_task(resume(trade.journal, trade.flow))
    await asked.wait()
    with pytest.raises(CandidateRefused, match="looked for at this moment"):
        candidates.give_up(look, look.phrase)
    with pytest.raises(CandidateRefused, match="looked for at this moment"):
        await candidates.choose(look, look.candidates[0].service_id)
    go.set()
    report = await starting
    assert [found.id for found, _ in report.found] == [lost.id]
    with pytest.raises(CandidateRefused, match="known by now"):
        candidates.give_up(look, look.phrase)


SINCE = NOW - timedelta(seconds=10)


SAME, POSSIBLE, NOT_IT = True, None, False
ENDS = intent().valid_until
OURS, THEIRS = derive_address("bitcoin", b"o" * 32), derive_address("bitcoin", b"t" * 32)
AT_FIXED = {"fixed": True}


@each_row(
    ("asked", "change", "verdict"),
    [
        ({}, {}, SAME),
        ({}, {"created": SINCE - timedelta(seconds=1)}, NOT_IT),
        ({}, {"in_token_id": "f" * 24}, NOT_IT),
        ({}, {"out_token_id": BTC.id}, NOT_IT),
        ({}, {"receiver_address": derive_address("evm", b"o" * 32)}, NOT_IT),
        ({}, {"receiver_tag": "7"}, NOT_IT),
        ({}, {"anonymous": True}, NOT_IT),
        ({}, {"in_amount": Decimal("0.4")}, NOT_IT),
        # What is absent leaves it possible.
        ({}, {"created": None}, POSSIBLE),
        ({}, {"in_token_id": None}, POSSIBLE),
        ({}, {"out_token_id": None}, POSSIBLE),
        ({}, {"receiver_address": None}, POSSIBLE),
        ({}, {"anonymous": None}, POSSIBLE),
        ({}, {"in_amount": None}, POSSIBLE),
        # Made after the quote ended, it may be another home's.
        ({}, {"created": ENDS + SKEW}, SAME),
        ({}, {"created": ENDS + SKEW + timedelta(seconds=1)}, POSSIBLE),
        # The rate tells two payments apart where it is said; a fixed one promised one output.
        (AT_FIXED, {"fixed": True}, SAME),
        (AT_FIXED, {"fixed": False}, NOT_IT),
        (AT_FIXED, {}, POSSIBLE),
        ({}, {"fixed": True}, NOT_IT),
        (AT_FIXED, {"fixed": True, "out_amount": intent().amount_out + 1}, POSSIBLE),
        (AT_FIXED, {"fixed": True, "out_amount": None}, POSSIBLE),
        ({}, {"out_amount": Decimal(1)}, SAME),
        # Another refund address is the payment of another home.
        ({"refund_address": OURS}, {}, SAME),
        ({"refund_address": OURS}, {"refund_address": None}, SAME),
        ({"refund_address": OURS}, {"refund_address": THEIRS}, NOT_IT),
        ({}, {"refund_address": THEIRS}, NOT_IT),
    ],
)
def test_what_contradicts_decides_and_what_is_absent_does_not(
    asked: dict[str, Any], change: dict[str, Any], verdict: bool | None
) -> None:
    wanted = intent(**asked)
    assert match(wanted, order(wanted, **change), since=SINCE) is verdict


def test_the_smallest_order_a_service_gives_is_possible() -> None:
    smallest = Order(service_id="h8Kq2P", created=NOW, status=0, in_amount=Decimal("0.5"))
    assert match(intent(memo="7"), smallest, since=SINCE) is POSSIBLE


def test_a_stated_output_is_the_same_payment_whatever_a_quote_asks_for_it() -> None:
    stated = intent(fixed=True, receive=True, amount_out=Decimal(2))
    again = intent(fixed=True, receive=True, amount_out=Decimal(2), amount_in=Decimal("0.6"))
    assert stated.fingerprint == again.fingerprint
    assert stated.fingerprint != intent(amount_in=Decimal(2)).fingerprint
    assert intent().fingerprint != intent(amount_in=Decimal("0.6")).fingerprint


ORDER = order()


def named(journal: Journal) -> str | None:
    return create_request(journal.ledger, ORDER.service_id)


async def test_the_request_of_a_create_that_was_answered_is_kept(trade: World) -> None:
    answered: list[str] = []

    trade.network.after = on(
        "POST", lambda _, response: answered.append(response.headers["x-request-id"])
    )
    outcome = await trade.created()
    assert [create_request(trade.journal.ledger, outcome.order.service_id)] == answered
    assert answered[0]


def unsafe(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    response.headers["x-request-id"] = "r\u202e1".encode().decode("latin-1")
    return response


@pytest.mark.parametrize("after", [unsafe, lose_answer])
async def test_a_name_that_is_unsafe_or_was_lost_is_not_kept(trade: World, after: After) -> None:
    trade.network.after = after
    outcome = await trade.created()
    assert create_request(trade.journal.ledger, outcome.order.service_id) is None


def test_what_the_failed_answer_was_called_stays_when_its_order_is_found(journal: Journal) -> None:
    one = intent()
    begin_create(journal.ledger, one, "digest")
    journal.ledger.move(one.id, State.SENT)
    journal.ledger.move(one.id, State.UNKNOWN, code="HTTP_502", status=502, request_id="r-502")
    become_order(journal, one.id, ORDER, source="list", verdict=UNREPEATED)
    assert named(journal) == "r-502"


def test_the_steps_of_a_swap_that_follow_are_not_its_create(journal: Journal) -> None:
    one = intent()
    begin_create(journal.ledger, one, "digest")
    become_order(journal, one.id, ORDER, source="create", verdict=UNREPEATED, request_id="r-1")
    journal.ledger.begin("swap", {}, parent=one.id, state=State.SENT, hash="0xab", request_id="r-2")
    assert named(journal) == "r-1"


def test_a_call_by_hand_is_named_and_a_payment_is_not(journal: Journal) -> None:
    paid = begin_payment(journal.ledger, ORDER.service_id, "faucet", b"{}")
    journal.ledger.move(paid.id, State.UNKNOWN, code="NO_ANSWER", request_id="r-pay")
    assert named(journal) is None
    made = journal.ledger.begin("call", {}, state=State.SENT)
    journal.call_created(made.id, ORDER, status=200, request_id="r-9")
    assert named(journal) == "r-9"
