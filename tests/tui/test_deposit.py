"""The deposit card: what is shown when, copying, funding once, what stays hidden."""

from __future__ import annotations

from decimal import Decimal

import pytest
from msgspec.structs import replace

from flows.faulty_network import another_address, another_output
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.deposits.deposit_phase import DepositPhase, deposit_phase
from swapdesk.tui.screens.deposit import DepositScreen
from swapdesk.tui.widgets.deposit_card import DepositState, Payment
from swapdesk.wire.orders import LegStatus
from tui.desk_run import DeskRun, Market


async def from_xrp(run: DeskRun) -> DepositScreen:
    await run.to_deposit("2500 xrp eth")
    return run.screen(DepositScreen)


async def test_what_is_to_be_paid_is_copied_exactly_and_found_again_until_the_deadline(
    market: Market,
) -> None:
    async with market.desk() as run:
        screen = await from_xrp(run)
        order = screen.tracked.order
        assert "30:00 left, until 14:32:11 UTC" in run.text
        assert "for the deposit; the rate may still move" in run.text
        await run.press("m")
        assert f"Copied destination tag {order.deposit_tag}" in run.text
        assert run.app.clipboard == order.deposit_tag
        await run.press("Y")
        assert run.app.clipboard == "2500"
        await run.press("y")
        assert run.app.clipboard == order.deposit_address
        assert "Copied address r" in run.text
        run.advance(61)
        await run.see("28:59 left")
        assert "you: send the deposit within 28:59" in run.text
        # A faucet that is gone is said.
        await run.press_still("f")
        await run.see("Nothing was sent: the sandbox cannot be reached")
        assert "Funds in your wallet." in run.text
        await run.press("escape")
        await run.see("Waiting for you")
        assert screen.service_id[:6] in run.text
        assert "2500 xrp eth" in run.text
        await run.press("o", "enter")
        await run.see("Order id")
        await run.press("d")
        await run.see("Send this, once,")
        # After the deadline no address is left anywhere.
        address = order.deposit_address
        assert address[:4] in run.text
        run.app.copy_to_clipboard("")
        run.advance(30 * 60 + 1)
        await run.see("Do not send to this order any more.")
        assert address[:4] not in run.text
        assert "f fund" not in run.text
        await run.press("y", "Y", "m", "f")
        assert run.app.clipboard == ""


async def test_a_deposit_that_left_is_on_its_way_and_the_card_folds_when_it_is_seen(
    market: Market,
) -> None:
    async with market.desk() as run:
        screen = await from_xrp(run)
        assert "Funds in your wallet." in run.text
        calls = run.app.session.desk.journal.calls
        call_id = calls.add_payment(screen.service_id, b"{}")
        run.app.tick()
        await run.see("you: send the deposit within")
        calls.mark_done(call_id, status=200, request_id=None)
        run.app.tick()
        await run.see("Funds on its way to")
        assert "the chain: it confirms the deposit" in run.text
        assert "send the deposit within" not in run.text
        venue = market.venues[0]
        venue.move(venue.keys[0], LegStatus.CONFIRMING)
        market.clock.advance(10)
        await market.parts.worker.step(market.clock.now())
        await run.app.session.desk.link.tracker.read(screen.service_id)
        await run.see("The deposit was seen")
        assert "Address" not in run.text
        assert "y copy" not in run.text
        assert deposit_phase(screen.tracked, screen.now()) is DepositPhase.SEEN  # type: ignore[arg-type]


def test_a_card_that_hides_its_address_has_none_in_its_data() -> None:
    payment = Payment("XRP Ledger", "2,500 XRP", derive_address("xrp", b"x" * 32))
    waiting = DepositState(DepositPhase.WAITING, "Send this, once", payment=payment)
    with pytest.raises(ValueError, match="only a waiting card"):
        replace(waiting, phase=DepositPhase.HIDDEN)


async def accept(run: DeskRun, asked: str) -> None:
    await run.press_still("c")
    await run.see(asked)
    await run.enter("accept")
    await run.see("Send this, once, on Bitcoin")


async def test_less_than_confirmed_at_once_or_later_hides_the_address_until_it_is_accepted(
    market: Market,
) -> None:
    async with market.desk() as run:
        market.venues[0].trouble.restate_out = Decimal("14.1")
        await run.to_deposit()
        screen = run.screen(DepositScreen)
        address = screen.tracked.order.deposit_address or ""
        assert "less than you confirmed." in run.text
        assert address[:9] not in run.text.replace(" ", "")
        assert "f fund" not in run.text
        await run.press("f", "y")
        assert run.app.clipboard == ""
        await accept(run, 'Type "accept"')
        assert address in run.text.replace(" ", "")

        market.venues[0].trouble.restate_out = None
        await run.press("escape")
        await run.to_deposit("0.25 btc eth")
        screen = run.screen(DepositScreen)
        tracked = screen.tracked
        agreed, address = tracked.order.out_amount, tracked.order.deposit_address or ""
        tracker = run.app.session.desk.link.tracker

        market.network.after = another_output(agreed * Decimal("0.995"))
        await tracker.read(screen.service_id)
        await run.see("when you agreed")
        assert address in run.text.replace(" ", "")

        market.network.after = another_output(agreed * Decimal("0.95"))
        await tracker.read(screen.service_id)
        await run.see("5.00% less than you confirmed")
        assert "Do not pay before you accept that." in run.text
        assert address[:9] not in run.text.replace(" ", "")
        assert "f fund" not in run.text
        await run.press("f", "y", "c")
        assert run.app.clipboard == ""
        assert "The screen just changed." in run.text
        await accept(run, "5.00% less than the")
        assert address in run.text.replace(" ", "")


async def test_an_order_that_is_not_what_was_confirmed_is_never_payable(market: Market) -> None:
    other = derive_address("bitcoin", b"x" * 32)
    async with market.desk() as run:
        market.venues[0].trouble.restate_in = Decimal("0.6")
        await run.to_deposit()
        assert "This order is not what you confirmed" in run.text
        assert "Do not pay this order." in run.text
        await run.still()
        await run.press("c", "f", "y")
        assert 'Type "accept"' not in run.text
        assert run.app.clipboard == ""
        await run.press("escape")
        market.venues[0].trouble.restate_in = None
        await run.to_frozen("0.25 btc eth")
        market.network.after = another_address(other)
        await run.press("c")
        await run.settle(lambda: isinstance(run.app.screen, DepositScreen), "the card")
        assert "the service repeats another deposit address" in " ".join(run.text.split())
        assert other[:9] not in run.text.replace(" ", "")
