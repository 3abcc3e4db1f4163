"""``kill -9`` of the agent at every boundary of a payment, a cancellation and a higher fee: the
same command given again ends it, and the chain has executed one transaction of the nonce."""

from __future__ import annotations

import signal

import pytest
import pytest_asyncio

from swapdesk.clock import SystemClock
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import bumping, cancelling
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import AgentGone
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from wallet.agents import PASSPHRASE
from wallet.chains import Chains
from wallet.dying_agent import MOMENTS, dying_at
from wallet.owner import Desk, desk_on
from wallet.signing import CHAIN, Trader

State = TransactionState
PAID = 10**15
BUMP, CANCEL = "bump", "cancel"
REPLACEMENTS = {BUMP: bumping, CANCEL: cancelling}
SAMPLE = {(BUMP, "RecordsFile.COMMIT"), (CANCEL, "send_raw after")}
CASES = [
    pytest.param(verb, moment, marks=() if (verb, moment) in SAMPLE else pytest.mark.long)
    for verb in (BUMP, CANCEL)
    for moment in MOMENTS
]
PAYMENTS = [
    pytest.param(
        one,
        marks=() if one in ("RecordsFile.COMMIT", "send_raw after", "SENT") else pytest.mark.long,
    )
    for one in MOMENTS
]
pytestmark = pytest.mark.asyncio(loop_scope="module")


async def waiting(desk: Desk, intent: str) -> SignedTransaction:
    """A payment that was sent and that no block has."""
    async with desk.trader.agent() as agent:
        paid = desk.trader.payment(), desk.trader.deposit(intent)
        signed = await desk.trader.signed(agent, *paid)
        desk.trader.world.faults.add(CHAIN, "drop_transaction", 1)
        return await agent.broadcast(signed.hash)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(world: Chains, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return await desk_on(world, tmp_path_factory.mktemp("home"))


async def _ended(verb: str, wallet: LocalWallet, hash_: str) -> Outcome:
    """The command, from the question to its end."""
    replacement = REPLACEMENTS[verb](wallet, SystemClock())
    asked = await replacement.propose(hash_)
    return asked if isinstance(asked, Outcome) else await replacement.replace(asked)


@pytest.mark.parametrize(("verb", "moment"), CASES)
async def test_one_transaction_of_the_nonce_is_executed(desk: Desk, verb: str, moment: str) -> None:
    intent = f"{verb} killed at {moment}"
    before = await desk.trader.paid()
    first = await waiting(desk, intent)
    assert first.state is State.SENT
    dying = await desk.wallet(dying_at(moment))
    try:
        client = await dying.client()
        said = await _struck(client, verb, dying, first.hash)
        assert f"signal {int(signal.SIGKILL)}" in said
    finally:
        await dying.close()
    again = await desk.wallet()
    try:
        client = await again.client()
        known = await client.transactions(intent)
        assert len(known) == (1 if moment == "_insert_given" else 2)
        ended = await _ended(verb, again, first.hash)
        assert ended.done, ended
        assert ended.hash is not None
        assert {one.hash: one.state for one in await client.transactions(intent)} == {
            first.hash: State.REPLACED,
            ended.hash: State.SUCCEEDED,
        }
        assert len(known) == 1 or known[-1].hash == ended.hash, "the same bytes were sent"
    finally:
        await again.close()
    assert await desk.trader.paid() == before + (PAID if verb == BUMP else 0)


async def _struck(client: WalletClient, verb: str, wallet: LocalWallet, hash_: str) -> str:
    """How the agent went."""
    try:
        told = await _ended(verb, wallet, hash_)
    except AgentGone as gone:
        return gone.words
    assert told.open, told
    return (await client.ended()).words


async def _pay(someone: Trader, agent: WalletClient, intent: str) -> None:
    signed = await someone.signed(agent, someone.payment(), someone.deposit(intent))
    await agent.broadcast(signed.hash)


@pytest.mark.parametrize("moment", PAYMENTS)
async def test_a_payment_survives_a_kill(desk: Desk, moment: str) -> None:
    someone, intent = desk.trader, f"killed at {moment}"
    before = await someone.paid()
    agent = await WalletClient.start(someone.place, program=dying_at(moment))
    try:
        await agent.unlock(PASSPHRASE)
        with pytest.raises(AgentGone, match=f"signal {int(signal.SIGKILL)}"):
            await _pay(someone, agent, intent)
    finally:
        await agent.close()
    async with someone.agent() as agent:
        known = await agent.transactions(intent)
        if moment == "_insert_given":
            # Nothing was committed, so no byte can have left: it may be asked for anew.
            assert known == ()
            known = (await someone.signed(agent, someone.payment(), someone.deposit(intent)),)
        [one] = known
        assert (
            one.state
            is {
                "_insert_given": State.SIGNED,
                "RecordsFile.COMMIT": State.SIGNED,
                "send_raw before": State.SENDING,
                "send_raw after": State.SENDING,
                "SENT": State.SENT,
            }[moment]
        )
        await agent.broadcast(one.hash)
        await someone.settled(agent, one)
        assert [each.state for each in await agent.transactions(intent)] == [State.SUCCEEDED]
    assert await someone.paid() == before + 10**15
