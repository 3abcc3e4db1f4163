"""The quote comparison: rows, reasons, expiry, refresh at a cost, errors in words."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from flows.faulty_network import After, on
from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.screens.quotes import QuotesScreen, WaterfallScreen
from swapdesk.tui.widgets.line_table import LineTable
from tui.desk_run import SIZES, DeskRun, Market
from tui.quote_rows import (
    ALDER,
    BASALT,
    FATHOM,
    FIXED,
    ISTHMUS,
    MERIDIAN,
    SUNK,
    TWO_LEGS,
    fixed_are,
    only_these,
    quotes_with,
)


def quotes_asked(market: Market) -> int:
    return market.network.seen.count("GET /v2/quotes")


def at_cursor(run: DeskRun) -> str:
    return next(line for line in run.text.split("\n") if line.startswith("▌"))


async def test_the_best_usable_row_is_chosen_and_an_unusable_one_says_why(market: Market) -> None:
    """Another order of the rows keeps their ranks, a refresh keeps the cursor on its route."""
    async with market.desk() as run:
        await run.to_quotes()
        row = at_cursor(run)
        assert "best" in row
        assert "Alder" in row
        assert "Cedar" not in row
        await run.press("s")
        assert "All-in ETH" in run.text
        await run.press("s")
        first = next(line for line in run.text.split("\n") if "standard" in line)
        assert re.search("2 +standard +Birch", first), "by time, with its rank"
        await run.press("s")

        await run.press("enter")
        assert run.screen(CreateScreen).state.row.place == 1
        await run.press("escape", "end")
        assert "Reason" in run.text
        assert "below minimum: this route takes" in run.text
        await run.press("enter")
        screen = run.screen(QuotesScreen)
        assert "This route cannot be chosen" in run.text

        await run.press("home", "down")
        while "Birch" not in at_cursor(run):
            await run.press("down")
        before = screen.result
        await run.press("r")
        await run.settle(lambda: screen.result is not before, "the answer")
        assert "Birch" in at_cursor(run)


async def test_expiry_locks_enter_and_offers_a_refresh_at_its_cost(market: Market) -> None:
    async with market.desk() as run:
        await run.to_quotes()
        assert "1:00" in run.text
        run.advance(45)
        await run.see("0:15")
        run.advance(20)
        await run.see("expired")
        assert "enter review" not in run.text
        assert "r refresh, 1 quote" in run.text
        assert "you: r asks again, 1 quote" in run.text
        assert quotes_asked(market) == 1
        await run.press("enter")
        run.screen(QuotesScreen)
        assert "This quote ended at 14:03." in run.text
        await run.press("r", sees="1:00")
        assert quotes_asked(market) == 2
        await run.press("enter")
        run.screen(CreateScreen)


def failing(status: int, body: bytes, **more: str) -> After:
    headers = {"content-type": "application/json", **more}

    def fail(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        return httpx2.Response(status, headers=headers, content=body, request=request)

    return on("GET /v2/quotes", fail)


ERROR = b'{"code":"%s","message":"[b]no[/b]","requestId":"6f1d-22c9"}'


async def test_an_error_says_cause_code_and_request(market: Market) -> None:
    async with market.ready_desk() as run:
        market.network.after = failing(404, ERROR % b"TOKEN_DISABLED")
        await ask(run)
        await run.later("This token or its chain is disabled")
        assert "request 6f1d-22c9" in run.text
        assert "Funds in your wallet." in run.text
        market.network.after = None
        await run.press("r", sees="best")
        assert "is disabled" not in run.text


LIMITED = failing(429, ERROR % b"RATE_LIMIT_EXCEEDED", **{"retry-after": "21"})


async def test_a_full_window_is_told_and_asked_again_by_itself_for_who_is_there(
    market: Market,
) -> None:
    async with market.ready_desk() as run:
        market.network.after = LIMITED
        await ask(run)
        await run.see("The calls of this window are used up: again in 21 s.")
        assert "Next the desk: it asks again in 21 s" in run.text
        await run.press("r")
        assert "Refresh: again in 21 s." in run.text
        run.advance(10)
        await run.see("again in 11 s")
        market.network.after = None
        assert quotes_asked(market) == 1
        run.advance(11)
        await run.see("best")
        assert quotes_asked(market) == 2
        await run.see("r refresh, 1 quote ")

        market.network.after = LIMITED
        await run.press("r", sees="again in 21 s")
        await run.press("o", sees="Orders")
        run.advance(40)
        await run.press("escape")
        run.app.tick()
        await run.pilot.pause()
        assert quotes_asked(market) == 3, "nobody waited for it"
        assert "again in" not in run.text


async def test_a_new_quote_of_a_full_window_is_asked_for_again(market: Market) -> None:
    async with market.desk() as run:
        await run.to_frozen()
        run.advance(70)
        market.network.after = LIMITED
        await run.press("r", sees="r new quote, again in 21 s")
        market.network.after = None
        run.advance(21)
        await run.see("c creates the order")


async def test_an_error_leaves_the_rows_and_a_repeated_call_says_what_the_next_may_cost(
    market: Market,
) -> None:
    """An account without fixed rates keeps its floating ones."""
    async with market.desk() as run:
        await run.to_quotes()
        market.network.after = failing(403, ERROR % b"FIXED_RATE_NOT_ALLOWED")
        await run.press("f", sees="FIXED_RATE_NOT_ALLOWED")
        assert "Alder" in run.text
        assert "f fixed too, 1 quote" in run.text

        market.network.after = failing(500, ERROR % b"INTERNAL_SERVER_ERROR")
        await run.press("r")

        def seen() -> bool:
            run.app.tick()
            return "asking again, 2 of 3" in run.text

        await run.settle(seen, "the second call")
        await run.later("The service had an internal error.")
        assert "Alder" in run.text
        assert "◌ 14:02:11 UTC" in run.text
        assert "r refresh, 1 to 3 quotes" in run.text
        market.network.after = None
        await run.press("r")
        await run.settle(lambda: "1 to 3" not in run.text, "an answer at once")


async def test_an_answer_outlives_its_screen(market: Market) -> None:
    """Before a screen is composed and after it is removed an answer is kept, nothing drawn."""
    async with market.desk() as run:
        await run.to_quotes()
        screen = run.screen(QuotesScreen)
        board = screen.result
        early = QuotesScreen(run.app.session, board.request)
        assert not early.composed
        early.take(board)
        assert early.result is board
        await run.press("escape")
        await run.settle(lambda: not screen.composed, "the screen to go")
        for late in (
            lambda: screen.take(board),
            lambda: screen._arrived(board),
            screen._forget_former,
            screen.on_tick,
            screen.on_resize,
        ):
            late()
        assert screen.result is board


async def test_a_route_on_a_chain_without_wallet_is_compared_and_not_chosen(market: Market) -> None:
    market.network.after = quotes_with(MERIDIAN, SUNK)
    async with market.desk() as run:
        await run.to_quotes()
        screen = run.screen(QuotesScreen)
        await run.press("down")
        assert screen.row.quote.swap == "me"
        assert "e explain" in run.text
        await run.press("enter")
        run.screen(QuotesScreen)
        assert "The wallet of this desk signs nothing on Bitcoin." in run.text
        for key, shown, hidden in (("d", "dex only", "Alder"), ("2", "two legs", "Alder"),
                                   ("0", "Alder", "private only")):  # fmt: skip
            await run.press(key)
            assert shown in run.text
            assert hidden not in run.text


async def test_the_best_mark_and_the_cursor_start_on_what_can_be_created(market: Market) -> None:
    market.network.after = quotes_with(MERIDIAN | {"amountOut": 15, "netAmountOut": 14.98})
    async with market.desk() as run:
        await run.to_quotes()
        row = next(line for line in run.text.split("\n") if line.startswith("▌"))
        assert "Alder" in row
        best = next(line for line in run.text.split("\n") if " best " in line and "vs" not in line)
        assert "Meridian" in best

        market.network.after = quotes_with(MERIDIAN, MERIDIAN | {"netAmountOut": 14.5})
        await run.press("r")
        said = "another quote of this answer has the same id"
        await run.settle(lambda: run.text.count(said) == 2, "two quotes of one id, not chosen")
        assert "Alder" in run.text


def alike(count: int) -> list[dict[str, Any]]:
    """Private routes that differ in what they pay alone."""
    pays = [14.46 - at / 100 for at in range(count)]
    return [
        TWO_LEGS | {"quoteId": f"{at:024x}", "amountOut": pay, "netAmountOut": pay}
        for at, pay in enumerate(pays)
    ]


async def test_routes_that_nobody_can_tell_apart_are_three_and_a_count(market: Market) -> None:
    marked = [{"appliedApiMarkup": 0.5} | row for row in alike(24)]
    last = MERIDIAN | {"netAmountOut": 14.0}
    refused = [BASALT | {"swap": f"b{at}"} for at in range(12)]
    market.network.after = only_these(ALDER, *marked, last, FATHOM, *refused)
    async with market.desk((100, 30)) as run:
        await run.to_quotes()
        assert run.text.count("two legs") == 3
        assert "private   21 more, 14.430000 to 14.230000: m shows them" in run.text
        assert "Not usable  13, the first Fathom: filtered: price impact is too high" in run.text
        rows = [row for row in run.text.split("\n") if "two legs" in row]
        assert not [row for row in rows if "markup" in row], "said once, below"
        read = " ".join(run.text.split())
        assert "markup on 24 of 26 routes: priced with your markup" in read
        assert next(row for row in run.text.split("\n") if "Alder" in row).endswith("no markup")
        await run.press("m")
        assert "21 more" not in run.text
        table = run.screen(QuotesScreen).query_one("#quotes", LineTable)
        assert sum(row.key.startswith("0000") for row in table.rows) == 24
        await run.press("m")
        assert "21 more" in run.text
        await run.press("2")
        assert "21 more" not in run.text, "who asks for private routes alone sees them"


async def test_the_note_of_one_more_transaction_is_never_cut(market: Market) -> None:
    market.network.after = quotes_with(MERIDIAN, ISTHMUS | {"feeUsd": 0, "netAmountOut": 14.0})
    async with market.desk(SIZES[0]) as run:
        await run.to_quotes()
        for size in SIZES:
            await run.resize(*size)
            row = next(row for row in run.text.split("\n") if "Isthmus" in row)
            assert " approve" in row, run.text


async def test_routes_out_of_view_are_counted_and_the_explanation_leaves_the_heading_its_chains(
    market: Market,
) -> None:
    """Of what the order of the rows means as much is said as the heading leaves room for."""
    many = [MERIDIAN | {"quoteId": f"many-{at}"} for at in range(60)]
    market.network.after = quotes_with(*many)
    async with market.desk((100, 30)) as run:
        await run.to_quotes()
        table = run.screen(QuotesScreen).query_one("#quotes", LineTable)
        assert table.below > 10
        routes = [row for row in table.rows[-table.below :] if row.selectable]
        assert f"{len(routes)} below · " in run.text
        await run.press("end")
        assert " below · " not in run.text

        await run.press("home")
        await run.resize(120, 40)
        await run.press("e", sees="Provider pays out")
        head = next(row for row in run.text.split("\n") if "Sell " in row)
        assert "on Ethereum  " in head
        assert "by net received" in head
        await run.press("escape")
        run.screen(QuotesScreen)
        assert "Provider pays out" not in run.text


async def test_the_waterfall_walks_the_quotes_and_reviews(market: Market) -> None:
    market.network.after = quotes_with(MERIDIAN)
    async with market.desk() as run:
        await run.to_quotes()
        await run.press("e")
        run.screen(WaterfallScreen)
        assert "inside the rate" in run.text
        await run.press("right_square_bracket", sees="$61.12 ÷ $3,311.06")
        await run.press("u")
        assert "u net ranking" in run.text
        await run.press("left_square_bracket", "enter")
        assert run.screen(CreateScreen).state.row.quote.swap == "aa"
        await run.press("escape")
        run.screen(QuotesScreen)


@pytest.mark.parametrize(("chosen", "rate"), [("floating", "false"), ("fixed", "true")])
async def test_fixed_rates_are_merged_and_a_route_is_asked_for_again_at_its_own(
    market: Market, chosen: str, rate: str
) -> None:
    asked: list[str] = []

    def noting(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if request.url.path.endswith("/quotes"):
            asked.append(request.url.params.get("fixed", "false"))
        ends = f"{market.clock.now() + timedelta(minutes=10):%Y-%m-%dT%H:%M:%SZ}"
        row = FIXED | {"quoteId": f"{len(asked):024x}", "validUntil": ends}
        return fixed_are(row)(request, response)

    market.network.after = noting
    async with market.desk() as run:
        await run.to_quotes()
        assert "f fixed too, 1 quote" in run.text
        await run.press("f", sees="fixed and floating")
        assert asked == ["false", "true"]
        assert "r refresh, 2 quotes" in run.text
        assert "f fixed too" not in run.text
        board = run.screen(QuotesScreen).result
        row = next(r for r in board.ranking.rows if r.quote.fixed == (chosen == "fixed"))
        run.screen(QuotesScreen)._table.move_to(row.quote_id)
        await run.press("enter")
        run.screen(CreateScreen)
        run.advance(700)
        await run.see("ctrl+r new quote, 1 quote")
        await run.press("ctrl+r")
        await run.settle(lambda: len(asked) == 3, "a quote")
        await run.settle(lambda: not run.screen(CreateScreen).fetching, "the answer")
        assert asked[2] == rate
        await run.press("escape")
        again = run.screen(QuotesScreen).result
        assert {r.quote.fixed for r in again.ranking.rows} == {chosen == "fixed"}
        over = [e for e in again.ranking.unusable if e.reason.startswith("expired")]
        assert {e.quote.fixed for e in over} == {chosen != "fixed"}
        assert "r refresh, 2 quotes" in run.text
        assert len(asked) == 3


async def test_options_ask_only_when_a_key_says_so(market: Market) -> None:
    async with market.desk() as run:
        await run.to_quotes()
        await run.press("f2", sees="How to ask for quotes")
        await run.press("ctrl+n", "down", "down")
        await run.enter("5")
        assert "A markup is 0 to 4 percent." in run.text
        await run.press("backspace")
        await run.type("0.5")
        await run.press("up", "up", *["down"] * 10)
        await run.type("mine")
        await run.press("ctrl+s")
        assert "Kept as mine." in run.text
        await run.press("up")
        await run.type("trading")
        await run.press("enter", to=QuotesScreen)
        assert "Options changed. r asks with them, 1 quote." in run.text
        assert quotes_asked(market) == 1
        wish = run.screen(QuotesScreen).request
        assert (wish.fixed, wish.floating, wish.markup) == (True, False, Decimal("0.5"))
        assert (wish.slippage, wish.account) == (None, "trading")


async def ask(run: DeskRun) -> None:
    await run.press("n")
    await run.enter("0.5 btc eth")
