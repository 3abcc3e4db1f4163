"""A sandbox whose processes are killed at random while orders of every kind are under way.

Whatever was acknowledged ends as it should, each receiver is paid once, no wallet pays anything
twice, and the exchanges' books say what the chains say.
"""

from __future__ import annotations

import random
import select
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import cycle, islice, takewhile

import pytest

from sandbox.running import Running
from sandbox.traffic import OPERATIONS, Operation, Traffic, sound
from swapdesk.sandbox.run_file import find_running


@pytest.fixture(scope="module")
def running(own: Running) -> Running:
    return own


def play(world: Traffic, kills: int, operations: Iterable[Operation], first: int) -> None:
    """Carry out operations, four at a time, while so often something is killed; then look."""
    numbered = enumerate(operations, first)
    pending: set[Future[None]] = set()
    with ThreadPoolExecutor(4) as together:
        while True:
            for number, operation in islice(numbered, 4 - len(pending)):
                pending.add(together.submit(operation, world, number))
            if not pending:
                break
            moment = world.rng.uniform(0.1, 2)
            done, pending = wait(pending, timeout=moment, return_when=FIRST_COMPLETED)
            for each in done:
                each.result()
            if world.kills < kills:
                world.kill()
    assert world.kills == kills
    sound(world)


def test_a_killed_sandbox_loses_nothing_and_pays_nothing_twice(running: Running) -> None:
    """Nor its ports and its speed; and it is the sandbox that it said once."""
    traffic = Traffic(running, random.Random(11))
    traffic.control("/clock", speed=900)
    play(traffic, 4, OPERATIONS.values(), 0)
    assert traffic.tried(running.control, "GET", "/state")["speed"] == 900
    assert find_running(running.data) == running.ready
    assert not select.select([running.process.stdout], [], [], 0)[0], "no second ready line"


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(1, 5))
def test_a_sandbox_killed_a_hundred_times(running: Running, seed: int) -> None:
    """Twenty-five times with each seed, one sandbox after all."""
    world, kills = Traffic(running, random.Random(seed)), 25
    endless = cycle(OPERATIONS.values())
    play(world, kills, takewhile(lambda _: world.kills < kills, endless), seed * 10_000)
