"""A higher fee, or a cancellation, while a swap waits for its transaction: the swap goes on with
whichever the chain takes, and pays once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from flows.dex.swapping import Place, Swapper
from swapdesk.flows.dex.dex_plan import promise_of
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import SignedTransaction, TransactionState

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


@asynccontextmanager
async def waiting(
    place: Place, directory: Path, first: Swapper
) -> AsyncIterator[tuple[Waiting, asyncio.Task[Outcome]]]:
    async with place.someone(directory, first) as someone:
        await someone.fund(USDC="100")
        usdc, weth = place.floor.token("base", "USDC"), place.floor.token("base", "WETH")
        intent = await someone.intent("ba", usdc, weth, "60")
        swap = Waiting(place, someone, intent)
        running = asyncio.create_task(someone.flow().swap(intent))
        try:
            yield swap, running
        finally:
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


async def test_a_swap_takes_the_higher_fee_as_its_own(
    place: Place, first: Swapper, tmp_path: Path
) -> None:
    async with waiting(place, tmp_path, first) as (swap, running):
        one = await swap.first()
        dear = await swap.dearer(one)
        await swap.someone.agent.broadcast(dear.hash)
        swap.go_on()
        await completed(swap, await running, dear.hash)


async def test_a_higher_fee_that_was_never_sent_pays_nothing(
    place: Place, first: Swapper, tmp_path: Path
) -> None:
    async with waiting(place, tmp_path, first) as (swap, running):
        one = await swap.first()
        dear = await swap.dearer(one)
        swap.go_on()
        await completed(swap, await running, one.hash)
        assert {each.hash for each in await swap.signed()} == {one.hash, dear.hash}


@pytest.mark.parametrize("sent", [True, False])
async def test_a_swap_that_is_taken_on_goes_on_with_what_was_sent(
    place: Place, first: Swapper, tmp_path: Path, sent: bool
) -> None:
    """The desk ends while both wait: the higher fee that left a wallet is followed, and one that
    did not is nobody's payment."""
    async with waiting(place, tmp_path, first) as (swap, running):
        one = await swap.first()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        dear = await swap.dearer(one)
        if sent:
            await swap.someone.agent.broadcast(dear.hash)
        swap.go_on()
        outcome = await swap.someone.flow().take_on(swap.intent)
        await completed(swap, outcome, dear.hash if sent else one.hash)


async def test_a_swap_whose_transaction_was_cancelled_ends_unpaid(
    place: Place, first: Swapper, tmp_path: Path
) -> None:
    async with waiting(place, tmp_path, first) as (swap, running):
        one = await swap.first()
        agent, usdc = swap.someone.agent, place.floor.token("base", "USDC")
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
