"""``kill -9`` of the agent at every boundary of a cancellation and of a higher fee: the same
command given again ends it, and the chain has executed one transaction of the nonce."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec import Struct

from swapdesk.clock import SystemClock
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import bumping, cancelling
from swapdesk.paths import Home
from swapdesk.settings import Settings, load_settings
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import AgentGone
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from wallet.agents import CHEAP, PASSPHRASE
from wallet.chains import served
from wallet.dying_agent import MOMENTS, dying_at
from wallet.signing import CHAIN, Trader, trader

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
pytestmark = pytest.mark.asyncio(loop_scope="module")


class Owner(Struct):
    """Starts the wallet of the desk on the keys of a trader, with one agent after the other."""

    settings: Settings
    trader: Trader

    def wallet(self, program: tuple[str, ...] = CHEAP) -> LocalWallet:
        return LocalWallet(self.settings, SystemClock(), self.trader.place.chains, program=program)

    async def waiting(self, intent: str) -> SignedTransaction:
        """A payment that was sent and that no block has."""
        async with self.trader.agent() as agent:
            review = await agent.review(self.trader.payment(), self.trader.deposit(intent))
            signed = await agent.sign(review)
            assert isinstance(signed, SignedTransaction)
            self.trader.world.faults.add(CHAIN, "drop_transaction", 1)
            return await agent.broadcast(signed.hash)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def owner(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Owner]:
    settings = load_settings({}, Home.at(Path(tmp_path_factory.mktemp("home"))))
    async with served(tmp_path_factory.mktemp("chains")) as world:
        yield Owner(settings, await trader(world, settings.places.keys))


async def _ended(verb: str, wallet: LocalWallet, hash_: str) -> Outcome:
    """The command, from the question to its end."""
    replacement = REPLACEMENTS[verb](wallet, SystemClock())
    asked = await replacement.propose(hash_)
    return asked if isinstance(asked, Outcome) else await replacement.replace(asked)


@pytest.mark.parametrize(("verb", "moment"), CASES)
async def test_one_transaction_of_the_nonce_is_executed(
    owner: Owner, verb: str, moment: str
) -> None:
    intent = f"{verb} killed at {moment}"
    before = await owner.trader.paid()
    first = await owner.waiting(intent)
    assert first.state is State.SENT
    dying = owner.wallet(dying_at(moment))
    try:
        await dying.unlock(PASSPHRASE)
        client = await dying.client()
        said = await _struck(client, verb, dying, first.hash)
        assert f"signal {int(signal.SIGKILL)}" in said
    finally:
        await dying.close()
    again = owner.wallet()
    try:
        await again.unlock(PASSPHRASE)
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
    assert await owner.trader.paid() == before + (PAID if verb == BUMP else 0)


async def _struck(client: WalletClient, verb: str, wallet: LocalWallet, hash_: str) -> str:
    """How the agent went."""
    try:
        told = await _ended(verb, wallet, hash_)
    except AgentGone as gone:
        return gone.words
    assert told.open, told
    return (await client.ended()).words
