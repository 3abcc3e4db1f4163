"""A sandbox from outside: what an order takes there, and how soon its processes end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from benchmarks.report import Case, Figures
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.sandbox.world import find_token

SPEED = 600
MOST_SECONDS_OF_AN_ORDER = 10.0
MOST_SECONDS_OF_AN_END = 2.0
PATIENCE = 60.0


def run(rounds: int) -> list[Case]:
    """``rounds`` sandboxes: each pays one order, and then its supervisor is killed."""
    figures = Figures()
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as home, running_sandbox(home) as (sandbox, told):
            figures.add("order", _order(told))
            below = _children(sandbox.pid)
            if not below:
                raise RuntimeError("the sandbox has no children")
            begin = time.perf_counter()
            sandbox.kill()
            _until(lambda below=below: not any(map(_alive, below)))  # type: ignore[misc]
            figures.add("end", time.perf_counter() - begin)
    return [
        figures.limit("paid to completed, 600 x", "order", MOST_SECONDS_OF_AN_ORDER, "s"),
        figures.limit("supervisor killed to none left", "end", MOST_SECONDS_OF_AN_END, "s"),
    ]


@contextmanager
def running_sandbox(home: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, Any]]]:
    """A sandbox on its own home, and its ready line."""
    command = [sys.executable, "-m", "swapdesk", "serve", "--sandbox", "--speed", str(SPEED)]
    environment = {**os.environ, "SWAPDESK_HOME": home, "HOME": home}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as sandbox:
        try:
            assert sandbox.stdout is not None
            yield sandbox, json.loads(sandbox.stdout.readline())
        finally:
            sandbox.send_signal(signal.SIGTERM)


def _order(told: dict[str, Any]) -> float:
    """Seconds from the payment of a standard order to its end."""
    partner = told["partners"][0]
    headers = {"Authorization": f"{partner['apiKey']}:{partner['apiSecret']}"}
    sold, bought = find_token("bitcoin", "BTC"), find_token("ethereum", "ETH")
    with (
        httpx2.Client(base_url=told["url"], headers=headers, trust_env=False) as api,
        httpx2.Client(
            base_url=told["control"],
            headers={"sandbox-token": told["controlToken"]},
            trust_env=False,
        ) as control,
    ):
        asked = {"from": sold.token_id, "to": bought.token_id, "amount": "0.5"}
        quote = api.get("/quotes", params={**asked, "types": "standard"}).raise_for_status()
        body = {
            "quoteId": quote.json()["quotes"][0]["quoteId"],
            "addressTo": derive_address("evm", bytes(32)),
        }
        order = api.post("/exchanges", json=body).raise_for_status().json()
        begin = time.perf_counter()
        control.post("/deposits", json={"serviceId": order["serviceId"]}).raise_for_status()
        path = f"/orders/{order['serviceId']}"
        _until(lambda: api.get(path).raise_for_status().json()["status"] == 4)
        return time.perf_counter() - begin


def _until(met: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not met():
        if time.monotonic() > end:
            raise RuntimeError("the sandbox did not come so far")
        time.sleep(0.02)


def _children(pid: int) -> list[int]:
    listing = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in listing.stdout.split()]


def _alive(pid: int) -> bool:
    listing = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state = listing.stdout.strip()
    return bool(state) and not state.startswith("Z")
