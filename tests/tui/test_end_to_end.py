"""The stories of swap, support, demonstration and leaving in a real terminal.

Processes are real and are killed for real; everything waits for what stands on the screen."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness import Sandbox, alive, environment, running_sandbox, wait_for
from plain_http import PLAIN
from sandbox.chain_money import Chain
from swapdesk.flows.demo.stage import PRIVATE
from swapdesk.sandbox.world import find_token
from tui.terminal_window import TerminalWindow

ENTER = "\r"
STILL = 0.4
"""A money key counts after 0.3 s without a change."""
MOST_KEYS = 20
MOST_KEYS_TO_ANSWER = 5
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
"""The topic of ``Transfer(address,address,uint256)``."""


class DeskWindow(TerminalWindow):
    """``python -m swapdesk`` in a terminal, perhaps with ``words`` of a command behind it."""

    def __init__(
        self,
        home: Path,
        columns: int = 100,
        rows: int = 30,
        words: Sequence[str] = (),
        **extra: str,
    ) -> None:
        super().__init__(
            [sys.executable, "-m", "swapdesk", *words],
            environment(home, COLORTERM="truecolor", PYTHONUTF8="1", **extra),
            columns,
            rows,
        )
        self.home = home

    def ready(self) -> None:
        """The first screen, connected: the line takes a swap."""
        self.read_until("Next you: write what to swap")

    def to_deposit(self, line: str, recipient: str) -> None:
        """From the first screen to the deposit card of a new order."""
        self.to_locked(line, recipient)
        self.press("c")
        self.read_until("f fund", " left, until ")

    def to_locked(self, line: str, recipient: str) -> None:
        """From the first screen to an intent that one key creates."""
        self.press("n")
        self.type(line, sees="enter ask for quotes")
        self.press(ENTER, sees="enter review")
        self.press(ENTER, sees="Create")
        if recipient:
            self.type(recipient)
        self.press(ENTER, sees="c create")
        self.read_until_quiet(STILL)

    def fund(self) -> None:
        self.read_until_quiet(STILL)
        self.press("f")
        self.until(lambda: "left, until" not in self.text, "the deposit to be seen")

    def to_review(self) -> None:
        """The key that funds from the wallet, up to the question, read to its end."""
        self.read_until("f fund from wallet")
        self.read_until_quiet(STILL)
        self.press("f")
        self.until(lambda: "sign or refuse in" in self.text, "the review")
        assert "Held against" in self.text
        assert re.search(r"✓ check .* ◐ sign ", self.text), self.text
        self.read_until_quiet(STILL)

    def fund_from_wallet(self) -> None:
        """Two keys: one that funds, one that signs."""
        self.to_review()
        self.press("s")
        self.until(lambda: "Deposit" in self.text.split("\n")[0], "the card")
        self.until(lambda: "left, until" not in self.text, "the deposit to be seen")

    def order_id(self) -> str:
        """The short id in the context of the frame."""
        found = re.search(r"order (\w{6})", self.text)
        assert found is not None, self.text
        return found[1]

    def row_of(self, order: str) -> str:
        return next((row for row in self.text.split("\n") if order in row), "")

    def completed(self, order: str) -> None:
        """The tracker says that this order arrived."""
        self.press("o")
        self.until(lambda: "Completed" in self.row_of(order), f"{order} completed")

    def mark(self, order: str) -> None:
        """Its row of the tracker; orders of other tests may stand above it."""
        for _ in range(MOST_KEYS):
            if self.row_of(order).startswith("▌"):
                return
            self.press("j")
            self.read_until_quiet()
        raise AssertionError(f"{order} is not reached:\n{self.text}")

    def open(self, order: str) -> None:
        """From the tracker to its page."""
        self.mark(order)
        self.press(ENTER)


def orders_of_the_service(ready: Mapping[str, Any]) -> dict[str, Any]:
    """What the service lists for this desk, by id, newest first."""
    partner = next(one for one in ready["partners"] if one["tier"] == "PRO")
    answer = httpx2.get(
        f"{ready['url']}/orders",
        headers={"Authorization": f"{partner['apiKey']}:{partner['apiSecret']}"},
        trust_env=False,
        verify=PLAIN,
    )
    assert answer.status_code == 200, answer.text
    return {order["serviceId"]: order for order in answer.json()["orders"]}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One running sandbox whose home the desks of this module share."""
    with running_sandbox(tmp_path_factory.mktemp("home"), speed=600) as running:
        yield running


Opens = Callable[..., DeskWindow]


@pytest.fixture
def open_desk() -> Iterator[Opens]:
    """A desk in a home, whose window is closed with the test."""
    with ExitStack() as windows:
        yield lambda *place: windows.enter_context(closing(DeskWindow(*place)))


def test_a_fresh_machine_swaps_in_twenty_keys(tmp_path: Path, open_desk: Opens) -> None:
    """The desk starts its own sandbox; nothing is configured."""
    desk = open_desk(tmp_path / "home")
    desk.ready()
    running = json.loads((desk.home / "sandbox" / "run.json").read_text())
    Sandbox(desk.home, running, desk.process).control("POST", "/clock", {"speed": 600})
    desk.to_deposit("0.5 btc eth", "@bob")
    assert desk.keys <= MOST_KEYS
    order = desk.order_id()
    assert "Next you: send the deposit within" in desk.text
    desk.fund()
    desk.completed(order)
    assert next(iter(orders_of_the_service(running))).startswith(order)
    desk.open(order)
    desk.read_until("Order id", "Payout tx", "finished")
    desk.press("q")
    wait_for(lambda: desk.process.poll() is not None, what="the desk to end")
    assert desk.process.returncode == 0
    supervisor = running.get("pid")
    if supervisor is not None:
        wait_for(lambda: not alive(supervisor), what="its sandbox to end")


def test_a_private_send_reaches_bob(sandbox: Sandbox, open_desk: Opens) -> None:
    desk = open_desk(sandbox.home)
    desk.ready()
    desk.to_deposit("0.5 eth @bob", "")
    assert desk.keys <= MOST_KEYS
    order = desk.order_id()
    desk.fund_from_wallet()
    desk.completed(order)
    assert "private" in desk.row_of(order)
    desk.open(order)
    desk.read_until("First leg", "Second leg", "anonymous: true", "@bob")

    # Support: from the customer's message to the reply on the clipboard.
    desk.press("\x1b")
    desk.until(lambda: "Orders" in desk.text.split("\n")[0], "the tracker")
    desk.keys = 0
    desk.press("i", sees="Paste whatever names the order")
    whole = next(one for one in orders_of_the_service(sandbox.ready) if one.startswith(order))
    desk.paste(f"Hello,\n\nwhere is my money? My order was {whole}.\n\nKind regards\nBob")
    desk.read_until("an order id")
    desk.press(ENTER)
    desk.read_until("rule completed, certain", "y copy reply")
    desk.press("y", sees="Copied the reply")
    assert desk.keys <= MOST_KEYS_TO_ANSWER


def test_a_desk_killed_while_the_answer_is_lost_finds_the_order(
    sandbox: Sandbox, open_desk: Opens
) -> None:
    before = set(orders_of_the_service(sandbox.ready))
    first = open_desk(sandbox.home)
    first.ready()
    sandbox.fault("lost_response", operation="create_exchange", times=1)
    first.to_locked("0.3 btc eth", "@bob")
    first.press("c")
    wait_for(lambda: set(orders_of_the_service(sandbox.ready)) - before, what="the order to exist")
    first.kill()
    again = open_desk(sandbox.home)
    again.read_until("Unfinished business", "It was not created twice.")
    created = set(orders_of_the_service(sandbox.ready)) - before
    assert len(created) == 1
    order = created.pop()[:6]
    again.press("o")
    again.until(lambda: "Waiting for you" in again.row_of(order), "the order")
    again.press("q")
    again.read_until("for you.", "q quits.")
    again.press("q")
    wait_for(lambda: again.process.poll() is not None, what="the desk to end")
    assert again.process.returncode == 0


def test_a_killed_desk_goes_on_with_the_payment_and_pays_once(
    sandbox: Sandbox, open_desk: Opens
) -> None:
    """What was paid is asked of the node over JSON-RPC, not of the desk."""
    desk = open_desk(sandbox.home)
    desk.ready()
    desk.to_deposit("64 usdc.base btc.bitcoin", "@cold")
    desk.read_until("f fund from wallet")
    assert "simulated chain" not in desk.text
    order = desk.order_id()
    (place,) = [
        one["depositAddress"]
        for name, one in orders_of_the_service(sandbox.ready).items()
        if name.startswith(order)
    ]
    chain, usdc = Chain(sandbox.rpc("base")), find_token("base", "USDC")
    desk.to_review()
    assert chain.balance(usdc, place) == 0
    desk.press("s")
    # Signed and written down, whatever came of it before the desk ends.
    desk.until(
        lambda: "✓ sign" in desk.text or "Deposit" in desk.text.split("\n")[0], "it is signed"
    )
    desk.kill()
    again = open_desk(sandbox.home)
    again.ready()
    again.until(lambda: chain.balance(usdc, place) == 64 * 10**6, "it is paid")
    again.completed(order)
    topics = [TRANSFER, None, "0x" + place[2:].lower().rjust(64, "0")]
    asked = {"fromBlock": "0x0", "address": usdc.address, "topics": topics}
    assert len(chain("eth_getLogs", asked)) == 1


def pane(text: str, title: str) -> str:
    """What stands in the columns below a title, without the breaks of its rows."""
    rows = text.split("\n")
    head = next(row for row in rows if title in row)
    left, right = head.index(title), head.index("What the service")
    return "".join(row[left : right - 2].strip() for row in rows)


def test_nine_stages_of_a_demonstration_with_transactions_that_are_on_the_chains(
    sandbox: Sandbox, open_desk: Opens
) -> None:
    desk = open_desk(sandbox.home, 200, 60)
    desk.ready()
    desk.press("D")
    for number, row in enumerate(PRIVATE.rows, 1):
        desk.read_until(f"{number} of 9  {row.title}")
        if number < 9:
            desk.press(" ")
    desk.press("e", sees=PRIVATE.rows[-1].more[:40])
    desk.press("l")
    desk.read_until("no path", "none in common", "none equal")
    desk.press("l")
    desk.read_until("What the chain shows", "wallet paid Bob", "link search")
    hashes = re.findall("0x[0-9a-f]{64}", pane(desk.text, "What the chain shows"))
    assert len(hashes) == 3, desk.text
    chains = [Chain(sandbox.rpc(name)) for name in ("base", "ethereum")]
    for each in hashes:
        receipts = [chain("eth_getTransactionReceipt", each) for chain in chains]
        assert [found["status"] for found in receipts if found is not None] == ["0x1"]
    desk.press("b", sees="8 of 9")
    desk.press(">", sees="speed x1200")
    desk.read_until("esc close")
    desk.press("\x1b", sees="esc end")
    desk.press("\x1b")
    desk.ready()
    wait_for(
        lambda: Decimal(str(sandbox.control("GET", "/state")["speed"])) == 600,
        what="the world to run as fast as before",
    )
