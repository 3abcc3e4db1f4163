"""The wallet of a profile over a real agent, on the real chains of a running sandbox.

Delegates of token accounts on Solana: told by the chain, ended by one transaction.
"""

from __future__ import annotations

import asyncio
import base64
import json
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec import Struct
from msgspec.structs import replace
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from client.rude_server import Behaviour, EagerClock, RudeServer, answer, reset
from harness import Sandbox, running_sandbox
from patience import PATIENCE
from rows import each_row
from sandbox.solana.solana_world import USDC as MINT
from sandbox.solana.solana_world import World, running
from service.dex.solana_floor import LookedTime
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.deployments import SANDBOX_CHAIN_IDS
from swapdesk.chain.solana import TOKEN, token_account
from swapdesk.client.api import PartnerApi
from swapdesk.client.credentials import Credentials
from swapdesk.client.errors import NoAnswer, NotPaid
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.flows.catalog.catalog import resolve
from swapdesk.flows.connection import sandbox_connection
from swapdesk.flows.desk import Desk
from swapdesk.flows.signing.wallet_signing import propose_revocation
from swapdesk.flows.transactions import Outcome
from swapdesk.flows.wallet.call_payments import CallPayer, NewPayee
from swapdesk.flows.wallet.chain_links import is_private_node, live_links
from swapdesk.flows.wallet.local_wallet import (
    ChainHoldings,
    ChainReader,
    ChainTokens,
    Gifts,
    LocalWallet,
)
from swapdesk.flows.wallet.own_accounts import OwnBalance, own_balance
from swapdesk.flows.wallet.wallet_reading import WalletSnapshot, fill_wallet, read_wallet
from swapdesk.paths import Home
from swapdesk.sandbox.node.solana.genesis import MAKER
from swapdesk.sandbox.world import find_token
from swapdesk.secret import Secret
from swapdesk.settings import Options, load_settings
from swapdesk.tui.screens.wallets import wallet_rows
from swapdesk.wallet.accounts import Account, ChainLink, KeyOrigin, Kind, export_phrase
from swapdesk.wallet.answers import (
    Allowance,
    Balance,
    Match,
    RuleFinding,
    Severity,
    SignedTransaction,
    SmartAccount,
)
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.protocol import AgentGone, Refused, WrongPassphrase
from swapdesk.wallet.sandbox_passphrase import sandbox_passphrase
from swapdesk.wallet.spending import Limit, PolicyToken, SpendingPolicy, SpendWindow
from wallet.agents import CHEAP
from wallet.refusals import refused

if TYPE_CHECKING:
    from swapdesk.wallet.client import WalletClient


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with running_sandbox(tmp_path_factory.mktemp("home"), speed=600) as running:
        yield running


class Bench(Struct):
    """A connected desk in a home of its own, and its wallet."""

    desk: Desk

    @property
    def wallet(self) -> LocalWallet:
        return self.desk.wallet

    async def funded(self) -> None:
        """Until everything the faucet gave is on the chains."""
        control = self.desk.link.control
        assert control is not None
        await self.wallet.prepare_sandbox()
        await fill_wallet(self.wallet, control)
        async with asyncio.timeout(PATIENCE):
            while not all(len(held.holdings) > 1 for held in await self.wallet.holdings()):
                await self.desk.clock.sleep(0.1)


@pytest.fixture
async def bench(sandbox: Sandbox, tmp_path: Path) -> AsyncIterator[Bench]:
    """In a new home, without a wallet."""
    desk = Desk.open(load_settings({}, Home.at(tmp_path)))
    await desk.connect(sandbox_connection(sandbox.ready), follow=False)
    await desk.refresh_reference()
    desk.wallet._program = CHEAP
    yield Bench(desk)
    await desk.close()


async def test_a_sandbox_makes_opens_and_fills_its_wallet_once(bench: Bench) -> None:
    wallet, control = bench.wallet, bench.desk.link.control
    assert control is not None
    assert (await wallet.accounts()).accounts == ()
    made = await wallet.prepare_sandbox()
    assert [(one.kind, one.name, one.sandboxed) for one in made] == [
        (Kind.EVM, "trading", True),
        (Kind.SOLANA, "solana", True),
    ]
    assert await wallet.prepare_sandbox() == ()
    phrase = wallet.settings.places.root / "wallet.passphrase"
    assert stat.S_IMODE(phrase.stat().st_mode) == 0o600

    assert all(not one.amount for held in await wallet.holdings() for one in held.holdings)
    gifts = await fill_wallet(wallet, control)
    # The coin on six chains, and the dollars that each of them has.
    assert gifts.problems == ()
    assert gifts.given >= 6 + 8
    # What is on its way is waited for: no total is the one of before it.
    held = {one.chain: one for one in await wallet.holdings()}
    assert await fill_wallet(wallet, control) == Gifts()
    assert set(held) == {"ethereum", "base", "arbitrum", "polygon", "bsc", "solana"}
    for chain, coins in (("base", 10), ("solana", 100)):
        coin, *tokens = held[chain].holdings
        assert (coin.asset.contract, coin.amount) == (None, coins)
        assert coin.usd is not None
        assert {one.asset.symbol: one.amount for one in tokens}["USDC"] == Decimal(10_000)

    # Another desk later: locked, and open without a question.
    await wallet.lock()
    assert wallet.locks_in is None
    assert await wallet.unlock() == ()
    assert 890 < (wallet.locks_in or 0) <= 900


async def test_a_balance_waits_for_what_the_faucet_sends(bench: Bench) -> None:
    """So does a total. Nobody reads them again when that comes: nothing would say that 0 is of
    before."""
    desk, wallet, control = bench.desk, bench.wallet, bench.desk.link.control
    assert control is not None
    account, _ = await wallet.prepare_sandbox()
    (before,) = [one for one in await wallet.holdings() if one.chain == "base"]
    assert before.holdings[0].amount == 0
    wallet.given(before, None)
    heard: list[tuple[ChainHoldings, ...]] = []
    reading = asyncio.create_task(wallet.holdings(heard=heard.append))
    async with asyncio.timeout(PATIENCE):
        while not heard or sum(one.reading for one in heard[-1]) > 1:
            await bench.desk.clock.sleep(0.01)
        assert [one.chain for one in heard[-1] if one.reading] == ["base"]
        await control.give("base", account.address, Decimal(3))
        (base,) = [one for one in await reading if one.chain == "base"]
    assert base.holdings[0].amount == 3
    assert before.place == base.place
    usdc = resolve("usdc.base", desk.catalog).token
    (asset,) = await wallet.tokens.called("base", ["USDC"])
    client = await wallet.client()
    read = 0
    balances = client.balances

    async def counted(*asked: Any, **how: Any) -> Any:
        nonlocal read
        told = await balances(*asked, **how)
        read += 1
        return told

    client.balances = counted  # type: ignore[method-assign]
    wallet.given(base, asset.contract)
    async with asyncio.timeout(PATIENCE):
        asking = asyncio.create_task(own_balance(desk, usdc))
        while read < 2 and not asking.done():
            await desk.clock.sleep(0.01)
        assert not asking.done()
        await control.give("base", account.address, Decimal(7), asset.contract)
        assert await asking == OwnBalance(Decimal(7), Decimal(7))
        assert not wallet.awaits(account.address, "base", asset.contract)


async def test_a_wallet_is_filled_when_who_asked_is_gone(bench: Bench) -> None:
    """A page that is left at once leaves no accounts half made, and whoever asks for a balance
    next is told that of after the faucet's transfers."""
    desk, wallet = bench.desk, bench.wallet
    page = asyncio.create_task(
        read_wallet(wallet, None, desk.link.control, dict, heard=str, made=str)
    )
    async with asyncio.timeout(PATIENCE):
        while not wallet.filling.running:
            await desk.clock.sleep(0.01)
        page.cancel()
        with pytest.raises(asyncio.CancelledError):
            await page
        usdc = resolve("usdc.base", desk.catalog).token
        assert await own_balance(desk, usdc) == OwnBalance(Decimal(10_000), Decimal(10_000))

    # A wallet that is closed ends who waits with a failure to show, not without a word.
    control = desk.link.control
    assert control is not None
    waiting = asyncio.create_task(fill_wallet(wallet, control))
    while not wallet.filling.running:
        await desk.clock.sleep(0.01)
    await wallet.close()
    with pytest.raises(AgentGone):
        await waiting


async def test_a_chain_that_does_not_answer_spoils_no_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    wallet, known = bench.wallet, bench.wallet.tokens
    await wallet.prepare_sandbox()
    # A gift that is not looked for is not waited for: as before the list of tokens was read, which
    # a desk that pays for its calls pays for.
    wallet.tokens = ChainTokens(None)
    held = await wallet.holdings()
    wallet.given(next(one for one in held if one.chain == "polygon"), None)
    with monkeypatch.context() as patched:
        patched.setattr("swapdesk.flows.wallet.local_wallet.GIFT_SECONDS", "no wait")
        assert len(await wallet.holdings()) == len(held)
    wallet.tokens = known
    await wallet.close()
    wallet.links = tuple(
        replace(one, rpc="http://127.0.0.1:9/") if one.name in ("base", "solana") else one
        for one in wallet.links
    )
    heard: list[tuple[ChainHoldings, ...]] = []
    told = {one.chain: one for one in await wallet.holdings(heard=heard.append)}
    assert all(one.reading for one in heard[0])
    assert [sum(one.reading for one in each) for each in heard] == [
        *range(len(heard[0]), -1, -1)
    ], "each chain is told as it answers"
    assert not any(one.reading for one in told.values())
    assert {name for name, one in told.items() if one.problem} == {"base", "solana"}
    assert told["ethereum"].holdings
    # A screen has them in the order of the wallet, whichever answered first.
    read: list[WalletSnapshot] = []
    told_last = await read_wallet(wallet, None, None, dict, heard=read.append, made=print)
    read.append(told_last)
    for each in read:
        rows = [key for key in wallet_rows(each)[1] if key.endswith(" coin")]
        assert rows == [f"{one.account.address} {one.chain} coin" for one in each.holdings]
    assert [one.chain for one in each.holdings] == list(told)
    allowed = {one.chain: one for one in await wallet.allowances()}
    assert allowed["base"].problem
    assert not allowed["base"].complete
    assert allowed["polygon"].complete


async def test_a_live_wallet_never_opens_by_itself(bench: Bench, tmp_path: Path) -> None:
    home = Home.at(tmp_path / "live")
    home.config.mkdir()
    (home.config / "config.toml").write_text(
        '[profiles.main]\nurl = "https://api.example.com/v2"\n'
        '[profiles.main.rpc]\nethereum = "https://node.example.com"\n'
        'base = "http://node.example.com"\nxrp = "https://x.example.com"\nnone = "https://n"\n'
    )
    settings = load_settings({}, home, Options(profile="main"))
    links, problems = live_links(settings, bench.desk.catalog.chain)
    assert [(one.name, one.kind) for one in links] == [("ethereum", Kind.EVM)]
    assert len(problems) == 3
    wallet = LocalWallet(settings, bench.desk.clock, links, program=CHEAP)
    try:
        assert await wallet.prepare_sandbox() == ()
        with pytest.raises(ValueError, match="pass phrase"):
            await wallet.unlock()
        with pytest.raises(ValueError, match="pass phrase"):
            await wallet.create(Kind.EVM, "main")
        assert (await wallet.accounts()).accounts == ()
        made = await wallet.create(Kind.EVM, "main", Secret("a long phrase of mine"))
        assert (made.profile, made.sandboxed) == ("main", False)
        await wallet.lock()
        with pytest.raises(WrongPassphrase):
            await wallet.unlock(Secret("another one"))
        with pytest.raises(Refused):
            await wallet.create(Kind.EVM, "second", Secret("another one"))
    finally:
        await wallet.close()


@each_row(
    ("url", "private"),
    [
        ("https://node.example.com/key", True),
        ("http://127.0.0.1:8545", True),
        ("http://localhost:8545/", True),
        ("http://[::1]:8545", True),
        ("http://node.example.com", False),
        ("http://127.0.0.1.node.example.com", False),
        ("http://localhost.example.com:8545", False),
        ("http://localhost@node.example.com", False),
        ("https://", False),
        ("http://[::1", False),
        ("ws://127.0.0.1", False),
    ],
)
def test_a_node_is_asked_where_nobody_between_hears_it(url: str, private: bool) -> None:
    assert is_private_node(url) is private


async def test_a_sum_of_which_a_part_was_not_read_is_no_total() -> None:
    """Coins of a smart account are its own and what the EntryPoint keeps for it."""
    made = datetime(2026, 6, 1, tzinfo=UTC)
    owner = Account("0x1", Kind.EVM, "trading", "sandbox", KeyOrigin.CREATED, None, made)
    coin = Asset("ETH", 18, None)

    class Agent:
        def __init__(self, prepaid: int | None) -> None:
            self.prepaid = prepaid

        async def smart_account(self, *_: object) -> SmartAccount:
            held = (Balance(coin, 2 * 10**18),)
            return SmartAccount("0x2", held, self.prepaid, None)

    link = ChainLink("base", Kind.EVM, 1, "http://127.0.0.1:9", 1)
    for prepaid, amount in ((10**18, Decimal(3)), (None, None)):
        reader = ChainReader(cast("WalletClient", Agent(prepaid)), ChainTokens(None), None)
        told = await reader.smart(owner, link, [coin])
        assert [one.amount for one in told.holdings] == [amount]


USDC = find_token("base", "USDC")
ONE, TWO, THREE = (derive_address("evm", bytes([byte]) * 32) for byte in (1, 2, 3))
NO_ORDERS = {"orders": [], "total": 0, "totalPages": 0}


def asking(units: int, payee: str) -> Behaviour:
    """A 402 of a service that names its price and its payee."""
    way = {
        "scheme": "exact",
        "network": f"eip155:{SANDBOX_CHAIN_IDS + 8453}",
        "asset": str(USDC.address),
        "amount": str(units),
        "payTo": payee,
        "maxTimeoutSeconds": 60,
        "extra": {"name": "USD Coin", "version": "2"},
    }
    told = json.dumps({"x402Version": 2, "accepts": [way]}).encode()
    return answer(402, headers={"payment-required": base64.b64encode(told).decode()})


async def test_calls_of_a_service_that_asks_for_more_than_was_agreed_to(bench: Bench) -> None:
    """Neither its price nor its payee is its own word, and what is out after a lost answer is told
    with what the chain shows."""
    await bench.funded()
    client = await bench.wallet.client()
    token = PolicyToken(SANDBOX_CHAIN_IDS + 8453, str(USDC.address), 6, "USDC", "base")
    policy = SpendingPolicy((Limit(SpendWindow.DAY, Decimal(5), token),))
    await client.set_policy(policy, sandbox_passphrase(bench.wallet.settings.places))
    payer = CallPayer(lambda: bench.wallet, ManualClock(datetime.now(UTC)), lambda said: None)
    asked: list[NewPayee] = []

    async def agree(new: NewPayee) -> bool:
        asked.append(new)
        return new.payee == TWO

    async def call(units: int, payee: str, then: Behaviour) -> list[dict[str, str]]:
        """What was signed for one call; raises as the desk would hear it."""
        clock = ManualClock(datetime.now(UTC))
        async with (
            RudeServer(asking(units, payee), then) as server,
            PartnerApi(server.url, Credentials(pays=True), clock=clock, payer=payer) as api,
        ):
            try:
                await api.list_orders()
            finally:
                signed = [
                    json.loads(base64.b64decode(one.headers["payment-signature"]))["payload"]
                    for one in server.requests[1:]
                ]
                given[:] = [one["authorization"] for one in signed]
        return given

    given: list[dict[str, str]] = []
    for units in (900_000, 1_001):
        with pytest.raises(NotPaid) as dear:
            await call(units, ONE, answer(body=NO_ORDERS))
        assert (dear.value.code, given) == ("POLICY_CALL", [])
        assert "may cost ten times its price in the contract, 0.001 USDC" in str(dear.value)

    with pytest.raises(NoAnswer) as lost:
        await call(1_000, ONE, reset)
    [signed] = given
    assert (signed["to"], signed["value"]) == (ONE, "1000")
    payment = lost.value.payment
    assert (payment.payee, payment.amount, payment.taken) == (ONE, "0.001", False)
    assert int(payment.ends.timestamp()) == int(signed["validBefore"])

    # Somebody else: nobody there to ask, then asked once and remembered, or refused for good.
    with pytest.raises(NotPaid) as new:
        await call(100, TWO, answer(body=NO_ORDERS))
    assert (new.value.code, given) == ("CALL_PAYEE_CHANGED", [])
    assert f"swapdesk wallet policy set --call-payee {TWO}, or w and m in" in new.value.next
    payer = CallPayer(lambda: bench.wallet, ManualClock(datetime.now(UTC)), lambda said: None)
    payer.consent = agree
    for _ in range(2):
        [signed] = await call(100, TWO, answer(body=NO_ORDERS))
        assert signed["to"] == TWO
    for _ in range(2):
        with pytest.raises(NotPaid):
            await call(100, THREE, answer(body=NO_ORDERS))
        assert given == []
    assert [one.payee for one in asked] == [TWO, THREE]
    await client.set_policy(
        replace(policy, call_payees=(THREE,)),
        sandbox_passphrase(bench.wallet.settings.places),
    )
    [signed] = await call(100, THREE, answer(body=NO_ORDERS))
    assert signed["to"] == THREE


DOLLAR = Asset("USDC", 6, str(MINT))
OTHER = Asset("JUP", 6, "JUPyiwrYJFskUPiHa7hkeR8VUtAeFoSYbKedZNsDvCN")


class Owner(Struct):
    world: World
    wallet: LocalWallet
    account: Account
    key: Keypair

    @property
    def link(self) -> ChainLink:
        return self.wallet.links[0]

    async def delegate(self, to: Pubkey, units: int) -> None:
        """By a program of somebody else: the wallet itself never signs such a thing (Token, 4)."""
        me = self.key.pubkey()
        metas = [
            AccountMeta(token_account(me, MINT), False, True),
            AccountMeta(to, False, False),
            AccountMeta(me, True, False),
        ]
        approve = Instruction(TOKEN, b"\x04" + units.to_bytes(8, "little"), metas)
        await self.world.client.send(bytes(await self.world.built([self.key], approve)))

    async def allowed(self) -> tuple[Allowance, ...]:
        client = await self.wallet.client()
        told = await client.allowances(self.account.address, "solana", [DOLLAR, OTHER])
        assert told.complete
        return told.allowances


@asynccontextmanager
async def owner(directory: Path) -> AsyncIterator[Owner]:
    async with running(directory / "chain", time=LookedTime()) as world:
        settings = load_settings({}, Home.at(directory / "home"))
        link = ChainLink("solana", Kind.SOLANA, None, world.url, 1)
        makers = (("at", str(world.node.keypair(MAKER).pubkey())),)
        wallet = LocalWallet(settings, SystemClock(), (link,), makers=makers, program=CHEAP)
        try:
            made = next(one for one in await wallet.prepare_sandbox() if one.kind is Kind.SOLANA)
            secret = await (await wallet.client()).export(
                made.address, export_phrase(made.address), sandbox_passphrase(settings.places)
            )
            key = Keypair.from_bytes(bytes(json.loads(bytes(secret.reveal()))))
            await world.node.fund(made.address, 10**9)
            await world.node.fund(made.address, 100 * 10**6, str(MINT))
            yield Owner(world, wallet, made, key)
        finally:
            await wallet.close()


async def test_amounts_are_counted_as_the_mint_does(tmp_path: Path) -> None:
    """Whatever a list says: balances, delegates, and what a policy is sealed by."""
    async with owner(tmp_path) as someone:
        wrong = replace(DOLLAR, decimals=9)
        client = await someone.wallet.client()
        (held,) = (await client.balances(someone.account.address, "solana", [wrong])).balances
        assert (held.units, held.asset) == (100 * 10**6, DOLLAR)
        await someone.delegate(Keypair().pubkey(), 5_000_000)
        (one,) = (await client.allowances(someone.account.address, "solana", [wrong])).allowances
        assert one.token == DOLLAR
        phrase = sandbox_passphrase(someone.wallet.settings.places)
        token = PolicyToken(None, DOLLAR.contract, 9, "USDC", "solana")
        for mint, words in ((token, "has 6"), (replace(token, contract=str(TOKEN)), "not say")):
            limit = Limit(SpendWindow.DAY, Decimal(1), mint)
            with refused("token_decimals", match=words):
                await client.set_policy(SpendingPolicy((limit,)), phrase)
        limit = Limit(SpendWindow.DAY, Decimal(1), replace(token, decimals=6))
        await client.set_policy(SpendingPolicy((limit,)), phrase)


async def test_a_delegate_is_told_and_its_right_ended_once(tmp_path: Path) -> None:
    async with owner(tmp_path) as someone:
        assert await someone.allowed() == ()
        stranger = Keypair().pubkey()
        await someone.delegate(stranger, 5_000_000)
        (one,) = await someone.allowed()
        assert one == Allowance(DOLLAR, str(stranger), 5_000_000, unlimited=False)
        # One delegate at a time: the next takes the place of the first.
        maker = someone.world.node.keypair(MAKER).pubkey()
        await someone.delegate(maker, (1 << 64) - 1)
        (one,) = await someone.allowed()
        assert (one.spender, one.unlimited, one.venue) == (str(maker), True, "at")

        await someone.wallet.unlock()
        # The chain goes on with every look, so nobody has to wait between two.
        propose = partial(propose_revocation, someone.wallet, EagerClock())
        proposed = await propose(someone.account, someone.link, one)
        review = proposed.review
        assert review is not None
        assert review.findings == ()
        assert review.title == "An approval of nothing: the allowance ends"
        assert all(line.match is not Match.DIFFERS for line in review.lines)
        assert proposed.refusal is None
        warned = RuleFinding("GAS_HIGH", Severity.WARN, "Gas is dear.")
        wrong = RuleFinding("SPENDER_UNKNOWN", Severity.REFUSE, "Nobody knows this spender.")
        refusing = replace(proposed, review=replace(review, findings=(warned, wrong)))
        assert refusing.refusal == "Nobody knows this spender. Rule SPENDER_UNKNOWN."
        typed = replace(proposed, review=replace(review, phrase="revoke", findings=(warned,)))
        assert typed.refusal == "Gas is dear. Rule GAS_HIGH."
        # Signed and not sent, as a desk leaves it that ends here: the next one goes on with it.
        written = await (await someone.wallet.client()).sign(review)
        assert isinstance(written, SignedTransaction)
        again = await propose(someone.account, someone.link, one)
        assert again.transaction == written
        ended = await again.send()
        assert ended == Outcome(hash=written.hash)
        assert await someone.allowed() == ()
        (held,) = await someone.world.client.holdings(someone.account.address, str(MINT))
        assert held.units == 100 * 10**6
        signed = await (await someone.wallet.client()).transactions()
        assert [each.hash for each in signed] == [written.hash]
        nothing = Allowance(Asset("X", 6, str(Keypair().pubkey())), "x", 1, unlimited=False)
        with pytest.raises(Exception, match="no token of the chain"):
            await propose(someone.account, someone.link, nothing)
        # Without a token account there is nothing to end, and the chain says so.
        jupiter = Allowance(OTHER, "x", 1, unlimited=False)
        proposed = await propose(someone.account, someone.link, jupiter)
        assert {each.code for each in proposed.review.findings} == {"SIMULATION_FAILED"}
