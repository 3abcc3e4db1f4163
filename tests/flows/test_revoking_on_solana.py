"""Delegates of token accounts on Solana: told by the chain, ended by one transaction."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest
from msgspec import Struct
from msgspec.structs import replace
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from client.rude_server import EagerClock
from sandbox.solana.solana_world import USDC, World, running
from service.dex.solana_floor import LookedTime
from swapdesk.chain.solana import TOKEN, token_account
from swapdesk.clock import SystemClock
from swapdesk.flows.signing.wallet_signing import propose_revocation
from swapdesk.flows.transactions import Outcome
from swapdesk.flows.wallet.local_wallet import LocalWallet
from swapdesk.paths import Home
from swapdesk.sandbox.node.solana.genesis import MAKER
from swapdesk.settings import load_settings
from swapdesk.wallet.accounts import Account, ChainLink, Kind, export_phrase
from swapdesk.wallet.answers import Allowance, Match, SignedTransaction
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.sandbox_passphrase import sandbox_passphrase
from swapdesk.wallet.spending import Limit, PolicyToken, SpendingPolicy, SpendWindow
from wallet.agents import CHEAP
from wallet.refusals import refused

DOLLAR = Asset("USDC", 6, str(USDC))
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
            AccountMeta(token_account(me, USDC), False, True),
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
            await world.node.fund(made.address, 100 * 10**6, str(USDC))
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
        # Signed and not sent, as a desk leaves it that ends here: the next one goes on with it.
        written = await (await someone.wallet.client()).sign(review)
        assert isinstance(written, SignedTransaction)
        again = await propose(someone.account, someone.link, one)
        assert again.transaction == written
        ended = await again.send()
        assert ended == Outcome(hash=written.hash)
        assert await someone.allowed() == ()
        (held,) = await someone.world.client.holdings(someone.account.address, str(USDC))
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
