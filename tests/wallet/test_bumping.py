"""A higher fee for what waits: through a real agent, its gate and a chain that keeps it waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from flows.signing import swap_intent
from patience import PATIENCE
from swapdesk.clock import SystemClock
from swapdesk.flows.dex.swap_signing import SwapSigning
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.signing.running_signings import replace
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import Proposal, UnderWay
from swapdesk.flows.wallet.replacement import CANCELLATION as OF_CANCELLING
from swapdesk.flows.wallet.replacement import HIGHER_FEE, Replacement
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from wallet.owner import PAID, Owner
from wallet.signing import CHAIN

State = TransactionState
pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_what_waits_is_paid_once_for_a_higher_fee(owner: Owner) -> None:
    before = await owner.trader.paid()
    client, first = await owner.waiting("bumped")
    proposed = await owner.bumping.propose(first.hash)
    assert isinstance(proposed, Proposal)
    assert not proposed.review.refused, proposed.review.findings
    assert proposed.review.agreed
    assert "MAY_BE_EITHER" in {one.code for one in proposed.review.findings}
    ended = await owner.bumping.replace(proposed)
    assert ended.done
    assert await owner.states("bumped") == {
        first.hash: State.REPLACED,
        ended.hash: State.SUCCEEDED,
    }
    assert await owner.trader.paid() == before + PAID
    # Sent again, asked again, bumped again, cancelled: it stays one payment.
    assert (await client.broadcast(first.hash)).state is State.REPLACED
    assert await owner.bumping.propose(first.hash) == Outcome(hash=ended.hash)
    late = await owner.cancelling.propose(first.hash)
    assert isinstance(late, Outcome)
    assert late.code == OF_CANCELLING.kept_code
    assert OF_CANCELLING.over[State.SUCCEEDED] in late.cause
    assert ended.hash is not None
    assert ended.hash in late.cause
    again = await client.review(owner.trader.payment(), owner.trader.deposit("bumped"))
    with pytest.raises(Refused) as refused:
        await client.sign(again)
    assert refused.value.code in (Code.ALREADY_SIGNED, Code.GATE)
    assert await owner.trader.paid() == before + PAID


@pytest.mark.parametrize("verb", ["bumping", "cancelling"])
async def test_the_first_may_be_executed_after_all(owner: Owner, verb: str) -> None:
    """The other one was reviewed, and the first reaches a block before it is signed."""
    before = await owner.trader.paid()
    replacement: Replacement = getattr(owner, verb)
    client, first = await owner.waiting(f"{verb} is overtaken")
    proposed = await replacement.propose(first.hash)
    assert isinstance(proposed, Proposal)
    await client.resolve(first.hash)
    await owner.mined(first.hash)
    ended: object
    try:
        ended = await replacement.replace(proposed)
    except Refused as refused:
        # The second look sees that the nonce is used; nothing was signed.
        ended = refused
    if isinstance(ended, Outcome) and ended.done:
        assert (verb, ended.hash) == ("bumping", first.hash)
    await owner.executed(first.hash)
    assert await owner.trader.paid() == before + PAID
    told = await owner.bumping.propose(first.hash)
    assert told == Outcome(hash=first.hash)


async def test_the_same_higher_fee_is_sent_again_and_may_be_outbid_itself(owner: Owner) -> None:
    before = await owner.trader.paid()
    client, first = await owner.waiting("twice")
    one = await client.sign((await client.bump(first.hash, 10**16))[1])
    assert isinstance(one, SignedTransaction)
    owner.trader.world.faults.add(CHAIN, "drop_transaction", 1)
    await client.broadcast(one.hash)
    known = await owner.bumping.propose(first.hash)
    assert isinstance(known, UnderWay)
    assert known.transaction.hash == one.hash
    dearer = await owner.bumping.propose(one.hash)
    assert isinstance(dearer, Proposal)
    ended = await owner.bumping.replace(dearer)
    assert ended.done
    assert await owner.states("twice") == {
        first.hash: State.REPLACED,
        one.hash: State.REPLACED,
        ended.hash: State.SUCCEEDED,
    }
    assert await owner.trader.paid() == before + PAID


async def test_whoever_follows_the_first_keeps_the_dearest_alive(owner: Owner) -> None:
    """A node forgets the higher fee; following the first one sends it again, and never the
    first."""
    before = await owner.trader.paid()
    client, first = await owner.waiting("followed")
    dear = await client.sign((await client.bump(first.hash, 10**16))[1])
    assert isinstance(dear, SignedTransaction)
    owner.trader.world.faults.add(CHAIN, "drop_transaction", 1)
    await client.broadcast(dear.hash)
    while (await client.resolve(first.hash)).state is not State.REPLACED:  # noqa: ASYNC110
        await asyncio.sleep(0.02)  # between two looks
    assert await owner.states("followed") == {
        first.hash: State.REPLACED,
        dear.hash: State.SUCCEEDED,
    }
    assert await owner.trader.paid() == before + PAID


async def test_a_higher_fee_is_cancelled_with_what_it_pays_for(owner: Owner) -> None:
    before = await owner.trader.paid()
    client, first = await owner.waiting("both")
    dear = await client.sign((await client.bump(first.hash, 10**16))[1])
    assert isinstance(dear, SignedTransaction)
    owner.trader.world.faults.add(CHAIN, "drop_transaction", 1)
    await client.broadcast(dear.hash)
    proposed = await owner.cancelling.propose(first.hash)
    assert isinstance(proposed, Proposal)
    cancellation = await client.sign(proposed.review)
    assert isinstance(cancellation, SignedTransaction)
    owner.trader.world.faults.add(CHAIN, "drop_transaction", 1)
    await client.broadcast(cancellation.hash)
    # What is being cancelled gets no higher fee; its cancellation does.
    refused = await owner.bumping.propose(dear.hash)
    assert isinstance(refused, Outcome)
    assert refused.code == HIGHER_FEE.kept_code
    assert cancellation.hash in refused.cause
    faster = await owner.bumping.propose(cancellation.hash)
    assert isinstance(faster, Proposal)
    ended = await owner.bumping.replace(faster)
    assert ended.done
    assert await owner.cancelling.propose(first.hash) == Outcome(hash=ended.hash)
    done = await owner.bumping.propose(first.hash)
    assert isinstance(done, Outcome)
    assert done.code == HIGHER_FEE.kept_code
    assert "cancelled" in done.cause
    assert set((await owner.states("both")).values()) == {State.REPLACED, State.SUCCEEDED}
    assert await owner.trader.paid() == before


async def test_nothing_else_gets_a_higher_fee(owner: Owner) -> None:
    before = await owner.trader.paid()
    client, first = await owner.signed("unsent")
    told = await owner.bumping.propose(first.hash)
    assert isinstance(told, Outcome)
    assert told.code == HIGHER_FEE.kept_code
    assert told.cause == "It was never sent, so it waits for no fee."
    await client.abandon(first.hash)
    told = await owner.bumping.propose(first.hash)
    assert isinstance(told, Outcome)
    assert told.code == HIGHER_FEE.kept_code
    assert HIGHER_FEE.over[State.ABANDONED] in told.cause
    with pytest.raises(Refused) as refused:
        await owner.bumping.propose("0x" + "00" * 32)
    assert refused.value.code is Code.NO_TRANSACTION
    with pytest.raises(Refused) as unknown:
        await client.bump("0x" + "00" * 32, 10**16)
    assert unknown.value.code is Code.NO_TRANSACTION
    assert await owner.trader.paid() == before


@pytest.fixture
def session(tmp_path: Path) -> Iterator[SwapSigning]:
    clock = SystemClock()
    journal = Journal.open(tmp_path / "journal.db", clock)
    yield SwapSigning(swap_intent(), journal, clock, lambda: None, fresh=False)
    journal.close()


async def opened(session: SwapSigning) -> Review:
    """The review that it asks for."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if session.review is not None:
                return session.review
            await asyncio.sleep(0.001)


async def test_a_session_that_waits_asks_for_the_higher_fee(
    owner: Owner, session: SwapSigning
) -> None:
    before = await owner.trader.paid()
    client, first = await owner.waiting("asked")
    assert not session.replaceable
    session.seen(first)
    assert session.replaceable
    asking = asyncio.create_task(replace(owner.wallet, owner.bumping, session))
    review = await opened(session)
    assert session.payload == owner.trader.payment()
    session.seen(first)
    assert not session.replaceable, "one question at a time"
    assert session.refuse(review.id)
    assert await asking is None
    assert len(await owner.states("asked")) == 1
    session.seen(first)
    asking = asyncio.create_task(replace(owner.wallet, owner.bumping, session))
    assert session.agree((await opened(session)).id)
    assert await asking is None
    assert set((await owner.states("asked")).values()) == {State.REPLACED, State.SUCCEEDED}
    assert await owner.trader.paid() == before + PAID
    session.seen(await client.resolve(first.hash))
    assert not session.replaceable


async def test_a_session_that_goes_on_withdraws_the_question(
    owner: Owner, session: SwapSigning
) -> None:
    """What it waited for is executed while the trader still looks."""
    before = await owner.trader.paid()
    _, first = await owner.waiting("withdrawn")
    session.seen(first)
    asking = asyncio.create_task(replace(owner.wallet, owner.bumping, session))
    review = await opened(session)
    session.finish(Outcome())
    assert session.review is None
    assert not session.agree(review.id)
    assert await asking is None
    assert await owner.states("withdrawn") == {first.hash: State.SENT}
    await owner.executed(first.hash)
    assert await owner.trader.paid() == before + PAID


async def test_the_order_that_ended_gets_no_higher_fee(owner: Owner) -> None:
    """It is judged against what was confirmed, at the time it is now; and no more is paid for
    gas than somebody agreed to."""
    client, first = await owner.waiting("bounded")
    _, review = await client.bump(first.hash, 0)
    assert not review.refused
    live = owner.trader.world.chain(CHAIN)
    # Enough for the first one in the next blocks, and for nothing above.
    promise = changed(owner.trader.deposit("poor"), gas_units=21_000 * 2 * live.next_base_fee)
    review = await client.review(owner.trader.payment(), promise)
    poor = await client.sign(review)
    assert isinstance(poor, SignedTransaction)
    _, review = await client.bump(poor.hash, 0)
    assert "GAS_ABOVE" in {one.code for one in review.findings}
    with pytest.raises(Refused) as refused:
        await client.sign(review)
    assert refused.value.code is Code.GATE
    await client.abandon(poor.hash)
    await owner.executed(first.hash)
