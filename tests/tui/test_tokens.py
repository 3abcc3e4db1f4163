"""The token search: ranking on the screen, what cannot be chosen, the pane, empty results."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from swapdesk.sandbox.hostile_rows import HOSTILE_ROWS
from swapdesk.sandbox.token_rows import HONEST_ROWS
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.tokens import LIMIT, TokensScreen
from tui.desk_run import SIZES, DeskRun, Market

Golden = Callable[[str, str], None]


async def search(run: DeskRun, text: str) -> None:
    await run.ready()
    await run.press("t")
    await run.type(text)


@pytest.mark.parametrize("size", SIZES)
async def test_tokens_of_one_symbol(market: Market, golden: Golden, size: tuple[int, int]) -> None:
    async with market.desk(size) as run:
        await search(run, "usdc")
        await run.press("down")
        golden(f"tokens-{size[0]}", run.body)


async def test_a_malicious_token_cannot_be_chosen(market: Market) -> None:
    async with market.desk() as run:
        await search(run, "usdcoin")
        await run.settle(lambda: "malicious" in run.text)
        await run.press("enter")
        run.screen(TokensScreen)
        assert "malicious. It cannot be chosen." in run.text


async def test_a_disabled_token_cannot_be_chosen(market: Market) -> None:
    async with market.desk() as run:
        await search(run, "usdc avalanche")
        await run.press("enter")
        run.screen(TokensScreen)
        assert "is disabled at the service." in run.text


async def test_a_warning_is_agreed_to_by_typing(market: Market) -> None:
    async with market.desk() as run:
        await search(run, "usdc.e arbitrum")
        await run.press("enter")
        await run.see("This token needs a second look")
        await run.type("no")
        await run.press("enter")
        await run.see('Not the same: type "yes".')
        await run.press("backspace", "backspace")
        await run.type("yes")
        await run.press("enter")
        await run.settle(lambda: isinstance(run.app.screen, SwapScreen), "the line")
        assert "usdc.e" in run.screen(SwapScreen).line.value


async def test_filters_by_chain_purpose_and_order(market: Market) -> None:
    async with market.desk() as run:
        await search(run, "")
        everything = run.text
        await run.press("tab")
        assert " on " in run.text.split("\n")[3]
        assert run.text != everything
        await run.press("f2")
        assert "cex" in run.text.split("\n")[3]
        await run.press("f3")
        assert "by symbol" in run.text


async def test_nothing_found_says_how_to_find_more(market: Market) -> None:
    async with market.desk() as run:
        await search(run, "zzzz")
        assert 'No token is called "zzzz".' in run.text
        await run.press("escape")
        listed = sum(not row.unverified for row in (*HONEST_ROWS, *HOSTILE_ROWS))
        assert f"{LIMIT}+ of {listed} tokens" in run.text
        await run.press("escape")
        run.screen(SwapScreen)


async def test_an_unlisted_contract_is_asked_for_once(market: Market) -> None:
    async with market.desk() as run:
        await search(run, "0x" + "ab" * 20)
        assert "f4 asks the service for it." in run.text
        asked = market.network.seen.count("GET /v2/tokens")
        await run.press("f4")
        await run.see("The service does not know this contract either.")
        assert market.network.seen.count("GET /v2/tokens") == asked + 1


async def test_a_copy_of_a_name_is_shown_with_the_whole_contract(market: Market) -> None:
    async with market.desk() as run:
        await search(run, "usdc")
        assert "copies this name" in run.text
        assert "0x A0b8 6991 c621 8b36 c1d1 9D4a 2e9E b0cE 3606 eB48" in run.text
