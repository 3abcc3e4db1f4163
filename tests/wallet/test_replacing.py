"""What takes the place of a transaction that waits, a higher fee for it or its cancellation:
through a real agent, its gate and a chain that keeps it waiting."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec.structs import replace as changed

from flows.orders import NOW, intent, order
from flows.signing import swap_intent
from patience import PATIENCE
from sandbox.evm.evm_world import World
from swapdesk.clock import ManualClock
from swapdesk.flows.deposits.wallet_funding import WalletFunding
from swapdesk.flows.dex.swap_signing import SWAP, Swap
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import payment_of
from swapdesk.flows.signing.signing_session import SigningSession, replace
from swapdesk.flows.signing.wallet_signing import propose_revocation
from swapdesk.flows.transactions import Agreed, Outcome, Step
from swapdesk.flows.wallet.replacement import (
    CANCELLATION,
    HIGHER_FEE,
    Replacement,
    ReplacementKind,
)
from swapdesk.wallet.answers import Allowance, Review, TransactionWord
from swapdesk.wallet.protocol import Refused
from wallet.owner import PAID, Opened, QuickClock, opened, owning
from wallet.refusals import refused
from wallet.signing import CHAIN, ROUTER, USDC

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def owner(world: World, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Opened]:
    async with owning(world, tmp_path_factory.mktemp("owner")) as made, opened(made) as wallet:
        yield wallet


def kept(told: Outcome, kind: ReplacementKind, word: TransactionWord) -> bool:
    """Whether nothing took its place, because of how its payment stands."""
    return told.code == kind.kept_code and kind.over[word] in told.cause


@pytest.mark.parametrize(
    ("verb", "finding", "paid"),
    [("bumping", "MAY_BE_EITHER", PAID), ("cancelling", "CANCEL_MAY_FAIL", 0)],
)
async def test_what_waits_is_replaced_once(
    owner: Opened, verb: str, finding: str, paid: int
) -> None:
    before = await owner.trader.paid()
    replacement: Replacement = getattr(owner, verb)
    client, first = await owner.waiting(verb)
    proposed = await replacement.propose(first.hash)
    assert (proposed.review.refused, proposed.review.agreed, proposed.review.phrase) == (
        False,
        True,
        None,
    )
    assert finding in {one.code for one in proposed.review.findings}
    ended = await proposed.send()
    assert ended.done
    assert await owner.states(verb) == {first.hash: "replaced", ended.hash: "succeeded"}
    # Sent again, asked again, bumped and cancelled: it stays what it was.
    assert (await client.broadcast(first.hash)).word == "replaced"
    assert await replacement.propose(first.hash) == Outcome(hash=ended.hash)
    if verb == "bumping":
        late = await owner.cancelling.propose(first.hash)
        assert kept(late, CANCELLATION, "succeeded")
        assert ended.hash in late.cause
    else:
        assert kept(await owner.bumping.propose(first.hash), HIGHER_FEE, "replaced")
    again = await client.review(owner.trader.payment(), owner.trader.deposit(verb))
    with pytest.raises(Refused) as refused:
        await client.sign(again)
    assert refused.value.code in ("already_signed", "gate")
    assert await owner.trader.paid() == before + paid


@pytest.mark.parametrize("verb", ["bumping", "cancelling"])
async def test_the_first_may_be_executed_after_all(owner: Opened, verb: str) -> None:
    """The other one was reviewed, and the first reaches a block before it is signed."""
    before = await owner.trader.paid()
    replacement: Replacement = getattr(owner, verb)
    client, first = await owner.waiting(f"{verb} is overtaken")
    proposed = await replacement.propose(first.hash)
    await client.resolve(first.hash)
    await owner.mined(first.hash)
    try:
        ended = await proposed.send()
    except Refused:
        # The second look sees that the nonce is used; nothing was signed.
        pass
    else:
        assert not ended.done or (verb, ended.hash) == ("bumping", first.hash)
    await owner.executed(first.hash)
    assert await owner.trader.paid() == before + PAID
    assert await owner.bumping.propose(first.hash) == Outcome(hash=first.hash)
    assert kept(await owner.cancelling.propose(first.hash), CANCELLATION, "succeeded")


async def test_the_same_higher_fee_is_sent_again_and_may_be_outbid_itself(owner: Opened) -> None:
    before = await owner.trader.paid()
    _, first, one = await owner.outbid("twice")
    known = await owner.bumping.propose(first.hash)
    assert known.transaction.hash == one.hash
    ended = await (await owner.bumping.propose(one.hash)).send()
    assert ended.done
    assert await owner.states("twice") == {
        first.hash: "replaced",
        one.hash: "replaced",
        ended.hash: "succeeded",
    }
    assert await owner.trader.paid() == before + PAID


async def test_whoever_follows_the_first_keeps_the_dearest_alive(owner: Opened) -> None:
    """A node forgets the higher fee; following the first one sends it again, and never the
    first."""
    before = await owner.trader.paid()
    client, first, dear = await owner.outbid("followed")
    assert (await client.broadcast(first.hash)).problem is None
    while (await client.resolve(first.hash)).word != "replaced":  # noqa: ASYNC110
        await asyncio.sleep(0.02)  # between two looks
    assert await owner.states("followed") == {
        first.hash: "replaced",
        dear.hash: "succeeded",
    }
    assert await owner.trader.paid() == before + PAID


async def test_a_higher_fee_is_cancelled_with_what_it_pays_for(owner: Opened) -> None:
    before = await owner.trader.paid()
    client, first, dear = await owner.outbid("both")
    cancellation = await client.sign((await owner.cancelling.propose(first.hash)).review)
    owner.trader.world.faults.set("drop_transaction", "chain", CHAIN, times=1)
    await client.broadcast(cancellation.hash)
    # What is being cancelled gets no higher fee; its cancellation does.
    refused = await owner.bumping.propose(dear.hash)
    assert refused.code == HIGHER_FEE.kept_code
    assert cancellation.hash in refused.cause
    faster = await owner.bumping.propose(cancellation.hash)
    assert faster.review is not None
    ended = await faster.send()
    assert ended.done
    assert await owner.cancelling.propose(first.hash) == Outcome(hash=ended.hash)
    assert set((await owner.states("both")).values()) == {"replaced", "succeeded"}
    assert await owner.trader.paid() == before


async def test_one_that_was_never_sent_is_given_up_and_gets_no_higher_fee(owner: Opened) -> None:
    before = await owner.trader.paid()
    client, first = await owner.signed("unsent")
    told = await owner.bumping.propose(first.hash)
    assert told.code == HIGHER_FEE.kept_code
    assert told.cause == "It was never sent, so it waits for no fee."
    assert await owner.cancelling.propose(first.hash) == Outcome()
    assert await owner.states("unsent") == {first.hash: "abandoned"}
    assert kept(await owner.bumping.propose(first.hash), HIGHER_FEE, "abandoned")
    unknown = "0x" + "00" * 32
    for asked in (
        owner.bumping.propose(unknown),
        owner.cancelling.propose(unknown),
        client.bump(unknown, 10**16),
    ):
        with refused("no_transaction"):
            await asked
    assert await owner.trader.paid() == before


async def test_no_more_is_paid_for_gas_than_somebody_agreed_to(owner: Opened) -> None:
    client, live = await owner.wallet.client(), owner.trader.world.chain(CHAIN)
    # Enough for the first one in the next blocks, and for nothing above.
    promise = changed(owner.trader.deposit("poor"), gas_units=21_000 * 2 * live.next_base_fee)
    poor = await client.sign(await client.review(owner.trader.payment(), promise))
    _, review = await client.bump(poor.hash, 0)
    assert "GAS_ABOVE" in {one.code for one in review.findings}
    with refused("gate"):
        await client.sign(review)
    await client.abandon(poor.hash)


async def test_an_order_whose_payment_was_taken_back_says_so(owner: Opened, tmp_path: Path) -> None:
    before = await owner.trader.paid()
    client, first = await owner.waiting("an order's")
    proposed = await owner.cancelling.propose(first.hash)
    assert (await proposed.send()).done
    confirmed = intent(id="an order's")
    tracked = TrackedOrder(order(confirmed), confirmed, None, False, NOW, "journal")

    async def asked(review: Review) -> Agreed | None:
        raise AssertionError(review.title)

    with closing(Journal.open(tmp_path / "journal.db", ManualClock(NOW))) as journal:
        funding = WalletFunding(client, journal, ManualClock(NOW), asked, lambda _: tracked)
        ended = await funding.fund(tracked, owner.account, None)
        assert (ended.refused, ended.code) == (True, "TAKEN_BACK")
        assert "was cancelled" in ended.cause
        assert payment_of(journal.ledger, tracked.service_id) is None
    assert await owner.trader.paid() == before


async def test_a_revocation_that_was_taken_back_revoked_nothing(owner: Opened) -> None:
    """Asked for again while both wait, what goes on is the revocation, never its cancellation."""
    client, account, link = await owner.wallet.client(), owner.account, owner.owner.link
    allowance = Allowance(USDC, ROUTER["fa"], 5, False, "fa")

    async def propose() -> Step:
        return await propose_revocation(owner.wallet, QuickClock(), account, link, allowance)

    proposed = await propose()
    first, second = await owner.contested(proposed.review)
    again = await propose()
    assert again.transaction.hash == first.hash
    under_way = await owner.cancelling.propose(first.hash)
    assert under_way.transaction is not None
    assert (await under_way.send()).done
    assert (await client.resolve(second.hash)).word == "succeeded"
    ended = await again.send()
    assert (ended.code, ended.hash) == ("NOT_REVOKED", first.hash)
    assert ended.cause == "The allowance stands. The transaction is replaced."
    assert (await propose()).review is not None


@pytest.fixture
def session(tmp_path: Path) -> Iterator[SigningSession[Swap]]:
    clock = QuickClock()
    with closing(Journal.open(tmp_path / "journal.db", clock)) as journal:
        intent = swap_intent()
        yield SigningSession(
            SWAP, intent.id, Swap(intent), intent.token_in, journal, clock, lambda: None
        )


async def asked_for(session: SigningSession[Swap]) -> Review:
    """The review that it asks for."""
    async with asyncio.timeout(PATIENCE):
        while session.review is None:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    return session.review


async def test_a_session_that_waits_asks_for_the_higher_fee(
    owner: Opened, session: SigningSession[Swap]
) -> None:
    before = await owner.trader.paid()
    client, first = await owner.waiting("asked")
    assert not session.replaceable
    session.seen(first)
    assert session.replaceable
    asking = asyncio.create_task(replace(owner.bumping, session))
    review = await asked_for(session)
    assert session.payload == owner.trader.payment()
    session.seen(first)
    assert not session.replaceable, "one question at a time"
    assert session.refuse(review.id)
    assert await asking is None
    assert len(await owner.states("asked")) == 1
    session.seen(first)
    asking = asyncio.create_task(replace(owner.bumping, session))
    assert session.agree((await asked_for(session)).id)
    assert await asking is None
    assert set((await owner.states("asked")).values()) == {"replaced", "succeeded"}
    assert await owner.trader.paid() == before + PAID
    session.seen(await client.resolve(first.hash))
    assert not session.replaceable


async def test_a_session_that_goes_on_withdraws_the_question(
    owner: Opened, session: SigningSession[Swap]
) -> None:
    """What it waited for is executed while the trader still looks."""
    before = await owner.trader.paid()
    _, first = await owner.waiting("withdrawn")
    session.seen(first)
    asking = asyncio.create_task(replace(owner.bumping, session))
    review = await asked_for(session)
    session.finish(Outcome())
    assert session.review is None
    assert not session.agree(review.id)
    assert await asking is None
    assert await owner.states("withdrawn") == {first.hash: "sent"}
    await owner.executed(first.hash)
    assert await owner.trader.paid() == before + PAID
