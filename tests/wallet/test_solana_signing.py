"""Solana payments through a real agent, gate and chain."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import field
from msgspec.structs import replace
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from swapdesk.chain.solana import Memo, Transfer
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import SolanaPayload, TransactionPayload
from swapdesk.wallet.promise import Asset, DepositPromise, Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from wallet.solana_account import SOL, SolanaAccount, holding

State = TransactionState
UNITS = 10**8


class Payer(SolanaAccount):
    deposit: str = field(default_factory=lambda: str(Keypair().pubkey()))

    def promise(self, intent: str) -> Promise:
        now = datetime.now(UTC)
        return Promise(
            intent_id=intent,
            account=str(self.me),
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
        """The order's id makes it one of its own."""
        paid = Transfer(self.me, Pubkey.from_string(self.deposit), UNITS).build()
        instructions = [paid, Memo(f"order-{intent}").build(), *more]
        return await self.payload(Purpose.DEPOSIT, instructions, **changed)

    async def paid(self) -> int:
        return await self.coins(self.deposit)


@asynccontextmanager
async def payer(directory: Path) -> AsyncIterator[Payer]:
    async with holding(Payer, directory, 10 * 10**9, {}) as made:
        yield made


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
        thief = Keypair().pubkey()
        for payload in (
            await someone.payment("c", Transfer(someone.me, thief, 1).build()),
            await someone.payment("c", blockhash=str(Hash.default())),
            replace(await someone.payment("c"), transaction="AAAA"),
            replace(await someone.payment("c"), transaction="no base64"),
        ):
            assert await someone.refused(payload, someone.promise("c"))
        funding = replace(await someone.payment("c"), purpose=Purpose.FUND)
        assert "FUNDING_PAYEE_DIFFERS" in await someone.refused(funding, someone.promise("c"))
        evm = TransactionPayload(Purpose.DEPOSIT, "0x" + "11" * 20, "0x", 1)
        with pytest.raises(Refused) as other:
            await someone.agent.review(evm, someone.promise("c"))
        assert other.value.code is Code.OTHER_CHAIN
