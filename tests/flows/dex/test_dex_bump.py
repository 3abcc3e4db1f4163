"""A higher fee, or a cancellation, while a swap waits for its transaction: the swap goes on with
whichever the chain takes, and pays once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from msgspec.structs import replace

from flows.dex.swapping import Place, Swapper
from swapdesk.flows.dex.dex_plan import promise_of
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from swapdesk.wire.tokens import Token

State = TransactionState
pytestmark = pytest.mark.asyncio(loop_scope="package")


class Waiting:
    """A swap at Basalt whose transaction no block takes until ``go_on``."""

    def __init__(self, place: Place, someone: Swapper, intent: Intent) -> None:
        self.place, self.someone, self.intent = place, someone, intent
        someone.agrees = self._looked

    def _looked(self, review: Review) -> bool:
        if review.title.startswith("A swap"):
            self.place.floor.world.faults.add("base", "drop_transaction")
        return True

    def go_on(self) -> None:
        self.place.floor.world.faults.clear()

    async def signed(self) -> list[SignedTransaction]:
        told = await self.someone.agent.transactions(self.intent.id)
        return [one for one in told if one.purpose is not Purpose.APPROVE]

    async def first(self) -> SignedTransaction:
        """The transaction of the swap, once a node has it and has forgotten it."""
        while True:
            found = await self.signed()
            if found and found[0].state is State.SENT:
                return found[0]
            await asyncio.sleep(0.02)  # between two looks

    async def dearer(self, first: SignedTransaction) -> SignedTransaction:
        _, review = await self.someone.agent.bump(first.hash, 10**16)
        signed = await self.someone.agent.sign(review)
        assert isinstance(signed, SignedTransaction)
        return signed


Running = tuple[Waiting, asyncio.Task[Outcome]]


@pytest_asyncio.fixture(loop_scope="package")
async def waiting(
    place: Place, someone: Swapper, usdc: Token, weth: Token
) -> AsyncIterator[Running]:
    intent = await someone.intent("ba", usdc, weth, "60")
    swap = Waiting(place, someone, intent)
    running = asyncio.create_task(someone.flow().swap(intent))
    yield swap, running
    swap.go_on()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def completed(swap: Waiting, outcome: Outcome | None, hash_: str) -> None:
    """Done for this hash, in the journal too, and paid once."""
    assert outcome.done, outcome
    assert outcome.hash == hash_
    step = swap.someone.journal.swaps.last(swap.intent.id, "swap")
    assert step.told["hash"] == hash_
    ended = await swap.place.completed(outcome.order)
    assert ended.display_status == "SWAP_COMPLETED"
    usdc = swap.place.floor.token("base", "USDC")
    assert await swap.someone.holds(usdc) == 40 * 10**6
    states = {one.hash: one.state for one in await swap.signed()}
    assert states.pop(hash_) is State.SUCCEEDED
    assert set(states.values()) <= {State.REPLACED}


@pytest.mark.parametrize("sent", [True, False])
@pytest.mark.parametrize("taken_on", [True, False])
async def test_a_swap_goes_on_with_what_was_sent(
    waiting: Running, sent: bool, taken_on: bool
) -> None:
    """A higher fee that left the wallet is followed, and one that did not is nobody's payment;
    also where the desk ends while both wait."""
    swap, running = waiting
    one = await swap.first()
    if taken_on:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    dear = await swap.dearer(one)
    if sent:
        await swap.someone.agent.broadcast(dear.hash)
    swap.go_on()
    outcome = await (swap.someone.flow().take_on(swap.intent) if taken_on else running)
    await completed(swap, outcome, dear.hash if sent else one.hash)
    assert {each.hash for each in await swap.signed()} == {one.hash, dear.hash}


async def test_a_swap_whose_transaction_was_cancelled_ends_unpaid(
    waiting: Running, usdc: Token
) -> None:
    swap, running = waiting
    one = await swap.first()
    agent = swap.someone.agent
    cancel = TransactionPayload(Purpose.CANCEL, one.account, "0x", 0)
    nothing = replace(promise_of(swap.intent), sell_units=0, least_units=0, quoted_units=0)
    review = await agent.review(cancel, nothing, replaces=one.hash)
    signed = await agent.sign(review)
    assert isinstance(signed, SignedTransaction)
    await agent.broadcast(signed.hash)
    swap.go_on()
    outcome = await running
    assert outcome.refused, outcome
    assert outcome.code == "REPLACED"
    assert "in your wallet" in outcome.failure.money
    assert await swap.someone.holds(usdc) == 100 * 10**6
