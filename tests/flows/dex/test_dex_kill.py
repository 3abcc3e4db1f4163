"""Swaps that are interrupted. kill -9 of the desk, or of what works beside it, at every boundary:
taken on, it is paid once and completed. A node that lies, forgets or takes back what it said, a
higher fee, a cancellation: it is paid once, or not at all."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec import Struct
from msgspec.structs import replace

from flows.dex.boundaries import striking
from flows.dex.swapping import IMPATIENT, Place, SolanaPlace, Swapper
from flows.faulty_network import nobody_there
from flows.killed_desk import killed_at, reopened, sampled
from sandbox.evm.rewinding import rewind
from swapdesk.acts import State
from swapdesk.flows.creation.creates import newest_part, open_swaps
from swapdesk.flows.creation.order_verification import find_order
from swapdesk.flows.dex.dex_plan import promise_of
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.transactions import Outcome
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.wallet.answers import Review, SignedTransaction, TransactionWord
from swapdesk.wallet.promise import Purpose, TransactionPayload
from swapdesk.wire.tokens import Token

pytestmark = pytest.mark.asyncio(loop_scope="package")

APPROVING = (
    "ledger.approve_prepared.after.1",
    "wallet.sign.after.1",
    "wallet.broadcast.after.1",
)
ORDERING = (
    "ledger.create_sent.after.1",
    "api.create_exchange.after.1",
    "ledger.create_done.after.1",
)
PAYING = (
    "wallet.sign.after.2",
    "ledger.swap_sent.after.1",
    "ledger.swap_done.after.1",
    "api.dex_confirm_transaction.after.1",
)
SIGNING = (
    "wallet.sign.after.1",
    "api.dex_chain_signatures.after.1",
    "wallet.sign.after.2",
    "api.dex_confirm_transaction.before.1",
)
BEFORE_CREATE = (
    "ledger.create_sent.after.1",
    "wallet.sign.after.2",
    "api.dex_chain_signatures.after.1",
)
"""The next question is the create, and it meets a service or a chain that is not there. It is not
sent a second time: once it is certain that there is no order the swap is over, unpaid."""
SAMPLE = {
    ("ba", "wallet.broadcast.after.1"),
    ("ba", "ledger.create_sent.after.1"),
    ("ba", "api.create_exchange.after.1"),
    ("ba", "ledger.swap_sent.after.1"),
    ("is", "wallet.sign.after.2"),
}
"""Killed always, at each kind of boundary once; the others with ``--full``."""
BOUNDARIES = [
    *(("ba", one) for one in APPROVING + ORDERING + PAYING),
    *(("is", one) for one in SIGNING),
]


ON_SOLANA = (
    "wallet.sign.before.1",
    "wallet.broadcast.after.1",
    "api.create_exchange.after.1",
    "wallet.sign.after.1",
    "ledger.create_done.after.1",
    "ledger.create_prepared.after.1",
    "ledger.swap_sent.after.1",
    "wallet.broadcast.before.1",
    "ledger.swap_done.after.1",
    "api.dex_confirm_transaction.before.1",
    "api.dex_confirm_transaction.after.1",
)
"""The first two are the sample."""


async def paid_once(
    someone: Swapper, pair: tuple[Token, Token], intent: Intent, outcome: Outcome, made: bool
) -> list[TransactionWord]:
    """What was signed to pay a swap that is over. Nothing is left open, and no part waits for its
    signature; an order is ``made`` only if that is said, and only a swap that is done has moved
    anything."""
    place = someone.place
    if outcome.done:
        ended = await place.completed(outcome.order)
        assert ended.display_status == "SWAP_COMPLETED"
        assert someone.journal.orders.ids() == {outcome.order.service_id}
    else:
        assert "in your wallet" in outcome.failure.money
    assert await someone.holds(pair[0]) == (40 if outcome.done else 100) * 10**6
    ledger = someone.journal.ledger
    assert open_swaps(ledger) == []
    assert State.PREPARED not in {part.state for part in ledger.parts(intent.id)}
    found, _ = await find_order(
        place.api, place.floor.clock, intent, sent_at=intent.frozen_at, known=(), looks=(0.0,)
    )
    assert [certain for _, certain in found] == [True] * made
    signed = await someone.agent.transactions(intent.id)
    approved = [one.word for one in signed if one.purpose is Purpose.APPROVE]
    assert approved == ["succeeded"] * (intent.provider == "ba"), "once"
    return [one.word for one in signed if one.purpose is Purpose.SWAP]


async def taken_on(
    place: Place,
    directory: Path,
    venue: str,
    pair: tuple[Token, Token],
    boundary: str,
    late: int = 0,
) -> tuple[Outcome, list[TransactionWord]]:
    """How a swap ends that another desk goes on with, ``late`` blocks after the kill, and what was
    signed to pay it."""
    async with place.someone(directory) as someone:
        await someone.fund("1", USDC="100")
        intent = await someone.intent(venue, *pair, "60")
        await someone.agent.close()
        keys, what = place.wallet(directory / "keys"), intent.as_json()
        async with killed_at(place.service, keys, what, boundary, works=True) as someone.agent:
            if late:
                place.floor.world.time.pass_blocks(late)
            (open_,) = open_swaps(someone.journal.ledger)
            assert open_.id == intent.id
            outcome = await someone.flow().take_on(open_)
            made = outcome.done or bool(late)
            return outcome, await paid_once(someone, pair, intent, outcome, made)


@pytest.mark.parametrize(("venue", "boundary"), sampled(BOUNDARIES, SAMPLE))
async def test_a_killed_swap_is_taken_on_and_paid_once(
    place: Place, tmp_path: Path, venue: str, boundary: str
) -> None:
    pair = place.floor.token("base", "USDC"), place.floor.token("base", "WETH")
    outcome, paid = await taken_on(place, tmp_path, venue, pair, boundary)
    # It may have left; the service shows no order, so nothing was created.
    assert outcome.done is (boundary != "ledger.create_sent.after.1"), outcome
    # At Isthmus the solver pays for the transaction.
    assert paid == (["succeeded"] if outcome.done and venue == "ba" else [])


@pytest.mark.parametrize("boundary", sampled(ON_SOLANA, ON_SOLANA[:2]))
async def test_a_killed_swap_on_solana_is_taken_on_and_paid_once(
    solana: SolanaPlace, tmp_path: Path, boundary: str
) -> None:
    outcome, paid = await taken_on(solana, tmp_path, "at", solana.floor.coins(), boundary)
    assert outcome.done, outcome
    assert paid == ["succeeded"]


async def test_a_half_that_ended_while_nobody_ran_is_never_paid(
    solana: SolanaPlace, tmp_path: Path
) -> None:
    """Signed and not sent, and the blockhash ends: it is given up, and nothing moved."""
    pair, boundary = solana.floor.coins(), "wallet.sign.after.1"
    outcome, paid = await taken_on(solana, tmp_path, "at", pair, boundary, late=150 + 32)
    assert not outcome.done
    assert paid == ["lost"]


BESIDE = [(*row, part) for row in BOUNDARIES for part in ("agent", "node", "service")]
SAMPLE_BESIDE = {
    ("ba", "wallet.sign.after.1", "node"),
    ("ba", "wallet.sign.after.2", "service"),
    ("ba", "wallet.sign.after.2", "agent"),
}


@pytest.mark.parametrize(("venue", "boundary", "part"), sampled(BESIDE, SAMPLE_BESIDE))
async def test_what_dies_beside_the_desk_comes_back_and_the_swap_is_paid_once(
    place: Place, tmp_path: Path, venue: str, boundary: str, part: str
) -> None:
    """The desk lives, tells where the money is, and takes the swap on once all parts are there."""
    pair = place.floor.token("base", "USDC"), place.floor.token("base", "WETH")
    async with place.someone(tmp_path) as someone:
        await someone.fund("1", USDC="100")
        intent = await someone.intent(venue, *pair, "60")

        def strike() -> None:
            if part == "agent":
                os.kill(someone.agent.pid, signal.SIGKILL)
            elif part == "node":
                place.floor.world.faults.set("node_down", "chain", "base")
            else:
                place.network.before = nobody_there
                place.service.restart()

        with striking(boundary, strike) as struck:
            outcome = await someone.flow(pace=IMPATIENT).swap(intent)
        assert struck.met
        place.floor.world.faults.active.clear()
        place.network.before = None
        if part == "agent":
            await someone.agent.close()
            someone.agent = await reopened(place.wallet(someone.keys))
        while outcome.open:
            payment = newest_part(someone.journal.ledger, intent.id, "swap")
            # Not in the wallet once a transaction that pays was handed out.
            told = (payment and payment.hash) or "in your wallet"
            assert told in outcome.failure.money, outcome
            (open_,) = open_swaps(someone.journal.ledger)
            outcome = await someone.flow().take_on(open_)
        paid = await paid_once(someone, pair, intent, outcome, outcome.done)
        assert paid == (["succeeded"] if outcome.done and venue == "ba" else [])
        assert outcome.done or boundary in BEFORE_CREATE, outcome


CHAIN = "base"


class Swap(Struct):
    """Somebody who is about to swap 60 of 100 USDC at Basalt."""

    place: Place
    someone: Swapper
    intent: Intent

    @property
    def faults(self) -> ActiveFaults:
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
        states = {one.hash: one.word for one in await self.signed()}
        assert states.pop(outcome.hash) == "succeeded"
        assert set(states.values()) <= {"replaced"}
        payment = newest_part(self.someone.journal.ledger, self.intent.id, "swap")
        assert payment.hash == outcome.hash
        client = self.place.floor.readers[CHAIN].client
        assert await client.nonce(self.someone.address) == 2, "an approval and a swap"
        # Nothing waits to be taken on.
        assert open_swaps(self.someone.journal.ledger) == []
        assert self.someone.journal.orders.ids() == {outcome.order.service_id}


@pytest_asyncio.fixture(loop_scope="package")
async def swap(place: Place, someone: Swapper, usdc: Token, weth: Token) -> Swap:
    return Swap(place, someone, await someone.intent("ba", usdc, weth, "60"))


async def test_a_node_that_insists_leaves_the_swap_open(swap: Swap) -> None:
    swap.when_paying(lambda: swap.faults.set("forged_receipt", "chain", CHAIN, times=1_000))
    outcome = await swap.someone.flow(pace=IMPATIENT).swap(swap.intent)
    assert outcome.open, outcome
    assert outcome.code == "NOT_FINAL"
    (one,) = await swap.signed()
    assert one.word == "sent"
    assert one.hash in outcome.failure.money
    assert "the desk" in outcome.failure.next
    again = await swap.someone.flow().swap(swap.intent)
    assert again.refused
    assert again.code == "ALREADY_ASKED"
    # Taken on while the node still lies: the same transaction, and still open.
    (open_,) = open_swaps(swap.someone.journal.ledger)
    still = await swap.someone.flow(pace=IMPATIENT).take_on(open_)
    assert still.open
    assert [each.hash for each in await swap.signed()] == [one.hash]
    swap.faults.active.clear()
    ended = await swap.someone.flow().take_on(open_)
    assert len(swap.someone.reviews) == 2, "nothing was shown, so nothing was signed, again"
    await swap.is_paid_once(ended, one.hash)


async def test_a_silent_node_is_waited_for(swap: Swap) -> None:
    swap.when_paying(lambda: swap.faults.set("node_down", "chain", CHAIN))
    outcome = await swap.someone.flow(pace=IMPATIENT).swap(swap.intent)
    assert outcome.open, outcome
    assert await swap.signed() == [], "without the chain nothing is signed"
    assert "in your wallet" in outcome.failure.money
    assert "may still take up to 60 USDC" in outcome.failure.money
    swap.faults.active.clear()
    swap.someone.agrees = lambda review: True
    (open_,) = open_swaps(swap.someone.journal.ledger)
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
    swap.when_paying(lambda: swap.faults.set("drop_transaction", "chain", CHAIN, times=1_000))
    task = asyncio.create_task(swap.someone.flow().swap(swap.intent))
    yield task
    swap.faults.active.clear()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def forgotten(swap: Swap) -> SignedTransaction:
    """The transaction of the swap, once a node has it and has forgotten it."""
    while True:
        found = await swap.signed()
        if found and found[0].word == "sent":
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
    swap.faults.active.clear()
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
    swap.faults.active.clear()
    outcome = await running
    assert outcome.refused, outcome
    assert outcome.code == "REPLACED"
    assert "in your wallet" in outcome.failure.money
    assert await swap.someone.holds(usdc) == 100 * 10**6
