"""The story of a batch by keys in a real terminal: a file of recipients, to its payouts.

What arrived is asked of the nodes over JSON-RPC, not of the desk. One sandbox does all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from harness import Sandbox, home_of, wait_for
from sandbox.chain_money import Chain
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.sandbox.world import find_token
from tui.test_end_to_end import ENTER, STILL, DeskWindow

MOST_KEYS = 20
"""For a clean file, from ``b`` to what is submitted."""
ESCAPE = "\x1b"
HEAD = "to,sell_amount,buy,chain,memo,route,sell"
ROWS = 20

pytestmark = pytest.mark.timeout(400)


class Batcher:
    """A desk, and hands that count their keys from ``b`` on."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.desk = DeskWindow(sandbox.home)
        self.desk.ready()

    def load(self, name: str, rows: Sequence[str]) -> None:
        path = self.sandbox.home / name
        path.write_text("\n".join([HEAD, *rows]) + "\n")
        desk = self.desk
        desk.keys = 0
        desk.press("b")
        desk.until(lambda: "a CSV: comma" in desk.text or "l load" in self.keys, "the batch")
        if "a CSV: comma" not in desk.text:
            desk.press("l", sees="a CSV: comma")
        desk.paste(str(path))
        desk.press(ENTER)
        told = rf"{len(rows)} rows(.|\n)*Gas +told by the build"
        desk.until(lambda: re.search(told, desk.text), "its plan")

    def create(self) -> None:
        desk = self.desk
        desk.read_until("c create")
        desk.read_until_quiet(STILL)
        desk.press("c", sees="created, not funded")

    def build(self) -> None:
        self.desk.press("u")
        self.desk.until(lambda: "s sign" in self.keys, "what is to be signed")

    @property
    def keys(self) -> str:
        return self.desk.text.split("\n")[-1]

    def sign(self, done: str) -> int:
        """``s``, and then each review to its end and ``s``, until ``done`` stands there; how
        many were signed."""
        desk, signed = self.desk, 0
        desk.press("s")
        while True:
            desk.until(lambda: done in desk.text or asks(desk.text), "the next review")
            if done in desk.text:
                return signed
            place = place_in(desk.text)
            while asks(desk.text) and not re.search(r"s sign( and send)?  ", self.keys):
                # Whether there is more to read is known once it is laid out.
                desk.read_until_quiet(STILL)
                if "read to the end first" in self.keys:
                    desk.press(" ")
                    desk.read_until_quiet(STILL)
            desk.read_until_quiet(STILL)
            if not asks(desk.text):
                # Half of a picture was read: the next one had begun over this review.
                continue
            told = " ".join(desk.text.split())
            assert re.search(r"None contradicts (it|the group)\.", told), desk.text
            desk.press("s")
            signed += 1
            desk.until(lambda place=place: place_in(desk.text) != place, "what is next")

    def submit(self) -> None:
        desk = self.desk
        desk.until(lambda: "c submit" in self.keys, "that all is signed")
        desk.read_until_quiet(STILL)
        desk.press("c", sees="submitted")

    def follow(self) -> None:
        """The tracker filtered to the group: all of it arrived."""
        desk = self.desk
        desk.until(lambda: "o shows the orders" in desk.text, "that it is paid")
        desk.press("o", sees="group:")
        desk.until(lambda: "Completed" in desk.text and "Open " not in desk.text, "its orders")
        desk.press(ESCAPE)
        desk.until(lambda: "group:" not in desk.text, "all orders")
        desk.press(ESCAPE, sees="l load a file")
        desk.press(ESCAPE)
        desk.until(lambda: "l load a file" not in desk.text, "the first screen")


def place_in(text: str) -> str:
    """What is signed now, and where it stands among the steps; empty where nothing is."""
    top, *rest = text.split("\n")
    steps = next((row for row in rest if "─── " in row and "build" in row), "")
    context = top.partition("Sign")[2].partition("   ")[0]
    return f"{context} {steps}" if asks(text) else ""


def asks(text: str) -> bool:
    """Whether a review is open."""
    return "sign or refuse in" in text


def test_a_clean_file_is_submitted_in_few_keys(sandbox: Sandbox, tmp_path: Path) -> None:
    # Addresses that nobody has paid before.
    people = [derive_address("evm", bytes([at + 1]) * 32) for at in range(ROWS)]
    batch = Batcher(home_of(sandbox, tmp_path / "home"))
    with closing(batch.desk):
        rows = [f"{to},{100 + at},ETH,base,,,USDC.base" for at, to in enumerate(people)]
        batch.load("clean.csv", rows)
        batch.create()
        batch.build()
        # What gas costs and what is paid into the smart account, then the one operation.
        assert batch.sign("c submit") == 3
        batch.submit()
        assert batch.desk.keys <= MOST_KEYS, batch.desk.keys
        chain, ether = Chain(batch.sandbox.rpc("base")), find_token("base", "ETH")
        for to in people:
            wait_for(lambda to=to: chain.balance(ether, to), to)
        batch.follow()
