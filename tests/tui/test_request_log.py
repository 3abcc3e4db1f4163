"""The request log on a running desk: new calls appear in place, secrets do not."""

from __future__ import annotations

from swapdesk.tui.screens.request_log import RequestLogScreen
from tui.desk_run import DeskRun, Market


async def opened(run: DeskRun) -> RequestLogScreen:
    await run.press("g", sees="Requests")
    return run.screen(RequestLogScreen)


async def test_every_call_stands_there_is_found_and_copied_and_no_secret(market: Market) -> None:
    async with market.desk((120, 40)) as run:
        await run.to_quotes()
        screen = await opened(run)
        assert "/quotes?amount=0.5" in run.text
        assert "notice  4 usable routes, 1 not." in run.text
        whole = "\n".join(
            f"{one.request_headers}{one.target}" for one in run.app.session.desk.exchange_log
        )
        assert "first-secret" not in whole
        assert "«redacted»" in whole
        await run.press("slash")
        await run.type("get quotes")
        assert [row.key[0] for row in screen._table.rows] == ["c"]
        await run.press("enter", "y")
        call = screen.current
        assert run.app.clipboard == call.request_id
        await run.press("Y")
        assert run.app.clipboard.startswith("swapdesk api GET /quotes -q amount=0.5 -q from=")
        await run.press("slash")
        await run.type(" nothing like this", sees="No call matches.")
        await run.press("escape")
        assert len(screen._table.rows) > 5


async def test_new_calls_appear_and_the_cursor_follows_only_from_the_end(market: Market) -> None:
    async with market.desk() as run:
        await run.to_quotes()
        screen = await opened(run)

        async def one_more() -> None:
            market.clock.advance(1)
            api, before = run.app.session.desk.link.api, len(screen._table.rows)
            await api.health()
            await api.get_rate_limits()
            run.app.tick()
            await run.settle(lambda: len(screen._table.rows) > before, "the new call")
            assert "/rateLimits" in str(screen._table.rows[-1])
            assert not any("/health" in str(row) for row in screen._table.rows)

        await one_more()
        assert screen._table.cursor_key == screen._table.rows[-1].key
        drawn = list(screen._table.rows)
        await run.press("up")
        stands = screen._table.cursor_key
        assert stands != drawn[-1].key
        await one_more()
        assert screen._table.cursor_key == stands
        # Rows that stood there are the same objects: nothing of them is drawn again.
        assert all(one is other for one, other in zip(drawn, screen._table.rows, strict=False))


async def test_a_create_stands_there_without_its_deposit_address(market: Market) -> None:
    async with market.desk((120, 40)) as run:
        await run.to_deposit()
        order = next(run.app.session.desk.journal.orders.each()).order
        screen = await opened(run)
        await run.press("slash")
        await run.type("post exchanges")
        await run.press("enter", "enter")
        assert screen.current.method == "POST"
        await run.see('"addressTo"')
        groups = run.text.replace(" ", "").replace("\n", "")
        assert order.deposit_address not in groups
        lines = " ".join(str(row) for row in screen._pane.rows)
        assert order.deposit_address not in lines
        assert "«withheld»" in lines
        await run.press("Y")
        assert "--yes" not in run.app.clipboard
        assert "-d " in run.app.clipboard
