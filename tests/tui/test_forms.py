"""Fields with their checks, facts with a cursor, the card that must not show an address."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.widget import Widget

from swapdesk.tui.terminal import SafeApp
from swapdesk.tui.widgets.deposit_card import DepositCard, DepositPhase, DepositState, Payment
from swapdesk.tui.widgets.detail_rows import DetailRows, Fact
from tui.examples import XRP
from tui.screen_text import screen_text


class Body(SafeApp[None]):
    def __init__(self, *content: Widget) -> None:
        super().__init__()
        self.content: Sequence[Widget] = content
        self.chosen: list[Fact] = []

    def compose(self) -> ComposeResult:
        yield from self.content

    def on_detail_rows_chosen(self, event: DetailRows.Chosen) -> None:
        self.chosen.append(event.fact)


async def test_a_card_that_hides_its_address_has_none_in_its_data() -> None:
    waiting = DepositState(
        DepositPhase.WAITING, "Send this, once", payment=Payment("XRP Ledger", "2,500 XRP", XRP)
    )
    card = DepositCard(waiting)
    async with Body(card).run_test(size=(80, 30)) as pilot:
        await pilot.pause()
        assert "rEb8 TK3g" in screen_text(pilot.app)
        with pytest.raises(ValueError, match="only a waiting card"):
            replace(waiting, phase=DepositPhase.HIDDEN)
        card.show(DepositState(DepositPhase.EXPIRED, "No deposit came. The order is closed."))
        await pilot.pause()
        shown = screen_text(pilot.app)
        assert "The order is closed." in shown
        assert "rEb8" not in shown
