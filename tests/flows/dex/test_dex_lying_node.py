"""Nodes that lie, forget or take back what they said, in the middle of a swap: one payment."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import pytest_asyncio
from msgspec import Struct

from flows.dex.boundaries import striking
from flows.dex.swapping import Place, Swapper
from sandbox.evm.rewinding import rewind
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.sandbox.faults import ChainFaults
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token

pytestmark = pytest.mark.asyncio(loop_scope="package")

CHAIN = "base"
IMPATIENT = Pace(look=0.05, patience=1.0)


class Swap(Struct):
    """Somebody who is about to swap 60 of 100 USDC at Basalt."""

    place: Place
    someone: Swapper
    intent: Intent

    @property
    def faults(self) -> ChainFaults:
        return self.place.floor.world.faults

    def when_paying(self, lie: Callable[[], None]) -> None:
        """Have the node lie from the moment on that the order's transaction is agreed to."""

        def agrees(review: object) -> bool:
            if len(self.someone.reviews) == 2:
                lie()
            return True

        self.someone.agrees = agrees

    async def paid(self) -> list[SignedTransaction]:
        signed = await self.someone.agent.transactions(self.intent.id)
        return [one for one in signed if one.purpose is Purpose.SWAP]

    async def is_paid_once(self, order: Order, hash_: str | None) -> None:
        """By the records of the wallet, the balances of the chain and the service's order."""
        ended = await self.place.completed(order)
        assert ended.display_status == "SWAP_COMPLETED"
        usdc = self.place.floor.token(CHAIN, "USDC")
        assert await self.someone.holds(usdc) == 40 * 10**6
        assert [(one.hash, one.state) for one in await self.paid()] == [
            (hash_, TransactionState.SUCCEEDED)
        ]
        client = self.place.floor.readers[CHAIN].client
        assert await client.nonce(self.someone.address) == 2, "an approval and a swap"
        # The same confirmation pays no second time, and nothing waits to be taken on.
        again = await self.someone.flow().swap(self.intent)
        assert again.refused
        assert again.code == "ALREADY_ASKED"
        assert self.someone.journal.swaps.open_swaps() == []
        assert self.someone.journal.orders.index.ids() == {order.service_id}


@pytest_asyncio.fixture(loop_scope="package")
async def swap(place: Place, someone: Swapper, usdc: Token, weth: Token) -> Swap:
    return Swap(place, someone, await someone.intent("ba", usdc, weth, "60"))


async def test_a_node_that_insists_leaves_the_swap_open(swap: Swap) -> None:
    swap.when_paying(lambda: swap.faults.add(CHAIN, "forged_receipt"))
    outcome = await swap.someone.flow(pace=IMPATIENT).swap(swap.intent)
    assert outcome.open, outcome
    assert outcome.code == "NOT_FINAL"
    (one,) = await swap.paid()
    assert one.state is TransactionState.SENT
    assert one.hash in outcome.failure.money
    assert "the desk" in outcome.failure.next
    again = await swap.someone.flow().swap(swap.intent)
    assert again.refused
    assert again.code == "ALREADY_ASKED"
    # Taken on while the node still lies: the same transaction, and still open.
    (open_,) = swap.someone.journal.swaps.open_swaps()
    still = await swap.someone.flow(pace=IMPATIENT).take_on(open_)
    assert still.open
    assert [each.hash for each in await swap.paid()] == [one.hash]
    swap.faults.clear()
    ended = await swap.someone.flow().take_on(open_)
    assert ended.done, ended
    assert ended.hash == one.hash
    assert len(swap.someone.reviews) == 2, "nothing was shown, so nothing was signed, again"
    await swap.is_paid_once(ended.order, ended.hash)


async def test_a_silent_node_is_waited_for(swap: Swap) -> None:
    swap.when_paying(lambda: swap.faults.add(CHAIN, "node_down"))
    outcome = await swap.someone.flow(pace=IMPATIENT).swap(swap.intent)
    assert outcome.open, outcome
    assert await swap.paid() == [], "without the chain nothing is signed"
    assert "in your wallet" in outcome.failure.money
    assert "may still take up to 60 USDC" in outcome.failure.money
    swap.faults.clear()
    swap.someone.agrees = lambda review: True
    (open_,) = swap.someone.journal.swaps.open_swaps()
    ended = await swap.someone.flow().take_on(open_)
    assert ended.done, ended
    await swap.is_paid_once(ended.order, ended.hash)


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
    assert outcome.done, outcome
    assert outcome.hash is not None
    node = place.floor.world.node
    receipt = await node.confirmed(CHAIN, bytes.fromhex(outcome.hash[2:]))
    assert receipt["status"] == "0x1"
    await swap.is_paid_once(outcome.order, outcome.hash)
