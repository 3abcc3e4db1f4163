"""``kill -9`` of the agent at every boundary of what it signs and sends: the same command given
again ends it, and the chain has executed one transaction of each nonce."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec import Struct

from patience import eventually
from sandbox.evm.evm_world import World
from swapdesk.flows.batch.bundles import withdrawals
from swapdesk.flows.journal.ledger import OPEN
from swapdesk.flows.transactions import Outcome
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.replacement import CANCELLATION, HIGHER_FEE, Replacement, ReplacementKind
from swapdesk.wallet.answers import TransactionWord
from swapdesk.wallet.protocol import AgentGone
from wallet.agents import MOMENTS, dying_at
from wallet.owner import DOLLARS as LEFT
from wallet.owner import PAID, Owner, QuickClock, opened, owning, taken_out
from wallet.signing import CHAIN, DOLLARS

pytestmark = pytest.mark.asyncio(loop_scope="module")
INTENT = "killed"


async def nothing(owner: Owner) -> None:
    """A new wallet."""


async def waiting(owner: Owner) -> None:
    """A payment was sent, and no block has it."""
    someone = owner.trader
    async with someone.agent() as agent:
        signed = await someone.signed(agent, someone.payment(), someone.deposit(INTENT))
        someone.world.faults.set("drop_transaction", "chain", CHAIN, times=1)
        assert (await agent.broadcast(signed.hash)).word == "sent"


async def left(owner: Owner) -> None:
    """Money of a bundle lies where the smart account will be."""
    await owner.left_by_bundle()


async def standing(owner: Owner) -> None:
    """The smart account stands, with money of a bundle in it."""
    await left(owner)
    async with opened(owner) as wallet:
        await wallet.stands()


async def pay(owner: Owner, wallet: LocalWallet) -> Outcome:
    someone, agent = owner.trader, await wallet.client()
    known = await agent.transactions(INTENT)
    if not known:
        known = (await someone.signed(agent, someone.payment(), someone.deposit(INTENT)),)
    await agent.broadcast(known[0].hash)
    return Outcome(hash=(await someone.settled(agent, known[0])).hash)


async def bump(owner: Owner, wallet: LocalWallet) -> Outcome:
    return await _replaced(wallet, HIGHER_FEE)


async def cancel(owner: Owner, wallet: LocalWallet) -> Outcome:
    return await _replaced(wallet, CANCELLATION)


async def _replaced(wallet: LocalWallet, kind: ReplacementKind) -> Outcome:
    replacement = Replacement(wallet, QuickClock(), kind)
    first, *_ = await (await wallet.client()).transactions(INTENT)
    asked = await replacement.propose(first.hash)
    return asked if isinstance(asked, Outcome) else await asked.send()


async def take_out(owner: Owner, wallet: LocalWallet) -> Outcome:
    return (await taken_out(owner, wallet))[0]


class Kind(Struct, frozen=True):
    """``signed`` transactions were there before the kill, and in the end those of ``states``.
    ``paid`` arrives at the deposit address, ``dollars`` in the wallet."""

    before: Callable[[Owner], Awaitable[None]]
    command: Callable[[Owner, LocalWallet], Awaitable[Outcome]]
    signed: int
    states: tuple[TransactionWord, ...]
    paid: int = 0
    dollars: int = 0


PAYS, REPLACES = ("succeeded",), ("replaced", "succeeded")
KINDS = {
    "payment": Kind(nothing, pay, 0, PAYS, paid=PAID),
    "bump": Kind(waiting, bump, 1, REPLACES, paid=PAID),
    "cancel": Kind(waiting, cancel, 1, REPLACES),
    "deploy": Kind(left, take_out, 0, 2 * PAYS, dollars=LEFT),
    "withdraw": Kind(standing, take_out, 1, 2 * PAYS, dollars=LEFT),
}
SAMPLE = {
    ("payment", "RecordsFile.COMMIT"),
    ("payment", "send_raw after"),
    ("payment", "SENT"),
    ("bump", "RecordsFile.COMMIT"),
    ("cancel", "send_raw after"),
    ("deploy", "send_raw after"),
    ("withdraw", "RecordsFile.COMMIT"),
}
CASES = [
    pytest.param(name, moment, marks=() if (name, moment) in SAMPLE else pytest.mark.long)
    for name in KINDS
    for moment in MOMENTS
]
WRITTEN = dict(zip(MOMENTS[1:], ("signed", "sending", "sending", "sent"), strict=True))
"""How it stands after a kill. Before that nothing was committed, so no byte can have left."""


@pytest_asyncio.fixture(loop_scope="module")
async def owner(world: World, tmp_path: Path) -> AsyncIterator[Owner]:
    async with owning(world, tmp_path) as made:
        yield made


@pytest.mark.parametrize(("name", "moment"), CASES)
async def test_the_same_command_ends_what_a_kill_left(owner: Owner, name: str, moment: str) -> None:
    kind, someone = KINDS[name], owner.trader
    before = await someone.paid()
    await kind.before(owner)
    dying = await owner.wallet(dying_at(moment))
    try:
        client = await dying.client()
        said = await kind.command(owner, dying)
        assert said.open, said
        await eventually(lambda: client.gone is not None)
        gone = client.gone
    except AgentGone as error:
        gone = error
    finally:
        await dying.close()
    assert f"signal {int(signal.SIGKILL)}" in gone.words
    again = await owner.wallet()
    try:
        client = await again.client()
        known = (await client.transactions())[kind.signed :]
        assert [one.word for one in known] == ([WRITTEN[moment]] if moment in WRITTEN else [])
        ended = await kind.command(owner, again)
        assert ended.done, ended
        signed = await client.transactions()
        assert tuple(one.word for one in signed) == kind.states
        assert signed[-1].hash == ended.hash
    finally:
        await again.close()
    assert (await owner.here.coins(owner.mine), await owner.dollars(owner.mine)) == (0, 0)
    assert await someone.paid() == before + kind.paid
    assert await owner.dollars(someone.address) == DOLLARS + kind.dollars
    assert withdrawals(owner.journal.ledger, someone.address, CHAIN, *OPEN) == []
