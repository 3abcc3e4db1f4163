"""Groups that an earlier run left under way: each is taken up once, none that only was built."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flows.orders import NOW
from swapdesk.flows.batch.group_signing import RunningBundles
from swapdesk.flows.batch.group_status import Until
from swapdesk.flows.journal.batch_records import BundleState, JournaledBundle
from swapdesk.flows.journal.bundle_log import BundleLog
from tui.desk_run import DeskRun, Market
from tui.scenes.batch import bundled

Move = Callable[[BundleLog, JournaledBundle], object]


def _signed(log: BundleLog, bundle: JournaledBundle) -> None:
    log.signed(bundle, ("0x01",))


def _sent(log: BundleLog, bundle: JournaledBundle) -> None:
    _signed(log, bundle)
    assert log.sent(bundle, NOW)


def _unknown(log: BundleLog, bundle: JournaledBundle) -> None:
    _sent(log, bundle)
    log.unknown(bundle, "NOT_REACHABLE")


def _submitted(log: BundleLog, bundle: JournaledBundle) -> None:
    _sent(log, bundle)
    log.submitted(bundle)


def _ended(state: BundleState) -> Move:
    def end(log: BundleLog, bundle: JournaledBundle) -> None:
        _submitted(log, bundle)
        log.ended(bundle, state)

    return end


LEFT: dict[str, tuple[Move, Until]] = {
    "funded": (lambda log, bundle: None, Until.SIGNED),
    "signed": (_signed, Until.SETTLED),
    "sent": (_sent, Until.SETTLED),
    "unknown": (_unknown, Until.SETTLED),
    "submitted": (_submitted, Until.SETTLED),
}
OVER: dict[str, Move] = {
    state.value: _ended(state)
    for state in (BundleState.FAILED, BundleState.WITHDRAWN, BundleState.CONFIRMED)
}
"""What is confirmed paid its orders, so that no other bundle of them is sent behind it."""


def _bundles(run: DeskRun) -> RunningBundles:
    """Of a desk that has begun nothing yet."""
    return RunningBundles(run.app.session.desk, lambda id_: None)


def _taken_up_once(run: DeskRun, bundle: JournaledBundle, due: Until) -> None:
    bundles = _bundles(run)
    (session,) = bundles.left_open()
    assert (session.batch_id, session.group.number) == (bundle.batch_id, bundle.group)
    assert session.account == bundle.built.account
    assert session.standing.next is due
    assert bundles.get(bundle.batch_id, bundle.group) is session
    assert bundles.open == [session]
    # A second look finds it in hand, and so does whoever begins it by a key.
    assert bundles.left_open() == []
    assert bundles.begin(bundle.batch_id, bundle.group) is session


async def test_what_was_begun_is_taken_up_once_and_what_is_over_left_alone(
    market: Market, subtests: pytest.Subtests
) -> None:
    async with market.desk() as run:
        bundle = await bundled(run, funded=True)
        log = run.app.session.desk.journal.bundles
        for name, (move, due) in LEFT.items():
            with subtests.test(name=name):
                move(log, bundle)
                _taken_up_once(run, bundle, due)
            # Once it has failed the group is built anew.
            log.ended(bundle, BundleState.FAILED)
            bundle = log.add(bundle.batch_id, bundle.group, bundle.built)
        for name, move in OVER.items():
            with subtests.test(name=name):
                move(log, bundle)
                assert _bundles(run).left_open() == []
            bundle = log.add(bundle.batch_id, bundle.group, bundle.built)


async def test_what_was_only_built_waits_for_a_key(market: Market) -> None:
    async with market.desk() as run:
        await bundled(run, funded=False)
        assert _bundles(run).left_open() == []
