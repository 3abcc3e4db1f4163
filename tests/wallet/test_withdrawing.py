"""What a bundle left in the smart account comes back to its owner, and to nobody else: through a
real agent, gate and chain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import pytest_asyncio

from sandbox.evm.evm_world import World
from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.rpc.evm import Call
from swapdesk.chain.smart_account import (
    DEPOSIT_OF,
)
from swapdesk.flows.batch.bundles import begin_withdrawal, move_bundle, open_bundles, withdrawals
from swapdesk.flows.batch.withdrawing import (
    NOTHING_HELD,
    WITHDRAWAL,
    TakingBack,
    take_back,
    withdrawals_left_open,
)
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.journal.ledger import OPEN, State
from swapdesk.flows.signing.signing_session import RunningSignings, SigningSession
from swapdesk.flows.signing.wallet_signing import token_facts
from swapdesk.flows.transactions import NotAgreed, Outcome
from swapdesk.wallet.promise import Asset, Purpose
from wallet.owner import COINS, DOLLARS, Opened, Owner, QuickClock, opened, owning
from wallet.signing import CHAIN, USDC
from wallet.test_signing import built, payload_of, promised

pytestmark = pytest.mark.asyncio(loop_scope="module")
Signed = tuple[SigningSession[TakingBack], list[str]]


@pytest_asyncio.fixture(loop_scope="module")
async def owner(world: World, tmp_path: Path) -> AsyncIterator[Owner]:
    async with owning(world, tmp_path) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def left(owner: Owner) -> AsyncIterator[Opened]:
    await owner.left_by_bundle()
    async with opened(owner) as made:
        yield made


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
    token = token_facts(left.wallet, link, Asset("ETH", 18, None))
    session = SigningSession(
        WITHDRAWAL, "w", (left.account.address, link), token, journal, QuickClock(), changed
    )
    return session, seen


async def test_the_page_that_signs_makes_the_account_and_takes_back_what_it_holds(
    left: Opened,
) -> None:
    owner, mine, account = left.owner, left.owner.mine, left.account
    refusing, asked = session_of(left, says=False)
    with pytest.raises(NotAgreed):
        await take_back(refusing, left.wallet)
    assert len(asked) == 1
    assert await owner.dollars(mine) == DOLLARS
    session, asked = session_of(left, says=True)
    before = await owner.dollars(account.address)
    outcome = await take_back(session, left.wallet)
    assert outcome.done, outcome
    # The account is made by one transaction and paid out by another one.
    assert len(asked) == 2
    assert await owner.dollars(mine) == 0
    assert await owner.dollars(account.address) == before + DOLLARS
    session.finish(outcome)
    assert WITHDRAWAL.whereabouts(session) == "in your wallet"
    assert session.notice.startswith("is paid back: ")
    assert "25 USDC" in session.notice
    nothing, asked = session_of(left, says=True)
    nothing.finish(await WITHDRAWAL.work(SimpleNamespace(wallet=left.wallet), nothing))
    assert asked == []
    assert nothing.outcome.failure.next == "you: r reads the wallet again"


async def test_one_token_comes_back_to_its_owner_and_then_the_rest(left: Opened) -> None:
    """The account does not stand yet: it is made first."""
    owner, mine, account = left.owner, left.owner.mine, left.account
    coins, dollars = await owner.here.coins(account.address), await owner.dollars(account.address)
    first = await left.propose()
    assert (first.purpose, first.sender) == (Purpose.DEPLOY, mine)
    assert (first.review.phrase, first.review.findings) == (None, ())
    assert (await first.send()).done
    assert withdrawals(owner.journal.ledger, account.address, CHAIN, *OPEN) == []
    assert nothing_held(await left.propose("DAI"))
    second = await left.propose("usdc")
    assert second.purpose is Purpose.WITHDRAW
    assert (second.review.agreed, second.review.findings) == (True, ())
    changes = second.review.simulation.changes
    assert {(one.holder, one.symbol): one.units for one in changes} == {
        (mine, "USDC"): -DOLLARS,
        (account.address, "USDC"): DOLLARS,
    }
    ended = await second.send()
    assert ended.done
    (act,) = withdrawals(owner.journal.ledger, account.address, CHAIN, State.DONE)
    assert (act.state, act.hash, act.body["sender"]) == (State.DONE, ended.hash, mine)
    assert await left.held() == (COINS, 0)
    assert nothing_held(await left.propose(USDC.contract))
    rest, taken = await left.taken_out()
    assert rest.done
    assert [(one.symbol, one.units, one.prepaid) for one in taken] == [("ETH", COINS, False)]
    assert await left.held() == (0, 0)
    assert await owner.dollars(account.address) == dollars + DOLLARS
    spent = coins + COINS - await owner.here.coins(account.address)
    assert 0 < spent < 2 * 10**16, "gas alone"
    assert nothing_held(await left.propose())


async def test_a_withdrawal_that_was_taken_back_took_nothing_out(left: Opened) -> None:
    """Asked for again while both wait, what goes on is the withdrawal, never its cancellation."""
    owner, account = left.owner, left.account
    await left.stands()
    step = await left.propose()
    begin_withdrawal(
        owner.journal.ledger,
        f"{Purpose.WITHDRAW} {account.address} {CHAIN}#0",
        account.address,
        step.sender,
        CHAIN,
        step.taken,
    )
    first, _ = await left.contested(step.review)
    again = await left.propose()
    assert again.transaction.hash == first.hash
    under_way = await left.cancelling.propose(first.hash)
    assert under_way.transaction is not None
    assert (await under_way.send()).done
    ended = await again.send()
    assert (ended.code, ended.hash) == ("NOT_WITHDRAWN", first.hash)
    assert ended.cause == "Nothing was taken out. The transaction is replaced."
    assert withdrawals(owner.journal.ledger, account.address, CHAIN, *OPEN) == []
    assert await left.held() == (COINS, DOLLARS)
    assert (await left.taken_out())[0].done


async def test_what_was_prepaid_for_gas_comes_back_too(owner: Owner) -> None:
    """A bundle that landed leaves what its gas did not cost at the EntryPoint."""
    here, promise = owner.here, promised(owner.trader, "prepaid", 700)
    one = await built(here, owner.trader, "prepaid", 700)

    async def prepaid() -> int:
        asked = Call(ENTRY_POINT, DEPOSIT_OF.call(one.operation.sender))
        return int.from_bytes(await here.client.call(asked), "big")

    async with opened(owner) as left:
        agent = await left.wallet.client()
        signed = await agent.sign(await agent.review(payload_of(one), promise))
        await here.fund(owner.mine, wei=one.operation.required_prefund, dollars=21_000_000)
        await here.bundler.submit(CHAIN, one.operation.signed(bytes.fromhex(signed.signature[2:])))
        assert (await here.landed(one.hash)).success
        await owner.left_by_bundle(wei=0, dollars=0)
        kept, before = await prepaid(), await here.coins(left.account.address)
        assert kept > 0
        ended, taken = await left.taken_out()
        assert ended.done
        assert (taken[-1].units, taken[-1].prepaid) == (kept, True)
        assert await prepaid() == 0
        assert before < await here.coins(left.account.address) + 10**16


async def test_nothing_is_taken_from_a_bundle_that_waits_for_it(left: Opened) -> None:
    journal = left.owner.journal
    await left.stands()
    await left.owner.left_by_bundle(0, 0, failed=False)
    needed = await left.propose()
    assert needed.code == "NEEDED_BY_BUNDLE"
    assert "is signed" in needed.cause
    step = await left.propose(despite_bundle=True)
    assert (await step.send()).done
    assert await left.held() == (0, 0)
    (bundle,) = open_bundles(journal.ledger)
    move_bundle(journal.ledger, bundle, State.REFUSED, code="REFUSED")


@pytest.mark.parametrize("executed", [True, False], ids=["executed", "unsent"])
async def test_the_next_start_sees_to_its_end_what_a_killed_run_signed(
    left: Opened, executed: bool
) -> None:
    """The act stands as sent. No key is opened for it, nothing is signed and nothing is asked."""
    owner = left.owner
    await left.stands()
    step = await left.propose()
    client = await left.wallet.client()
    signed = await client.sign(step.review)
    step.entry.signed(signed.hash)
    if executed:
        await client.broadcast(signed.hash)
        await left.executed(signed.hash)
    (act,) = withdrawals(owner.journal.ledger, left.account.address, CHAIN, *OPEN)
    await left.wallet.lock()
    catalog = Catalog.open(owner.settings.places.root / "catalog.db", QuickClock())
    desk = SimpleNamespace(
        wallet=left.wallet, journal=owner.journal, clock=QuickClock(), catalog=catalog
    )
    running = RunningSignings(desk, lambda _: None)
    withdrawals_left_open(running)
    (session,) = running.open
    assert "or back" in WITHDRAWAL.whereabouts(session)
    outcome = await running.run(session)
    assert outcome.done, outcome
    assert owner.journal.ledger.get(act.id).state is State.DONE
    assert (outcome.hash, await left.held()) == (signed.hash, (0, 0))
    assert "25 USDC" in session.notice
    assert session.wallet == left.account.name
    assert left.account.address not in (await left.wallet.accounts()).unlocked
    again = RunningSignings(desk, lambda _: None)
    withdrawals_left_open(again)
    assert again.open == []
    catalog.close()


async def test_what_was_never_signed_is_nobodys_and_gives_way(left: Opened) -> None:
    owner = left.owner
    await left.stands()
    step = await left.propose()
    step.entry.begin()
    desk = SimpleNamespace(wallet=left.wallet, journal=owner.journal)
    session, asked = session_of(left, says=True)
    session.asked = False
    assert await WITHDRAWAL.work(desk, session) is None
    assert asked == []
    assert (await left.taken_out())[0].done
