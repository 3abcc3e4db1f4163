"""What is open when a desk ends or begins: orders, creates without an answer, bundles."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta

import pytest

from flows.faulty_network import never_arrives
from flows.orders import NOW, intent
from swapdesk.acts import State
from swapdesk.clock import ManualClock
from swapdesk.flows.batch.bundles import (
    Bundle,
    accept_bundle,
    add_bundle,
    begin_withdrawal,
    move_bundle,
    sign_bundle,
)
from swapdesk.flows.batch.group_payment import begin_group, groups_left_open, standing_of
from swapdesk.flows.batch.progress import Until
from swapdesk.flows.creation.creates import begin_create, intent_of
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import Ledger
from swapdesk.flows.signing.signing_session import RunningSignings
from swapdesk.flows.tracking.open_business import quit_warning
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.tui.app import AGAIN_SECONDS, LeavingGuard, brief_warning
from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.screens.order import OrderScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.unfinished import CandidatesScreen, UnfinishedScreen
from swapdesk.tui.session import LiveGuard
from tui.desk_run import DeskRun, Market
from tui.known_orders import exchanging, prepare, waiting
from tui.lost_create import looked_for_in_vain, unheard
from tui.scenes.batch import bundled, fund


def test_the_first_key_tells_and_the_second_one_leaves() -> None:
    clock = ManualClock()
    guard = LeavingGuard(clock)
    assert guard.refusal(None) is None
    assert guard.refusal("one order") == "one order"
    # A warning that is gone or different is told again.
    clock.advance(AGAIN_SECONDS + 1)
    assert guard.refusal("one order") == "one order"
    assert guard.refusal("two orders") == "two orders"
    assert guard.refusal("two orders") is None


async def test_q_with_open_orders_has_its_key_in_view_on_small_screens(market: Market) -> None:
    prepare(market, [waiting(market.clock), exchanging(market.clock)])
    async with market.ready_desk() as run:
        for small in ((60, 15), (80, 24), (80, 30)):
            await run.pilot.resize_terminal(*small)
            await run.press("q", sees="▲ 1 order waits for you. q quits.")
            # So late it is told again.
            market.clock.advance(AGAIN_SECONDS + 1)
            run.app.screen.clear_notice()
            await run.settle(lambda: "q quits" not in run.text, "no warning")
        await run.pilot.resize_terminal(100, 30)
        await run.press(
            "q",
            sees="1 order waits for you. It goes on without the desk and is here when you come"
            " back.",
        )
        assert run.app.is_running
        await run.press("q")
        assert run.app.return_value == 0


def test_the_brief_warning_keeps_what_is_open_and_the_key() -> None:
    creating = quit_warning([], NOW, creating=True)
    assert brief_warning(creating) == "An order is being created. q quits."


def unfinished(market: Market, *, sent: bool) -> None:
    """An intent that an earlier run left open, by a process that is gone."""
    places = load_settings({}, Home.at(market.home)).places
    places.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    clock = ManualClock(market.clock.now() - timedelta(minutes=5))
    journal = Journal.open(places.journal, clock)
    left = intent(valid_until=NOW + timedelta(minutes=1))
    begin_create(journal.ledger, left, "0" * 64)
    if sent:
        journal.ledger.move(left.id, State.SENT, server_at=clock.now())
    journal.close()


@pytest.mark.parametrize("sent", [True, False], ids=["sent", "prepared"])
async def test_what_was_never_created_is_said_at_the_start(market: Market, sent: bool) -> None:
    unfinished(market, sent=sent)
    async with market.desk() as run:
        await run.later("Unfinished business", 5)
        assert "0.5 BTC to ETH, standard" in run.text
        assert "The service shows no such order. Nothing was paid." in run.text
        assert "Next you: go on" in run.text
        await run.press("enter")
        assert isinstance(run.app.screen, UnfinishedScreen)
        await run.press("o", sees="No orders yet.")


async def test_nothing_is_created_before_the_word(market: Market) -> None:
    async with market.desk() as run:
        run.app.session.live_guard = LiveGuard(live=True)
        await run.to_frozen()
        await run.press("c", sees="This is LIVE")
        await run.enter("Live", sees='Not the same: type "live".')
        await run.press("escape", to=CreateScreen)
        assert not any(call.startswith("POST") for call in market.network.seen)
        await run.press_still("c", sees="This is LIVE")
        await run.enter("live")
        await run.settle(lambda: type(run.app.screen).__name__ == "DepositScreen", "the card")
        assert sum(call.startswith("POST") for call in market.network.seen) == 1
        assert not run.app.session.live_guard.asks


async def to_unknown(market: Market, run: DeskRun) -> str:
    """A create that was carried out, and no answer for the whole look; its intent id."""
    await run.to_frozen()
    market.network.after = unheard
    await run.press("c", sees="The service did not answer.")
    intent = await looked_for_in_vain(run)
    market.network.after = None
    await run.app.push_screen(CandidatesScreen(run.app.session, intent))
    return intent


async def test_the_order_is_compared_and_taken(market: Market) -> None:
    async with market.desk() as run:
        intent_id = await to_unknown(market, run)
        await run.later("1 order since then may be this one.", 0.2)
        assert "every field" in run.text
        assert "✓ 0.5 BTC" in run.text
        await run.press_still("c")
        await run.in_time(lambda: isinstance(run.app.screen, OrderScreen), "the order", 0.2)
        create = run.app.session.desk.journal.ledger.get(intent_id)
        assert create.state is State.DONE
        assert market.network.posts() == 1


async def test_giving_up_takes_the_payments_own_phrase(market: Market) -> None:
    async with market.desk() as run:
        intent_id = await to_unknown(market, run)
        await run.later("1 order since then may be this one.", 0.2)
        ledger = run.app.session.desk.journal.ledger
        fingerprint = intent_of(ledger.get(intent_id)).fingerprint
        await run.press_still("x")
        await run.enter("give up")
        assert 'Not the same: type "give up' in run.text
        await run.retype(f"give up {fingerprint[:4]}")
        await run.press("enter")
        await run.settle(lambda: not isinstance(run.app.screen, CandidatesScreen), "the end")
        settled = ledger.get(intent_id)
        assert (settled.state, settled.code) == (State.REFUSED, "ABANDONED")


LOOKS = "An order may exist: the desk looks."


async def left(run: DeskRun) -> None:
    """Create, hear nothing, and go back to the first screen."""
    await run.press("c", sees="The service did not answer.")
    await run.press("escape", "escape", "escape", to=SwapScreen)
    await run.see(LOOKS)


async def test_what_created_nothing_is_told_where_the_desk_is(market: Market) -> None:
    async with market.desk(size=(120, 40)) as run:
        await run.to_frozen()
        market.network.before = never_arrives
        await left(run)
        market.network.before = None
        await run.press("o", sees=LOOKS)
        await run.press("escape")
        await run.later("0.5 BTC to ETH", 2)
        await run.see("nothing was paid.")
        await run.settle(lambda: LOOKS not in run.text, "the funds anew")
        assert "in your wallet." in run.text


async def test_what_is_found_later_is_told_where_the_desk_is(market: Market) -> None:
    async with market.desk(size=(120, 40)) as run:
        await run.to_frozen()
        market.network.after = unheard
        await left(run)
        await run.in_time(lambda: run.app.creates.creating is None, "the end of the look")
        await run.see("It may have created the order. Nothing was paid.")
        assert LOOKS in run.text
        market.network.after = None
        await run.later("The order exists:", 1)
        await run.settle(lambda: LOOKS not in run.text, "the funds anew")
        assert market.network.posts() == 1


MOVES: dict[str, Callable[[Ledger, Bundle], object]] = {
    "signed": lambda ledger, bundle: sign_bundle(ledger, bundle, ("0x01",)),
    "sent": lambda ledger, bundle: move_bundle(ledger, bundle, State.SENT, server_at=NOW),
    "unknown": lambda ledger, bundle: move_bundle(ledger, bundle, State.UNKNOWN, code="LOST"),
    "submitted": accept_bundle,
}
LEFT: dict[tuple[str, ...], Until] = {
    (): Until.SIGNED,
    ("signed",): Until.SETTLED,
    ("signed", "sent"): Until.SETTLED,
    ("signed", "sent", "unknown"): Until.SETTLED,
    ("signed", "sent", "submitted"): Until.SETTLED,
}
OVER = ((State.REFUSED, "FAILED"), (State.REFUSED, "WITHDRAWN"), (State.DONE, None))
"""What is confirmed paid its orders, so that no other bundle of them is sent behind it."""


async def test_what_was_begun_is_taken_up_once_and_what_is_over_or_only_built_left_alone(
    market: Market, subtests: pytest.Subtests
) -> None:
    async with market.desk() as run:
        bundle = await bundled(run)
        ledger = run.app.session.desk.journal.ledger
        group = str(bundle.operation.parent)

        def begun() -> RunningSignings:
            """Of a desk that has begun nothing yet."""
            return RunningSignings(run.app.session.desk, lambda id_: None)

        assert groups_left_open(begun()) == []
        fund(run, bundle)
        for steps, due in LEFT.items():
            for step in steps:
                MOVES[step](ledger, bundle)
            with subtests.test(steps=steps):
                bundles = begun()
                (session,) = groups_left_open(bundles)
                about = session.about
                assert about.group.act.id == group
                assert about.account == bundle.account
                assert standing_of(session).next is due
                assert bundles.get(group) is session
                assert bundles.open == [session]
                # A second look finds it in hand, and so does whoever begins it by a key.
                assert groups_left_open(bundles) == []
                assert begin_group(bundles, group) is session
            # Once it has failed the group is built anew.
            move_bundle(ledger, bundle, State.REFUSED, code="FAILED")
            bundle = add_bundle(ledger, group, bundle)
        for state, code in OVER:
            for step in ("signed", "sent", "submitted"):
                MOVES[step](ledger, bundle)
            move_bundle(ledger, bundle, state, code=code)
            assert groups_left_open(begun()) == [], state
            bundle = add_bundle(ledger, group, bundle)


async def test_a_withdrawal_that_an_earlier_run_signed_is_taken_up_at_the_start(
    market: Market,
) -> None:
    """It was under way when that desk was killed; nobody presses a key for it."""
    places = load_settings({}, Home.at(market.home)).places
    places.root.mkdir(parents=True, exist_ok=True, mode=0o700)
    with closing(Journal.open(places.journal, market.clock)) as journal:
        owner = "0x" + "11" * 20
        act = begin_withdrawal(journal.ledger, "w#0", owner, "0x" + "22" * 20, "base", ())
        journal.ledger.move(act.id, State.SENT, hash="0x" + "33" * 32)
    async with market.desk() as run:
        await run.settle(lambda: run.app.signing.begun, "looked for")
