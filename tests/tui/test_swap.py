"""The intent line: how it is read, what it refuses, the token search writing into it."""

from __future__ import annotations

import re

from flows.orders import created_here, order
from swapdesk.flows.quotes.quote_request import QuoteOptions
from swapdesk.tui.commands.swap import ASK_QUOTES
from swapdesk.tui.screens.orders import OrdersScreen
from swapdesk.tui.screens.quotes import QuotesScreen
from swapdesk.tui.screens.swap import SwapScreen
from swapdesk.wire.orders import DisplayStatus
from tui.desk_run import DeskRun, Market


async def test_a_wrong_line_says_what_and_asks_nothing(market: Market) -> None:
    """The notice goes when the line is another one."""
    async with market.ready_desk() as run:
        await run.enter("1..5 btc eth")
        assert "▲ An amount has one point." in run.text
        assert not [call for call in market.network.seen if "quotes" in call]
        assert run.screen(SwapScreen).line.value == "1..5 btc eth"
        await run.press("home", "right", "delete", sees="Sell  1.5 BTC")
        assert "An amount has one point." not in run.text


async def cleared(run: DeskRun) -> None:
    """The first screen with an empty line."""
    line = run.screen(SwapScreen).line
    if line.value:
        await run.press("escape")
    assert line.value == ""


async def test_what_begins_with_no_digit_is_text_and_refused(market: Market) -> None:
    async with market.ready_desk() as run:
        for line in ("-1 btc eth", "１ btc eth", ".5 btc eth"):
            await cleared(run)
            await run.type(line)
            assert run.screen(SwapScreen).line.value == line
        await cleared(run)
        await run.enter("-1 btc eth")
        assert "An amount has no sign." in run.text
        run.screen(SwapScreen)


async def test_letters_are_typed_while_the_line_has_text_wherever_the_focus_is(
    market: Market,
) -> None:
    async with market.ready_desk((80, 24)) as run:
        await run.type("0.5 bt")
        run.app.screen.set_focus(None)
        await run.type("c top")
        assert run.screen(SwapScreen).line.value == "0.5 btc top"
        assert run.app.focused is run.screen(SwapScreen).line


async def test_both_tokens_have_a_key_for_another_chain(market: Market) -> None:
    async with market.ready_desk() as run:
        await run.type("900 usdc eth", sees="USDC is on ")
        assert ": shift+tab · ETH is on " in run.text
        await run.press("tab", "shift+tab")
        read = re.search(r"Sell +900 USDC +on (\w+) +Buy +ETH +on (\w+)", run.text)
        assert read is not None, run.text
        assert "Ethereum" not in (read[1], read[2])


async def test_an_amount_outside_the_limits_is_said_and_costs_no_quote(market: Market) -> None:
    """The bound is never cut on a small screen."""
    async with market.ready_desk((80, 24)) as run:
        for line in ("0.00001 btc eth", "900000 btc eth"):
            await cleared(run)
            await run.type(line)
            await run.later("usable amount is", 1)
            read = " ".join(run.text.split())
            bound = re.search(r"(small|larg)est usable amount is ([0-9.,]+ BTC)\.", read)
            assert bound is not None, run.text
            await run.press("enter", sees=f"▲ {bound[1].capitalize()}est: {bound[2]}")
            run.screen(SwapScreen)


async def test_a_chosen_token_is_written_into_the_line_and_its_amount_may_come_later(
    market: Market,
) -> None:
    """A whole line one comes back to leaves letters to the desk."""
    async with market.ready_desk() as run:
        await run.press("t")
        await run.enter("sol", to=SwapScreen)
        await run.type("40")
        await run.press("end")
        await run.type("btc", sees="Sell  40 SOL  on Solana")
        assert "Buy  BTC  on Bitcoin" in run.text

        await cleared(run)
        await run.type("900")
        await run.press("ctrl+t")
        await run.enter("usdc base", to=SwapScreen)
        assert run.screen(SwapScreen).line.value == "900 usdc.base"
        await run.enter(" eth", to=QuotesScreen)
        await run.settle(lambda: run.screen(QuotesScreen).result is not None, "their answer")

        await run.press("escape")
        line = run.screen(SwapScreen).line
        assert "? keys" in run.text
        await run.press("o")
        run.screen(OrdersScreen)
        await run.press("escape", "backspace", "o")
        assert line.value == "900 usdc.base eto"


async def test_a_private_send_names_its_recipient_here_or_in_the_form(market: Market) -> None:
    address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    async with market.ready_desk() as run:
        await run.press("space", "p")
        assert run.screen(SwapScreen).private, "a key of the desk stays one on the empty line"
        assert run.screen(SwapScreen).line.value == ""
        await run.type("10 usdc.e", sees="cannot be sent privately")
        await run.press("enter")
        assert isinstance(run.app.screen, SwapScreen)

        for asked, to in enumerate(("", " @bob", f" {address}"), 1):
            await cleared(run)
            assert run.screen(SwapScreen).private
            await run.type(f"0.5 eth{to}", sees="Send privately  0.5 ETH  on Ethereum")
            assert ("to  @bob" in run.text) == (to == " @bob")
            assert ("to  0x5aAe" in run.text.replace("0x ", "0x")) == to.endswith(address)
            await run.press("enter")
            await run.settle(lambda: getattr(run.app.screen, "result", None) is not None, "quotes")
            assert market.network.seen.count("GET /v2/quotes/private-send") == asked
            if to.endswith(address):
                await run.press(
                    "enter", sees="0x 5aAe b605 3F3E 94C9 b9A0 9f33 6694 35E7 Ef1B eAed"
                )
            else:
                await run.press("escape")


async def test_a_look_alike_is_refused_in_the_line_of_a_private_send(market: Market) -> None:
    """Also of whom this desk paid before, as in the form."""
    known = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    twin = f"{known[:6].lower()}{'f' * 32}{known[-4:].lower()}"
    async with market.ready_desk() as run:
        paid = order(receiver_address=known, display_status=DisplayStatus.SWAP_COMPLETED.value)
        created_here(run.app.session.desk.journal, paid)
        await run.press("p")
        await run.type(f"0.5 eth {twin}")
        assert "This address looks like" in run.text
        assert "enter ask for quotes" not in run.text
        await run.press("enter")
        assert isinstance(run.app.screen, SwapScreen)


async def test_the_help_says_what_asking_costs(market: Market) -> None:
    async with market.ready_desk() as run:
        for options, line, cost in (
            (QuoteOptions(), "0.5 btc eth", "1 quote"),
            (QuoteOptions(fixed=True), "0.5 btc eth", "2 quotes"),
            (QuoteOptions(fixed=True), "=2 btc eth", "1 quote"),
        ):
            run.app.session.quote_options = options
            await run.press("escape")
            await run.type(line)
            await run.settle(lambda: "ask for quotes" in run.text, "the verb")
            screen = run.screen(SwapScreen)
            assert ASK_QUOTES in dict(screen.verbs.working())
            rows = [does for group in screen.verbs.help_groups(None) for _, does in group.rows]
            assert f"Ask for the quotes of every route; {cost}." in rows
