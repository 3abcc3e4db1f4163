"""A long list of tokens: pages by key, and the pane below it."""

from __future__ import annotations

from swapdesk.tui.screens.tokens import TokensScreen
from swapdesk.tui.widgets.line_table import LineTable
from tui.desk_run import Market


async def test_pages_of_tokens_and_the_pane_follows(market: Market) -> None:
    async with market.desk() as run:
        await run.ready()
        await run.press("t")
        table = run.screen(TokensScreen).query_one(LineTable)
        first, page = table.rows[0].key, table.size.height - table.head_height - 1
        await run.press("pagedown")
        assert table.cursor_key == table.rows[page].key
        row = run.app.session.desk.catalog.row(table.rows[page].key)
        assert row is not None
        await run.settle(lambda: f"{row.symbol} on {row.chain_name}" in run.text, "the pane")
        await run.press("pageup")
        assert table.cursor_key == first
