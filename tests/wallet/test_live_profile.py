"""A live profile on nodes of its configuration: locked until its pass phrase, and on no other
chain than the one it is configured for, neither when it is read nor when something is signed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from msgspec import Struct
from msgspec.structs import replace
from starlette.types import ASGIApp, Receive, Scope, Send

from cached_catalog import cache_catalog
from sandbox.evm.evm_world import World, embedded
from swapdesk.chain.deployments import SANDBOX_CHAIN_IDS
from swapdesk.clock import SystemClock
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.wallet.chain_links import live_links
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.paths import Home
from swapdesk.sandbox.world import build_chains
from swapdesk.secret import Secret
from swapdesk.settings import Options, Settings, load_settings
from swapdesk.wallet.accounts import ChainLink, KeyOrigin, Kind, WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Asset, DepositPromise, Promise, Purpose, TransactionPayload
from swapdesk.wallet.protocol import Refused, WrongPassphrase
from swapdesk.wire.chains import Chain
from wallet.agents import CHEAP
from wallet.refusals import refused
from wallet.signing import DEPOSIT

PHRASE = Secret("a long phrase of mine")
ETH = Asset("ETH", 18, None)
REAL = {"base": 8453, "arbitrum": 42161}
pytestmark = pytest.mark.asyncio(loop_scope="module")


class Exchange:
    """A node's address behind which stands the chain ``chain``, or later another one."""

    def __init__(self, door: ASGIApp) -> None:
        self.door, self.chain = door, "base"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == "/evm/node":
            path = f"/evm/{self.chain}"
            scope = {**scope, "path": path, "raw_path": path.encode()}
        await self.door(scope, receive, send)


class Live(Struct):
    world: World
    exchange: Exchange
    home: Path
    account: str = ""

    def settings(self) -> Settings:
        return load_settings({}, Home.at(self.home), Options(profile="main"))

    @asynccontextmanager
    async def wallet(self) -> AsyncIterator[LocalWallet]:
        """The wallet of one run of the desk; its keys are shut."""
        clock = SystemClock()
        with_ids = Catalog.open(self.home / "catalog.db", clock)
        with_ids.load()
        links, problems = live_links(self.settings(), with_ids.chain)
        assert problems == []
        wallet = LocalWallet(self.settings(), clock, links, with_ids, program=CHEAP)
        try:
            yield wallet
        finally:
            await wallet.close()
            with_ids.close()

    def deposit(self, intent: str) -> Promise:
        ends = datetime.now(UTC) + timedelta(minutes=10)
        return Promise(
            intent_id=intent,
            account=self.account,
            chain="base",
            chain_id=REAL["base"],
            sell=ETH,
            sell_units=10**15,
            buy=ETH,
            chain_out="base",
            least_units=1,
            quoted_units=10**15,
            recipient=self.account,
            venue=None,
            quote_id="quote-1",
            valid_until=ends,
            gas_units=10**16,
            deposit=DepositPromise(f"order-{intent}", DEPOSIT, None, 10**15, ends),
        )


def real_chains() -> list[Chain]:
    """The chains of the service, with the ids that they have outside."""
    return [
        one.model_copy(update={"chain_id": one.chain_id and one.chain_id - SANDBOX_CHAIN_IDS})
        for one in build_chains()
    ]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def live(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Live]:
    """A profile with one key that holds 10 coins on Base."""
    home = tmp_path_factory.mktemp("home")
    cache_catalog(home / "catalog.db", datetime.now(UTC), real_chains())
    exchanges: list[Exchange] = []

    def before(door: ASGIApp) -> ASGIApp:
        exchanges.append(Exchange(door))
        return exchanges[0]

    async with embedded(tmp_path_factory.mktemp("chains"), "real", before) as world:
        (home / "config.toml").write_text(
            '[profiles.main]\nurl = "https://api.example.com/v2"\n'
            f'[profiles.main.rpc]\nbase = "http://127.0.0.1:{world.port}/evm/node"\n'
        )
        one = Live(world, exchanges[0], home)
        async with one.wallet() as wallet:
            made = await wallet.create(Kind.EVM, "main", PHRASE)
        one.account = made.address
        sent = await world.node.fund("base", bytes.fromhex(made.address[2:]), 10 * 10**18)
        await world.node.confirmed("base", sent)
        yield one


@pytest.fixture(autouse=True)
def on_base(live: Live) -> None:
    live.exchange.chain = "base"


PAYMENT = TransactionPayload(Purpose.DEPOSIT, DEPOSIT, "0x", 10**15)


async def test_it_signs_after_its_pass_phrase_and_pays(live: Live) -> None:
    async with live.wallet() as wallet:
        (held,) = await wallet.holdings()
        assert held.problem is None
        client = await wallet.client()
        (coins,) = (await client.balances(live.account, "base", [ETH])).balances
        assert coins.units == 10 * 10**18
        review = await client.review(PAYMENT, live.deposit("live"))
        assert not review.refused, review.findings
        assert review.agreed
        with refused("locked"):
            await client.sign(review)
        with pytest.raises(WrongPassphrase):
            await wallet.unlock(Secret("another one"))
        with pytest.raises(ValueError, match="pass phrase"):
            await wallet.unlock()
        await wallet.unlock(PHRASE)
        review = await client.review(PAYMENT, live.deposit("live"))
        signed = await client.sign(review)
        await client.broadcast(signed.hash)
        await live.world.node.confirmed("base", bytes.fromhex(signed.hash[2:]))
        there = await client.resolve(signed.hash)
        # Live, more confirmations count than in the sandbox.
        assert there.word in ("mined", "succeeded")
        # What was signed for once is known by its first block from then on.
        live.exchange.chain = "arbitrum"
        review = await client.review(PAYMENT, live.deposit("known"))
        told = {one.code for one in review.findings}
        assert {"NODE_CHAIN_DIFFERS", "GENESIS_DIFFERS"} <= told
    paid = live.world.chain("base").accounts.get_balance(bytes.fromhex(DEPOSIT[2:]))
    assert paid == 10**15


async def test_an_imported_key_of_the_sandbox_is_not_shown_what_real_ids_would_execute(
    live: Live, tmp_path: Path
) -> None:
    """It may hold real money, and a signature is good for every chain of that id."""
    link = ChainLink("base", Kind.EVM, REAL["base"], live.world.url("base"), 2)
    client = await WalletClient.start(WalletPlace(str(tmp_path), "sandbox", (link,)), program=CHEAP)
    try:
        key = Secret("11" * 32)
        [choice] = await client.preview(Kind.EVM, KeyOrigin.RAW, key)
        account = await client.import_key(choice, KeyOrigin.RAW, "", key, PHRASE)
        promise = replace(live.deposit("real"), account=account.address, recipient=account.address)
        with refused("other_chain", match="never signs for real ids"):
            await client.review(PAYMENT, promise)
    finally:
        await client.close()


async def test_a_smart_account_is_nobodys_where_its_maker_is_not_known(live: Live) -> None:
    async with live.wallet() as wallet:
        client = await wallet.client()
        with pytest.raises(Refused) as refused:
            await client.smart_account(live.account, "base", [ETH])
    said = failure_of_wallet(refused.value)
    assert said.code == "NO_SMART_ACCOUNTS"
    assert said.cause.startswith("This profile has no smart accounts")
    assert said.money == "where it was; nothing was signed"
    assert said.next == "you: use the wallet that made the smart account"


async def test_a_node_of_another_chain_is_refused_when_it_is_first_asked(live: Live) -> None:
    live.exchange.chain = "arbitrum"
    async with live.wallet() as wallet:
        (held,) = await wallet.holdings()
        assert held.problem is not None
        assert held.holdings == ()
        await wallet.unlock(PHRASE)
        client = await wallet.client()
        with refused("other_chain"):
            await client.balances(live.account, "base", [ETH])
        review = await client.review(PAYMENT, live.deposit("elsewhere"))
        assert "NODE_CHAIN_DIFFERS" in {one.code for one in review.findings}
        with refused("gate"):
            await client.sign(review)
        assert await client.transactions("elsewhere") == ()


async def test_a_node_that_changes_its_chain_after_the_review_gets_nothing_signed(
    live: Live,
) -> None:
    async with live.wallet() as wallet:
        await wallet.unlock(PHRASE)
        client = await wallet.client()
        review = await client.review(PAYMENT, live.deposit("switched"))
        assert not review.refused, review.findings
        live.exchange.chain = "arbitrum"
        with refused("gate") as raised:
            await client.sign(review)
        assert "NODE_CHAIN_DIFFERS" in {one.code for one in raised.value.findings}
        assert await client.transactions("switched") == ()
