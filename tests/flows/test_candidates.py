"""Settling an unknown outcome by hand: compare, choose, or give up after a whole look."""

from __future__ import annotations

import asyncio

import httpx2
import pytest
from msgspec.structs import replace

from flows.orders import intent as confirmed
from flows.orders import order as ordered
from swapdesk.flows.creation.candidates import (
    UNSAID,
    CandidateRefused,
    Candidates,
    Look,
    OrderCandidate,
    compared,
)
from swapdesk.flows.creation.order_verification import Created, CreateUnknown
from swapdesk.flows.creation.resume import resume
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal_records import IntentState, StepState
from swapdesk.wire.orders import ExchangeRequest
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
    sent = trade.step(intent.id)
    assert sent.server_at is not None
    outcome = await trade.flow.resolve(intent, sent.server_at, ())
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
    entry = trade.journal.intents.get(intent.id)
    step = trade.journal.intents.step(intent.id)
    assert entry.state is IntentState.CREATED
    assert step.state is StepState.RESOLVED_YES
    assert trade.journal.intents.unfinished() == []
    assert trade.network.posts() == 2
    with pytest.raises(CandidateRefused, match="known by now"):
        await candidates.choose(look, twin)


async def test_an_order_made_after_the_quote_ended_is_not_taken_for_ours(trade: World) -> None:
    intent = await unknown(trade)
    trade.clock.advance(120)
    twin = await twin_of(trade, intent)
    look = await by_hand(trade).look(intent.id)
    assert [one.certain for one in look.candidates] == [True, False]
    assert look.candidates[1].service_id == twin
    sent = trade.step(intent.id)
    assert sent.server_at is not None
    outcome = await trade.flow.resolve(intent, sent.server_at, ())
    assert isinstance(outcome, Created)
    assert outcome.order.service_id == look.candidates[0].service_id


async def test_only_an_order_that_was_found_can_be_chosen(trade: World) -> None:
    intent = await unknown(trade)
    look = await by_hand(trade).look(intent.id)
    with pytest.raises(CandidateRefused, match="none of the orders found"):
        await by_hand(trade).choose(look, "nothing-here")


async def test_giving_up_needs_a_whole_fresh_look_and_the_phrase(trade: World) -> None:
    intent = await unknown(trade)
    candidates = by_hand(trade)
    look = await candidates.look(intent.id)
    with pytest.raises(CandidateRefused, match="Not the same"):
        candidates.give_up(look, "give up")
    with pytest.raises(CandidateRefused, match="did not see every order"):
        candidates.give_up(replace(look, complete=False), look.phrase)
    trade.clock.advance(601)
    with pytest.raises(CandidateRefused, match="too old"):
        candidates.give_up(look, look.phrase)
    again = await candidates.look(intent.id)
    candidates.give_up(again, again.phrase)
    entry = trade.entry(intent.id)
    assert entry.state is IntentState.ABANDONED
    assert trade.journal.intents.unfinished() == []
    trade.journal.intents.add(replace(intent, id="again"), "create", "digest")


async def test_an_order_the_service_forgot_can_still_be_given_up(trade: World) -> None:
    intent = await unknown(trade)
    trade.clock.advance(49 * 3600)
    candidates = by_hand(trade)
    look = await candidates.look(intent.id)
    assert not look.complete
    assert look.said.startswith("The service does not list every order since then any more")
    candidates.give_up(look, look.phrase)
    assert trade.journal.intents.unfinished() == []


async def test_a_service_that_cannot_be_asked_settles_nothing(trade: World) -> None:
    intent = await unknown(trade)
    trade.network.after = gone
    with pytest.raises(CandidateRefused, match="could not be asked"):
        await trade.over_time(by_hand(trade).look(intent.id))


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


async def test_what_a_start_still_looks_for_is_not_given_up_meanwhile(trade: World) -> None:
    """Else its order would be found a moment after the same payment was asked for again."""
    intent = await unknown(trade)
    candidates = by_hand(trade)
    look = await candidates.look(intent.id)
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
    assert [found.id for found, _ in report.found] == [intent.id]
    with pytest.raises(CandidateRefused, match="known by now"):
        candidates.give_up(look, look.phrase)
