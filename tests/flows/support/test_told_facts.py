"""What is told of amounts and times agrees in every line: an amount only where somebody stated it,
an event at the time it happened, what is old as old.

Orders are reckoned by the service's clock, and what an order takes counts from its deposit.
"""

from __future__ import annotations

import json
import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from flows.following import sighted, tracker_of
from flows.orders import DEPOSIT, NOW, created_here, intent, order
from flows.support.cases import (
    ACT,
    COIN,
    DONE,
    EXCHANGING,
    EXPIRED,
    FAILED,
    HASH,
    REFUND,
    paid,
    sent,
)
from flows.support.cases import place_of as place_for_support
from flows.support.searching import support_desk
from rows import each_row
from swapdesk.cli.order_reports import order_document, order_facts, order_row
from swapdesk.client.chain_lookup import ChainTransaction, Payment
from swapdesk.clock import ManualClock
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.connection import Connection
from swapdesk.flows.deposits.funding import not_payable
from swapdesk.flows.desk import Desk
from swapdesk.flows.intents.intent import TokenFacts
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.order_export import export_rows
from swapdesk.flows.orders.order_history import happened, legs_of, updates_of
from swapdesk.flows.orders.order_status import order_status, time_at
from swapdesk.flows.orders.order_transactions import PaidOnChain
from swapdesk.flows.orders.situations import (
    LAST_HEARD,
    PAYMENT_AS_ASKED,
    SITUATIONS,
    WAITING,
    Certainty,
)
from swapdesk.flows.orders.tracked_order import KNOWN_TO_API, TrackedOrder
from swapdesk.flows.support.case_file import case_file
from swapdesk.flows.support.order_search import paid_by
from swapdesk.flows.support.support_case import (
    CaseFacts,
    SupportCase,
    case_sentence,
    facts_of,
    for_support,
)
from swapdesk.flows.tracking.open_business import recent_events
from swapdesk.flows.tracking.tracking import Tracker
from swapdesk.flows.webhooks import document
from swapdesk.paths import private_directory, write_private
from swapdesk.settings import load_settings
from tui.desk_run import Market, market
from world import FIRST_KEY, SECOND_KEY, URL

__all__ = ["market"]

OLD = NOW + timedelta(hours=51)
STATES: dict[str, dict[str, Any]] = {
    "waiting": {},
    "seen": {"display_status": "DEPOSIT_DETECTED", "in_status": 2},
    "ahead": {"in_status": 2},
    "exchanging": EXCHANGING,
    "held": {**EXCHANGING, "in_status": 8},
    "flagged": {**EXCHANGING, **ACT},
    "returned": {**EXCHANGING, "in_status": 7},
    "expired": EXPIRED,
    "came late": {**EXPIRED, "in_status": 2, "refund_address": REFUND},
    "late and stuck": {**EXPIRED, **ACT},
    "failed": FAILED,
    "failed after": {**FAILED, "in_status": 3, "refund_address": REFUND},
    "failed and stuck": {**FAILED, **ACT},
    "not refundable": {**FAILED, **ACT, "non_refundable": True},
    "completed": DONE,
    "paid less": {**DONE, "out_amount": Decimal("8.7")},
    "deleted": {"display_status": "DELETED"},
    "deleted after": {"display_status": "DELETED", "in_status": 3},
    "not said": {"display_status": None, "status": None},
}
AMOUNTS = st.integers(1, 10**6).map(lambda units: Decimal(units).scaleb(-5))


@st.composite
def payments(draw: st.DrawFn) -> PaidOnChain:
    at = NOW + timedelta(minutes=draw(st.sampled_from([3, 40])))
    waits = draw(st.sampled_from([False, False, False, True]))
    return paid(
        str(draw(AMOUNTS)),
        hash=draw(st.sampled_from(["a" * 64, "b" * 64, "c" * 64])),
        at=None if waits else at,
        confirmations=None if waits else 3,
        token_id=draw(st.sampled_from([COIN.id, COIN.id, COIN.id, "f" * 24])),
    )


@given(
    asked=AMOUNTS,
    shown=st.lists(payments(), max_size=3, unique_by=lambda one: one.hash),
    state=st.sampled_from(sorted(STATES)),
    refund=st.none() | AMOUNTS,
    now=st.sampled_from([NOW + timedelta(minutes=6), NOW + timedelta(minutes=50), OLD]),
)
def test_no_amount_is_told_that_nobody_stated_and_all_lines_agree(
    asked: Decimal, shown: list[PaidOnChain], state: str, refund: Decimal | None, now: Any
) -> None:
    """Whatever was asked for and paid: less, more, too late, twice, or in another token."""
    facts = {"in_amount": asked, "in_token": COIN, "in_token_id": COIN.id, **STATES[state]}
    if refund is not None and state == "completed":
        facts |= {"display_status": "REFUNDED", "in_status": 7, "refund_amount": refund}
    one = TrackedOrder(
        order(**facts), None, None, False, NOW, "read", payments=tuple(shown)
    )  # fmt: skip
    case, row = SupportCase.of(CaseFacts(now, one)), order_status(one, now)
    found, line = case.diagnosis, case_sentence(case)

    assert found.money in line
    assert found.cause in line
    assert case.facts.status.certainty is found.certainty
    assert row.certainty is found.certainty
    unsent = ", if you sent nothing." if row.money == "in your wallet." else ""
    money = for_support(row.money.removesuffix(".") + unsent if unsent else row.money)
    assert place_for_support(f"{money[:1].upper()}{money[1:]}") == place_for_support(found.money)

    sums: dict[object, Decimal] = {}
    for each in shown:
        kind = (each.token_id, each.confirmations)
        sums[kind] = sums.get(kind, Decimal(0)) + (each.amount or 0)
    document = order_document(one, now)
    told = [
        row.told, row.money, row.place, row.next, document.status.money, document.status.told,
        line, found.cause, found.money, found.acts, case.reply,
    ]  # fmt: skip
    for text in told:
        _amounts_are_stated(text, asked, set(sums.values()), refund)
    # What the order asked for less what came back was kept by nobody, as far as anybody knows.
    (exported,) = export_rows([one], now, {})
    assert exported["refundKept"] in (
        None,
        *(max(Decimal(0), each - (refund or 0)) for each in sums.values()),
    )
    for label, value in order_facts(one, now):
        if label == "You sent":
            assert Decimal(value.split()[0].replace(",", "")) in sums.values()


def _amounts_are_stated(
    text: str, asked: Decimal, sums: set[Decimal], refund: Decimal | None
) -> None:
    for found in re.finditer(r"(\d[\d.,]*) BTC", text):
        amount, before, after = (
            Decimal(found[1].replace(",", "")),
            text[: found.start()],
            text[found.end() :],
        )
        if before.endswith("provider kept "):
            assert any(amount == each - (refund or 0) for each in sums), text
        elif after.startswith(" less than the order asked for"):
            assert amount == asked - (refund or 0), text
        elif amount in sums or amount == refund:
            continue
        else:
            assert amount == asked, text
            # The head of the line says what is swapped; else it is said that this was asked for.
            head = re.search(r"Order \w+, $", before)
            assert head or re.search(
                r"(order over|asked for|less than the|more than the|your payment of|payment of) $",
                before,
            ), text


def test_one_who_paid_less_and_too_late_is_told_what_arrived() -> None:
    late = paid("0.055", at=NOW + timedelta(minutes=40))
    facts = {"in_amount": Decimal("0.09"), "in_token": COIN, "in_token_id": COIN.id}
    one = TrackedOrder(order(**facts, **EXPIRED, **ACT), None, None, False, NOW, "read")
    now = NOW + timedelta(minutes=50)
    before = SupportCase.of(CaseFacts(now, one))
    assert before.diagnosis.money == "With the service, after the deadline."
    assert "\nYour payment came after the time for it had run out." in before.reply
    after = SupportCase.of(CaseFacts(now, replace(one, payments=(late,))))
    assert after.diagnosis.money == "0.055 BTC, with the service, after the deadline."
    assert after.diagnosis.cause.startswith(
        "0.055 BTC arrived on Bitcoin; the order asked for 0.09 BTC on Bitcoin. "
    )
    assert "\nYou sent 0.055 BTC; your order asked for 0.09 BTC. Your 0.055" in after.reply


def test_what_this_desk_sent_counts_with_what_a_customer_sent_beside_it() -> None:
    own = sent("confirmed")
    of = intent(token_in=TokenFacts.of(COIN))
    state = order(of, in_token=COIN)
    one = TrackedOrder(state, of, None, False, NOW, "read", own_payment=own[0])
    now = NOW + timedelta(minutes=6)
    assert order_status(one, now).situation is SITUATIONS["paid by desk"]
    other = replace(one, payments=(paid(hash="c" * 64),))
    for made in (own, ()):
        both = order_status(other, now, made)
        assert both.situation is SITUATIONS["payment too much"]
        assert both.money == "1 BTC at the deposit address on Bitcoin."
    # The same transaction, looked up by its hash, is one payment.
    same = order_status(replace(one, payments=(paid(hash=HASH),)), now, own)
    assert same.situation is PAYMENT_AS_ASKED


def test_an_order_that_a_chain_shows_as_paid_or_nobody_knows_is_not_offered_to_be_paid() -> None:
    now = NOW + timedelta(minutes=6)
    one = TrackedOrder(order(), intent(), None, False, NOW, "read")
    assert order_status(one, now).payable
    assert not_payable(one, now) is None
    for changed in (replace(one, payments=(paid("0.1"),)), replace(one, gone=True)):
        assert not order_status(changed, now).payable
        assert not_payable(changed, now)


@each_row(("stated", "amount"), [(None, "12"), (6, "12"), (18, "0.000000000012")])
def test_what_arrived_counts_by_the_decimals_of_its_chain(
    catalog: Catalog, stated: int | None, amount: str
) -> None:
    """The list is the service's word: one that is wrong in it tells a million times as much."""
    usdc = next(row for row in catalog.rows_of_symbol("USDC") if row.chain == "base")
    payment = Payment(DEPOSIT, 12_000_000, usdc.contract, decimals=stated)
    found = ChainTransaction("base", HASH, (payment,), 3)
    [paid_there] = paid_by(found, catalog, NOW)
    assert (paid_there.symbol, paid_there.amount) == ("USDC", Decimal(amount))


async def test_a_payment_that_was_found_by_its_hash_stays_with_its_order(market: Market) -> None:
    async with support_desk(market) as support:
        made = await support.make("0.09")
        await support.find(made.service_id)
        search = support.look(HASH)
        short = paid(
            "0.055", to=made.deposit_address, token_id=made.in_token.id,
            at=made.expires + timedelta(minutes=3),
        )  # fmt: skip
        search.payments.append(short)
        search._match_payments()
        [listed] = support.desk.link.tracker.orders()
        assert order_row(listed, market.clock.now())[1] == "Came too late"
    # Another desk of this home, later, by the id alone.
    async with support_desk(market) as support:
        assert set(support.look(made.service_id).found) == {made.service_id}
        assert set(support.look(HASH).found) == {made.service_id}
        facts = facts_of(support.desk, made.service_id)
        case = SupportCase.of(facts)
        assert case.diagnosis.rule == "payment-late"
        assert case.diagnosis.money == "0.055 BTC at the deposit address on Bitcoin."
        assert "Your 0.055 BTC arrived after the time to pay" in case.reply
        sheet = case_file(facts, program={}).record.sheet
        assert (sheet.rule, sheet.money) == (
            "payment-late",
            "••• BTC at the deposit address on Bitcoin.",
        )
        document = order_document(facts.tracked, facts.at)
        assert document.status.word == "Came too late"
        assert document.status.money == "0.055 BTC at the deposit address on Bitcoin."


def test_a_node_that_is_behind_takes_no_payment_out_of_its_block(
    journal: Journal, clock: ManualClock
) -> None:
    made = order()
    created_here(journal, made)
    known = tracker_of(journal, clock)
    for answer, kept in ((None, None), (3, 3), (None, 3), (9, 9)):
        known.keep_payment(made.service_id, paid(confirmations=answer))
        tracked = known.recall(made.service_id)
        assert [one.confirmations for one in tracked.payments] == [kept]


# What was heard long ago


@each_row("facts", [{**EXCHANGING, "in_status": 8}, {**FAILED, **ACT}, {}])
def test_what_the_service_cannot_be_asked_any_more_is_told_as_of_when_it_was_heard(
    facts: dict[str, Any],
) -> None:
    one = TrackedOrder(order(**facts), None, None, False, NOW, "journal")
    case, row = SupportCase.of(CaseFacts(OLD, one)), order_status(one, OLD)
    found, at = case.diagnosis, "20 Nov 14:02"
    assert found.certainty is row.certainty is Certainty.NOT_KNOWN
    assert found.cause.startswith(f"As of {at} UTC: ")
    assert "over the expected time" not in found.cause
    assert found.money.startswith(f"As of {at} UTC, ")
    assert found.acts.startswith("you: pass it to the service with order ")
    assert f"at {at} UTC" in case.reply
    assert "We ask the exchange service what became of it" in case.reply
    assert "holds" not in case.reply
    document, cells = order_document(one, OLD), order_row(one, OLD)
    assert document.status.word == cells[1] == row.word == f"As of {at}"
    assert document.status.money.startswith(f"as of {at} UTC, ")
    assert document.status.next == row.next == cells[-1]
    assert row.next.startswith("you: write to support with order ")
    assert (row.payable, row.left, row.late_by, row.time.text) == (False, None, None, f"as of {at}")
    # An answer that has just come is of now, however old the order is.
    fresh = order_status(replace(one, seen_at=OLD), OLD)
    assert fresh.situation is not LAST_HEARD


def test_an_end_that_cannot_change_stays_certain() -> None:
    for facts in (DONE, EXPIRED, {"display_status": "REFUNDED", "refund_amount": Decimal("0.4")}):
        one = TrackedOrder(order(**facts), None, None, False, NOW, "journal")
        assert order_status(one, OLD).situation is not LAST_HEARD


def test_a_row_on_the_screen_grows_old_with_its_order() -> None:
    one = TrackedOrder(order(**EXCHANGING), None, None, False, NOW, "journal")
    last = NOW + KNOWN_TO_API
    said = order_status(one, last)
    assert said.situation is SITUATIONS["exchanging"]
    assert time_at(said, one, last) is not None
    assert time_at(said, one, last + timedelta(seconds=1)) is None


async def test_an_order_of_another_partner_is_not_told_as_it_stands_now(market: Market) -> None:
    async with support_desk(market) as support:
        made = await support.make()
        await support.find(made.service_id)
        market.clock.advance(180)
    async with support_desk(market, SECOND_KEY) as support:
        link = support.desk.link
        await support.in_time(link.tracker.load_past())
        await support.in_time(link.tracker.sweep())
        [listed] = link.tracker.orders()
        assert order_status(listed, market.clock.now()).situation is LAST_HEARD
    for credentials, situation in (
        (SECOND_KEY, LAST_HEARD),
        (FIRST_KEY, WAITING),
    ):
        async with support_desk(market, credentials) as support:
            tracker = support.desk.link.tracker
            assert tracker.recall(made.service_id) is not None
            await support.in_time(tracker.read(made.service_id))
            case = SupportCase.of(facts_of(support.desk, made.service_id))
            assert case.facts.status.situation is situation


# When it happened, and how long it takes

MINUTE = timedelta(minutes=1)
SLOW = timedelta(seconds=100)
"""Less than what stops a live desk from creating."""


async def test_a_live_desk_whose_clock_is_slow_reckons_orders_by_the_service(
    market: Market,
) -> None:
    async with support_desk(market) as support:
        made = await support.make()
    write_private(market.home / "secret", b"first-secret")
    (market.home / "config.toml").write_text(
        f'[profiles.main]\nurl = "{URL}"\nkey = "first-key"\nsecret_file = "secret"\n'
    )
    settings = load_settings({"SWAPDESK_PROFILE": "main"}, market.settings.home)
    private_directory(settings.places.root)
    write_private(settings.places.catalog, market.known)
    mine = ManualClock(market.clock.now() - SLOW)
    desk = Desk.open(settings, clock=mine, transport=market.network)
    await desk.connect(Connection(URL, FIRST_KEY, "first"), follow=False)
    try:
        tracked = await desk.link.tracker.read(made.service_id)
        # Half a minute after the deadline, which the machine has still to come to.
        mine.advance((made.expires - market.clock.now()).total_seconds() + 30)
        assert desk.clock.now() < made.expires < desk.service_clock.now()
        status = order_status(tracked, desk.service_clock.now())
        assert (status.word, status.payable) == ("Deadline over", False)
        assert desk.deposit_ways.refusal(tracked) is not None
        facts = facts_of(desk, made.service_id)
        assert facts.status.word == "Deadline over"
        # No event before its order.
        [event] = desk.journal.orders.history.beyond(0, 10)
        told = json.loads(document(event, withheld=None))
        assert told["timestamp"] >= told["data"]["order"]["created"]
        assert told["data"]["seenAt"] >= told["timestamp"]
    finally:
        await desk.close()


@each_row(
    ("facts", "at"),
    [
        ({"modified": NOW + 3 * MINUTE}, 3),
        # A service that keeps no time of changes, one that says none, and one that is ahead.
        ({"modified": NOW}, 9),
        ({"modified": None}, 9),
        ({"modified": NOW + 60 * MINUTE}, 9),
        ({"modified": NOW + 5 * MINUTE, "order_finished_received": NOW + 4 * MINUTE}, 4),
        ({"display_status": "WAITING_FOR_DEPOSIT", "modified": NOW}, 0),
        ({"display_status": "WAITING_FOR_DEPOSIT", "modified": NOW - MINUTE}, 0),
        ({"created": None, "modified": NOW + 3 * MINUTE}, 3),
    ],
)
def test_an_event_is_told_at_the_time_it_happened(facts: dict[str, Any], at: int) -> None:
    one = order(**{"display_status": "EXCHANGE_IN_PROGRESS", "in_status": 3, **facts})
    seen = NOW + 9 * MINUTE
    assert happened(one, seen) == NOW + at * MINUTE
    [update] = updates_of([(seen, "list", one)])
    assert (update.happened, update.at) == (NOW + at * MINUTE, seen)


PASSED = (
    (1, "WAITING_FOR_DEPOSIT", 1, 0),
    (21, "DEPOSIT_DETECTED", 2, 20),
    (24, "EXCHANGE_IN_PROGRESS", 3, 23),
)
"""Minute in which it was seen, state, leg, minute in which it was written."""


def followed(journal: Journal, clock: ManualClock, *passed: tuple[int, str, int, int]) -> Tracker:
    """A tracker that begins once all of these were seen."""
    known = tracker_of(journal, clock)
    for seen, display, leg, written in passed:
        clock.advance((NOW + seen * MINUTE - clock.now()).total_seconds())
        # The time that the deposit took to come is added (contract 8.17).
        eta = 14 if leg == 1 else 34
        state = order(
            display_status=display, in_status=leg, modified=NOW + written * MINUTE, eta=eta
        )
        journal.orders.record([(sighted(known, state).order, "stream", False)])
    return tracker_of(journal, clock)


def test_what_an_order_takes_counts_from_its_deposit(journal: Journal, clock: ManualClock) -> None:
    known = followed(journal, clock, *PASSED)
    clock.advance(120)
    [tracked] = known.orders()
    assert tracked.paid_at == NOW + 20 * MINUTE
    status = order_status(tracked, clock.now())
    assert (status.elapsed, status.expected, status.late_by) == (6 * MINUTE, 14 * MINUTE, None)
    assert status.time.text == "6m of ~14m"
    done = tracked.order.model_copy(
        update={
            "display_status": "SWAP_COMPLETED",
            "in_status": 5,
            "order_finished_received": NOW + 31 * MINUTE,
            "out_amount": None,
        }
    )
    over = sighted(tracker_of(journal, clock), done, "read")
    assert order_status(over, NOW + 40 * MINUTE).time.text == "took 11m"
    # One that says no other expected time than before means it from the deposit on.
    late = tracked.order.model_copy(update={"eta": 14})
    assert order_status(sighted(known, late, "read"), clock.now()).late_by is None
    legs = legs_of(tracked.order, journal.orders.history.of(tracked.service_id), clock.now())
    assert [step.at for step in legs[0].steps[1:3]] == [NOW + 20 * MINUTE, NOW + 23 * MINUTE]
    assert [one.at for one in recent_events(journal, 3)] == [
        NOW + minute * MINUTE for minute in (23, 20, 0)
    ]


def test_a_deposit_that_nobody_saw_come_has_no_time(journal: Journal, clock: ManualClock) -> None:
    [tracked] = followed(journal, clock, PASSED[2]).orders()
    assert (tracked.paid_at, tracked.begun) == (None, NOW)
