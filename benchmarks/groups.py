"""Orders a second that ``POST /exchanges/multi`` creates in a sandbox, priced each by itself."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import httpx2

from benchmarks.report import Case
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.sandbox.world import find_token

ORDERS = 50
MOST_SECONDS = ORDERS / 20
"""For a group of fifty, at the twenty orders a second that are promised."""


def run(rounds: int) -> list[Case]:
    """``rounds`` groups of fifty orders each, one after another."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, "-m", "swapdesk", "serve", "--sandbox"]
        environment = {**os.environ, "SWAPDESK_HOME": home, "HOME": home}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as sandbox:
            try:
                assert sandbox.stdout is not None
                told = json.loads(sandbox.stdout.readline())
                return [
                    _case("group of 50 orders, standard", _times(told, rounds, anonymous=False)),
                    _case("group of 50 orders, private", _times(told, rounds, anonymous=True)),
                ]
            finally:
                sandbox.terminate()


def _case(name: str, times: list[float]) -> Case:
    return Case(
        name, "POST", "limit", statistics.median(times), MOST_SECONDS, 1.0, count=len(times)
    )


def _times(told: dict[str, Any], rounds: int, *, anonymous: bool) -> list[float]:
    partner = told["partners"][0]
    headers = {"Authorization": f"{partner['apiKey']}:{partner['apiSecret']}"}
    times = []
    with httpx2.Client(base_url=told["url"], headers=headers, timeout=60, trust_env=False) as api:
        for number in range(rounds):
            begin = time.perf_counter()
            answer = api.post("/exchanges/multi", json={"orders": _rows(number, anonymous)})
            times.append(time.perf_counter() - begin)
            created = answer.raise_for_status().json()["orders"]
            if len([each for each in created if "order" in each]) != ORDERS:
                raise RuntimeError(f"a group was not created whole: {answer.text[:500]}")
    return times


def _rows(number: int, anonymous: bool) -> list[dict[str, Any]]:
    """Different amounts to different wallets, so that no two questions to a venue are one."""
    sold, bought = find_token("ethereum", "ETH"), find_token("bitcoin", "BTC")
    return [
        {
            "from": sold.token_id,
            "to": bought.token_id,
            "amount": 1 + (number * ORDERS + place) / 1000,
            "addressTo": derive_address("bitcoin", bytes([number, place]) * 16),
            "anonymous": anonymous,
        }
        for place in range(ORDERS)
    ]
