"""Garbage is walked in pauses, and what is alive is set aside meanwhile."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from swapdesk.clock import ManualClock
from swapdesk.tui.app import ASIDE_SECONDS, PAUSE_SECONDS, WHOLE_SECONDS, GarbageRounds


class Knot:
    """An object that only a collection can free."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture
def rounds(clock: ManualClock) -> Iterator[GarbageRounds]:
    # What the process of the tests made before is no part of it.
    gc.freeze()
    rounds = GarbageRounds(clock)
    rounds.begin()
    yield rounds
    rounds.end()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def test_young_garbage_goes_and_the_living_are_set_aside(
    rounds: GarbageRounds, clock: ManualClock
) -> None:
    knot = weakref.ref(Knot())
    before = gc.get_freeze_count()
    clock.advance(ASIDE_SECONDS)
    rounds.tick()
    assert knot() is None
    assert gc.get_freeze_count() > before


def test_old_garbage_goes_in_a_pause_and_not_between_keys(
    rounds: GarbageRounds, clock: ManualClock
) -> None:
    held = Knot()
    knot = weakref.ref(held)
    clock.advance(ASIDE_SECONDS)
    rounds.tick()
    del held
    clock.advance(WHOLE_SECONDS)
    rounds.key()
    rounds.tick()
    assert knot() is not None
    clock.advance(PAUSE_SECONDS)
    rounds.tick()
    assert knot() is None


def test_the_process_is_left_as_it_was(clock: ManualClock) -> None:
    usual, frozen = gc.get_threshold(), gc.get_freeze_count()
    rounds = GarbageRounds(clock)
    rounds.begin()
    assert gc.get_threshold() != usual
    clock.advance(ASIDE_SECONDS)
    rounds.tick()
    rounds.end()
    assert gc.get_threshold() == usual
    assert gc.get_freeze_count() <= frozen
