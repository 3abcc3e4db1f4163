"""kill -9 of the desk at the boundaries of a swap on Solana: taken on, it is paid at most once."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from flows.dex.solana_swapping import SolanaPlace, swapping_on_solana
from flows.killed_process import killed, reopened
from swapdesk.flows.creation.reconciliation import find_order
from swapdesk.wallet.accounts import WalletPlace
from swapdesk.wallet.encoding import to_json
from swapdesk.wallet.transactions import TransactionState

pytestmark = pytest.mark.asyncio(loop_scope="module")

BOUNDARIES = (
    "api.create_exchange.after.1",
    "wallet.sign.before.1",
    "wallet.sign.after.1",
    "wallet.broadcast.after.1",
    pytest.param("intents.mark_created.after.1", marks=pytest.mark.long),
    pytest.param("steps.begin.after.1", marks=pytest.mark.long),
    pytest.param("steps.sent.after.2", marks=pytest.mark.long),
    pytest.param("wallet.broadcast.before.1", marks=pytest.mark.long),
    pytest.param("steps.acked.after.1", marks=pytest.mark.long),
    pytest.param("api.dex_confirm_transaction.before.1", marks=pytest.mark.long),
    pytest.param("api.dex_confirm_transaction.after.1", marks=pytest.mark.long),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SolanaPlace]:
    async with swapping_on_solana(tmp_path_factory.mktemp("swap")) as made:
        yield made


@pytest.mark.parametrize("boundary", BOUNDARIES)
async def test_a_killed_swap_is_taken_on_and_paid_once(
    place: SolanaPlace, tmp_path: Path, boundary: str
) -> None:
    usdc, sol = place.floor.coins()
    async with place.someone(tmp_path) as someone, place.service.served(works=True) as url:
        await someone.fund("1", USDC="100")
        intent = await someone.intent("at", usdc, sol, "60")
        await someone.agent.close()
        keys = place.wallet(tmp_path / "keys")
        await _killed(url, keys, tmp_path / "journal.db", json.dumps(intent.as_json()), boundary)
        agent = await reopened(keys)
        try:
            (open_,) = someone.journal.swaps.open_swaps()
            assert open_.id == intent.id
            outcome = await someone.flow(agent=agent).take_on(open_)
            assert outcome.done, outcome
            ended = await place.completed(outcome.order)
            assert ended.display_status == "SWAP_COMPLETED"
            assert await someone.holds(usdc) == 40 * 10**6
            assert someone.journal.swaps.open_swaps() == []
            signed = await agent.transactions(intent.id)
            assert [one.state for one in signed] == [TransactionState.SUCCEEDED]
            assert await _orders(place, intent) == 1
        finally:
            await agent.close()


async def test_a_half_that_ended_while_nobody_ran_is_never_paid(
    place: SolanaPlace, tmp_path: Path
) -> None:
    """Signed and not sent, and the blockhash ends: it is given up, and nothing moved."""
    usdc, sol = place.floor.coins()
    async with place.someone(tmp_path) as someone, place.service.served(works=True) as url:
        await someone.fund("1", USDC="100")
        intent = await someone.intent("at", usdc, sol, "60")
        await someone.agent.close()
        keys = place.wallet(tmp_path / "keys")
        boundary = "wallet.sign.after.1"
        await _killed(url, keys, tmp_path / "journal.db", json.dumps(intent.as_json()), boundary)
        place.floor.world.time.pass_blocks(150 + 32)
        agent = await reopened(keys)
        try:
            (open_,) = someone.journal.swaps.open_swaps()
            outcome = await someone.flow(agent=agent).take_on(open_)
            assert not (outcome is not None and outcome.done)
            assert outcome is not None
            assert "in your wallet" in outcome.failure.money
            assert await someone.holds(usdc) == 100 * 10**6
            assert someone.journal.swaps.open_swaps() == []
            (signed,) = await agent.transactions(intent.id)
            assert signed.state is TransactionState.LOST
        finally:
            await agent.close()


async def _killed(url: str, keys: WalletPlace, journal: Path, intent: str, boundary: str) -> None:
    """A desk of its own process, until it kills itself at the boundary."""
    await killed(
        "flows/dex/killed_desk.py", url, json.dumps(to_json(keys)), str(journal), intent, boundary
    )


async def _orders(place: SolanaPlace, intent: object) -> int:
    found = await find_order(
        place.api,
        place.floor.clock,
        intent,  # type: ignore[arg-type]
        sent_at=intent.frozen_at,  # type: ignore[attr-defined]
        known=(),
        looks=(0.0,),
    )
    return len(found.same)
