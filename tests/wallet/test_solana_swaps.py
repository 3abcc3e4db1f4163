"""Swaps of two parties on Solana through a real agent, gate and chain: what is let pass, and what
is not although the venue's maker has signed it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from sandbox.solana.solana_world import USDC
from swapdesk.chain.solana import (
    ComputeLimit,
    ComputePrice,
    Memo,
    Transfer,
    TransferChecked,
    token_account,
)
from swapdesk.wallet.payload import SolanaPayload
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wallet.review import Match, Review
from swapdesk.wallet.transactions import TransactionState
from wallet.solana_account import DOLLAR, SOL, SolanaAccount, holding

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOLD, BOUGHT, LEAST = 60 * 10**6, 430_000_000, 428_000_000
State = TransactionState


class Trader(SolanaAccount):
    """It has a coin and a hundred dollars."""

    def promise(self, intent: str, **changed: object) -> Promise:
        """60 USDC for SOL, confirmed just now."""
        made = Promise(
            intent_id=intent,
            account=str(self.me),
            chain="solana",
            chain_id=None,
            sell=DOLLAR,
            sell_units=SOLD,
            buy=SOL,
            chain_out="solana",
            least_units=LEAST,
            quoted_units=BOUGHT,
            recipient=str(self.me),
            venue="at",
            quote_id=f"quote-{intent}",
            valid_until=datetime.now(UTC) + timedelta(minutes=5),
            gas_units=10**7,
        )
        return replace(made, **changed)  # type: ignore[arg-type]

    def tokens(self, source: Pubkey, to: Pubkey, units: int = SOLD) -> Instruction:
        return TransferChecked(
            token_account(source, USDC), USDC, token_account(to, USDC), source, units, 6
        ).build()

    def honest(self, intent: str) -> list[Instruction]:
        maker = self.maker.pubkey()
        return [
            ComputeLimit(100_000).build(),
            ComputePrice(1_000).build(),
            Transfer(maker, self.me, BOUGHT).build(),
            self.tokens(self.me, maker),
            Memo(f"swap {intent}").build(),
        ]

    async def half(
        self,
        instructions: Sequence[Instruction],
        *,
        signers: Sequence[Keypair] | None = None,
        **changed: Any,
    ) -> SolanaPayload:
        """Signed by the maker, or by ``signers``, and not by the account."""
        signed_by = [self.maker] if signers is None else signers
        return await self.payload(Purpose.SWAP, instructions, signers=signed_by, **changed)


@asynccontextmanager
async def trader(directory: Path) -> AsyncIterator[Trader]:
    async with holding(Trader, directory, 10**9, {USDC: 100 * 10**6}) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def someone(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Trader]:
    async with trader(tmp_path_factory.mktemp("swaps")) as made:
        yield made


async def test_an_honest_half_is_signed_written_down_sent_and_final(tmp_path: Path) -> None:
    async with trader(tmp_path) as someone:
        agent, promise = someone.agent, someone.promise("a")
        review: Review = await agent.review(await someone.half(someone.honest("a")), promise)
        assert (review.findings, review.phrase) == ((), None)
        assert all(one.match is not Match.DIFFERS for one in review.lines)
        moved = {
            one.contract: one.units
            for one in review.simulation.changes
            if one.holder == str(someone.me)
        }
        assert moved == {DOLLAR.contract: -SOLD, None: BOUGHT - 10_100}
        signed = await agent.sign(review)
        newest = await someone.world.client.latest_blockhash()
        # The half was made over a block that is not confirmed yet.
        assert (signed.state, signed.last_valid_height) == (State.SIGNED, newest.last_height)
        assert await someone.holds() == (10**9, 100 * 10**6)
        await agent.broadcast(signed.hash)
        await agent.broadcast(signed.hash)
        assert await someone.holds() == (10**9 + BOUGHT - 10_100, 40 * 10**6)
        someone.world.time.pass_blocks(40)
        assert (await agent.resolve(signed.hash)).state is State.SUCCEEDED
        # Another half for the same confirmation is paid no second time.
        other = await someone.half([*someone.honest("a")[:-1], Memo("again").build()])
        again = await agent.review(other, promise)
        assert "PAID_ALREADY" in {one.code for one in again.findings}


async def test_what_the_maker_signed_is_judged_like_anything_else(someone: Trader) -> None:
    promise, thief = someone.promise("thief"), Keypair().pubkey()
    honest = someone.honest("thief")
    payload = await someone.half([*honest, Transfer(someone.me, thief, 1).build()])
    assert "COUNTERPARTY_UNKNOWN" in await someone.refused(payload, promise)
    unsigned = await someone.half(honest, signers=[])
    assert "COSIGNER_UNKNOWN" in await someone.refused(unsigned, promise)
    unknown = await someone.half(honest, blockhash=str(Hash.default()))
    assert "BLOCKHASH_OLD" in await someone.refused(unknown, promise)
    large = await someone.half([*honest, Memo("x" * 900).build()])
    assert await someone.refused(large, promise) == {"SOLANA_UNREADABLE"}


async def test_both_versions_of_messages_are_read(someone: Trader) -> None:
    payload = await someone.half(someone.honest("legacy"), legacy=True)
    review = await someone.agent.review(payload, someone.promise("legacy"))
    assert review.findings == ()
