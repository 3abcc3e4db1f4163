"""Which order an intent became: what contradicts decides, the user compares, chooses or gives up
after a whole look, and support gets the request that created it."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec.structs import replace

from flows import old_journals
from flows.faulty_network import After, lose_answer, on
from flows.orders import BTC, NOW, created_batch, created_here, intent, order
from flows.orders import intent as confirmed
from flows.orders import order as ordered
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.clock import ManualClock
from swapdesk.flows.creation.creates import become_order, begin_create, open_creates
from swapdesk.flows.creation.order_verification import (
    SKEW,
    Created,
    CreateUnknown,
    match,
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
from swapdesk.flows.intents.intent import UNREPEATED, Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.payments import begin_payment
from swapdesk.flows.support.support_case import create_request
from swapdesk.wire.exchanges import ExchangeRequest
from swapdesk.wire.orders import Order
from world import World


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


SAME, POSSIBLE, OTHER = True, None, False
ENDS = intent().valid_until
OURS, THEIRS = derive_address("bitcoin", b"o" * 32), derive_address("bitcoin", b"t" * 32)
FIXED = {"fixed": True}


@pytest.mark.parametrize(
    ("asked", "change", "verdict"),
    [
        ({}, {}, SAME),
        ({}, {"created": SINCE - timedelta(seconds=1)}, OTHER),
        ({}, {"in_token_id": "f" * 24}, OTHER),
        ({}, {"out_token_id": BTC.id}, OTHER),
        ({}, {"receiver_address": derive_address("evm", b"o" * 32)}, OTHER),
        ({}, {"receiver_tag": "7"}, OTHER),
        ({}, {"anonymous": True}, OTHER),
        ({}, {"in_amount": Decimal("0.4")}, OTHER),
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
        (FIXED, {"fixed": True}, SAME),
        (FIXED, {"fixed": False}, OTHER),
        (FIXED, {}, POSSIBLE),
        ({}, {"fixed": True}, OTHER),
        (FIXED, {"fixed": True, "out_amount": intent().amount_out + 1}, POSSIBLE),
        (FIXED, {"fixed": True, "out_amount": None}, POSSIBLE),
        ({}, {"out_amount": Decimal(1)}, SAME),
        # Another refund address is the payment of another home.
        ({"refund_address": OURS}, {}, SAME),
        ({"refund_address": OURS}, {"refund_address": None}, SAME),
        ({"refund_address": OURS}, {"refund_address": THEIRS}, OTHER),
        ({}, {"refund_address": THEIRS}, OTHER),
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


def test_an_order_of_a_batch_was_created_by_the_request_of_its_group(journal: Journal) -> None:
    created_batch(journal, "a" * 32, "kXb7PqLmN4sTvWzYcDfGhJ", ORDER.service_id, request_id="r-7")
    assert named(journal) == "r-7"


def test_a_call_by_hand_is_named_and_a_payment_is_not(journal: Journal) -> None:
    paid = begin_payment(journal.ledger, ORDER.service_id, "faucet", b"{}")
    journal.ledger.move(paid.id, State.UNKNOWN, code="NO_ANSWER", request_id="r-pay")
    assert named(journal) is None
    made = journal.ledger.begin("call", {}, state=State.SENT)
    journal.call_created(made.id, ORDER, status=200, request_id="r-9")
    assert named(journal) == "r-9"


def test_orders_without_a_known_request_name_none(journal: Journal, tmp_path: Path) -> None:
    assert named(journal) is None
    created_here(journal, ORDER)
    assert named(journal) is None
    old = Journal.open(old_journals.written(tmp_path / "old" / "journal.db"), ManualClock(NOW))
    assert create_request(old.ledger, "oldPaidByFaucet1") is None
    old.close()
