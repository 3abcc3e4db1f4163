"""The story of signing: swaps on chains by keys in a real terminal, each to its completed order.

What moved is asked of the nodes over JSON-RPC, not of the desk. One sandbox and one desk do all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from harness import rpc_of, wait_for
from sandbox.chain_money import Chain
from swapdesk.sandbox.world import WorldToken, find_token
from tui.test_end_to_end import ENTER, STILL, DeskWindow

MOST_KEYS = 22
USDC, WETH = (find_token("ethereum", symbol) for symbol in ("USDC", "WETH"))
TAPE = Path(__file__).parents[2] / "docs" / "tapes" / "dex.tape"


class Trader:
    """A desk in a terminal, and the node its wallet's money is on."""

    def __init__(self, home: Path) -> None:
        self.desk = DeskWindow(home, words=("tape", "run", str(TAPE)))
        self._signed = ""
        """The digest of what was signed last."""

    def ended(self) -> bool:
        """Whether the desk has; what it writes until then is read, or it could not."""
        self.desk.read_until_quiet(0.1)
        return self.desk.process.poll() is not None

    def killed(self) -> None:
        """``kill -9`` of the desk, and another one on the same home."""
        self.desk.kill()
        self.desk = DeskWindow(self.desk.home)

    def holds(self, token: WorldToken, owner: str) -> int:
        """Units of a token, asked of the node."""
        ready = json.loads((self.desk.home / "sandbox" / "run.json").read_text())
        return Chain(rpc_of(ready["chains"], "ethereum")).balance(token, owner)

    def to_form(self, venue: str) -> None:
        """``n``, the line, the on-chain routes, the row of the venue, enter."""
        desk = self.desk
        desk.keys = 0
        desk.press("n", sees="What do you want to swap?")
        desk.read_until_quiet(STILL)
        desk.type("1000 usdc weth", sees="enter ask for quotes")
        desk.press(ENTER, sees="d dex only")
        desk.press("d")
        desk.until(lambda: "d all routes" in desk.text, "the on-chain routes")
        for _ in range(20):
            if "the service says" not in desk.text:
                break
            # A machine with much else to do is not part of the journey.
            asked, shown = desk.keys, _asked_at(desk.text)
            desk.press("r")
            desk.until(
                lambda shown=shown: _asked_at(desk.text) not in ("", shown), "another answer"
            )
            desk.read_until_quiet(STILL)
            desk.keys = asked
        rows = [row for row in desk.text.split("\n") if "  dex  " in row]
        at = next(at for at, row in enumerate(rows) if venue in row)
        stands = next(at for at, row in enumerate(rows) if row.startswith("▌"))
        for _ in range(abs(at - stands)):
            desk.press("j" if at > stands else "k")
        desk.until(
            lambda: any(r.startswith("▌") and venue in r for r in desk.text.split("\n")), venue
        )
        desk.press(ENTER)
        desk.until(lambda: "Your own wallet trading" in desk.text, "the account")
        desk.until(lambda: "confirm" in desk.text, "what it takes")

    def account(self) -> str:
        found = re.search(r"0x(?: [0-9a-fA-F]{4}){10}", self.desk.text)
        assert found is not None, self.desk.text
        return found[0].replace(" ", "")

    def confirm(self) -> None:
        """Nothing is left to type, so that the swap stands locked by itself."""
        desk = self.desk
        desk.read_until("c starts the signing")
        desk.read_until("c start signing")
        desk.read_until_quiet(STILL)
        desk.press("c")

    def sign(self) -> int:
        """Read to the end where there is no room for all, then ``s``; how many keys that took."""
        desk, before = self.desk, self.desk.keys
        # What was signed last may be in view still, or half of it.
        desk.until(self._asked, "a review")
        # Whether all of it fits is known once it is laid out.
        desk.read_until_quiet(STILL)
        while "read to the end first" in desk.text:
            shown = _fields(desk.text)
            desk.press("j")
            desk.until(lambda shown=shown: _fields(desk.text) != shown, "more of the review")
            desk.read_until_quiet(STILL)
        desk.read_until_quiet(STILL)
        # Wherever the rows of it end.
        told = " ".join(desk.text.split())
        assert re.search(r"None contradicts (it|the quote)\.", told), desk.text
        self._signed = digest_in(desk.text)
        desk.press("s")
        desk.until(lambda: digest_in(desk.text) != self._signed, "the signature")
        return desk.keys - before

    def _asked(self) -> bool:
        text = self.desk.text
        whole = digest_in(text) not in ("", self._signed)
        return "sign or refuse in" in text and (whole or "read to the end first" in text)


def _asked_at(text: str) -> str:
    """The row above the routes, with the time of the answer."""
    return next((row for row in text.split("\n") if " UTC " in row), "")


def _fields(text: str) -> list[str]:
    """What is read, without the frame and what counts down there."""
    return text.split("\n")[3:-2]


def digest_in(text: str) -> str:
    """The first half of the digest on the screen; empty where none stands there."""
    found = re.search(r"Digest +(0x [0-9a-f ]+)", text)
    return found[1].strip() if found else ""


@pytest.fixture(scope="module")
def trader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trader]:
    """The desk starts its own sandbox; nothing is configured. The tape of the documents plays in
    it first, to the end of a swap."""
    one = Trader(tmp_path_factory.mktemp("home") / "home")
    one.desk.read_until("arrived at the recipient")
    one.desk.until(lambda: "ctrl+c stops the tape" not in one.desk.text, "the end of the tape")
    yield one
    one.desk.press("q")
    one.desk.press("q")
    wait_for(one.ended, what="the desk to end")
    one.desk.close()


@pytest.mark.timeout(400)
def test_a_desk_killed_at_a_question_asks_it_again_and_swaps_in_few_keys(trader: Trader) -> None:
    """The way to the page that signs, after the kill and after leaving it, is not counted."""
    trader.to_form("Basalt AMM")
    owner = trader.account()
    had, got = trader.holds(USDC, owner), trader.holds(WETH, owner)
    trader.confirm()
    keys = trader.desk.keys
    trader.desk.until(lambda: "sign or refuse in" in trader.desk.text, "a review")
    trader.killed()
    desk = trader.desk
    desk.until(lambda: "waits for your signature" in desk.text, "the open swap")
    assert trader.holds(USDC, owner) == had
    desk.press("s")
    keys += trader.sign()
    desk.until(lambda: "◐ send" in desk.text, "the next step")
    desk.until(lambda: "sign or refuse in" in desk.text, "its review")
    desk.press("\x1b")
    desk.until(lambda: "waits for your signature" in desk.text, "the first screen")
    desk.read_until_quiet(STILL)
    desk.press("o")
    desk.until(lambda: "Orders  " in desk.text.split("\n")[0], "all orders")
    desk.until(lambda: "▌ ○" in desk.text, "the order among them")
    desk.read_until_quiet(STILL)
    desk.press("\r")
    desk.until(lambda: "s shows what is to be signed" in desk.text, "who acts next")
    desk.press("s")
    keys += trader.sign()
    assert keys <= MOST_KEYS, keys
    desk.until(lambda: "Completed" in desk.text, "the order completed")
    assert trader.holds(USDC, owner) == had - 1_000 * 10**6
    arrived = Decimal(trader.holds(WETH, owner) - got).scaleb(-18)
    assert Decimal("0.2") < arrived < Decimal("0.5")
    desk.read_until(f"Funds {arrived:f} WETH arrived")
