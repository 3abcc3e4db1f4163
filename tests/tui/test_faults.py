"""The page of faults: each of them set by keys on what it meets, the clock, and the way back."""

from __future__ import annotations

import pytest

from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.faults.triggers import Triggers
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.tui.screens.faults import FaultsScreen
from swapdesk.tui.screens.request_log import RequestLogScreen
from swapdesk.tui.widgets.line_table import LineTable
from swapdesk.wire.faults import FAULTS, FaultRefused
from swapdesk.wire.multi import MultiExchangeRequest, MultiOrderRequest
from tui.desk_run import DeskRun, Market, open_desk
from tui.near_control import near_control

KEPT = {"http_500", "bundle_stuck"}
"""Some that stay set until something meets them."""


async def with_group(run: DeskRun) -> set[str]:
    """An order and its group, which the desk knows, as they are met."""
    await run.ready()
    desk = run.app.session.desk
    sold, bought = (
        next(row.id for row in desk.catalog.rows_of_symbol(symbol) if row.chain == "base")
        for symbol in ("USDC", "ETH")
    )
    payee = derive_address("evm", b"7" * 32)
    row = MultiOrderRequest(from_=sold, to=bought, amount=200, address_to=payee)
    made = (await desk.link.api.create_multi_exchange(MultiExchangeRequest(orders=[row, row]))).made
    order = made.orders[0].order
    await desk.link.tracker.read(order.service_id)
    return {f"order {order.service_id}", f"group {made.multi_id}"}


def table(run: DeskRun, name: str) -> LineTable:
    return run.screen(FaultsScreen).query_one(f"#{name}", LineTable)


async def near_faults(run: DeskRun, market: Market) -> None:
    await run.ready()
    run.app.session.desk.link.control = near_control(market.parts)
    await run.press("F", sees="lost_response")


async def test_every_fault_has_a_target_and_is_set_by_keys(market: Market) -> None:
    """Exchanges and chains of a real sandbox are met by commands."""
    market.chains = [
        {"shortName": "base", "kind": "evm", "chainId": 8453, "rpc": "http://127.0.0.1:9"}
    ]
    async with market.desk() as run:
        here = await with_group(run)
        await near_faults(run, market)
        for name in FAULTS:
            assert table(run, "faults").cursor_key == name
            await run.press("enter")
            targets = set(run.screen(FaultsScreen).targets)
            assert targets & {*here, "provider aa", "chain base"}, name
            if not here & targets:
                await run.press("escape", "down")
                continue
            while table(run, "targets").cursor_key not in here:
                await run.press("down")
            await run.press("enter", sees=f"{name} is set on")
            await run.press("down")
        control = run.app.session.desk.link.control
        assert {one["fault"] for one in await control.active_faults()} >= KEPT
        await run.press("x", sees="No fault is set.")
        assert await control.active_faults() == []


async def test_what_a_fault_is_given_is_gone_through_and_a_refusal_is_told(market: Market) -> None:
    async with market.desk() as run:
        await near_faults(run, market)
        while table(run, "faults").cursor_key != "forged_receipt":
            await run.press("down")
        await run.press("enter")
        # Only chains that forge receipts are offered.
        assert "solana" not in run.text
        await run.press("escape")
        while table(run, "faults").cursor_key != "release":
            await run.press("up")
        await run.press("v", sees="leg in")
        await run.press("enter", "enter", sees="The sandbox refused: ")
        await run.press("escape", "escape")
        assert not isinstance(run.app.screen, FaultsScreen)


async def test_clock_goes_on_by_the_step_that_is_shown(market: Market) -> None:
    async with market.desk() as run:
        await near_faults(run, market)
        await run.press("s", "s", "s")
        assert "+ clock 1h" in run.text
        await run.press("plus", sees="The sandbox's clock shows 20")


async def test_sandbox_that_does_not_answer_is_told(market: Market) -> None:
    async with market.ready_desk() as run:
        await run.press("F", sees="The sandbox gave no answer: ")


async def test_live_desk_has_no_page_of_faults(market: Market) -> None:
    live = {
        "SWAPDESK_API_URL": "http://127.0.0.1:9/v2",
        "SWAPDESK_API_KEY": "first-key",
        "SWAPDESK_API_SECRET": "first-secret",
    }
    settings = load_settings(live, Home.at(market.home))
    async with open_desk(settings, None, clock=market.clock, transport=market.network) as run:
        await run.settle(lambda: run.app.session.opened, "the desk")
        await run.press("g", "F")
        shown = run.screen(RequestLogScreen).verbs.palette_entries([])
        assert shown
        assert "faults" not in {entry.key for entry in shown}
        desk = run.app.session.desk
        desk.link.control = near_control(market.parts)
        with pytest.raises(FaultRefused, match="this profile is live"):
            Triggers(desk)
