"""Deposits of orders on Solana through a real agent, gate and chain: the agent builds the
transfer, and its gate reads it as if a stranger had."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec import Struct
from msgspec.structs import replace
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from sandbox.solana.solana_world import USDC, World, running
from swapdesk.chain.solana import (
    Memo,
    read_message,
    read_transaction,
    token_account,
)
from swapdesk.wallet.accounts import ChainLink, Kind, WalletPlace
from swapdesk.wallet.answers import SignedTransaction
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    Asset,
    DepositPromise,
    Promise,
    Purpose,
    SolanaPayload,
    TransactionPayload,
)
from swapdesk.wallet.protocol import RefusalCode, Refused
from wallet.agents import CHEAP, PASSPHRASE
from wallet.refusals import refused

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOL, DOLLAR = Asset("SOL", 9, None), Asset("USDC", 6, str(USDC))
COINS, DOLLARS = 10**8, 60 * 10**6
UNPAID = ("already_signed", "gate")


class Payer(Struct):
    """An account on the embedded Solana chain, whose key a real wallet agent holds."""

    world: World
    agent: WalletClient
    me: Pubkey

    def promise(self, intent: str, sell: Asset, **changed: Any) -> Promise:
        now, units = datetime.now(UTC), COINS if sell is SOL else DOLLARS
        deposit = DepositPromise(
            f"order-{intent}", str(Keypair().pubkey()), None, units, now + timedelta(minutes=10)
        )
        return Promise(
            intent_id=intent,
            account=str(self.me),
            chain="solana",
            chain_id=None,
            sell=sell,
            sell_units=units,
            buy=Asset("ETH", 18, None),
            chain_out="ethereum",
            least_units=0,
            quoted_units=0,
            recipient="0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
            venue="hy",
            quote_id=None,
            valid_until=now + timedelta(minutes=10),
            gas_units=10**7,
            deposit=replace(deposit, **changed),
        )

    async def coins(self, address: str | None = None) -> int:
        """Lamports, of the account itself or of another."""
        return await self.world.client.balance(address or str(self.me))

    async def dollars(self, owner: str | None = None) -> int:
        """Units, of the account itself or of another."""
        held = await self.world.client.holdings(owner or str(self.me), str(USDC))
        return sum(one.units for one in held)

    async def draft(self, promise: Promise) -> SolanaPayload:
        return await self.agent.solana_deposit(promise)

    async def signed(self, promise: Promise) -> SignedTransaction:
        review = await self.agent.review(await self.draft(promise), promise)
        assert not review.refused, review.findings
        assert review.phrase is None
        return await self.agent.sign(review)

    async def pay(self, promise: Promise) -> SignedTransaction:
        return await self.agent.broadcast((await self.signed(promise)).hash)

    async def refusal(
        self, payload: SolanaPayload, promise: Promise
    ) -> tuple[RefusalCode, set[str]]:
        """How the agent refuses, and by which rules. Nothing moves."""
        before = await self.coins(), await self.dollars()
        review = await self.agent.review(payload, promise)
        with pytest.raises(Refused) as refused:
            await self.agent.sign(review, review.phrase)
        assert (await self.coins(), await self.dollars()) == before
        return refused.value.code, {one.code for one in review.findings}


@asynccontextmanager
async def paying(directory: Path) -> AsyncIterator[Payer]:
    """An account with 100 SOL and 1,000 dollars."""
    async with running(directory / "chain") as world:
        link = ChainLink("solana", Kind.SOLANA, None, world.url, 1)
        place = WalletPlace(str(directory / "keys"), "sandbox", (link,))
        agent = await WalletClient.start(place, program=CHEAP)
        try:
            made = await agent.create(Kind.SOLANA, "", PASSPHRASE)
            await world.node.fund(made.address, 100 * 10**9)
            await world.node.fund(made.address, 10**9, str(USDC))
            yield Payer(world, agent, Pubkey.from_string(made.address))
        finally:
            await agent.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def payer(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Payer]:
    async with paying(tmp_path_factory.mktemp("deposits")) as made:
        yield made


async def test_a_deposit_is_signed_sent_and_known_to_be_done(payer: Payer) -> None:
    promise = payer.promise("coins", SOL)
    deposit = promise.deposit
    before = await payer.coins()
    signed = await payer.signed(promise)
    assert (signed.word, signed.nonce) == ("signed", None)
    assert await payer.coins() == before
    # The same bytes again change nothing.
    for _ in range(2):
        assert (await payer.agent.broadcast(signed.hash)).word == "sent"
        assert await payer.coins(deposit.address) == COINS
    assert before - await payer.coins() == COINS + 5_000
    payer.world.time.pass_blocks(40)
    assert (await payer.agent.resolve(signed.hash)).word == "succeeded"
    # One confirmation pays once.
    assert (await payer.refusal(await payer.draft(promise), promise))[0] in UNPAID


async def test_a_payment_that_expired_may_be_signed_anew_and_only_then(payer: Payer) -> None:
    promise = payer.promise("expired", SOL)
    deposit = promise.deposit
    signed = await payer.signed(promise)
    payer.world.faults.set("drop_transaction", "chain", "solana", times=1)
    await payer.agent.broadcast(signed.hash)
    payer.world.time.pass_blocks(10)
    assert (await payer.refusal(await payer.draft(promise), promise))[0] in UNPAID
    # Its blockhash has ended and the chain is not final yet: it might still be there.
    payer.world.time.pass_blocks(141)
    assert (await payer.refusal(await payer.draft(promise), promise))[0] in UNPAID
    with refused("chain_refused"):
        await payer.agent.resolve(signed.hash)
    payer.world.time.pass_blocks(32)
    assert (await payer.agent.resolve(signed.hash)).word == "lost"
    await payer.pay(promise)
    assert await payer.coins(deposit.address) == COINS


async def test_what_moves_is_told_in_the_coins_of_this_chain(payer: Payer) -> None:
    """What is bought is the coin of another chain, which has no contract either."""
    promise = payer.promise("told", SOL)
    review = await payer.agent.review(await payer.draft(promise), promise)
    mine = [one for one in review.simulation.changes if one.holder == str(payer.me)]
    assert [(one.symbol, one.decimals, one.units) for one in mine] == [("SOL", 9, -COINS - 5_000)]


@pytest.mark.parametrize("there", ["no account", "an account", "a token account"])
async def test_tokens_reach_whoever_the_deposit_address_is(payer: Payer, there: str) -> None:
    owner = Keypair().pubkey()
    if there != "no account":
        await payer.world.node.fund(str(owner), 5, str(USDC))
    held = token_account(owner, USDC)
    address = held if there == "a token account" else owner
    promise = payer.promise(f"tokens {there}", DOLLAR, address=str(address))
    await payer.pay(promise)
    assert await payer.dollars(str(owner)) == DOLLARS + (0 if there == "no account" else 5)


async def test_a_memo_is_the_orders_else_its_id(payer: Payer) -> None:
    for tag in (None, "12345"):
        promise = payer.promise(f"memo {tag}", SOL, tag=tag)
        draft = await payer.draft(promise)
        read = read_message(read_transaction(b64decode(draft.transaction)).message)
        memos = [one.text for one in read.instructions if isinstance(one, Memo)]
        assert memos == [tag or promise.deposit.order_id]
        await payer.pay(promise)


async def test_what_the_gate_refuses_is_never_signed(payer: Payer) -> None:
    promise = payer.promise("refused", SOL)
    draft = await payer.draft(promise)
    # What cannot be read has no digest that could be signed.
    for payload, code, rule in (
        (replace(draft, transaction="no base64"), "bad_request", "SOLANA_UNREADABLE"),
        (replace(draft, purpose=Purpose.FUND), "gate", "FUNDING_PAYEE_DIFFERS"),
    ):
        told, rules = await payer.refusal(payload, promise)
        assert told is code
        assert rule in rules
    evm = TransactionPayload(Purpose.DEPOSIT, "0x" + "11" * 20, "0x", 1)
    with refused("other_chain"):
        await payer.agent.review(evm, promise)
    assert await payer.agent.transactions(promise.intent_id) == ()


async def test_what_cannot_be_paid_fails_before_it_is_signed(payer: Payer) -> None:
    rich = 10**6 * 10**6
    promise = replace(payer.promise("rich", DOLLAR, units=rich), sell_units=rich)
    _, rules = await payer.refusal(await payer.draft(promise), promise)
    assert "SIMULATION_FAILED" in rules
    for fields in ({"address": "no address"}, {"address": "1" * 31}):
        with pytest.raises(Refused):
            await payer.draft(payer.promise("bad", SOL, **fields))
    with pytest.raises(Refused):
        await payer.draft(replace(promise, deposit=None))
    for contract in (str(Keypair().pubkey()), "no address"):
        with pytest.raises(Refused):
            await payer.draft(replace(promise, sell=Asset("X", 6, contract)))
