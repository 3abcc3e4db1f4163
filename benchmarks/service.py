"""The service against ``@stoplight/prism-cli``, which mocks the very same document.

Server and client are pinned to one core each; runs alternate and the best of three counts.
prism answers with a stored example of the same size and searches nothing; ours searches
5,000 tokens. It is installed with npm into a scratch directory when it is not given.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import load, served
from benchmarks.report import Case
from benchmarks.service_world import AUTHORIZATION

PRISM = "@stoplight/prism-cli@5.16.0"
TOKENS = 5_000
TERMS = 200
PAGE = 100
CONNECTIONS = 16
SECONDS = 4.0
ROUNDS = 3
FASTER = 3.0
HEADERS = {"authorization": AUTHORIZATION, "accept": "application/json"}


def run(prism: str | None = None, *, seconds: float = SECONDS) -> list[Case]:
    """Requests a second of both; empty, with a word why, where prism cannot be run."""
    with tempfile.TemporaryDirectory() as scratch:
        command = _prism(Path(scratch), prism)
        if command is None:
            print("service: skipped, prism needs node and npm")
            return []
        os.sched_setaffinity(0, {served.CLIENT_CORE})
        own_port, prism_port = served.free_port(), served.free_port()
        own, ids = served.start(own_port, TOKENS)
        mock = None
        try:
            orders = ids["orders"]
            document = Path(scratch) / "openapi.json"
            document.write_text(json.dumps(_with_examples(own_port, orders[0])))
            mock = subprocess.Popen(
                [*command, "mock", "-p", str(prism_port), "-h", "127.0.0.1", str(document)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=lambda: os.sched_setaffinity(0, {served.SERVER_CORE}),
            )
            wait(prism_port)
            return _pages(own_port, prism_port, orders, seconds)
        finally:
            for process in (own, mock):
                if process is not None:
                    process.terminate()
                    process.wait(10)


def _pages(own: int, mock: int, orders: Sequence[str], seconds: float) -> list[Case]:
    peers = {"service": (own, "/v2"), "prism": (mock, "")}
    targets = {"GET /tokens": _searches(own), "GET /orders/{id}": [f"/orders/{o}" for o in orders]}
    return [compare(name, found, peers, FASTER, seconds) for name, found in targets.items()]


def compare(
    name: str,
    targets: Sequence[str],
    peers: Mapping[str, tuple[int, str]],
    faster: float,
    seconds: float,
) -> Case:
    """The same requests to two servers in turn, each named with its port and prefix; the first
    shall answer ``faster`` times as many a second."""
    best: dict[str, load.Load] = {}
    for _ in range(ROUNDS):
        for who, (port, prefix) in peers.items():
            requests = [load.request(port, prefix + target, HEADERS) for target in targets]
            seen = load.run([port], requests, connections=CONNECTIONS, seconds=seconds)
            if seen.refused:
                raise RuntimeError(f"{who} refused {seen.refused} of {name}")
            if who not in best or seen.per_second > best[who].per_second:
                best[who] = seen
    for who, seen in best.items():
        print(
            f"{name:18s} {who:8s} {seen.per_second:8.0f}/s"
            f"  p50 {seen.quantile(0.5) * 1e3:6.2f} ms  p99 {seen.quantile(0.99) * 1e3:6.2f} ms"
            f"  {seen.bytes / seen.answers:9.0f} bytes"
        )
    subject, baseline = peers
    return Case(
        name=f"{name}, time per answer",
        subject=subject,
        baseline=baseline,
        value=1 / best[subject].per_second,
        base=1 / best[baseline].per_second,
        demand=1 / faster,
        count=best[subject].answers,
    )


def _searches(port: int) -> list[str]:
    """Two thousand searches for 200 terms of the world, the first ones far more often (Zipf)."""
    rng = random.Random(1)
    tokens = ask(port, "/tokens?pageSize=1000")["tokens"]
    words = sorted(
        {word.lower() for token in tokens for word in token["name"].split() if word.isalnum()}
    )
    terms = rng.sample(words, TERMS)
    weights = [1 / rank for rank in range(1, TERMS + 1)]
    return [
        f"/tokens?pageSize={PAGE}&term={urllib.parse.quote(term)}"
        for term in rng.choices(terms, weights, k=2_000)
    ]


def _with_examples(port: int, order: str) -> dict[str, Any]:
    """The service's document with an example for each of the two answers."""
    document = ask(port, "/openapi.json")
    for path, target in (
        ("/tokens", f"/tokens?pageSize={PAGE}"),
        ("/orders/{serviceId}", f"/orders/{order}"),
    ):
        answer = document["paths"][path]["get"]["responses"]["200"]
        answer["content"]["application/json"]["example"] = ask(port, target)
    return document


def ask(port: int, target: str) -> dict[str, Any]:
    asked = urllib.request.Request(f"http://127.0.0.1:{port}/v2{target}", headers=HEADERS)
    with urllib.request.urlopen(asked, timeout=30) as answer:
        read: dict[str, Any] = json.load(answer)
        return read


def _prism(scratch: Path, given: str | None) -> list[str] | None:
    if given is not None:
        return [given]
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        return None
    installing = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(scratch), PRISM]
    if subprocess.run(installing, capture_output=True, check=False).returncode:
        return None
    return [str(scratch / "node_modules" / ".bin" / "prism")]


def wait(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("the other server did not come up")
