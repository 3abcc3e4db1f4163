"""Solana payments through a real agent, gate and chain."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey

from sandbox.solana.solana_world import World, running
from swapdesk.chain.solana.instructions import Memo, Transfer
from swapdesk.chain.solana.transaction import unsigned
from swapdesk.wallet.accounts import Kind
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import SolanaPayload
from swapdesk.wallet.place import ChainLink, WalletPlace
from swapdesk.wallet.promise import Asset, DepositPromise, Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from wallet.agents import CHEAP, PASSPHRASE

State = TransactionState
SOL = Asset("SOL", 9, None)
UNITS = 10**8


@dataclass
class Payer:
    world: World
    agent: WalletClient
    address: str
    deposit: str

    def promise(self, intent: str) -> Promise:
        now = datetime.now(UTC)
        return Promise(
            intent_id=intent,
            account=self.address,
            chain="solana",
            chain_id=None,
            sell=SOL,
            sell_units=UNITS,
            buy=Asset("ETH", 18, None),
            chain_out="ethereum",
            least_units=1,
            quoted_units=1,
            recipient="0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
            venue=None,
            quote_id=None,
            valid_until=now + timedelta(minutes=10),
            gas_units=10**6,
            deposit=DepositPromise(
                f"order-{intent}", self.deposit, None, UNITS, now + timedelta(minutes=10)
            ),
        )

    async def payment(self, intent: str, *more: Instruction, **changed: Any) -> SolanaPayload:
        """Built over the newest blockhash; the order's id makes it one of its own."""
        newest = await self.world.client.latest_blockhash()
        payer = Pubkey.from_string(self.address)
        paid = Transfer(payer, Pubkey.from_string(self.deposit), UNITS)
        message = MessageV0.try_compile(
            payer,
            [paid.build(), Memo(f"order-{intent}").build(), *more],
            [],
            Hash.from_string(changed.get("blockhash", newest.blockhash)),
        )
        whole = b64encode(bytes(unsigned(message))).decode()
        return SolanaPayload(Purpose.DEPOSIT, whole, newest.last_height)

    async def paid(self) -> int:
        return await self.world.client.balance(self.deposit)


@asynccontextmanager
async def payer(directory: Path) -> AsyncIterator[Payer]:
    async with running(directory / "chain") as world:
        link = ChainLink("solana", Kind.SOLANA, None, world.url, 1)
        place = WalletPlace(str(directory / "keys"), "sandbox", (link,))
        agent = await WalletClient.start(place, program=CHEAP)
        try:
            made = await agent.create(Kind.SOLANA, "", PASSPHRASE)
            await world.node.fund(made.address, 10 * 10**9)
            yield Payer(world, agent, made.address, str(Keypair().pubkey()))
        finally:
            await agent.close()


async def test_a_deposit_is_signed_sent_and_known_to_be_done(tmp_path: Path) -> None:
    async with payer(tmp_path) as someone:
        agent = someone.agent
        review = await agent.review(await someone.payment("a"), someone.promise("a"))
        assert not review.refused, review.findings
        signed = await agent.sign(review)
        assert isinstance(signed, SignedTransaction)
        assert (signed.state, signed.nonce) == (State.SIGNED, None)
        assert await someone.paid() == 0
        sent = await agent.broadcast(signed.hash)
        assert sent.state is State.SENT
        assert await someone.paid() == UNITS
        # The same bytes again change nothing.
        await agent.broadcast(signed.hash)
        someone.world.time.pass_blocks(40)
        assert (await agent.resolve(signed.hash)).state is State.SUCCEEDED
        assert await someone.paid() == UNITS
        # One confirmation pays once.
        again = await agent.review(await someone.payment("a"), someone.promise("a"))
        with pytest.raises(Refused):
            await agent.sign(again)


async def test_a_payment_that_expired_may_be_signed_anew_and_only_then(tmp_path: Path) -> None:
    async with payer(tmp_path) as someone:
        agent = someone.agent
        signed = await agent.sign(
            await agent.review(await someone.payment("b"), someone.promise("b"))
        )
        assert isinstance(signed, SignedTransaction)
        someone.world.time.pass_blocks(10)
        second = await agent.review(await someone.payment("b"), someone.promise("b"))
        with pytest.raises(Refused) as refused:
            await agent.sign(second)
        assert refused.value.code in (Code.ALREADY_SIGNED, Code.GATE)
        someone.world.time.pass_blocks(400)
        with pytest.raises(Refused) as refused:
            await agent.broadcast(signed.hash)
        assert refused.value.code is Code.CHAIN_REFUSED
        lost = await agent.resolve(signed.hash)
        assert lost.state is State.LOST
        third = await agent.sign(
            await agent.review(await someone.payment("b"), someone.promise("b"))
        )
        assert isinstance(third, SignedTransaction)
        await agent.broadcast(third.hash)
        assert await someone.paid() == UNITS


async def test_a_payload_of_another_kind_is_refused(tmp_path: Path) -> None:
    async with payer(tmp_path) as someone:
        agent = someone.agent
        thief = Pubkey.from_string(str(Keypair().pubkey()))
        extra = Transfer(Pubkey.from_string(someone.address), thief, 1).build()
        for payload in (
            await someone.payment("c", extra),
            await someone.payment("c", blockhash=str(Hash.default())),
            replace(await someone.payment("c"), transaction="AAAA"),
            replace(await someone.payment("c"), transaction="no base64"),
        ):
            review = await agent.review(payload, someone.promise("c"))
            assert review.refused
            with pytest.raises(Refused):
                await agent.sign(review)
        assert await agent.transactions("c") == ()
