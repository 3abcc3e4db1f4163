"""What is said below a plan."""

from __future__ import annotations

from decimal import Decimal

from service.world import USDC
from swapdesk.flows.batch.plan import BatchPlan, Means, Total
from swapdesk.flows.batch.planned import PlannedRow, look, problem
from swapdesk.flows.batch.reading import read_sheet
from swapdesk.tui.painting import DOTS, masked
from swapdesk.tui.screens.batch import (
    PlanState,
    batch_columns,
    plan_lines,
    row_detail,
    tokens_named,
)
from swapdesk.tui.spans import plain_text
from swapdesk.tui.widgets.table_layout import TableLayout


def test_what_the_wallet_lacks_is_said_until_it_is_paid() -> None:
    sheet = read_sheet("a.csv", b"to,sell_amount,buy\n@bob,20,ETH\n")
    plan = BatchPlan(sheet, (), (), (Total(USDC, Decimal(20), 1),), limits_known=True)
    held = Means(USDC.chain_data.short_name, "trading", held={USDC.id: Decimal(5)})

    def said(paid: str) -> str:
        lines = plan_lines(PlanState(plan, (held,), paid=paid), 160)
        return "\n".join("".join(span.text for span in line) for line in lines)

    assert "20 of 5 USDC on Ethereum in wallet trading; 15 USDC are missing" in said("")
    assert "in wallet" not in said("at 1 deposit address")
    assert "20 USDC" in said("at 1 deposit address")


def test_a_total_that_is_missing_is_never_hidden_and_none_is_where_there_is_room() -> None:
    sheet = read_sheet("a.csv", b"to,sell_amount,buy\n@bob,20,ETH\n")
    tokens = [
        *(USDC.model_copy(update={"id": f"other-{at}", "symbol": f"T{at}"}) for at in range(4)),
        USDC,
    ]
    totals = tuple(Total(token, Decimal(20), 1) for token in tokens)
    plan = BatchPlan(sheet, (), (), totals, limits_known=True)
    chain = USDC.chain_data.short_name
    held = {token.id: Decimal(30) for token in tokens} | {USDC.id: Decimal(5), "other-1": None}

    def said(*means: Means, tokens: int = 3) -> str:
        lines = plan_lines(PlanState(plan, means, tokens=tokens), 400)
        return "\n".join("".join(span.text for span in line) for line in lines)

    means = Means(chain, "trading", held=held)
    assert "Total    ▲ 20 of 5 USDC on Ethereum in wallet trading; 15 USDC are missing" in said(
        means
    )
    shown = plan_lines(PlanState(plan, (means,)), 400)[0]
    hidden = plain_text(masked(shown, lambda word: word.startswith("T"), 40))
    assert hidden.count(DOTS) == 6
    assert "20" not in hidden
    assert "15" not in hidden
    assert "and 2 more tokens" in said(means)
    assert "more token" not in said(means, tokens=tokens_named(60))
    assert "20 T1 on Ethereum; what wallet trading has is not known" in said(means)
    assert "20 T0 on Ethereum; what the wallet has is not known" in said()


def test_all_that_is_wrong_with_a_row_is_said_of_it() -> None:
    (cells,) = read_sheet("a.csv", b"to,sell_amount,buy\n@bob,20,ETH\n").rows
    first = look("alike", None, "Row 1 is the same.", "Keep it or delete it.")
    second = problem("least", None, "It takes 30.", "Write 30 or more.")
    row = PlannedRow(cells, None, (first, second))
    assert row_detail(row, None) == (
        "It takes 30. Write 30 or more. Row 1 is the same. Keep it or delete it."
    )


def test_the_state_grows_with_the_terminal() -> None:
    sheet = read_sheet("a.csv", b"to,sell_amount,buy\n@bob,20,ETH\n")
    plan = BatchPlan(sheet, tuple(PlannedRow(row, None) for row in sheet.rows), (), ())

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
        rows = tuple(PlannedRow(row, None) for row in sheet.rows)
        columns = batch_columns(BatchPlan(sheet, rows, (), (), limits_known=True), 100)
        return next(one.label for one in columns if one.key == "sells")

    two = b"to,sell_amount,buy,sell\n@bob,20,ETH,USDC.ethereum\n@bob,20,ETH,%b\n"
    assert head(two % b"usdc.ethereum") == "Sells USDC"
    assert head(two % b"DAI.ethereum") == "Sells"
