"""The batch planner: what is said below a plan, problems put right, one group made once."""

from __future__ import annotations

import asyncio
import csv
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from flows.batch.test_reading import read_sheet
from service.world import USDC
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.batch.batches import newest_batches
from swapdesk.flows.batch.plan import BatchPlan, Means, Total
from swapdesk.flows.batch.progress import sheet_of
from swapdesk.flows.batch.rows import look, problem
from swapdesk.tui.masking import DOTS, masked
from swapdesk.tui.screens.batch import (
    BatchScreen,
    batch_columns,
    laid,
    plan_facts,
    row_detail,
    tokens_named,
)
from swapdesk.tui.screens.orders import OrdersScreen
from swapdesk.tui.spans import plain_text
from swapdesk.tui.widgets.table_layout import TableLayout
from tui.desk_run import DeskRun, Market
from tui.scenes.batch import CLEAN, COMMAS, FAULTY, HEAD, loaded, opened


def planned_anew(screen: BatchScreen, before: BatchPlan | None) -> bool:
    plan = screen.plan
    return plan is not before and plan is not None and plan.limits_known and not screen.busy


async def put_right(run: DeskRun, screen: BatchScreen, row: str, value: str) -> None:
    """Write the cell of the problem under the cursor anew, which goes to the next problem."""
    assert screen._table.cursor_key == row
    if not screen.writing:
        await run.press("enter")
    await run.press("ctrl+a", "ctrl+k")
    await run.type(value)
    plan = screen.plan
    await run.press("enter")
    await run.settle(partial(planned_anew, screen, plan), "the plan anew")


async def test_problems_are_walked_put_right_or_skipped_and_the_others_created(
    market: Market,
) -> None:
    async with market.desk() as run:
        screen = await loaded(run, FAULTY)
        walked = []
        for _ in range(4):
            await run.press("right_square_bracket")
            walked.append(screen._table.cursor_key)
        assert walked == ["2", "3", "6", "2"]
        await put_right(run, screen, "2", "500")
        # What was put right is there again.
        await run.press("escape", "escape", "b", sees="2 problems")
        assert run.screen(BatchScreen) is not screen
        screen = run.screen(BatchScreen)
        await run.settle(partial(planned_anew, screen, None), "the plan of before")
        await run.press("right_square_bracket")
        await put_right(run, screen, "3", "@bob")
        # The next cell that is wrong is there to be put right.
        assert screen._table.cursor_key == "6"
        assert "Row 6, sell_amount" in run.text
        await run.press("escape")
        for shown in ("1 skipped", "1 problem", "1 skipped"):
            await run.press("minus", sees=shown)
        assert "- keep row" in run.text
        assert "It is skipped: no order is created." in run.text
        # A cell that is written anew changes nothing of that.
        await run.press("home")
        await put_right(run, screen, "1", "@bob")
        assert screen.plan.creatable
        await run.press_still("c", sees="created, not funded")
        (batch,) = newest_batches(run.app.session.desk.journal.ledger, 9)
        assert [group.word for group in batch.groups] == ["ACKED"]
        assert [row.became for row in batch.rows] == ["created"] * 5
        assert "– 1 skipped" in run.text
        assert market.network.posts() == 1


async def test_a_row_with_a_spoilt_memo_is_created_once_it_is_agreed_to(market: Market) -> None:
    spoilt = HEAD + f"{derive_address('xlm', bytes(32))};250;XLM;stellar;1.07712E+09;;USDC.ethereum"
    async with market.desk() as run:
        await loaded(run, spoilt + "\n")
        assert "1 to look at" in run.text
        assert "This looks like a number that was rounded" in run.text
        await run.press_still("c", sees="Before these orders are created")
        assert "Row 1: This looks like a number" in run.text
        await run.press("escape")
        assert market.network.posts() == 0
        await run.press_still("c", sees="Before these orders are created")
        await run.enter("yes", sees="created, not funded")
        assert market.network.posts() == 1


async def test_a_row_that_failed_is_told_and_taken_again_by_itself(market: Market) -> None:
    async with market.desk() as run:
        screen = await loaded(run, CLEAN)
        for venue in market.venues:
            # 100 USDC were enough when the file was planned.
            venue._bounds_usd = (Decimal(1_000), Decimal(1_000_000))
        await run.press_still("c", sees="✗ failed")
        await run.see("● created")
        made = screen.made
        assert [row.became for row in made.rows] == ["failed", "created"]
        plan = screen.plan
        await run.press("r")
        await run.settle(partial(planned_anew, screen, plan), "the row that failed")
        plan = screen.plan
        assert [row.cells for row in plan.rows] == [sheet_of(made).rows[0].cells]
        assert "at least 999.90001" in run.text
        # The others are still to be paid, and nothing of them is lost.
        await run.press("r", sees="u build")
        await run.settle(lambda: screen.plan is not None and not screen.busy, "its rows")
        assert screen.made == made
        plan = screen.plan
        await run.press("r")
        await run.settle(partial(planned_anew, screen, plan), "the row that failed")
        await run.press("enter")
        await run.retype("1200")
        await run.press("enter", sees="c create, 1 exchange")
        await run.press_still("c", sees="created, not funded")
        assert market.network.posts() == 2


async def test_a_create_goes_on_when_the_screen_is_left_and_another_run_shows_its_orders(
    market: Market,
) -> None:
    async with market.desk() as run:
        await loaded(run, CLEAN)
        await run.still()
        asked, go = market.network.gate = (asyncio.Event(), asyncio.Event())
        await run.press("c")
        await run.settle(asked.is_set, "the create")
        await run.press("escape")
        go.set()
        ledger = run.app.session.desk.journal.ledger
        await run.settle(lambda: newest_batches(ledger, 1)[0].groups[0].multi_id, "the group")
        assert market.network.posts() == 1
        # The same file is not created twice.
        await opened(run)
        await run.see("created, not funded")
        await loaded(run, CLEAN)
        await run.press_still("c", sees="Nothing was created.")
        assert market.network.posts() == 1
    async with market.desk() as run:
        asked = len([one for one in market.network.seen if "minMax" in one])
        await opened(run)
        await run.see("u build")
        assert "created, not funded" in run.text
        assert "c create" not in run.text
        await run.press("x", sees="Written: ")
        (written,) = (market.home / "exports").glob("swapdesk-batch-*.csv")
        rows = list(csv.DictReader(written.read_text().splitlines()))
        assert [row["orderState"] for row in rows] == ["WAITING_FOR_DEPOSIT"] * 2
        assert len([one for one in market.network.seen if "minMax" in one]) == asked
        (batch,) = newest_batches(run.app.session.desk.journal.ledger, 9)
        await run.press("o")
        await run.settle(lambda: run.screen(OrdersScreen)._table.rows, "the orders")
        assert f"group:{(batch.groups[0].multi_id or '').lower()}" in run.text
        await run.see("With its batch")
        assert "Not of this desk" not in run.text
        assert "Next you: pay the batch; b shows it" in run.text
        shown = {one.service_id for one in run.screen(OrdersScreen)._table.shown}
        assert shown == {row.service_id for row in batch.rows}


async def test_decimal_commas_are_read_with_one_key(market: Market) -> None:
    async with market.desk() as run:
        screen = await loaded(run, COMMAS)
        plan = screen.plan
        await run.press("comma")
        await run.settle(partial(planned_anew, screen, plan), "the plan anew")
        assert "semicolon, header, decimal comma" in run.text
        assert screen.plan.rows[0].order.amount == Decimal("100.5")


async def test_a_file_that_is_none_says_why_and_a_problem_is_seen_before_all_rows_are_judged(
    market: Market,
) -> None:
    row = "@bob;{};ETH;base;;;USDC.ethereum\n"
    content = HEAD + "".join(row.format("1,5" if at == 3 else 100 + at) for at in range(300))
    seen: list[tuple[int, int]] = []
    async with market.desk() as run:
        screen: Any = await opened(run)
        for name in ("/nowhere/payout.csv", f"/{'long' * 70}/payout.csv"):
            screen._field.field.set_value(name)
            await run.press("enter", sees="cannot be read")
            # It is there to be put right.
            assert screen.writing
            assert screen._field.value == name
            await run.press("ctrl+u")
            screen.clear_notice()
            await run.settle(lambda: "cannot be read" not in run.text, "an empty field")
        show = screen.show

        def noted() -> None:
            state = (len(screen.plan.rows), len(screen.plan.problems))
            if seen[-1:] != [state]:
                seen.append(state)
            show()

        assert screen.plan is None
        screen.show = noted
        await loaded(run, content)
    assert seen == [(10, 1), (60, 1), (300, 1)]


async def test_a_file_is_found_by_its_first_letters_and_again_by_one_key(
    market: Market, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "people").mkdir()
    for name in ("people/payments.csv", "people/payouts.csv", "people/notes.doc"):
        (tmp_path / name).write_text(CLEAN)
    monkeypatch.chdir(tmp_path)
    async with market.desk() as run:
        screen = await opened(run)
        await run.type("peo")
        await run.press("tab")
        assert screen._field.value == "people/"
        await run.see("people/payouts.csv")
        assert "notes.doc" not in run.text
        await run.press("tab")
        assert screen._field.value == "people/pay"
        await run.type("m")
        await run.press("tab", "enter", sees="payments.csv · 2 rows")
    async with market.desk() as run:
        screen = await opened(run)
        await run.press("down", "enter", sees="payments.csv · 2 rows")


SHEET = read_sheet("a.csv", b"to,sell_amount,buy\n@bob,20,ETH\n")


def test_what_the_wallet_lacks_is_said_until_it_is_paid() -> None:
    plan = BatchPlan(SHEET, (), (), (Total(USDC, Decimal(20), 1),), limits_known=True)
    held = Means(USDC.chain_data.short_name, "trading", held={USDC.id: Decimal(5)})

    def said(paid: str) -> str:
        lines = laid(plan_facts(plan, (held,), paid=paid), 160)
        return "\n".join("".join(span.text for span in line) for line in lines)

    assert "20 of 5 USDC on Ethereum in wallet trading; 15 USDC are missing" in said("")
    assert "in wallet" not in said("at 1 deposit address")
    assert "20 USDC" in said("at 1 deposit address")


def test_a_total_that_is_missing_is_never_hidden_and_none_is_where_there_is_room() -> None:
    tokens = [
        *(USDC.model_copy(update={"id": f"other-{at}", "symbol": f"T{at}"}) for at in range(4)),
        USDC,
    ]
    totals = tuple(Total(token, Decimal(20), 1) for token in tokens)
    plan = BatchPlan(SHEET, (), (), totals, limits_known=True)
    chain = USDC.chain_data.short_name
    held = {token.id: Decimal(30) for token in tokens} | {USDC.id: Decimal(5), "other-1": None}

    def said(*means: Means, tokens: int = 3) -> str:
        lines = laid(plan_facts(plan, means, tokens=tokens), 400)
        return "\n".join("".join(span.text for span in line) for line in lines)

    means = Means(chain, "trading", held=held)
    assert "Total    ▲ 20 of 5 USDC on Ethereum in wallet trading; 15 USDC are missing" in said(
        means
    )
    shown = laid(plan_facts(plan, (means,)), 400)[0]
    hidden = plain_text(masked(shown, lambda word: word.startswith("T"), 40))
    assert hidden.count(DOTS) == 6
    assert "20" not in hidden
    assert "15" not in hidden
    assert "and 2 more tokens" in said(means)
    assert "more token" not in said(means, tokens=tokens_named(60))
    assert "20 T1 on Ethereum; what wallet trading has is not known" in said(means)
    assert "20 T0 on Ethereum; what the wallet has is not known" in said()


def test_all_that_is_wrong_with_a_row_is_said_of_it() -> None:
    (cells,) = SHEET.rows
    first = look("alike", None, "Row 1 is the same.", "Keep it or delete it.")
    second = problem("least", None, "It takes 30.", "Write 30 or more.")
    row = replace(cells, findings=(first, second))
    assert row_detail(row, None) == (
        "It takes 30. Write 30 or more. Row 1 is the same. Keep it or delete it."
    )


def test_the_state_grows_with_the_terminal() -> None:
    plan = BatchPlan(SHEET, SHEET.rows, (), ())

    def state(width: int) -> int:
        placed = TableLayout(batch_columns(plan, width)).placed(width)
        return next(cells for column, cells in placed if column.key == "state")

    for low, high in ((80, 99), (100, 119), (120, 159), (160, 240)):
        widths = [state(width) for width in range(low, high + 1)]
        assert widths == sorted(widths)
        assert widths[-1] > widths[0] + (high - low) // 3


def test_the_head_of_amounts_names_the_token_where_all_rows_sell_one() -> None:
    def head(content: bytes) -> str:
        sheet = read_sheet("a.csv", content)
        rows = sheet.rows
        columns = batch_columns(BatchPlan(sheet, rows, (), (), limits_known=True), 100)
        return next(one.label for one in columns if one.key == "sells")

    two = b"to,sell_amount,buy,sell\n@bob,20,ETH,USDC.ethereum\n@bob,20,ETH,%b\n"
    assert head(two % b"usdc.ethereum") == "Sells USDC"
    assert head(two % b"DAI.ethereum") == "Sells"
