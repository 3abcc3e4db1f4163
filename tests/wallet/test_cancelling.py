"""Taking back what waits: through a real agent, its gate and a chain that forgets."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from flows.orders import NOW, intent, order
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.flows.deposits.wallet_funding import WalletFunding
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import Agreed, Proposal, UnderWay
from swapdesk.flows.wallet.replacement import CANCELLATION
from swapdesk.flows.wallet.revoking import Revoking
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.holdings import Allowance
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import TransactionState
from wallet.owner import PAID, Owner
from wallet.signing import ROUTER, USDC

State = TransactionState
pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_payment_that_waits_is_taken_back_and_never_paid(owner: Owner) -> None:
    before = await owner.trader.paid()
    client, first = await owner.waiting("taken back")
    proposed = await owner.cancelling.propose(first.hash)
    assert isinstance(proposed, Proposal)
    assert not proposed.review.refused, proposed.review.findings
    assert proposed.review.phrase is None
    assert "CANCEL_MAY_FAIL" in {one.code for one in proposed.review.findings}
    ended = await owner.cancelling.replace(proposed)
    assert ended.done
    assert await owner.states("taken back") == {
        first.hash: State.REPLACED,
        ended.hash: State.SUCCEEDED,
    }
    # Sending the first one again changes nothing, and the same confirmation pays no more.
    assert (await client.broadcast(first.hash)).state is State.REPLACED
    again = await client.review(owner.trader.payment(), owner.trader.deposit("taken back"))
    with pytest.raises(Refused) as refused:
        await client.sign(again)
    assert refused.value.code in (Code.ALREADY_SIGNED, Code.GATE)
    assert await owner.trader.paid() == before
    # Asked for again, it is what it was.
    assert await owner.cancelling.propose(first.hash) == ended


async def test_an_order_whose_payment_was_taken_back_says_so(owner: Owner, tmp_path: Path) -> None:
    before = await owner.trader.paid()
    client, first = await owner.waiting("an order's")
    proposed = await owner.cancelling.propose(first.hash)
    assert isinstance(proposed, Proposal)
    assert (await owner.cancelling.replace(proposed)).done
    confirmed = intent(id="an order's")
    tracked = TrackedOrder(order(confirmed), confirmed, None, False, NOW, "journal")
    account = owner.account

    async def asked(review: Review) -> Agreed | None:
        raise AssertionError(review.title)

    with closing(Journal.open(tmp_path / "journal.db", ManualClock(NOW))) as journal:
        funding = WalletFunding(client, journal, ManualClock(NOW), asked, lambda _: tracked)
        ended = await funding.fund(tracked, account, None)
        assert ended.refused
        assert ended.code == "TAKEN_BACK"
        assert "was cancelled" in ended.cause
        assert journal.calls.payment_of(tracked.service_id) is None
    assert await owner.trader.paid() == before


async def test_a_revocation_that_was_taken_back_revoked_nothing(owner: Owner) -> None:
    """Asked for again while both wait, what goes on is the revocation, never its cancellation."""
    client, account, (link,) = await owner.wallet.client(), owner.account, owner.trader.place.chains
    revoking = Revoking(owner.wallet, SystemClock())
    allowance = Allowance(USDC, ROUTER["fa"], 5, False, "fa")
    proposed = await revoking.propose(account, link, allowance)
    assert isinstance(proposed, Proposal)
    first, second = await owner.contested(proposed.review)
    again = await revoking.propose(account, link, allowance)
    assert isinstance(again, UnderWay)
    assert again.transaction.hash == first.hash
    under_way = await owner.cancelling.propose(first.hash)
    assert isinstance(under_way, UnderWay)
    assert (await owner.cancelling.replace(under_way)).done
    assert (await client.resolve(second.hash)).state is State.SUCCEEDED
    ended = await revoking.send(again)
    assert (ended.code, ended.hash) == ("NOT_REVOKED", first.hash)
    assert ended.cause == "The allowance stands. The transaction is replaced."
    assert isinstance(await revoking.propose(account, link, allowance), Proposal)


async def test_what_was_executed_cannot_be_taken_back(owner: Owner) -> None:
    before = await owner.trader.paid()
    client, first = await owner.signed("executed")
    await client.broadcast(first.hash)
    await owner.mined(first.hash)
    ended = await owner.cancelling.propose(first.hash)
    assert isinstance(ended, Outcome)
    assert ended.code == CANCELLATION.kept_code
    assert ended.cause.rstrip(".") in (
        CANCELLATION.over[State.MINED],
        CANCELLATION.over[State.SUCCEEDED],
    )
    assert await owner.trader.paid() == before + PAID
    await owner.executed(first.hash)


async def test_one_that_was_never_sent_is_given_up(owner: Owner) -> None:
    before = await owner.trader.paid()
    client, first = await owner.signed("unsent")
    assert await owner.cancelling.propose(first.hash) == Outcome()
    (told,) = await client.transactions("unsent")
    assert told.state is State.ABANDONED
    with pytest.raises(Refused) as refused:
        await owner.cancelling.propose("0x" + "00" * 32)
    assert refused.value.code is Code.NO_TRANSACTION
    assert await owner.trader.paid() == before
