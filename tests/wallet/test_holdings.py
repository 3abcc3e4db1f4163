"""What an account has and who may take of it, read through a real agent from real chains."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from swapdesk.chain.calldata import erc20, permit2
from swapdesk.chain.deployments import MULTICALL3, PERMIT2
from swapdesk.wallet.accounts import Kind
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.holdings import Allowance
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Asset, Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode
from wallet.agents import CHEAP, PASSPHRASE
from wallet.signing import CHAIN, DOLLARS, ETH, ROUTER, USDC, Trader

NO_TOKEN = Asset("NONE", 18, "0x00000000000000000000000000000000000000aa")


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def executed(
    someone: Trader, agent: WalletClient, payload: TransactionPayload, promise: Promise
) -> None:
    signed = await someone.signed(agent, payload, promise)
    await agent.broadcast(signed.hash)
    await someone.settled(agent, signed)


async def test_balances_are_told_while_the_wallet_is_locked(someone: Trader) -> None:
    client = await WalletClient.start(someone.place, program=CHEAP)
    try:
        assert client.accounts.unlocked == ()
        told = await client.balances(someone.address, CHAIN, [ETH, USDC, NO_TOKEN])
    finally:
        await client.close()
    coins = someone.world.chain(CHAIN).accounts.get_balance(bytes.fromhex(someone.address[2:]))
    assert 9 * 10**18 < coins <= 10 * 10**18
    assert [(one.asset.symbol, one.units) for one in told.balances] == [
        ("ETH", coins),
        ("USDC", DOLLARS),
        # An address without code answers nothing, which is not "no tokens".
        ("NONE", None),
    ]


async def test_amounts_are_told_by_the_decimals_of_the_chain(someone: Trader) -> None:
    """A list that says 8 would show 10 of 1,000 dollars."""
    wrong = [replace(one, decimals=one.decimals + 2) for one in (ETH, USDC)]
    async with someone.agent() as client:
        told = await client.balances(someone.address, CHAIN, wrong)
        assert [one.asset.decimals for one in told.balances] == [18, 6]
        smart = await client.smart_account(someone.address, CHAIN, wrong)
        # Nothing is nothing by any decimals, and no question is asked for it.
        assert [(one.units, one.asset.decimals) for one in smart.balances] == [(0, 20), (0, 8)]


async def test_an_allowance_is_seen_and_revoked(someone: Trader) -> None:
    stranger = "0x00000000000000000000000000000000DeaDBeef"
    async with someone.agent() as agent:
        none = await agent.allowances(someone.address, CHAIN, [USDC])
        assert none.allowances == ()
        assert none.complete

        data = erc20.APPROVE.call(ROUTER["fa"], 100 * 10**6)
        payload = TransactionPayload(Purpose.APPROVE, USDC.contract, "0x" + data.hex(), 0)
        await executed(someone, agent, payload, someone.promise("allow"))
        told = await agent.allowances(someone.address, CHAIN, [USDC])
        assert told.allowances == (Allowance(USDC, ROUTER["fa"], 100 * 10**6, False, "fa"),)
        assert told.complete

        call = await agent.revocation(USDC.contract, ROUTER["fa"])
        end = TransactionPayload(Purpose.REVOKE, call.to, call.data, 0)
        await executed(someone, agent, end, someone.promise("revoke", venue=None, sell_units=0))
        assert (await agent.allowances(someone.address, CHAIN, [USDC])).allowances == ()

        with pytest.raises(Refused) as refused:
            await agent.revocation(USDC.contract, stranger[:-1])
        assert refused.value.code is RefusalCode.BAD_REQUEST


async def test_a_spender_nobody_knows_is_found_in_the_events(someone: Trader) -> None:
    """Approved by a configuration that is gone since: only the chain remembers it."""
    place = replace(someone.place, spenders=(MULTICALL3,))
    client = await WalletClient.start(place, program=CHEAP)
    try:
        await client.unlock(PASSPHRASE)
        data = erc20.APPROVE.call(MULTICALL3, erc20.UNLIMITED)
        payload = TransactionPayload(Purpose.APPROVE, USDC.contract, "0x" + data.hex(), 0)
        promise = someone.promise("allow anything", venue=None, unlimited=True)
        await executed(someone, client, payload, promise)
    finally:
        await client.close()
    async with someone.agent() as agent:
        told = await agent.allowances(someone.address, CHAIN, [USDC, NO_TOKEN])
        call = await agent.revocation(USDC.contract, MULTICALL3)
        end = TransactionPayload(Purpose.REVOKE, call.to, call.data, 0)
        await executed(someone, agent, end, someone.promise("nothing", venue=None, sell_units=0))
        assert (await agent.allowances(someone.address, CHAIN, [USDC])).allowances == ()
    assert told.allowances == (Allowance(USDC, MULTICALL3, erc20.UNLIMITED, True, None),)
    # Where no contract stands nobody can take anything, which leaves no doubt.
    assert told.complete


async def test_a_node_that_is_gone_is_said(someone: Trader) -> None:
    (link,) = someone.place.chains
    gone = replace(link, rpc="http://127.0.0.1:9/")
    client = await WalletClient.start(replace(someone.place, chains=(gone,)), program=CHEAP)
    try:
        with pytest.raises(Refused) as refused:
            await client.balances(someone.address, CHAIN, [ETH])
    finally:
        await client.close()
    assert refused.value.code is RefusalCode.CHAIN_UNREACHABLE


async def test_only_accounts_of_the_wallet_are_looked_at(someone: Trader) -> None:
    async with someone.agent() as agent:
        solana = await agent.create(Kind.SOLANA, "", PASSPHRASE)
        with pytest.raises(Refused) as refused:
            await agent.balances(ROUTER["fa"], CHAIN, [ETH])
        assert refused.value.code is RefusalCode.NO_ACCOUNT
        with pytest.raises(Refused) as other:
            await agent.balances(solana.address, CHAIN, [ETH])
        assert other.value.code is RefusalCode.OTHER_CHAIN


async def test_what_permit2_may_let_others_take_is_seen_and_ended(someone: Trader) -> None:
    """A permit that somebody handed in, as far as the chain tells and until it ends."""
    ends = int(datetime.now(UTC).timestamp()) + 3_000
    data = permit2.APPROVE.call(USDC.contract, ROUTER["fa"], 7 * 10**6, ends)
    payload = TransactionPayload(Purpose.APPROVE, PERMIT2, "0x" + data.hex(), 0)
    async with someone.agent() as agent:
        await executed(someone, agent, payload, someone.promise("grant"))
        told = await agent.allowances(someone.address, CHAIN, [USDC])
        assert told.complete
        (grant,) = told.allowances
        assert (grant.spender, grant.units, grant.venue) == (ROUTER["fa"], 7 * 10**6, "fa")
        assert (grant.permit2, grant.unlimited) == (True, False)
        assert grant.ends == datetime.fromtimestamp(ends, UTC)

        call = await agent.revocation(USDC.contract, grant.spender, permit2=True)
        assert call.to == PERMIT2
        end = TransactionPayload(Purpose.REVOKE, call.to, call.data, 0)
        await executed(
            someone, agent, end, someone.promise("revoke grant", venue=None, sell_units=0)
        )
        assert (await agent.allowances(someone.address, CHAIN, [USDC])).allowances == ()
