"""Deposits paid by keys from the wallet, in a real terminal and on a real chain.

What was paid is asked of the node over JSON-RPC, not of the desk. One sandbox does all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
import pytest

from harness import Sandbox, running_sandbox
from plain_http import PLAIN
from sandbox.chain_money import Chain, SolanaChain
from sandbox.running import until
from swapdesk.sandbox.world import find_token
from tui.test_end_to_end import STILL, DeskWindow

USDC, USDC_SOLANA = find_token("base", "USDC"), find_token("solana", "USDC")
COLD = "@cold"
MOST_KEYS = 2
"""From the deposit card: one that funds, one that signs."""


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


def card(desk: DeskWindow, amount: int, token: str = "usdc.base") -> str:
    """The deposit card of a new order; its short id."""
    desk.to_deposit(f"{amount} {token} btc.bitcoin", COLD)
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


def test_a_deposit_is_funded_and_signed_in_two_keys(
    sandbox: Sandbox, windows: list[DeskWindow]
) -> None:
    desk, chain = opened(sandbox, windows), node(sandbox)
    order = card(desk, 60)
    desk.keys = 0
    desk.press("f")
    review(desk)
    assert chain.balance(USDC, place_of(sandbox, order)) == 0
    desk.press("s")
    assert desk.keys == MOST_KEYS
    desk.until(lambda: "Deposit" in top(desk) and "left, until" not in desk.text, "it is seen")
    assert chain.balance(USDC, place_of(sandbox, order)) == 60 * 10**6
    desk.completed(order)


def test_a_deposit_on_solana_is_one_key_more_to_read(
    sandbox: Sandbox, windows: list[DeskWindow]
) -> None:
    desk = opened(sandbox, windows)
    (rpc,) = [one["rpc"] for one in sandbox.ready["chains"] if one["shortName"] == "solana"]
    chain, order = SolanaChain(rpc), card(desk, 65, "usdc.solana")
    desk.keys = 0
    desk.press("f")
    desk.until(lambda: "sign or refuse in" in desk.text, "the review")
    assert re.search(r"✓ check .* ◐ sign ", desk.text), desk.text
    desk.read_until("read to the end first", "space pgdn end read on")
    desk.press("j")
    desk.until(lambda: "read to the end first" not in desk.text, "the end of the review")
    desk.read_until_quiet(STILL)
    place = place_of(sandbox, order)
    assert "None contradicts it." in flat(desk)
    assert chain.balance(USDC_SOLANA, place) == 0
    desk.press("s")
    assert desk.keys == MOST_KEYS + 1
    desk.until(lambda: chain.balance(USDC_SOLANA, place) > 0, "it is paid")
    desk.read_until("Executed on Solana.", "Next the chain: it confirms the transaction")
    # Blocks come by the clock, so nobody has to wait until it is final.
    sandbox.control("POST", "/clock", {"advance": 15})
    desk.until(lambda: "Deposit" in top(desk) and "left, until" not in desk.text, "it is seen")
    assert chain.balance(USDC_SOLANA, place) == 65 * 10**6
    assert len(chain.history(place)) == 1
    desk.completed(order)


@pytest.mark.long
def test_what_is_refused_stays_in_the_wallet_and_can_be_asked_for_again(
    sandbox: Sandbox, windows: list[DeskWindow]
) -> None:
    desk, chain = opened(sandbox, windows), node(sandbox)
    order = card(desk, 61)
    desk.press("f")
    review(desk)
    desk.press("x")
    desk.read_until("You did not sign.", "nothing was paid", "f on the card asks again")
    assert chain.balance(USDC, place_of(sandbox, order)) == 0
    desk.press(b"\x1b")
    desk.read_until("f fund from wallet")


def test_a_wallet_that_lacks_it_says_what_and_the_faucet_pays(
    sandbox: Sandbox, windows: list[DeskWindow]
) -> None:
    desk, chain = opened(sandbox, windows), node(sandbox)
    order = card(desk, 20_000)
    desk.press("f")
    lack = re.compile(r"is short of [\d,.]+ USDC: *the order asks for 20,000 USDC")
    desk.until(lambda: lack.search(flat(desk)), "what is missing")
    assert chain.balance(USDC, place_of(sandbox, order)) == 0
    desk.press(b"\x1b")
    desk.read_until("f fund from the faucet")
    desk.fund()
    until(lambda: chain.balance(USDC, place_of(sandbox, order)) == 20_000 * 10**6)


def top(desk: DeskWindow) -> str:
    return desk.text.split("\n")[0]


def flat(desk: DeskWindow) -> str:
    return " ".join(desk.text.split())


@pytest.mark.parametrize(
    "at", ["the payment", pytest.param("the question", marks=pytest.mark.long)]
)
def test_a_killed_desk_goes_on_with_the_payment_and_pays_once(
    sandbox: Sandbox, windows: list[DeskWindow], at: str
) -> None:
    desk, chain = opened(sandbox, windows), node(sandbox)
    amount = 63 if at == "the question" else 64
    order = card(desk, amount)
    desk.press("f")
    review(desk)
    if at == "the payment":
        desk.press("s")
        # Signed and written down, whatever came of it before the desk ends.
        desk.until(lambda: "✓ sign" in desk.text or "Deposit" in top(desk), "it is signed")
    desk.kill()
    place = place_of(sandbox, order)
    again = DeskWindow(sandbox.home)
    windows.append(again)
    if at == "the question":
        again.until(lambda: "waits for your signature" in again.text, "the payment")
        assert chain.balance(USDC, place) == 0
        again.press("s")
        review(again)
        again.press("s")
    again.until(lambda: chain.balance(USDC, place) == amount * 10**6, "it is paid")
    again.ready()
    again.press("o")
    again.until(lambda: "Completed" in again.row_of(order), "the order completed")
    assert len(chain("eth_getLogs", logs_to(place))) == 1


def logs_to(place: str) -> dict[str, object]:
    transfer = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
    topics = [transfer, None, "0x" + place[2:].lower().rjust(64, "0")]
    return {"fromBlock": "0x0", "address": USDC.address, "topics": topics}
