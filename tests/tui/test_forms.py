"""Fields with their checks, facts with a cursor, the card that must not show an address."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.widget import Widget

from swapdesk.tui.screens.swap_line import IntentField, IntentReading, Reading
from swapdesk.tui.terminal import SafeApp
from swapdesk.tui.widgets.deposit_card import DepositCard, DepositPhase, DepositState, Payment
from swapdesk.tui.widgets.detail_rows import DetailRows, Fact
from swapdesk.tui.widgets.form_fields import (
    AddressInput,
    Alike,
    Check,
    CheckMark,
    MemoField,
    MemoNeed,
)
from tui.examples import BOB, ME, XRP
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


async def test_a_look_alike_stands_in_full_under_the_checks() -> None:
    field = AddressInput("Recipient", note="gets the ETH, on Ethereum", value=ME)
    app = Body(field)
    async with app.run_test(size=(80, 24)) as pilot:
        field.show_result(
            [Check(CheckMark.WARNING, "This address looks like @bob and is not.")],
            alike=Alike("@bob", BOB),
        )
        await pilot.pause()
        rows = screen_text(app).split("\n")
        assert rows[0] == "  Recipient  gets the ETH, on Ethereum"
        assert rows[2] == "  ▲ This address looks like @bob and is not."
        assert rows[3].endswith("this  0x 5aAe b605 3F3E 94C9 b9A0 9f33 6694 35E7 Ef1B eAed")
        assert rows[4].endswith("@bob  0x 5aAe 71c0 D28b 03Aa 5512 e9F4 07bE 6c3d Ef1B eAed")
        field.show_checks([])
        await pilot.pause()
        assert "looks like" not in screen_text(app)


async def test_a_required_memo_is_typed_or_waived_by_a_phrase() -> None:
    field = MemoField("Destination tag", MemoNeed.REQUIRED, chain="the XRP Ledger")
    async with Body(field).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert field.memo is None
        field.field.set_value("NO MEMO")
        assert field.waived
        assert field.memo is None
        field.field.set_value("104882716")
        assert not field.waived
        assert field.memo == "104882716"


async def test_a_memo_that_is_not_used_has_no_field() -> None:
    field = MemoField("Memo", MemoNeed.NOT_USED, chain="Ethereum")
    async with Body(field).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert screen_text(pilot.app).strip() == "Memo  not used on Ethereum"
        assert field.memo is None


async def test_facts_are_walked_and_chosen() -> None:
    facts = [Fact("Deposit tx", address=ME), Fact(), Fact("Pays", address=BOB), Fact("Known", "x")]
    rows = DetailRows(facts, selectable=True)
    app = Body(rows)
    async with app.run_test(size=(80, 24)) as pilot:
        rows.focus()
        await pilot.press("j", "enter")
        await pilot.pause()
        assert [fact.copied for fact in app.chosen] == [BOB]
        assert screen_text(app).split("\n")[2].startswith("▌ Pays")
        rows.show([facts[0]])
        assert rows.current == facts[0]


async def test_the_intent_line_marks_the_place_of_a_refusal() -> None:
    line = IntentField("1,5 btc eth")
    async with Body(line).run_test(size=(80, 30)) as pilot:
        line.show(IntentReading(Reading.REFUSED, '"1,5": write 1.5', marked=frozenset({1})))
        await pilot.pause()
        rows = screen_text(pilot.app).split("\n")
        assert "1,5 btc eth" in rows[1]
        assert rows[4] == '  ✗ "1,5": write 1.5'


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
