"""kill -9 of node, service and wallet agent at the boundaries of a swap: one payment, one order.

The desk goes on living; what it cannot finish stays open, and it takes it on when the killed
part is there again. All of it in one sandbox of processes.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from msgspec import Struct

from flows.dex.boundaries import striking
from flows.dex.swapping import frozen
from harness import Sandbox, running_sandbox
from patience import PATIENCE
from plain_http import PLAIN
from swapdesk.chain.calldata import erc20
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.clock import SystemClock
from swapdesk.flows.creation.exchange import ExchangeFlow
from swapdesk.flows.dex.dex_swap import DexSwapFlow
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.flows.transactions.outcome import Outcome
from swapdesk.flows.transactions.transactor import Agreed
from swapdesk.wallet.accounts import ChainLink, Kind, WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.review import Review
from swapdesk.wallet.transactions import TransactionState
from swapdesk.wire.orders import Order
from swapdesk.wire.tokens import Token, TokenQuery
from wallet.agents import CHEAP, PASSPHRASE

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAIN = "base"
AMOUNT = "3"
UNITS = 3 * 10**6
PACE = Pace(look=0.05, patience=5.0)


async def until(met: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a condition that other processes bring about."""
    async with asyncio.timeout(PATIENCE):
        while True:
            if await met():
                return
            await asyncio.sleep(0.02)


class Parts(Struct):
    """A sandbox of processes, and a key of ``address`` with money on one of its chains."""

    sandbox: Sandbox
    api: PartnerApi
    place: WalletPlace
    usdc: Token
    weth: Token
    address: str = ""

    async def agent(self) -> WalletClient:
        """The keys, once an agent before has let go of them."""
        while True:
            agent = await WalletClient.start(self.place, program=CHEAP)
            if not agent.accounts.read_only:
                if self.address:
                    await agent.unlock(PASSPHRASE, [self.address])
                return agent
            await agent.close()

    async def newcomer(self) -> WalletClient:
        """An agent with a new key, which has coins and dollars on the chain."""
        self.address = ""
        agent = await self.agent()
        self.address = (await agent.create(Kind.EVM, "", PASSPHRASE)).address
        for more in ({"amount": 1}, {"amount": 100, "token": "USDC"}):
            body = {"chain": CHAIN, "address": self.address, **more}
            await asyncio.to_thread(self.sandbox.control, "POST", "/faucet", body)

        async def given() -> bool:
            return await self.holds(self.usdc) == 100 * 10**6

        await until(given)
        return agent

    async def rpc(self, method: str, *params: Any) -> str:
        """A result of the node, asked again while it is not there."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        told: list[str] = []

        async def answered() -> bool:
            try:
                answer = await client.post(self.place.chains[0].rpc, json=body)
                told.append(str(answer.json()["result"]))
            except (httpx2.HTTPError, ValueError, KeyError):
                return False
            return True

        async with httpx2.AsyncClient(trust_env=False, verify=PLAIN) as client:
            await until(answered)
        return told[-1]

    async def holds(self, token: Token) -> int:
        data = "0x" + erc20.BALANCE_OF.call(self.address).hex()
        return int(await self.rpc("eth_call", {"to": token.address, "data": data}, "latest"), 16)

    async def executed(self) -> int:
        """How many transactions of the key are in blocks."""
        return int(await self.rpc("eth_getTransactionCount", self.address, "latest"), 16)

    async def there(self) -> None:
        """All parts answer."""
        await until(lambda: asyncio.to_thread(self.sandbox.answers))
        await self.rpc("eth_blockNumber")

    async def orders(self) -> list[Order]:
        return list((await self.api.list_orders()).orders)

    async def ended(self, service_id: str) -> Order:
        async def over() -> bool:
            return (await self.api.get_order(service_id)).status >= 4

        await until(over)
        return await self.api.get_order(service_id)


@asynccontextmanager
async def in_parts(home: Path) -> AsyncIterator[Parts]:
    with running_sandbox(home, speed=600) as sandbox:
        told = next(one for one in sandbox.ready["chains"] if one["shortName"] == CHAIN)
        link = ChainLink(CHAIN, Kind.EVM, told["chainId"], told["rpc"], 2)
        place = WalletPlace(str(home / "keys"), "sandbox", (link,))
        partner = sandbox.partner()
        key = Credentials.of_key(partner["apiKey"], partner["apiSecret"])
        async with PartnerApi(sandbox.ready["url"], key, clock=SystemClock()) as api:

            async def token(symbol: str) -> Token:
                found = await api.list_tokens(TokenQuery(symbol=symbol, chain=CHAIN))
                return next(one for one in found.tokens if one.enabled and not one.unverified)

            parts = Parts(sandbox, api, place, await token("USDC"), await token("WETH"))
            # The chain is built when it is first asked; the faucet does not wait that long.
            await parts.rpc("eth_blockNumber")
            yield parts


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def parts(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Parts]:
    async with in_parts(tmp_path_factory.mktemp("home")) as made:
        yield made


APPROVING = (
    "api.dex_approve.before.1",
    "steps.begin.after.1",
    "wallet.review.after.1",
    "wallet.sign.before.1",
    "wallet.sign.after.1",
    "wallet.broadcast.before.1",
    "wallet.broadcast.after.1",
    "wallet.resolve.after.1",
    "api.dex_approve.after.2",
)
ORDERING = (
    "api.create_exchange.before.1",
    "api.create_exchange.after.1",
    "intents.mark_created.after.1",
    "api.get_order.after.1",
)
PAYING = (
    "wallet.review.after.2",
    "wallet.sign.before.2",
    "wallet.sign.after.2",
    "steps.sent.after.3",
    "steps.acked.after.2",
    "api.dex_confirm_transaction.before.1",
    "api.dex_confirm_transaction.after.1",
)
SIGNING = (
    "wallet.sign.before.1",
    "wallet.sign.after.1",
    "api.dex_chain_signatures.before.1",
    "api.dex_chain_signatures.after.1",
    "wallet.sign.before.2",
    "wallet.sign.after.2",
)
LAST = ("api.dex_confirm_transaction.before.1", "api.dex_confirm_transaction.after.1")
BOUNDARIES = {
    "ba": APPROVING + ORDERING + PAYING,
    "fa": ("wallet.sign.after.1", *ORDERING, "wallet.sign.after.2", *LAST),
    "is": (*SIGNING, *ORDERING, *LAST),
}
PARTS = ("node", "service", "agent")
SAMPLE = {
    ("ba", "wallet.sign.after.1", "node"),
    ("ba", "wallet.sign.after.2", "service"),
    ("ba", "wallet.sign.after.2", "agent"),
    ("is", "wallet.sign.after.1", "service"),
}
BEFORE_CREATE = {
    "ba": ("api.dex_approve.after.2", "api.create_exchange.before.1"),
    "fa": ("wallet.sign.after.1", "api.create_exchange.before.1"),
    "is": ("wallet.sign.before.2", "wallet.sign.after.2", "api.create_exchange.before.1"),
}
"""The next question is the create, and it meets a service or a chain that is not there. It is not
sent a second time: once it is certain that there is no order the swap is over, unpaid."""


def _cases() -> list[Any]:
    return [
        pytest.param(*case, marks=() if case in SAMPLE else pytest.mark.long)
        for venue, boundaries in BOUNDARIES.items()
        for boundary in boundaries
        for case in ((venue, boundary, part) for part in PARTS)
    ]


@pytest.mark.parametrize(("venue", "boundary", "part"), _cases())
async def test_what_is_killed_comes_back_and_the_swap_is_paid_once(
    parts: Parts, tmp_path: Path, venue: str, boundary: str, part: str
) -> None:
    agent = await parts.newcomer()
    had = await parts.holds(parts.usdc)
    known = {one.service_id for one in await parts.orders()}
    clock = SystemClock()
    journal = Journal.open(tmp_path / "journal.db", clock)
    intent = await frozen(parts.api, clock, venue, parts.usdc, parts.weth, AMOUNT, parts.address)
    strikes: dict[str, Callable[[], None]] = {
        "node": parts.sandbox.kill_node,
        "service": parts.sandbox.kill_service,
        "agent": lambda: os.kill(agent.pid, signal.SIGKILL),
    }
    try:
        with striking(boundary, strikes[part]) as struck:
            outcome: Outcome | None = await _flow(parts, journal, agent).swap(intent)
        assert struck.met
        async with asyncio.timeout(PATIENCE):
            while outcome is not None and outcome.open:
                _told_truly(outcome, journal, intent)
                await parts.there()
                if agent.gone is not None:
                    await agent.close()
                    agent = await parts.agent()
                (open_,) = journal.swaps.open_swaps()
                outcome = await _flow(parts, journal, agent).take_on(open_)
        assert journal.swaps.open_swaps() == []
        await parts.there()
        if part == "agent":
            await agent.close()
            agent = await parts.agent()
        made = [one for one in await parts.orders() if one.service_id not in known]
        signed = await agent.transactions(intent.id)
        paid = [one for one in signed if one.purpose is Purpose.SWAP]
        if outcome is not None and outcome.refused:
            assert boundary in BEFORE_CREATE[venue], outcome
            assert part != "agent"
            assert "in your wallet" in outcome.failure.money
            assert (made, paid) == ([], [])
            assert await parts.holds(parts.usdc) == had
        else:
            assert outcome.done
            assert [one.service_id for one in made] == [outcome.order.service_id]
            ended = await parts.ended(outcome.order.service_id)
            assert ended.display_status == "SWAP_COMPLETED"
            assert await parts.holds(parts.usdc) == had - UNITS
            assert await parts.holds(parts.weth) > 0
            assert [one.state for one in paid] == (
                [] if venue == "is" else [TransactionState.SUCCEEDED]
            )
        assert await parts.executed() == len(signed)
    finally:
        await agent.close()
        journal.close()


def _flow(parts: Parts, journal: Journal, agent: WalletClient) -> DexSwapFlow:
    async def look(review: Review) -> Agreed | None:
        return Agreed(review.phrase)

    clock = SystemClock()
    exchange = ExchangeFlow(parts.api, journal, clock, looks=(0.0, 0.2, 1.0))
    return DexSwapFlow(parts.api, exchange, journal, clock, agent, look, pace=PACE)


def _told_truly(outcome: Outcome, journal: Journal, intent: Intent) -> None:
    """Whoever is told that it goes on is told where the money is: not in the wallet once a
    transaction that pays was handed out."""
    step = journal.swaps.last(intent.id, "swap")
    handed_out = step is not None and "hash" in step.told
    assert outcome.failure.cause
    assert outcome.failure.next
    if handed_out:
        assert str(step.told["hash"]) in outcome.failure.money, outcome
    else:
        assert "in your wallet" in outcome.failure.money, outcome
