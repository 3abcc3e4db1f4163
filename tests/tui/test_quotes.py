"""The quote comparison: rows, reasons, expiry, refresh at a cost, errors in words."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from swapdesk.tui.screens.create import CreateScreen
from swapdesk.tui.screens.quotes import QuotesScreen
from tui.desk_run import SIZES, DeskRun, Market

Golden = Callable[[str, str], None]


def quotes_asked(market: Market) -> int:
    return market.network.seen.count("GET /v2/quotes")


@pytest.mark.parametrize("size", SIZES)
async def test_routes_and_reasons(market: Market, golden: Golden, size: tuple[int, int]) -> None:
    async with market.desk(size) as run:
        await run.to_quotes()
        run.screen(QuotesScreen).clear_notice()
        golden(f"quotes-{size[0]}", run.body)


async def test_the_best_usable_row_is_chosen_at_once(market: Market) -> None:
    async with market.desk() as run:
        await run.to_quotes()
        row = next(line for line in run.text.split("\n") if line.startswith("▌"))
        assert "best" in row
        assert "Alder" in row
        assert "Cedar" not in row
        await run.press("enter")
        assert run.screen(CreateScreen).row.place == 1


async def test_an_unusable_row_is_reached_and_says_why(market: Market) -> None:
    async with market.desk() as run:
        await run.to_quotes()
        await run.press("end")
        assert "Reason" in run.text
        assert "below minimum: this route takes" in run.text
        await run.press("enter")
        run.screen(QuotesScreen)
        assert "This route cannot be chosen" in run.text


async def test_expiry_locks_enter_and_offers_a_refresh_at_its_cost(market: Market) -> None:
    async with market.desk() as run:
        await run.to_quotes()
        assert "1:00" in run.text
        market.clock.advance(45)
        run.app.tick()
        await run.see("0:15")
        market.clock.advance(20)
        run.app.tick()
        await run.see("expired")
        assert "enter review" not in run.text
        assert "r refresh, 1 quote" in run.text
        assert "you: r asks again, 1 quote" in run.text
        assert quotes_asked(market) == 1
        await run.press("enter")
        run.screen(QuotesScreen)
        assert "This quote ended at 14:03." in run.text
        await run.press("r")
        await run.see("1:00")
        assert quotes_asked(market) == 2
        await run.press("enter")
        run.screen(CreateScreen)


async def test_a_refresh_keeps_the_cursor_on_its_route(market: Market) -> None:
    async with market.desk() as run:
        await run.to_quotes()
        screen = run.screen(QuotesScreen)
        await run.press("down")
        while "Birch" not in next(one for one in run.text.split("\n") if one.startswith("▌")):
            await run.press("down")
        before = screen.board
        await run.press("r")
        await run.settle(lambda: screen.board is not before, "the answer")
        assert "Birch" in next(one for one in run.text.split("\n") if one.startswith("▌"))


async def test_time_sorts_and_the_ranks_stay(market: Market) -> None:
    async with market.desk() as run:
        await run.to_quotes()
        await run.press("s")
        assert "ranked by all-in" in run.text
        assert "All-in ETH" in run.text
        await run.press("s")
        assert "ranked by expected time" in run.text
        first = next(line for line in run.text.split("\n") if "standard" in line)
        assert "Birch" in first
        assert "2" in first.split()[:2]
        await run.press("s")
        assert "ranked by net received" in run.text


def failing(status: int, body: bytes) -> Callable[[httpx.Request, httpx.Response], httpx.Response]:
    def answer(request: httpx.Request, response: httpx.Response) -> httpx.Response:
        if not request.url.path.endswith("/quotes"):
            return response
        headers = {"content-type": "application/json"}
        return httpx.Response(status, headers=headers, content=body, request=request)

    return answer


ERROR = b'{"code":"%s","message":"[b]no[/b]","requestId":"6f1d-22c9"}'


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (500, ERROR % b"INTERNAL_SERVER_ERROR", "The service had an internal error."),
        (503, ERROR % b"SERVICE_UNAVAILABLE", "The service cannot answer right now."),
        (429, ERROR % b"RATE_LIMIT_EXCEEDED", "Orders and deposits are not affected."),
        (404, ERROR % b"TOKEN_DISABLED", "This token or its chain is disabled"),
    ],
)
async def test_an_error_says_cause_code_and_request(
    market: Market, status: int, body: bytes, words: str
) -> None:
    async with market.desk() as run:
        await run.ready()
        market.network.after = failing(status, body)
        await ask(run)
        await run.later(words)
        assert "request 6f1d-22c9" in run.text
        assert "Funds in your wallet." in run.text
        market.network.after = None
        await run.press("r")
        await run.see("best")
        assert words not in run.text


@pytest.mark.parametrize("body", [b"<html>", b'{"quotes": 3}', b"[" * 100_000])
async def test_garbage_is_an_answer_that_cannot_be_used(market: Market, body: bytes) -> None:
    async with market.desk() as run:
        await run.ready()
        market.network.after = failing(200, body)
        await ask(run)
        await run.see("The answer of the service could not be used.")
        assert "<html>" not in run.text


async def test_an_error_leaves_the_rows_and_marks_them(market: Market) -> None:
    async with market.desk() as run:
        await run.to_quotes()
        market.network.after = failing(500, ERROR % b"INTERNAL_SERVER_ERROR")
        await run.press("r")
        await run.later("The service had an internal error.")
        assert "Alder" in run.text
        assert "◌ 14:02:11 UTC" in run.text


async def ask(run: DeskRun) -> None:
    await run.type("0.5 btc eth")
    await run.press("enter")
