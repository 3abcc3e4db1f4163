"""How much longer an honest client waits while hostile ones keep the service busy.

The honest client asks at a steady pace and not as fast as it can. The hostile ones open a hundred
connections a second and send what is malformed, too large, too deep, cut short or without
credentials; some dribble a request and hold their connection. None of them has a key, whose limits
would stop it. They are a process of their own,
``python -m benchmarks.hostile PORT``, which gives way to the honest client. Turns alone and beside
them alternate, so that a busy moment of the machine meets both.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks import load, served, service
from benchmarks.report import Case

TOKENS = 1_000
SECONDS = 5.0
"""Of each turn."""
PAUSE = 0.01
"""Between two requests of the honest client."""
WORKERS = 20
ATTACKS_A_SECOND = 100
DRIBBLERS = 20
MOST = 2.0


def run(rounds: int) -> list[Case]:
    """The 99th percentile of each kind of request beside hostile clients, against alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {served.CLIENT_CORE})
    port = served.free_port()
    process, ids = served.start(port, TOKENS)
    try:
        targets = {
            "GET /orders/{id}": [f"/v2/orders/{one}" for one in ids["orders"]],
            "GET /tokens": [f"/v2/tokens?pageSize=20&page={page}" for page in range(1, 41)],
        }
        return asyncio.run(_measure(port, targets, rounds))
    finally:
        process.terminate()
        process.wait(10)
        os.sched_setaffinity(0, before)


async def _measure(port: int, targets: dict[str, list[str]], rounds: int) -> list[Case]:
    times: dict[tuple[str, bool], list[float]] = {}
    attacks = 0
    for _ in range(rounds):
        for beside in (False, True):
            hostile = _start(port) if beside else None
            for name, paths in targets.items():
                requests = [load.request(port, path, service.HEADERS) for path in paths]
                seen = await _honest(port, requests, SECONDS / len(targets))
                times.setdefault((name, beside), []).extend(seen)
            if hostile is not None:
                hostile.terminate()
                attacks += int(hostile.communicate()[0])
    cases = []
    for name in targets:
        alone, late = sorted(times[name, False]), sorted(times[name, True])
        value, base = (each[int(0.99 * len(each))] for each in (late, alone))
        case = Case(f"{name}, p99", "beside", "alone", value, base, MOST, count=len(late))
        cases.append(case)
    print(f"  {attacks} hostile requests, {attacks / (rounds * SECONDS):.0f} a second")
    return cases


def _start(port: int) -> subprocess.Popen[str]:
    """The hostile clients, once they are at work."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.hostile", str(port)],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: os.nice(10),
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


async def _honest(port: int, requests: Sequence[bytes], seconds: float) -> list[float]:
    """Seconds that each answer took. Raises RuntimeError for one that is not 200."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begin, times = time.perf_counter(), list[float]()
    while (now := time.perf_counter()) < begin + seconds:
        # A late answer does not move the next request: its wait is not hidden.
        due = begin + len(times) * PAUSE
        await asyncio.sleep(max(0.0, due - now))
        writer.write(requests[len(times) % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"an honest request was refused: {head[:80]!r}")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        await reader.readexactly(length)
        times.append(time.perf_counter() - max(due, begin))
    writer.close()
    return times


async def _attack_all(port: int) -> None:
    """Until SIGTERM; prints how many requests were sent."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    kinds = _attacks(port)
    workers = [_attack(port, kinds[at:] + kinds[:at], stop) for at in range(WORKERS)]
    dribblers = [_dribble(port, stop) for _ in range(DRIBBLERS)]
    print("at work", flush=True)
    print(sum(await asyncio.gather(*workers, *dribblers)))


def _attacks(port: int) -> list[bytes]:
    """One request of each kind."""
    unknown = {"authorization": "nobody:nothing"}
    host = f"host: 127.0.0.1:{port}".encode()
    post = b"POST /v2/exchanges HTTP/1.1\r\n" + host
    deep = b"[" * 20_000
    return [
        b"GET /v2/tokens HTTP/1.1\r\nno colon\r\n\r\n",
        b"\x16\x03\x01 nothing of HTTP \r\n\r\n",
        load.request(port, "/v2/orders", {}),
        load.request(port, "/v2/orders", unknown),
        load.request(port, "/v2/orders?" + "a=b&" * 2_000, unknown),
        load.request(port, "/v2/orders", {"x-filler": "f" * 60_000}),
        load.request(port, "/v2/exchanges", unknown, deep),
        load.request(port, "/v2/exchanges", unknown, b"{" * 2_000_000),
        post + b"\r\ncontent-length: 1000\r\n\r\n{",
        post
        + b"\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1",
        load.request(port, "/v2/nothing/" + "%2e%2e/" * 200, {}),
    ]


async def _attack(port: int, kinds: Sequence[bytes], stop: asyncio.Event) -> int:
    """Send one after the other, each over a connection of its own, and take what comes."""
    sent, begin = 0, time.perf_counter()
    while not stop.is_set():
        due = begin + sent * WORKERS / ATTACKS_A_SECOND
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        with contextlib.suppress(OSError, TimeoutError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(kinds[sent % len(kinds)])
                async with asyncio.timeout(0.2):
                    await reader.read(4_096)
            finally:
                writer.close()
        sent += 1
    return sent


async def _dribble(port: int, stop: asyncio.Event) -> int:
    """Hold a connection by a request that never comes to its end."""
    sent = 0
    while not stop.is_set():
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            sent += 1
            writer.write(b"GET /v2/tokens HTTP/1.1\r\n")
            while not stop.is_set() and not writer.is_closing():
                writer.write(b"x-slow: 1\r\n")
                await asyncio.sleep(0.1)
            writer.close()
    return sent


if __name__ == "__main__":
    asyncio.run(_attack_all(int(sys.argv[1])))
