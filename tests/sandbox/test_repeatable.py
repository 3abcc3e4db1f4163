"""A world of a seed is the same at every run, and takes no time to live through."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from forked_processes import in_fresh_interpreters
from patience import PATIENCE
from sandbox.repeated_world import story
from swapdesk.sandbox.repeatable import (
    BEGINNING,
    RepeatableLoop,
    open_world,
    repeatable_clock,
    run_repeatable,
)
from swapdesk.wire.operations import STREAM_PATH

PROGRAM = Path(__file__).with_name("repeated_world.py")


def test_same_seed_gives_same_bytes() -> None:
    """In two processes, each with another order of its sets: here it is another one in each run."""
    with in_fresh_interpreters():
        other = subprocess.Popen(
            [sys.executable, str(PROGRAM), "7"],
            env={**os.environ, "PYTHONHASHSEED": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
    told = run_repeatable(lambda: story(7))
    assert json.loads(told[-1])["status"] == 4
    assert other.communicate(timeout=PATIENCE)[0].splitlines() == told
    assert other.returncode == 0


def test_a_stream_that_is_refused_or_cut_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_world(tmp_path / "sandbox", seed=7) as world:
            url = f"{world.ready['url']}{STREAM_PATH}"
            with pytest.raises(InvalidStatus) as refused:
                await world.transport.open_stream(url, {})
            assert refused.value.response.status_code == 402
            with pytest.raises(ConnectionRefusedError):
                await world.transport.open_stream("ws://127.0.0.1:9/nothing", {})
            partner = world.ready["partners"][0]
            key = {"authorization": f"{partner['apiKey']}:{partner['apiSecret']}"}
            stream = await world.transport.open_stream(url, key)
            assert json.loads(await stream.recv())["type"] == "welcome"
            assert not stream.is_closing()
            stream.abort()
            for _ in range(2):
                with pytest.raises(ConnectionClosed):
                    await stream.recv()
            await stream.wait_closed()
            assert stream.is_closing()

    run_repeatable(main)


def test_time_passes_only_while_everybody_waits() -> None:
    began = time.monotonic()

    async def main() -> list[str]:
        clock = repeatable_clock()
        assert clock.now() == BEGINNING
        seen = []

        async def wait(name: str, seconds: float) -> None:
            await clock.sleep(seconds)
            seen.append(name)

        async with asyncio.TaskGroup() as group:
            for name, seconds in (("day", 86_400.0), ("hour", 3_600.0), ("now", 0.0)):
                group.create_task(wait(name, seconds))
        assert (clock.now() - BEGINNING).total_seconds() == 86_400
        return seen

    assert run_repeatable(main) == ["now", "hour", "day"]
    assert time.monotonic() - began < 3_600


def test_thread_work_is_done_before_anything_else_goes_on() -> None:
    async def main() -> None:
        assert isinstance(asyncio.get_running_loop(), RepeatableLoop)
        done: list[str] = []
        working = asyncio.ensure_future(asyncio.to_thread(done.append, "work"))
        await asyncio.sleep(0)
        assert done == ["work"]
        await working
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)

    run_repeatable(main)
