"""What a bundle left in the smart account comes back to its owner, and to nobody else: through a
real agent, gate and chain, and after ``kill -9`` at every boundary."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec.structs import replace

from sandbox.evm.bundling import deposit_address, over
from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.smart_account import (
    DEPOSIT_OF,
    InnerCall,
    account_address,
    encode_batch,
)
from swapdesk.clock import SystemClock
from swapdesk.flows.batch.withdrawing import (
    NOTHING_HELD,
    Withdrawal,
    WithdrawalSigning,
)
from swapdesk.flows.journal.batch_records import BundleState
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import NotAgreed, UnderWay
from swapdesk.flows.wallet.replacement import cancelling
from swapdesk.wallet.errors import AgentGone, Refused
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Purpose, TakenOut, WithdrawalPromise
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.transactions import Signature, TransactionState
from wallet.chains import Chains
from wallet.dying_agent import MOMENTS, dying_at
from wallet.owner import contested, desk_on
from wallet.signing import CHAIN, ETH, USDC
from wallet.test_signing_bundles import built, payload_of, promised
from wallet.withdrawals import COINS, DOLLARS, Opened, Owner, journal_of, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")
Signed = tuple[WithdrawalSigning, list[str]]
MALLORY = deposit_address(999)
SAMPLE = {(Purpose.DEPLOY, "send_raw after"), (Purpose.WITHDRAW, "RecordsFile.COMMIT")}
CASES = [
    pytest.param(purpose, moment, marks=() if (purpose, moment) in SAMPLE else pytest.mark.long)
    for purpose in (Purpose.DEPLOY, Purpose.WITHDRAW)
    for moment in MOMENTS
]


@pytest_asyncio.fixture(loop_scope="module")
async def owner(world: Chains, tmp_path: Path) -> AsyncIterator[Owner]:
    """A new key, whose account does not stand yet."""
    desk, here, journal = await desk_on(world, tmp_path), over(world), journal_of(tmp_path)
    yield Owner(desk.settings, desk.trader, here, journal)
    journal.close()
    await here.client.close()


@pytest_asyncio.fixture(loop_scope="module")
async def left(owner: Owner) -> AsyncIterator[Opened]:
    async with opened(owner) as made:
        await owner.fill(made.mine)
        owner.left_by_bundle(made.mine)
        yield made


async def stands(left: Opened) -> None:
    """The first thing that is sent makes the smart account."""
    step = await left.propose()
    assert isinstance(step, Withdrawal)
    assert step.proposal.action.purpose is Purpose.DEPLOY
    assert (await left.flow.send(step)).done


def nothing_held(step: object) -> bool:
    return isinstance(step, Outcome) and step.code == NOTHING_HELD


def session_of(left: Opened, *, says: bool) -> Signed:
    """The page that signs, and a trader who says the same to each review."""

    def changed() -> None:
        if session.review is not None and session.review.title not in seen:
            seen.append(session.review.title)
            answer = session.agree if says else session.refuse
            asyncio.get_running_loop().call_soon(answer, session.review.id)

    seen: list[str] = []
    journal, link = left.owner.journal, left.owner.link
    session = WithdrawalSigning(
        left.wallet, journal, SystemClock(), left.account, link, changed, coin="ETH"
    )
    return session, seen


async def test_the_page_that_signs_makes_the_account_and_takes_back_what_it_holds(
    left: Opened,
) -> None:
    owner, mine, account = left.owner, left.mine, left.account
    refusing, asked = session_of(left, says=False)
    with pytest.raises(NotAgreed):
        await refusing.carry_out()
    assert len(asked) == 1
    assert await owner.dollars(mine) == DOLLARS
    session, asked = session_of(left, says=True)
    before = await owner.dollars(account.address)
    outcome = await session.carry_out()
    assert outcome.done, outcome
    # The account is made by one transaction and paid out by another one.
    assert len(asked) == 2
    assert await owner.dollars(mine) == 0
    assert await owner.dollars(account.address) == before + DOLLARS
    session.finish(outcome)
    assert session.whereabouts == "in your wallet"
    assert session.notice.startswith("is paid back: ")
    assert "25 USDC" in session.notice
    nothing, asked = session_of(left, says=True)
    nothing.finish(await nothing.carry_out())
    assert asked == []
    assert nothing.outcome.failure.next == "you: r reads the wallet again"


async def test_what_a_failed_bundle_left_comes_back_to_its_owner(left: Opened) -> None:
    """The account does not stand yet: it is made first."""
    owner, mine, account, flow = left.owner, left.mine, left.account, left.flow
    coins, dollars = await owner.here.coins(account.address), await owner.dollars(account.address)
    first = await left.propose()
    assert isinstance(first, Withdrawal)
    assert (first.proposal.action.purpose, first.sender) == (Purpose.DEPLOY, mine)
    assert first.proposal.review.phrase is None
    assert not first.proposal.review.findings
    assert (await flow.send(first)).done
    assert owner.journal.withdrawals.open(account.address, CHAIN) == []
    second = await left.propose()
    assert isinstance(second, Withdrawal)
    assert second.proposal.action.purpose is Purpose.WITHDRAW
    assert not second.proposal.review.findings
    assert second.proposal.review.agreed is True
    assert second.proposal.review.simulation is not None
    moved = {
        (one.holder, one.symbol): one.units for one in second.proposal.review.simulation.changes
    }
    assert moved == {
        (mine, "ETH"): -COINS,
        (mine, "USDC"): -DOLLARS,
        (account.address, "ETH"): COINS,
        (account.address, "USDC"): DOLLARS,
    }
    ended = await flow.send(second)
    assert ended.done
    assert [(one.symbol, one.units, one.prepaid) for one in flow.taken(second) or ()] == [
        ("ETH", COINS, False),
        ("USDC", DOLLARS, False),
    ]
    assert await left.held() == (0, 0)
    assert await owner.dollars(account.address) == dollars + DOLLARS
    spent = coins + COINS - await owner.here.coins(account.address)
    assert 0 < spent < 2 * 10**16, "gas alone"
    entry = owner.journal.withdrawals.get(second.proposal.action.intent_id)
    assert (entry.state, entry.hash, entry.sender) == (StepState.ACKED, ended.hash, mine)
    assert nothing_held(await left.propose())


async def test_one_token_is_taken_out_and_the_rest_stays(left: Opened) -> None:
    assert nothing_held(await left.propose("DAI"))
    ended, taken = await left.taken_out("usdc")
    assert ended.done
    assert [one.symbol for one in taken] == ["USDC"]
    assert await left.held() == (COINS, 0)
    assert nothing_held(await left.propose(USDC.contract))
    rest, taken = await left.taken_out()
    assert rest.done
    assert [one.symbol for one in taken] == ["ETH"]


async def test_a_withdrawal_that_was_taken_back_took_nothing_out(left: Opened) -> None:
    """Asked for again while both wait, what goes on is the withdrawal, never its cancellation."""
    owner, account = left.owner, left.account
    await stands(left)
    step = await left.propose()
    assert isinstance(step, Withdrawal)
    owner.journal.withdrawals.begin(
        step.proposal.action.intent_id, account.address, step.sender, CHAIN, step.taken
    )
    cancels = cancelling(left.wallet, SystemClock())
    first, _ = await contested(left.wallet, cancels, owner.trader, step.proposal.review)
    again = await left.propose()
    assert isinstance(again, UnderWay)
    assert again.transaction.hash == first.hash
    under_way = await cancels.propose(first.hash)
    assert isinstance(under_way, UnderWay)
    assert (await cancels.replace(under_way)).done
    ended = await left.flow.send(again)
    assert (ended.code, ended.hash) == ("NOT_WITHDRAWN", first.hash)
    assert ended.cause == "Nothing was taken out. The transaction is replaced."
    assert owner.journal.withdrawals.open(account.address, CHAIN) == []
    assert await left.held() == (COINS, DOLLARS)
    assert (await left.taken_out())[0].done


async def test_what_was_prepaid_for_gas_comes_back_too(owner: Owner) -> None:
    """A bundle that landed leaves what its gas did not cost at the EntryPoint."""
    here, promise = owner.here, promised(owner.trader, "prepaid", "prepaid", first=700)
    one = await built(here, owner.trader, "prepaid", first=700)

    async def prepaid() -> int:
        asked = Call(ENTRY_POINT, DEPOSIT_OF.call(one.operation.sender))
        return int.from_bytes(await here.client.call(asked), "big")

    async with opened(owner) as left:
        agent = await left.wallet.client()
        signed = await agent.sign(await agent.review(payload_of(one), promise))
        assert isinstance(signed, Signature)
        await owner.fill(left.mine, one.operation.required_prefund, 21_000_000)
        await here.bundler.submit(CHAIN, one.operation.signed(bytes.fromhex(signed.signature[2:])))
        assert (await here.landed(one.hash)).success
        owner.left_by_bundle(left.mine)
        kept, before = await prepaid(), await here.coins(left.account.address)
        assert kept > 0
        ended, taken = await left.taken_out()
        assert ended.done
        assert (taken[-1].units, taken[-1].prepaid) == (kept, True)
        assert await prepaid() == 0
        assert before < await here.coins(left.account.address) + 10**16


async def test_nothing_is_taken_from_a_bundle_that_waits_for_it(left: Opened) -> None:
    journal = left.owner.journal
    await stands(left)
    left.owner.left_by_bundle(left.mine, BundleState.SIGNED)
    needed = await left.propose()
    assert isinstance(needed, Outcome)
    assert needed.code == "NEEDED_BY_BUNDLE"
    assert "is signed" in needed.cause
    step = await left.propose(despite_bundle=True)
    assert isinstance(step, Withdrawal)
    assert (await left.flow.send(step)).done
    assert await left.held() == (0, 0)
    (bundle,) = [one for one in journal.bundles.open() if one.batch_id == "batchsigned"]
    journal.bundles.ended(bundle, BundleState.REFUSED)


async def test_only_the_agents_own_call_is_signed(left: Opened) -> None:
    agent = await left.wallet.client()
    await stands(left)
    taken = WithdrawalPromise((TakenOut(ETH, COINS),))
    promise = left.owner.trader.promise(
        "lied", sell=ETH, sell_units=0, venue=None, quote_id=None, withdrawal=taken
    )
    told = await agent.withdrawal(promise)
    own = InnerCall(left.account.address, COINS)
    assert (told.to, told.data) == (left.mine, f"0x{encode_batch([own]).hex()}")
    stolen = encode_batch([replace(own, to=MALLORY)]).hex()
    review = await agent.review(
        TransactionPayload(Purpose.WITHDRAW, left.mine, f"0x{stolen}", 0), promise
    )
    assert "WITHDRAWAL_PAYEE_DIFFERS" in {one.code for one in review.findings}
    with pytest.raises(Refused) as refused:
        await agent.sign(review)
    assert refused.value.code is Code.GATE
    # More than there is: the chain itself says no, before anything is signed.
    more = replace(promise, withdrawal=WithdrawalPromise((TakenOut(ETH, 100 * COINS),)))
    call = await agent.withdrawal(more)
    review = await agent.review(TransactionPayload(Purpose.WITHDRAW, call.to, call.data, 0), more)
    assert {"SIMULATION_FAILED", "SIMULATION_MISSING"} & {one.code for one in review.findings}
    with pytest.raises(Refused):
        await agent.withdrawal(replace(promise, withdrawal=None))


@pytest.mark.parametrize(("purpose", "moment"), CASES)
async def test_a_killed_agent_takes_out_everything_once(
    owner: Owner, purpose: Purpose, moment: str
) -> None:
    """The same command ends what was begun."""
    mine = account_address(owner.trader.address)
    await owner.fill(mine)
    owner.left_by_bundle(mine)
    if purpose is Purpose.WITHDRAW:
        async with opened(owner) as before:
            await stands(before)
    async with opened(owner, dying_at(moment)) as dying:
        client, step = await dying.wallet.client(), await dying.propose()
        assert isinstance(step, Withdrawal)
        assert step.proposal.action.purpose is purpose
        try:
            said = await dying.flow.send(step)
            assert said.open, said
            gone = await client.ended()
        except AgentGone as error:
            gone = error
        assert f"signal {int(signal.SIGKILL)}" in gone.words
    async with opened(owner) as again:
        client = await again.wallet.client()
        known = [one for one in await client.transactions() if one.purpose is purpose]
        assert len(known) == (0 if moment == "_insert_given" else 1)
        assert isinstance(await again.propose(), UnderWay if known else Withdrawal)
        ended, _ = await again.taken_out()
        assert ended.done, ended
        signed = await client.transactions()
        assert [(one.purpose, one.state) for one in signed] == [
            (Purpose.DEPLOY, TransactionState.SUCCEEDED),
            (Purpose.WITHDRAW, TransactionState.SUCCEEDED),
        ]
        assert all(one.hash in {each.hash for each in signed} for one in known)
        assert await again.held() == (0, 0)
    assert await owner.dollars(owner.trader.address) == 1_000 * 10**6 + DOLLARS
    assert owner.journal.withdrawals.open(owner.trader.address, CHAIN) == []
