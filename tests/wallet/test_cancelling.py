"""Taking back what waits: through a real agent, its gate and a chain that forgets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from swapdesk.clock import SystemClock
from swapdesk.flows.cancelling import Cancelling
from swapdesk.flows.local_wallet import LocalWallet
from swapdesk.flows.replacement import Done, Kept, Proposed
from swapdesk.paths import Home
from swapdesk.settings import load_settings
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from wallet.agents import CHEAP, PASSPHRASE
from wallet.chains import served
from wallet.signing import CHAIN, Trader, trader

State = TransactionState
pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Owner:
    """A trader, and the wallet of the desk on the same keys."""

    trader: Trader
    wallet: LocalWallet
    cancelling: Cancelling

    async def paid(self, intent: str) -> tuple[WalletClient, SignedTransaction]:
        """A payment that was signed."""
        client = await self.wallet.client()
        review = await client.review(self.trader.payment(), self.trader.deposit(intent))
        signed = await client.sign(review)
        assert isinstance(signed, SignedTransaction)
        return client, signed


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def owner(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Owner]:
    root: Path = tmp_path_factory.mktemp("home")
    async with served(tmp_path_factory.mktemp("chains")) as world:
        settings = load_settings({}, Home.at(root))
        someone = await trader(world, settings.places.keys)
        clock = SystemClock()
        wallet = LocalWallet(settings, clock, someone.place.chains, program=CHEAP)
        await wallet.unlock(PASSPHRASE)
        try:
            yield Owner(someone, wallet, Cancelling(wallet, clock))
        finally:
            await wallet.close()


async def test_a_payment_that_waits_is_taken_back_and_never_paid(owner: Owner) -> None:
    before = await owner.trader.paid()
    client, first = await owner.paid("taken back")
    owner.trader.world.faults.add(CHAIN, "drop_transaction", 1)
    assert (await client.broadcast(first.hash)).state is State.SENT
    proposed = await owner.cancelling.propose(first.hash)
    assert isinstance(proposed, Proposed)
    assert not proposed.review.refused, proposed.review.findings
    assert proposed.review.phrase is None
    assert "CANCEL_MAY_FAIL" in {one.code for one in proposed.review.findings}
    ended = await owner.cancelling.replace(proposed)
    assert isinstance(ended, Done)
    states = {one.hash: one.state for one in await client.transactions("taken back")}
    assert states == {first.hash: State.REPLACED, ended.hash: State.SUCCEEDED}
    # Sending the first one again changes nothing, and the same confirmation pays no more.
    assert (await client.broadcast(first.hash)).state is State.REPLACED
    again = await client.review(owner.trader.payment(), owner.trader.deposit("taken back"))
    with pytest.raises(Refused) as refused:
        await client.sign(again)
    assert refused.value.code in (Code.ALREADY_SIGNED, Code.GATE)
    assert await owner.trader.paid() == before
    # Asked for again, it is what it was.
    assert await owner.cancelling.propose(first.hash) == ended


async def test_what_was_executed_cannot_be_taken_back(owner: Owner) -> None:
    before = await owner.trader.paid()
    client, first = await owner.paid("executed")
    await client.broadcast(first.hash)
    await owner.trader.world.node.confirmed(CHAIN, bytes.fromhex(first.hash[2:]))
    ended = await owner.cancelling.propose(first.hash)
    assert isinstance(ended, Kept)
    assert ended.state in (State.MINED, State.SUCCEEDED)
    assert await owner.trader.paid() == before + 10**15
    while (await client.resolve(first.hash)).state is not State.SUCCEEDED:
        pass


async def test_one_that_wins_the_race_is_told_as_executed(owner: Owner) -> None:
    """The first reaches the chain after its cancellation was reviewed and signed."""
    before = await owner.trader.paid()
    client, first = await owner.paid("race")
    owner.trader.world.faults.add(CHAIN, "drop_transaction", 1)
    await client.broadcast(first.hash)
    proposed = await owner.cancelling.propose(first.hash)
    assert isinstance(proposed, Proposed)
    await client.resolve(first.hash)
    await owner.trader.world.node.confirmed(CHAIN, bytes.fromhex(first.hash[2:]))
    ended: object
    try:
        ended = await owner.cancelling.replace(proposed)
    except Refused as refused:
        # The second look sees that the nonce is used; nothing was signed.
        ended = refused
    assert not isinstance(ended, Done)
    assert await owner.trader.paid() == before + 10**15
    while (await client.resolve(first.hash)).state is not State.SUCCEEDED:
        pass


async def test_one_that_was_never_sent_is_given_up(owner: Owner) -> None:
    before = await owner.trader.paid()
    client, first = await owner.paid("unsent")
    assert await owner.cancelling.propose(first.hash) == Done(first.hash, None)
    (told,) = await client.transactions("unsent")
    assert told.state is State.ABANDONED
    with pytest.raises(Refused) as refused:
        await owner.cancelling.propose("0x" + "00" * 32)
    assert refused.value.code is Code.NO_TRANSACTION
    assert await owner.trader.paid() == before
