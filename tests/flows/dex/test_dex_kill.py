"""kill -9 of the desk, or of what works beside it, at every boundary of a swap: taken on, it is
paid once and completed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from flows.dex.boundaries import striking
from flows.dex.swapping import IMPATIENT, Place, SolanaPlace, Swapper
from flows.faulty_network import nobody_there
from flows.killed_desk import killed_at, reopened, sampled
from swapdesk.flows.creation.order_verification import find_order
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import TransactionState
from swapdesk.wire.tokens import Token

pytestmark = pytest.mark.asyncio(loop_scope="package")

APPROVING = ("steps.begin.after.1", "wallet.sign.after.1", "wallet.broadcast.after.1")
ORDERING = ("steps.sent.after.2", "api.create_exchange.after.1", "intents.mark_created.after.1")
PAYING = (
    "wallet.sign.after.2",
    "steps.sent.after.3",
    "steps.acked.after.2",
    "api.dex_confirm_transaction.after.1",
)
SIGNING = (
    "wallet.sign.after.1",
    "api.dex_chain_signatures.after.1",
    "wallet.sign.after.2",
    "api.dex_confirm_transaction.before.1",
)
BEFORE_CREATE = ("steps.sent.after.2", "wallet.sign.after.2", "api.dex_chain_signatures.after.1")
"""The next question is the create, and it meets a service or a chain that is not there. It is not
sent a second time: once it is certain that there is no order the swap is over, unpaid."""
SAMPLE = {
    ("ba", "wallet.broadcast.after.1"),
    ("ba", "steps.sent.after.2"),
    ("ba", "api.create_exchange.after.1"),
    ("ba", "steps.sent.after.3"),
    ("is", "wallet.sign.after.2"),
}
"""Killed always, at each kind of boundary once; the others with ``--full``."""
BOUNDARIES = [
    *(("ba", one) for one in APPROVING + ORDERING + PAYING),
    *(("is", one) for one in SIGNING),
]


ON_SOLANA = (
    "api.create_exchange.after.1",
    "wallet.sign.before.1",
    "wallet.sign.after.1",
    "wallet.broadcast.after.1",
    "intents.mark_created.after.1",
    "steps.begin.after.1",
    "steps.sent.after.2",
    "wallet.broadcast.before.1",
    "steps.acked.after.1",
    "api.dex_confirm_transaction.before.1",
    "api.dex_confirm_transaction.after.1",
)
"""The first four are the sample."""


async def paid_once(
    someone: Swapper, pair: tuple[Token, Token], intent: Intent, outcome: Outcome, made: bool
) -> list[TransactionState]:
    """What was signed to pay a swap that is over. Nothing is left open; an order is ``made`` only
    if that is said, and only a swap that is done has moved anything."""
    place = someone.place
    if outcome.done:
        ended = await place.completed(outcome.order)
        assert ended.display_status == "SWAP_COMPLETED"
        assert someone.journal.orders.index.ids() == {outcome.order.service_id}
    else:
        assert "in your wallet" in outcome.failure.money
    assert await someone.holds(pair[0]) == (40 if outcome.done else 100) * 10**6
    assert someone.journal.swaps.open_swaps() == []
    found = await find_order(
        place.api, place.floor.clock, intent, sent_at=intent.frozen_at, known=(), looks=(0.0,)
    )
    assert len(found.same) == made
    signed = await someone.agent.transactions(intent.id)
    approved = [one.state for one in signed if one.purpose is Purpose.APPROVE]
    assert approved == [TransactionState.SUCCEEDED] * (intent.provider == "ba"), "once"
    return [one.state for one in signed if one.purpose is Purpose.SWAP]


async def taken_on(
    place: Place,
    directory: Path,
    venue: str,
    pair: tuple[Token, Token],
    boundary: str,
    late: int = 0,
) -> tuple[Outcome, list[TransactionState]]:
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
            (open_,) = someone.journal.swaps.open_swaps()
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
    assert outcome.done is (boundary != "steps.sent.after.2"), outcome
    # At Isthmus the solver pays for the transaction.
    assert paid == ([TransactionState.SUCCEEDED] if outcome.done and venue == "ba" else [])


@pytest.mark.parametrize("boundary", sampled(ON_SOLANA, ON_SOLANA[:4]))
async def test_a_killed_swap_on_solana_is_taken_on_and_paid_once(
    solana: SolanaPlace, tmp_path: Path, boundary: str
) -> None:
    outcome, paid = await taken_on(solana, tmp_path, "at", solana.floor.coins(), boundary)
    assert outcome.done, outcome
    assert paid == [TransactionState.SUCCEEDED]


async def test_a_half_that_ended_while_nobody_ran_is_never_paid(
    solana: SolanaPlace, tmp_path: Path
) -> None:
    """Signed and not sent, and the blockhash ends: it is given up, and nothing moved."""
    pair, boundary = solana.floor.coins(), "wallet.sign.after.1"
    outcome, paid = await taken_on(solana, tmp_path, "at", pair, boundary, late=150 + 32)
    assert not outcome.done
    assert paid == [TransactionState.LOST]


BESIDE = [(*row, part) for row in BOUNDARIES for part in ("agent", "node", "service")]
SAMPLE_BESIDE = {
    ("ba", "wallet.sign.after.1", "node"),
    ("ba", "wallet.sign.after.2", "service"),
    ("ba", "wallet.sign.after.2", "agent"),
    ("is", "wallet.sign.after.1", "service"),
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
                place.floor.world.faults.add("base", "node_down")
            else:
                place.network.before = nobody_there
                place.service.restart()

        with striking(boundary, strike) as struck:
            outcome = await someone.flow(pace=IMPATIENT).swap(intent)
        assert struck.met
        place.floor.world.faults.clear()
        place.network.before = None
        if part == "agent":
            await someone.agent.close()
            someone.agent = await reopened(place.wallet(someone.keys))
        while outcome.open:
            step = someone.journal.swaps.last(intent.id, "swap")
            # Not in the wallet once a transaction that pays was handed out.
            told = "in your wallet" if step is None else step.told.get("hash", "in your wallet")
            assert str(told) in outcome.failure.money, outcome
            (open_,) = someone.journal.swaps.open_swaps()
            outcome = await someone.flow().take_on(open_)
        paid = await paid_once(someone, pair, intent, outcome, outcome.done)
        assert paid == ([TransactionState.SUCCEEDED] if outcome.done and venue == "ba" else [])
        assert outcome.done or boundary in BEFORE_CREATE, outcome
