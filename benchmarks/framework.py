"""Two pages of the service against the same pages by FastAPI, as its documentation writes them.

Server and client are pinned to one core each; runs alternate and the best of three counts. No
request is answered from memory: each asks for another page of tokens than the 256 that the service
keeps, and for another order than the 1,024. Both serve the same 5,000 tokens and 3,000 orders.
FastAPI is installed with pip into a scratch directory (``benchmarks/fastapi_peer.py``).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import urllib.parse
from pathlib import Path
from typing import Any

from benchmarks import served
from benchmarks.report import Case
from benchmarks.service import TERMS, TOKENS, ask, compare, wait

FASTAPI = "fastapi==0.165.0"
ORDERS = 3_000
PAGE_SIZES = range(91, 101)
SECONDS = 4.0
FASTER = 4.0


def run(*, seconds: float = SECONDS) -> list[Case]:
    """Requests a second of both; empty, with a word why, where FastAPI cannot be installed."""
    before = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch, "library")
        installing = [sys.executable, "-m", "pip", "install", "-q", "--target", str(library)]
        if subprocess.run([*installing, FASTAPI], capture_output=True, check=False).returncode:
            print("fastapi: skipped, pip cannot install it")
            return []
        os.sched_setaffinity(0, {served.CLIENT_CORE})
        own_port, peer_port = served.free_port(), served.free_port()
        own, ids = served.start(own_port, TOKENS, ORDERS)
        peer = None
        try:
            world = {
                "tokens": _every_token(own_port),
                "orders": [ask(own_port, f"/orders/{one}") for one in ids["orders"]],
            }
            file = Path(scratch, "world.json")
            file.write_text(json.dumps(world))
            # Without the folder of the program on its path, where modules have other names' names.
            program = Path(__file__).with_name("fastapi_peer.py")
            peer = subprocess.Popen(
                [sys.executable, "-P", str(program), str(peer_port), str(file)],
                env={**os.environ, "PYTHONPATH": str(library)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            wait(peer_port)
            peers = {"service": (own_port, "/v2"), "FastAPI": (peer_port, "")}
            targets = {
                "GET /tokens": _searches(world["tokens"]),
                "GET /orders/{id}": [f"/orders/{one}" for one in ids["orders"]],
            }
            return [compare(name, each, peers, FASTER, seconds) for name, each in targets.items()]
        finally:
            for process in (own, peer):
                if process is not None:
                    process.terminate()
                    process.wait(10)
            os.sched_setaffinity(0, before)


def _every_token(port: int) -> list[dict[str, Any]]:
    tokens: list[dict[str, Any]] = []
    while True:
        page = len(tokens) // 1_000 + 1
        told = ask(port, f"/tokens?pageSize=1000&unverified=true&page={page}")
        tokens += told["tokens"]
        if page >= told["totalPages"]:
            return tokens


def _searches(tokens: list[dict[str, Any]]) -> list[str]:
    """Two thousand different pages: 200 terms in ten sizes."""
    rng = random.Random(1)
    words = sorted(
        {word.lower() for token in tokens for word in token["name"].split() if word.isalnum()}
    )
    targets = [
        f"/tokens?pageSize={size}&term={urllib.parse.quote(term)}"
        for term in rng.sample(words, TERMS)
        for size in PAGE_SIZES
    ]
    rng.shuffle(targets)
    return targets
