"""The story of a batch by keys in a real terminal: a file of recipients, to its payouts.

What arrived is asked of the nodes over JSON-RPC, not of the desk. One sandbox does all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence

import pytest

from harness import Sandbox, home_of, wait_for
from sandbox.chain_money import Chain
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.sandbox.world import find_token
from tui.test_end_to_end import ENTER, STILL, DeskWindow

MOST_KEYS = 20
"""For a clean file, from ``b`` to what is submitted."""
MOST_TO_CORRECT = 25
"""For a file with nine faults, from ``b`` to what is submitted, beside the values that are put
right."""
ESCAPE = "\x1b"
HEAD = "to,sell_amount,buy,chain,memo,route,sell"
ROWS = 20

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def batch(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Batcher]:
    one = Batcher(home_of(sandbox, tmp_path_factory.mktemp("home")))
    yield one
    one.desk.close()


def recipients(name: str, count: int, kind: str = "evm") -> list[str]:
    """Addresses that nobody has paid before."""
    seeds = (hashlib.sha256(f"{name} {at}".encode()).digest() for at in range(count))
    return [derive_address(kind, seed) for seed in seeds]


class Batcher:
    """A desk, and hands that count their keys from ``b`` on."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.desk = DeskWindow(sandbox.home)
        self.desk.ready()

    def chain(self, name: str) -> Chain:
        return Chain(self.sandbox.rpc(name))

    def load(self, name: str, rows: Sequence[str], head: str = HEAD) -> None:
        path = self.sandbox.home / name
        path.write_text("\n".join([head, *rows]) + "\n")
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


def everybody_paid(has: Callable[[str], int], people: Sequence[str]) -> None:
    """Everybody has something on the chain, who had nothing before."""
    for to in people:
        wait_for(lambda to=to: has(to), to)


def place_in(text: str) -> str:
    """What is signed now, and where it stands among the steps; empty where nothing is."""
    top, *rest = text.split("\n")
    steps = next((row for row in rest if "─── " in row and "build" in row), "")
    context = top.partition("Sign")[2].partition("   ")[0]
    return f"{context} {steps}" if asks(text) else ""


def asks(text: str) -> bool:
    """Whether a review is open."""
    return "sign or refuse in" in text


def test_a_clean_file_is_submitted_in_few_keys(batch: Batcher) -> None:
    rows = [
        f"{to},{100 + at},ETH,base,,,USDC.base" for at, to in enumerate(recipients("clean", ROWS))
    ]
    batch.load("clean.csv", rows)
    batch.create()
    batch.build()
    # What gas costs and what is paid into the smart account, then the one operation.
    assert batch.sign("c submit") == 3
    batch.submit()
    assert batch.desk.keys <= MOST_KEYS, batch.desk.keys
    batch.follow()


def test_a_file_with_problems_is_put_right_in_place_and_goes_through(batch: Batcher) -> None:
    """Of 20 rows eight are wrong and one is more than the wallet has: that one is skipped."""
    people = recipients("faulty", ROWS)
    chain, ether = batch.chain("base"), find_token("base", "ETH")
    rows = [f"{to};{100 + at};ETH;base;;;USDC.base" for at, to in enumerate(people)]
    rows[5] = rows[0]
    wrong = {
        2: (f"{misspelt(people[1])};101;ETH;base;;;USDC.base", "to", people[1]),
        3: (f"{people[2]};0.5;ETH;base;;;USDC.base", "sell_amount", "150"),
        7: (f"{people[6]};1,5;ETH;base;;;USDC.base", "sell_amount", "151"),
        8: (f"{people[7]};107;EHT;base;;;USDC.base", "buy", "ETH"),
        11: (f"{people[10]};110;ETH;bsae;;;USDC.base", "chain", "base"),
        12: (f"{people[11]};111;ETH;base;;fast;USDC.base", "route", "standard"),
        15: (f"{people[14]};114;ETH;base;7;;USDC.base", "memo", ""),
        20: (";119;ETH;base;;;USDC.base", "to", people[19]),
    }
    for number, (row, _, _) in wrong.items():
        rows[number - 1] = row
    rows[13] = f"{people[13]};200000;ETH;base;;;USDC.base"
    batch.load("faulty.csv", rows, HEAD.replace(",", ";"))
    desk = batch.desk
    desk.read_until("10 ready", "1 to look at", "9 problems", "semicolon, header")
    states = [row.rsplit("  ", 1)[-1].strip() for row in rows_of(desk.text)]
    assert states[:2] == ["● ready", "✗ the checksum is wrong"]
    assert states[2].startswith("✗ at least ")
    assert states[5] == "▲ same as row 1; kept"
    assert "c create, 9 problems" in batch.keys
    desk.press("]", ENTER)
    corrections = 0
    for number, (_, column, value) in wrong.items():
        if number == 15:
            # The one before it among the problems: another amount would not be what is meant.
            desk.read_until("Row 14   Wallet trading has ")
            desk.press("-", sees="1 skipped")
            desk.press("]", ENTER)
        field = f"Row {number}, {column}"
        desk.read_until(field)
        before = desk.keys
        desk.press("\x01", "\x0b")
        if value:
            desk.paste(value)
        corrections += desk.keys - before
        desk.press(ENTER)
        # The next cell that is wrong is open then.
        desk.until(lambda field=field: field not in desk.text, "the cell to be taken")
    batch.create()
    assert batch.sign("c submit") >= 2
    batch.submit()
    assert desk.keys - corrections <= MOST_TO_CORRECT, (desk.keys, corrections)
    skipped = people.pop(13)
    del people[5]
    everybody_paid(lambda to: chain.balance(ether, to), people)
    assert not chain.balance(ether, skipped)
    batch.follow()


def misspelt(address: str) -> str:
    """The address with one letter of its checksum the other way."""
    at = next(at for at, char in enumerate(address) if at > 1 and char.isalpha())
    return address[:at] + address[at].swapcase() + address[at + 1 :]


def rows_of(text: str) -> list[str]:
    """Rows of the table of a batch."""
    return [row for row in text.split("\n") if re.match(r"[▌ ] {3,5}\d+  ", row)]
