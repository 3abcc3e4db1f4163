"""A sandbox in its own processes, started and ended as a program would."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from forked_processes import runs_module
from harness import alive, children, end, first_line, start_command, wait_for
from patience import PATIENCE
from plain_http import PLAIN
from swapdesk.sandbox.run_file import ReadyLine


def asked(api: httpx2.Client, path: str, **reading: Any) -> Any:
    """What the service answers; None while it says that it was asked too often.

    ``reading`` is for ``json.loads``.
    """
    answer = api.get(path)
    if answer.status_code == 429:
        return None
    assert answer.status_code == 200, answer.text
    return json.loads(answer.text, **reading)


def status_of(api: httpx2.Client, order: str) -> int | None:
    """The status of an order; None while the service answers that it was asked too often."""
    found = asked(api, f"/orders/{order}")
    return None if found is None else int(found["status"])


@dataclass
class Running:
    """One sandbox on ``data``; use it as a context manager."""

    data: Path
    seed: int | None = 7
    speed: str | None = "600"
    lifeline: bool = False
    dialect: str = "contract"
    process: subprocess.Popen[str] = field(init=False)
    ready: ReadyLine = field(init=False)
    first_line: str = field(init=False)

    @property
    def said(self) -> Path:
        """Where its standard error goes."""
        return self.data.with_name(f"{self.data.name}.stderr")

    def spawn(self) -> subprocess.Popen[str]:
        self.said.parent.mkdir(parents=True, exist_ok=True)
        options = [*("--data", str(self.data)), *("--dialect", self.dialect)]
        for name, value in (("--seed", self.seed), ("--speed", self.speed)):
            options += [] if value is None else [name, str(value)]
        if self.lifeline:
            options.append("--lifeline")
        with self.said.open("wb") as stderr:
            return start_command(
                *("serve", "--sandbox", "--name", "Desk.example", *options),
                home=self.data.parent,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
            )

    def __enter__(self) -> Running:
        self.process = self.spawn()
        self.first_line = first_line(self.process)
        if not self.first_line:
            self.kill()
            raise AssertionError(f"the sandbox did not become ready: {self.said.read_text()}")
        self.ready = ReadyLine.from_line(self.first_line)
        return self

    def __exit__(self, *_: object) -> None:
        below = children(self.process.pid)
        end(self.process)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()
        wait_for(lambda: not any(map(alive, below)), what="children ended")

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def child(self, module: str) -> int:
        """The process that runs a module of the sandbox now."""

        def find() -> int | None:
            for pid in children(self.process.pid):
                if alive(pid) and runs_module(pid, module):
                    return pid
            return None

        return int(wait_for(find, what=f"a process of {module}") or 0)

    def api(self, partner: int = 0) -> httpx2.Client:
        keys = self.ready.partners[partner]
        return httpx2.Client(
            base_url=self.ready.url,
            headers={"Authorization": f"{keys['apiKey']}:{keys['apiSecret']}"},
            trust_env=False,
            timeout=PATIENCE,
            verify=PLAIN,
        )

    def control(self) -> httpx2.Client:
        return httpx2.Client(
            base_url=self.ready.control,
            headers={"sandbox-token": self.ready.controlToken},
            trust_env=False,
            timeout=PATIENCE,
            verify=PLAIN,
        )


def create_order(
    api: httpx2.Client,
    token_in: str,
    token_out: str,
    amount: str,
    address: str,
    *,
    types: str = "standard",
    query: Mapping[str, str] | None = None,
    swap: str | None = None,
    reading: Mapping[str, Any] | None = None,
    **more: str,
) -> dict[str, Any]:
    """An order from the best quote, of one exchange where ``swap`` names it; ``query`` is what else
    is asked, ``reading`` for ``json.loads``."""
    pair = {"from": token_in, "to": token_out, "amount": amount, "types": types, **(query or {})}
    quotes = api.get("/quotes", params=pair)
    assert quotes.status_code == 200, quotes.text
    best = next(
        quote
        for quote in quotes.json()["quotes"]
        if "error" not in quote and swap in (None, quote.get("swap"))
    )
    body = {"quoteId": best["quoteId"], "addressTo": address, **more}
    created = api.post("/exchanges", json=body)
    assert created.status_code == 200, created.text
    order: dict[str, Any] = json.loads(created.text, **(reading or {}))
    return order


def ended(api: httpx2.Client, service_id: str) -> dict[str, Any]:
    """The order once it has ended."""

    def look() -> dict[str, Any] | None:
        order: dict[str, Any] | None = asked(api, f"/orders/{service_id}")
        return order if order is not None and order["status"] >= 4 else None

    return wait_for(look, f"order {service_id} ended") or {}
