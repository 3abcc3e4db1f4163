"""Swaps of two parties on Solana through a real agent, gate and chain: what is let pass, and what
is not although the venue's maker has signed it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from sandbox.solana.solana_world import USDC
from swapdesk.chain.solana import (
    TOKEN,
    AdvanceNonce,
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Memo,
    Transfer,
    TransferChecked,
    token_account,
)
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import SolanaPayload
from swapdesk.wallet.promise import Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.review import Match, Review
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from wallet.solana_account import DOLLAR, SOL, SolanaAccount, holding

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOLD, BOUGHT, LEAST = 60 * 10**6, 430_000_000, 428_000_000
THIEF = Keypair()
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
        signed_by = [self.maker, THIEF] if signers is None else signers
        return await self.payload(Purpose.SWAP, instructions, signers=signed_by, **changed)


@asynccontextmanager
async def trader(directory: Path) -> AsyncIterator[Trader]:
    async with holding(Trader, directory, 10**9, {USDC: 100 * 10**6}) as made:
        await made.world.node.fund(str(THIEF.pubkey()), 10**9)
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
        assert review.simulation is not None
        moved = {
            one.contract: one.units
            for one in review.simulation.changes
            if one.holder == str(someone.me)
        }
        assert moved == {DOLLAR.contract: -SOLD, None: BOUGHT - 10_100}
        signed = await agent.sign(review)
        assert isinstance(signed, SignedTransaction)
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


async def test_a_second_half_is_signed_only_when_the_first_can_never_be(tmp_path: Path) -> None:
    async with trader(tmp_path) as someone:
        agent, promise = someone.agent, someone.promise("b")
        first = await agent.sign(
            await agent.review(await someone.half(someone.honest("b")), promise)
        )
        assert isinstance(first, SignedTransaction)
        someone.world.faults.add("solana", "drop_transaction", 1)
        await agent.broadcast(first.hash)
        # Its blockhash has ended and the chain is not final yet: it might still be there.
        someone.world.time.pass_blocks(151)
        fresh = await someone.half(someone.honest("b"))
        early = await agent.review(fresh, promise)
        with pytest.raises(Refused):
            await agent.sign(early)
        with pytest.raises(Refused) as said:
            await agent.resolve(first.hash)
        assert said.value.code is Code.CHAIN_REFUSED
        someone.world.time.pass_blocks(32)
        assert (await agent.resolve(first.hash)).state is State.LOST
        fresh = await someone.half(someone.honest("b"))
        second = await agent.sign(await agent.review(fresh, promise))
        assert isinstance(second, SignedTransaction)
        await agent.broadcast(second.hash)
        assert (await someone.holds())[1] == 40 * 10**6


Change = Callable[[Trader, list[Instruction]], list[Instruction]]


def unknown(someone: Trader) -> Instruction:
    return Instruction(THIEF.pubkey(), b"\1", [AccountMeta(someone.me, True, True)])


def delegate(someone: Trader) -> Instruction:
    metas = [
        AccountMeta(token_account(someone.me, USDC), False, True),
        AccountMeta(THIEF.pubkey(), False, False),
        AccountMeta(someone.me, True, False),
    ]
    return Instruction(TOKEN, b"\x04" + b"\xff" * 8, metas)


def placed(at: int, one: Callable[[Trader], Instruction]) -> Change:
    return lambda someone, honest: [*honest[:at], one(someone), *honest[at + 1 :]]


def added(one: Callable[[Trader], Instruction]) -> Change:
    return lambda someone, honest: [*honest, one(someone)]


DISHONEST: dict[str, tuple[Change, str]] = {
    "pays a thief too": (
        added(lambda me: Transfer(me.me, THIEF.pubkey(), 1).build()),
        "COUNTERPARTY_UNKNOWN",
    ),
    "pays the maker more": (
        added(lambda me: Transfer(me.me, me.maker.pubkey(), 1).build()),
        "TOKEN_SOLD_DIFFERS",
    ),
    "pays the maker twice": (added(lambda me: me.tokens(me.me, me.maker.pubkey())), "SOLD_ABOVE"),
    "pays a thief": (
        placed(3, lambda me: me.tokens(me.me, THIEF.pubkey())),
        "COUNTERPARTY_UNKNOWN",
    ),
    "sells one unit more": (
        placed(3, lambda me: me.tokens(me.me, me.maker.pubkey(), SOLD + 1)),
        "SOLD_ABOVE",
    ),
    "buys one unit less": (
        placed(2, lambda me: Transfer(me.maker.pubkey(), me.me, LEAST - 1).build()),
        "LEAST_BELOW",
    ),
    "pays somebody else": (
        placed(2, lambda me: Transfer(me.maker.pubkey(), THIEF.pubkey(), BOUGHT).build()),
        "RECIPIENT_DIFFERS",
    ),
    "pays nobody": (lambda me, honest: [*honest[:2], *honest[3:]], "PURPOSE_DIFFERS"),
    "is paid by a stranger": (
        placed(2, lambda me: Transfer(THIEF.pubkey(), me.me, BOUGHT).build()),
        "COSIGNER_UNKNOWN",
    ),
    "calls an unknown program": (added(unknown), "SOLANA_INSTRUCTION_UNKNOWN"),
    "delegates everything": (added(delegate), "SOLANA_INSTRUCTION_UNKNOWN"),
    "never expires": (
        lambda me, honest: [AdvanceNonce(THIEF.pubkey(), USDC, me.me).build(), *honest],
        "SOLANA_DURABLE_NONCE",
    ),
    "opens an account for a thief": (
        added(lambda me: CreateTokenAccount(me.me, THIEF.pubkey(), USDC).build()),
        "RENT_FOR_STRANGER",
    ),
    "offers a dear fee": (placed(1, lambda me: ComputePrice(10**9).build()), "GAS_ABOVE"),
    "states its fee twice": (added(lambda me: ComputeLimit(1_000).build()), "SOLANA_REPEATED"),
}


@pytest.mark.parametrize("name", DISHONEST)
async def test_what_the_maker_signed_is_judged_like_anything_else(
    someone: Trader, name: str
) -> None:
    change, rule = DISHONEST[name]
    payload = await someone.half(change(someone, someone.honest(name)))
    assert rule in await someone.refused(payload, someone.promise(name))


async def test_a_foreign_payer_of_the_fee_is_refused(someone: Trader) -> None:
    for payer in (THIEF.pubkey(), someone.maker.pubkey()):
        payload = await someone.half(someone.honest("payer"), payer=payer)
        assert "FEE_PAYER_DIFFERS" in await someone.refused(payload, someone.promise("payer"))


async def test_the_makers_signature_has_to_be_there_and_right(someone: Trader) -> None:
    honest = someone.honest("maker")
    missing = await someone.half(honest, signers=[THIEF])
    assert "COSIGNER_UNKNOWN" in await someone.refused(missing, someone.promise("maker"))
    # Another venue's maker is nobody to this quote.
    payload = await someone.half(honest)
    other = someone.promise("maker", venue="ba")
    assert {"COSIGNER_UNKNOWN", "COUNTERPARTY_UNKNOWN"} <= await someone.refused(payload, other)


async def test_a_transaction_larger_than_a_packet_is_refused(someone: Trader) -> None:
    long = Memo("x" * 900).build()
    payload = await someone.half([*someone.honest("large"), long])
    assert await someone.refused(payload, someone.promise("large")) == {"SOLANA_UNREADABLE"}


async def test_an_old_and_an_unknown_blockhash_are_refused(someone: Trader) -> None:
    old = await someone.world.client.latest_blockhash()
    someone.world.time.pass_blocks(135)
    payload = await someone.half(someone.honest("old"), blockhash=old.blockhash)
    payload = replace(payload, last_valid_height=old.last_height)
    assert await someone.refused(payload, someone.promise("old")) == {"BLOCKHASH_OLD"}
    payload = await someone.half(someone.honest("never"), blockhash=str(Hash.default()))
    assert "BLOCKHASH_OLD" in await someone.refused(payload, someone.promise("never"))


async def test_what_fails_on_the_chain_is_not_signed(someone: Trader) -> None:
    """More than the account holds, although it was confirmed."""
    honest = someone.honest("poor")
    honest[3] = someone.tokens(someone.me, someone.maker.pubkey(), 101 * 10**6)
    payload = await someone.half(honest)
    promise = someone.promise("poor", sell_units=101 * 10**6)
    assert await someone.refused(payload, promise) == {"SIMULATION_FAILED"}


async def test_both_versions_of_messages_are_read(someone: Trader) -> None:
    payload = await someone.half(someone.honest("legacy"), legacy=True)
    review = await someone.agent.review(payload, someone.promise("legacy"))
    assert review.findings == ()
