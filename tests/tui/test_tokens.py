"""The token search: ranking on the screen, what cannot be chosen, the pane, empty results."""

from __future__ import annotations

import re

import httpx2

from swapdesk.sandbox.tables import HONEST_ROWS, HOSTILE_ROWS
from swapdesk.sandbox.world import build_chains, build_tokens
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.tui.screens.tokens import LIMIT, TokensScreen
from tui.desk_run import DeskRun, Market


async def search(run: DeskRun, text: str) -> None:
    await run.ready()
    await run.press("t")
    await run.type(text)


async def test_a_token_that_is_not_what_it_seems_is_refused_or_agreed_to_by_typing(
    market: Market,
) -> None:
    """A malicious one, and one that only warns."""
    async with market.desk() as run:
        await search(run, "usdcoin")
        await run.settle(lambda: "malicious" in run.text)
        await run.press("enter")
        run.screen(TokensScreen)
        assert "malicious. It cannot be chosen." in run.text

        await anew(run, "usdc.e arbitrum")
        await run.press("enter", sees="This token needs a second look")
        await run.enter("no", sees='Not the same: type "yes".')
        await run.press("backspace", "backspace")
        await run.enter("yes", to=SwapScreen)
        assert "usdc.e" in run.screen(SwapScreen).line.value


async def anew(run: DeskRun, text: str) -> None:
    """Search for something else on the same page."""
    await run.press("escape")
    assert run.screen(TokensScreen)._field.value == ""
    await run.type(text)


async def test_nothing_found_says_how_to_find_more_and_names_the_filters(market: Market) -> None:
    """Tokens are filtered by chain, purpose and order. The advice is whole on a narrow screen."""
    async with market.desk((80, 24)) as run:
        await search(run, "zzzz")
        assert "to find one that is not listed." in " ".join(run.text.split())
        await run.resize(100, 30)
        assert 'No token is called "zzzz".' in run.text
        await run.press("escape")
        listed = sum(not row.unverified for row in (*HONEST_ROWS, *HOSTILE_ROWS))
        assert f"{LIMIT}+ of {listed} tokens" in run.text
        await run.type("zzzz")
        await run.press("f2")
        assert 'No token is called "zzzz" (cex). tab changes the chain, f2' in run.text
        await run.press("escape", "tab")
        assert " on " in run.text.split("\n")[3]
        await run.press("f3")
        assert "by symbol" in run.text


async def test_an_unlisted_contract_is_asked_for_once(market: Market) -> None:
    """It is told when its tokens find no room."""
    tokens = build_tokens(build_chains(), market.clock.now())
    contract = next(one.address for one in tokens if one.unverified and one.address)
    async with market.desk() as run:
        await search(run, "0x" + "ab" * 20)
        assert "f4 asks the service for it." in run.text
        asked = market.network.seen.count("GET /v2/tokens")
        await run.press("f4", sees="The service does not know this contract either.")
        assert market.network.seen.count("GET /v2/tokens") == asked + 1

        await anew(run, contract)
        file = run.app.session.desk.catalog._file
        file._connection.execute("PRAGMA query_only = ON")
        await run.press(
            "f4", sees="cannot be written: attempt to write a readonly database; make room."
        )
        file._connection.execute("PRAGMA query_only = OFF")
        await run.press("f4")
        await run.settle(lambda: "No token is called" not in run.text, "the token")


async def test_limits_are_asked_for_by_a_key_and_then_known(market: Market) -> None:
    """Limits that do not come say why. A copy of a name is shown with the whole contract."""

    def asked() -> int:
        return market.network.seen.count("GET /v2/minMax")

    async with market.desk() as run:
        await search(run, "usdc")
        assert "2 tokens copy this name: USDC on Ethereum, 0x d0A1 …C3ab, ✗ malicious" in run.text
        assert "0x A0b8 6991 c621 8b36 c1d1 9D4a 2e9E b0cE 3606 eB48" in run.text
        assert "f5 asks the service, 1 read" in run.text
        assert asked() == 0
        market.network.after = lambda request, _: httpx2.Response(
            403, content=b'{"code":"FORBIDDEN","message":"no"}', request=request
        )
        await run.press("f5", sees="FORBIDDEN")
        await run.see("f5 asks the service")
        assert asked() == 1

        market.network.after = None
        await run.press("f5", sees="USDC sold for BTC")
        assert re.search(r"standard [\d.,]+ to [\d.,]+   private [\d.,]+ to ", run.text)
        assert asked() == 2
        await run.press("down", sees="EPjF Wdd5")
        await run.press("up", sees="USDC sold for BTC")
        assert asked() == 2


async def test_a_token_for_a_line_is_the_other_side_of_its_limits(market: Market) -> None:
    async with market.ready_desk() as run:
        await run.type("0.5 btc")
        await run.press("ctrl+t")
        assert "choose what to buy" in run.text.split("\n")[0]
        assert "Next you: choose a token to buy" in run.text
        await run.type("usdc")
        await run.press("f5", sees="BTC sold for USDC")
