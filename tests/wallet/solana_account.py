"""An account on the embedded Solana chain, whose key a real wallet agent holds."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from msgspec import Struct
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from sandbox.solana.solana_world import USDC, World, running
from swapdesk.sandbox.node.solana.genesis import MAKER
from swapdesk.wallet.accounts import ChainLink, Kind, WalletPlace
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import SolanaPayload
from swapdesk.wallet.promise import Asset, Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.transactions import SignedTransaction
from wallet.agents import CHEAP, PASSPHRASE

SOL, DOLLAR = Asset("SOL", 9, None), Asset("USDC", 6, str(USDC))


class SolanaAccount(Struct):
    world: World
    agent: WalletClient
    me: Pubkey

    @property
    def maker(self) -> Keypair:
        """Of the venue whose swaps have two parties."""
        return self.world.node.keypair(MAKER)

    async def payload(
        self,
        purpose: Purpose,
        instructions: Sequence[Instruction],
        *,
        payer: Pubkey | None = None,
        signers: Sequence[Keypair] = (),
        blockhash: str | None = None,
        legacy: bool = False,
    ) -> SolanaPayload:
        """Over the newest blockhash; signed by ``signers``, as far as they have to, and not by the
        account."""
        newest = await self.world.client.latest_blockhash()
        hash_ = Hash.from_string(blockhash or newest.blockhash)
        if legacy:
            message: Message | MessageV0 = Message.new_with_blockhash(
                list(instructions), payer or self.me, hash_
            )
        else:
            message = MessageV0.try_compile(payer or self.me, list(instructions), [], hash_)
        body = to_bytes_versioned(message)
        made = {one.pubkey(): one.sign_message(body) for one in signers}
        needed = message.account_keys[: message.header.num_required_signatures]
        whole = VersionedTransaction.populate(
            message, [made.get(key, Signature.default()) for key in needed]
        )
        return SolanaPayload(purpose, b64encode(bytes(whole)).decode(), newest.last_height)

    async def coins(self, address: str | None = None) -> int:
        """Lamports, of the account itself or of another."""
        return await self.world.client.balance(address or str(self.me))

    async def dollars(self, owner: str | None = None) -> int:
        """Units, of the account itself or of another."""
        held = await self.world.client.holdings(owner or str(self.me), str(USDC))
        return sum(one.units for one in held)

    async def holds(self) -> tuple[int, int]:
        """Lamports and units of the dollar."""
        return await self.coins(), await self.dollars()

    async def signed(self, payload: SolanaPayload, promise: Promise) -> SignedTransaction:
        review = await self.agent.review(payload, promise)
        assert not review.refused, review.findings
        assert review.phrase is None
        signed = await self.agent.sign(review)
        return signed

    async def refused(self, payload: SolanaPayload, promise: Promise) -> set[str]:
        """The rules that refuse it. Nothing is signed, whatever is answered, and nothing moves."""
        before = await self.holds()
        review = await self.agent.review(payload, promise)
        assert review.refused
        for phrase in (None, review.phrase):
            with pytest.raises(Refused) as said:
                await self.agent.sign(review, phrase)
            # What cannot be read has no digest that could be signed.
            assert said.value.code is (Code.GATE if review.digest else Code.BAD_REQUEST)
        assert await self.agent.transactions(promise.intent_id) == ()
        assert await self.holds() == before
        return {one.code for one in review.findings}


Holder = TypeVar("Holder", bound=SolanaAccount)


@asynccontextmanager
async def holding(
    kind: type[Holder], directory: Path, lamports: int, tokens: dict[Pubkey, int]
) -> AsyncIterator[Holder]:
    """A new account with coins and with units of tokens, on a chain of its own."""
    async with running(directory / "chain") as world:
        link = ChainLink("solana", Kind.SOLANA, None, world.url, 1)
        maker = (("at", str(world.node.keypair(MAKER).pubkey())),)
        place = WalletPlace(str(directory / "keys"), "sandbox", (link,), makers=maker)
        agent = await WalletClient.start(place, program=CHEAP)
        try:
            made = await agent.create(Kind.SOLANA, "", PASSPHRASE)
            await world.node.fund(made.address, lamports)
            for mint, units in tokens.items():
                await world.node.fund(made.address, units, str(mint))
            yield kind(world, agent, Pubkey.from_string(made.address))
        finally:
            await agent.close()
