"""What a chain does with the transactions of a swap while it waits: nodes that lie, forget or take
back what they said, a higher fee, a cancellation. It is paid once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio
from msgspec import Struct
from msgspec.structs import replace

from flows.dex.boundaries import striking
from flows.dex.swapping import IMPATIENT, Place, Swapper
from sandbox.evm.rewinding import rewind
from swapdesk.flows.dex.dex_plan import promise_of
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.sandbox.faults import ChainFaults
from swapdesk.wallet.answers import Review, SignedTransaction, TransactionState
from swapdesk.wallet.promise import Purpose, TransactionPayload
from swapdesk.wire.tokens import Token

State = TransactionState
pytestmark = pytest.mark.asyncio(loop_scope="package")

CHAIN = "base"


class Swap(Struct):
    """Somebody who is about to swap 60 of 100 USDC at Basalt."""

    place: Place
    someone: Swapper
    intent: Intent

    @property
    def faults(self) -> ChainFaults:
        return self.place.floor.world.faults

    def when_paying(self, lie: Callable[[], object]) -> None:
        """Have the node lie from the moment on that the order's transaction is agreed to."""

        def agrees(review: Review) -> bool:
            if review.title.startswith("A swap"):
                lie()
            return True

        self.someone.agrees = agrees

    async def signed(self) -> list[SignedTransaction]:
        """But for the approval."""
        signed = await self.someone.agent.transactions(self.intent.id)
        return [one for one in signed if one.purpose is not Purpose.APPROVE]

    async def is_paid_once(self, outcome: Outcome | None, hash_: str | None = None) -> None:
        """By the records of the wallet, the balances of the chain and the service's order; by this
        transaction, if one is named."""
        assert outcome.done, outcome
        assert outcome.hash == hash_ or hash_ is None
        ended = await self.place.completed(outcome.order)
        assert ended.display_status == "SWAP_COMPLETED"
        usdc = self.place.floor.token(CHAIN, "USDC")
        assert await self.someone.holds(usdc) == 40 * 10**6
        states = {one.hash: one.state for one in await self.signed()}
        assert states.pop(outcome.hash) is State.SUCCEEDED
        assert set(states.values()) <= {State.REPLACED}
        step = self.someone.journal.swaps.last(self.intent.id, "swap")
        assert step.told["hash"] == outcome.hash
        client = self.place.floor.readers[CHAIN].client
        assert await client.nonce(self.someone.address) == 2, "an approval and a swap"
        # Nothing waits to be taken on.
        assert self.someone.journal.swaps.open_swaps() == []
        assert self.someone.journal.orders.index.ids() == {outcome.order.service_id}


@pytest_asyncio.fixture(loop_scope="package")
async def swap(place: Place, someone: Swapper, usdc: Token, weth: Token) -> Swap:
    return Swap(place, someone, await someone.intent("ba", usdc, weth, "60"))


async def test_a_node_that_insists_leaves_the_swap_open(swap: Swap) -> None:
    swap.when_paying(lambda: swap.faults.add(CHAIN, "forged_receipt"))
    outcome = await swap.someone.flow(pace=IMPATIENT).swap(swap.intent)
    assert outcome.open, outcome
    assert outcome.code == "NOT_FINAL"
    (one,) = await swap.signed()
    assert one.state is State.SENT
    assert one.hash in outcome.failure.money
    assert "the desk" in outcome.failure.next
    again = await swap.someone.flow().swap(swap.intent)
    assert again.refused
    assert again.code == "ALREADY_ASKED"
    # Taken on while the node still lies: the same transaction, and still open.
    (open_,) = swap.someone.journal.swaps.open_swaps()
    still = await swap.someone.flow(pace=IMPATIENT).take_on(open_)
    assert still.open
    assert [each.hash for each in await swap.signed()] == [one.hash]
    swap.faults.clear()
    ended = await swap.someone.flow().take_on(open_)
    assert len(swap.someone.reviews) == 2, "nothing was shown, so nothing was signed, again"
    await swap.is_paid_once(ended, one.hash)


async def test_a_silent_node_is_waited_for(swap: Swap) -> None:
    swap.when_paying(lambda: swap.faults.add(CHAIN, "node_down"))
    outcome = await swap.someone.flow(pace=IMPATIENT).swap(swap.intent)
    assert outcome.open, outcome
    assert await swap.signed() == [], "without the chain nothing is signed"
    assert "in your wallet" in outcome.failure.money
    assert "may still take up to 60 USDC" in outcome.failure.money
    swap.faults.clear()
    swap.someone.agrees = lambda review: True
    (open_,) = swap.someone.journal.swaps.open_swaps()
    ended = await swap.someone.flow().take_on(open_)
    await swap.is_paid_once(ended)


@pytest.mark.parametrize(
    "boundary",
    ["api.dex_confirm_transaction.before.1", "api.dex_confirm_transaction.after.1"],
)
async def test_a_reorganisation_after_the_confirmation_pays_once(
    place: Place, swap: Swap, boundary: str
) -> None:
    """The wallet has counted its confirmations; then the blocks are unwound."""

    async def reorganised() -> None:
        await rewind(place.floor.world.chain(CHAIN))

    with striking(boundary, reorganised) as struck:
        outcome = await swap.someone.flow().swap(swap.intent)
    assert struck.met
    receipt = await place.floor.world.node.confirmed(CHAIN, bytes.fromhex(outcome.hash[2:]))
    assert receipt["status"] == "0x1"
    await swap.is_paid_once(outcome)


@pytest_asyncio.fixture(loop_scope="package")
async def running(swap: Swap) -> AsyncIterator[asyncio.Task[Outcome]]:
    """The swap, whose transaction no block takes while the node forgets it."""
    swap.when_paying(lambda: swap.faults.add(CHAIN, "drop_transaction"))
    task = asyncio.create_task(swap.someone.flow().swap(swap.intent))
    yield task
    swap.faults.clear()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def forgotten(swap: Swap) -> SignedTransaction:
    """The transaction of the swap, once a node has it and has forgotten it."""
    while True:
        found = await swap.signed()
        if found and found[0].state is State.SENT:
            return found[0]
        await asyncio.sleep(0.02)  # between two looks


@pytest.mark.parametrize("sent", [True, False])
@pytest.mark.parametrize("taken_on", [True, False])
async def test_a_swap_goes_on_with_what_was_sent(
    swap: Swap, running: asyncio.Task[Outcome], sent: bool, taken_on: bool
) -> None:
    """A higher fee that left the wallet is followed, and one that did not is nobody's payment;
    also where the desk ends while both wait."""
    one, agent = await forgotten(swap), swap.someone.agent
    if taken_on:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    _, review = await agent.bump(one.hash, 10**16)
    dear = await agent.sign(review)
    if sent:
        await agent.broadcast(dear.hash)
    swap.faults.clear()
    outcome = await (swap.someone.flow().take_on(swap.intent) if taken_on else running)
    await swap.is_paid_once(outcome, dear.hash if sent else one.hash)
    assert {each.hash for each in await swap.signed()} == {one.hash, dear.hash}


async def test_a_swap_whose_transaction_was_cancelled_ends_unpaid(
    swap: Swap, running: asyncio.Task[Outcome], usdc: Token
) -> None:
    one, agent = await forgotten(swap), swap.someone.agent
    cancel = TransactionPayload(Purpose.CANCEL, one.account, "0x", 0)
    nothing = replace(promise_of(swap.intent), sell_units=0, least_units=0, quoted_units=0)
    review = await agent.review(cancel, nothing, replaces=one.hash)
    signed = await agent.sign(review)
    await agent.broadcast(signed.hash)
    swap.faults.clear()
    outcome = await running
    assert outcome.refused, outcome
    assert outcome.code == "REPLACED"
    assert "in your wallet" in outcome.failure.money
    assert await swap.someone.holds(usdc) == 100 * 10**6
