"""A deposit paid by keys from the wallet, by a desk that is killed over it.

What was paid is asked of the node over JSON-RPC, not of the desk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
import pytest

from harness import Sandbox, running_sandbox
from plain_http import PLAIN
from sandbox.chain_money import Chain
from swapdesk.sandbox.world import find_token
from tui.test_end_to_end import STILL, DeskWindow

USDC, AMOUNT = find_token("base", "USDC"), 64
COLD = "@cold"


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with running_sandbox(tmp_path_factory.mktemp("home"), wallet=True) as running:
        yield running


@pytest.fixture
def windows() -> Iterator[list[DeskWindow]]:
    opened: list[DeskWindow] = []
    yield opened
    for window in opened:
        window.close()


def opened(sandbox: Sandbox, windows: list[DeskWindow]) -> DeskWindow:
    desk = DeskWindow(sandbox.home)
    windows.append(desk)
    desk.ready()
    return desk


def node(sandbox: Sandbox) -> Chain:
    (rpc,) = [one["rpc"] for one in sandbox.ready["chains"] if one["shortName"] == "base"]
    return Chain(rpc)


def place_of(sandbox: Sandbox, order: str) -> str:
    """The deposit address, as the service has it."""
    partner = next(one for one in sandbox.ready["partners"] if one["tier"] == "PRO")
    answer = httpx2.get(
        f"{sandbox.ready['url']}/orders",
        headers={"Authorization": f"{partner['apiKey']}:{partner['apiSecret']}"},
        trust_env=False,
        verify=PLAIN,
    )
    (found,) = [one for one in answer.json()["orders"] if one["serviceId"].startswith(order)]
    return str(found["depositAddress"])


def card(desk: DeskWindow, amount: int) -> str:
    """The deposit card of a new order; its short id."""
    desk.to_deposit(f"{amount} usdc.base btc.bitcoin", COLD)
    desk.read_until("f fund from wallet")
    assert "simulated chain" not in desk.text
    desk.read_until_quiet(STILL)
    return desk.order_id()


def review(desk: DeskWindow) -> None:
    """Up to the question, read to its end."""
    desk.until(lambda: "sign or refuse in" in desk.text, "the review")
    assert "Held against" in desk.text
    assert re.search(r"✓ check .* ◐ sign ", desk.text), desk.text
    desk.read_until_quiet(STILL)


def top(desk: DeskWindow) -> str:
    return desk.text.split("\n")[0]


def test_a_killed_desk_goes_on_with_the_payment_and_pays_once(
    sandbox: Sandbox, windows: list[DeskWindow]
) -> None:
    desk, chain = opened(sandbox, windows), node(sandbox)
    order = card(desk, AMOUNT)
    place = place_of(sandbox, order)
    desk.press("f")
    review(desk)
    assert chain.balance(USDC, place) == 0
    desk.press("s")
    # Signed and written down, whatever came of it before the desk ends.
    desk.until(lambda: "✓ sign" in desk.text or "Deposit" in top(desk), "it is signed")
    desk.kill()
    again = opened(sandbox, windows)
    again.until(lambda: chain.balance(USDC, place) == AMOUNT * 10**6, "it is paid")
    again.press("o")
    again.until(lambda: "Completed" in again.row_of(order), "the order completed")
    assert len(chain("eth_getLogs", logs_to(place))) == 1


def logs_to(place: str) -> dict[str, object]:
    transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    topics = [transfer, None, "0x" + place[2:].lower().rjust(64, "0")]
    return {"fromBlock": "0x0", "address": USDC.address, "topics": topics}
