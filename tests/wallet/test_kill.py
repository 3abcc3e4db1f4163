"""``kill -9`` of the agent at every boundary of a payment: at most one arrives, and it is known."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from swapdesk.wallet.accounts import WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import AgentGone
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from wallet.agents import PASSPHRASE
from wallet.chains import Chains, served
from wallet.dying_agent import MOMENTS, dying_at
from wallet.signing import CHAIN, Trader, trader

State = TransactionState
pytestmark = pytest.mark.asyncio(loop_scope="module")

SAMPLE = ("RecordsFile.COMMIT", "send_raw after", "SENT")
BOUNDARIES = [
    one if one in SAMPLE else pytest.param(one, marks=pytest.mark.long) for one in MOMENTS
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Chains]:
    async with served(tmp_path_factory.mktemp("chains")) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def someone(world: Chains, tmp_path_factory: pytest.TempPathFactory) -> Trader:
    return await trader(world, tmp_path_factory.mktemp("wallet") / "keys")


async def killed_at(place: WalletPlace, boundary: str, someone: Trader, intent: str) -> None:
    """Pay, with an agent that kills itself at a boundary."""
    agent = await WalletClient.start(place, program=dying_at(boundary))
    try:
        await agent.unlock(PASSPHRASE)
        review = await agent.review(someone.payment(), someone.deposit(intent))
        assert not review.refused, review.findings
        with pytest.raises(AgentGone) as gone:
            await _pay(agent, review)
        assert f"signal {int(signal.SIGKILL)}" in gone.value.words
    finally:
        await agent.close()


async def _pay(agent: WalletClient, review: Review) -> None:
    signed = await agent.sign(review)
    assert isinstance(signed, SignedTransaction)
    await agent.broadcast(signed.hash)


@pytest.mark.parametrize("boundary", BOUNDARIES)
async def test_a_payment_survives_a_kill(someone: Trader, boundary: str) -> None:
    intent = f"killed at {boundary}"
    before = await someone.paid()
    await killed_at(someone.place, boundary, someone, intent)
    async with someone.agent() as agent:
        known = await agent.transactions(intent)
        if boundary == "_insert_given":
            # Nothing was committed, so no byte can have left: it may be asked for anew.
            assert known == ()
            signed = await agent.sign(
                await agent.review(someone.payment(), someone.deposit(intent))
            )
            assert isinstance(signed, SignedTransaction)
            known = (signed,)
        [one] = known
        assert (
            one.state
            is {
                "_insert_given": State.SIGNED,
                "RecordsFile.COMMIT": State.SIGNED,
                "send_raw before": State.SENDING,
                "send_raw after": State.SENDING,
                "SENT": State.SENT,
            }[boundary]
        )
        await agent.broadcast(one.hash)
        await someone.world.node.confirmed(CHAIN, bytes.fromhex(one.hash[2:]))
        while (await agent.resolve(one.hash)).state is not State.SUCCEEDED:
            pass
        assert [each.state for each in await agent.transactions(intent)] == [State.SUCCEEDED]
    assert await someone.paid() == before + 10**15
