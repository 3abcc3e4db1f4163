"""The demonstration on a real sandbox, in a real terminal: its hashes are on the chains."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness import Sandbox, running_sandbox, wait_for
from plain_http import PLAIN
from swapdesk.flows.demo.stage import PRIVATE
from tui.test_end_to_end import DeskWindow

SPEED = 600


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with running_sandbox(tmp_path / "home", speed=SPEED) as running:
        yield running


def receipts(sandbox: Sandbox, transaction: str) -> list[Any]:
    """What the chains of the sandbox say of a hash."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_getTransactionReceipt"}
    found = [
        httpx2.post(
            chain["rpc"], json={**asked, "params": [transaction]}, trust_env=False, verify=PLAIN
        ).json()["result"]
        for chain in sandbox.ready["chains"]
        if chain["shortName"] in ("base", "ethereum")
    ]
    return [one for one in found if one is not None]


def pane(text: str, title: str) -> str:
    """What stands in the columns below a title, without the breaks of its rows."""
    rows = text.split("\n")
    head = next(row for row in rows if title in row)
    left, right = head.index(title), head.index("What the service")
    return "".join(row[left : right - 2].strip() for row in rows)


def test_nine_stages_with_transactions_that_are_on_the_chains(sandbox: Sandbox) -> None:
    desk = DeskWindow(sandbox.home, 200, 60)
    try:
        desk.ready()
        desk.press("D")
        for number, row in enumerate(PRIVATE.rows, 1):
            desk.read_until(f"{number} of 9  {row.title}")
            if number < 9:
                desk.press(" ")
        desk.press("e")
        desk.read_until(PRIVATE.rows[-1].more[:40])
        desk.press("l")
        desk.read_until("no path", "none in common", "none equal")
        desk.press("l")
        desk.read_until("What the chain shows", "wallet paid Bob", "link search")
        hashes = re.findall("0x[0-9a-f]{64}", pane(desk.text, "What the chain shows"))
        assert len(hashes) == 3, desk.text
        for one in hashes:
            assert [found["status"] for found in receipts(sandbox, one)] == ["0x1"]
        desk.press("b")
        desk.read_until("8 of 9")
        desk.press(">")
        desk.read_until(f"speed x{2 * SPEED}")
        desk.read_until("esc close")
        desk.press("\x1b")
        desk.read_until("esc end")
        desk.press("\x1b")
        desk.ready()
        wait_for(
            lambda: Decimal(str(sandbox.control("GET", "/state")["speed"])) == SPEED,
            what="the world to run as fast as before",
        )
    finally:
        desk.close()
