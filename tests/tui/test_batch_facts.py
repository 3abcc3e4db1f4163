"""What is said below a plan."""

from __future__ import annotations

from decimal import Decimal

from service.world import USDC
from swapdesk.flows.batch.means import Means
from swapdesk.flows.batch.plan import BatchPlan, Total
from swapdesk.flows.batch.reading import read_sheet
from swapdesk.tui.screens.batch_facts import PlanState, plan_lines


def test_what_the_wallet_lacks_is_said_until_it_is_paid() -> None:
    sheet = read_sheet("a.csv", b"to,amount,token\n@bob,20,ETH\n")
    plan = BatchPlan(sheet, (), (), (Total(USDC, Decimal(20), 1),), limits_known=True)
    held = Means(USDC.chain_data.short_name, "trading", held={USDC.id: Decimal(5)})

    def said(paid: str) -> str:
        lines = plan_lines(PlanState(plan, (held,), paid=paid), 160)
        return "\n".join("".join(span.text for span in line) for line in lines)

    assert "20 of 5 USDC in wallet trading; 15 are missing" in said("")
    assert "in wallet" not in said("at 1 deposit address")
    assert "20 USDC" in said("at 1 deposit address")
