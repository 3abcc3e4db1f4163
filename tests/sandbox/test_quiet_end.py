"""Children of a sandbox end quietly when their starter goes; a defect keeps its stack."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from patience import PATIENCE
from plain_http import PLAIN
from swapdesk.clock import SystemClock
from swapdesk.sandbox.http_server import build_server, serve_until, started
from swapdesk.sandbox.processes import listen


@pytest.mark.parametrize("told", [True, False])
def test_a_starter_that_left_hears_nothing_and_is_not_complained_of(
    tmp_path: Path, told: bool
) -> None:
    """``told``: it had time to say what is to be done."""
    with listen("127.0.0.1", 0) as listener:
        process = subprocess.Popen(
            [sys.executable, "-m", "swapdesk.sandbox.node"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[listener.fileno()],
        )
        process.stdout.close()
        if told:
            orders = {"fd": listener.fileno(), "token": "secret", "data": str(tmp_path), "seed": 7}
            process.stdin.write(json.dumps(orders).encode() + b"\n")
            process.stdin.flush()
            # It serves, and says so, before the end of its pipe is seen.
            httpx2.get(
                f"http://127.0.0.1:{listener.getsockname()[1]}",
                timeout=PATIENCE,
                trust_env=False,
                verify=PLAIN,
            )
        process.stdin.close()
        with process.stderr as words:
            assert words.read() == b""
        process.wait(PATIENCE)


async def test_requests_that_are_cut_off_at_the_end_are_no_defects(
    caplog: pytest.LogCaptureFixture,
) -> None:
    begun = asyncio.Event()

    async def app(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        if scope["path"] == "/defect":
            raise LookupError("a defect")
        begun.set()
        await asyncio.Event().wait()

    stop = asyncio.Event()
    server = build_server(app, SystemClock())
    with listen("127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        serving = asyncio.create_task(serve_until(stop, (server, listener)))
        assert await started(server, stop)
        async with httpx2.AsyncClient(trust_env=False, verify=PLAIN) as client:
            answer = await client.get(f"{url}/defect")
            assert (answer.status_code, answer.json()["code"]) == (500, "INTERNAL_SERVER_ERROR")
            assert answer.json()["requestId"] == answer.headers["x-request-id"]
            waiting = asyncio.create_task(client.get(f"{url}/waits"))
            await begun.wait()
            stop.set()
            await serving
            # The server answers what it cuts off, or only closes.
            await asyncio.gather(waiting, return_exceptions=True)
    said = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert [type(one.exc_info[1]) for one in said if one.exc_info] == [LookupError]
    assert len(said) == 1, [one.getMessage() for one in said]
