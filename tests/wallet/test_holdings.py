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


async def test_what_is_held_is_told_by_the_decimals_of_the_chain(someone: Trader) -> None:
    """While the wallet is locked. A list that says 8 would show 10 of 1,000 dollars."""
    wrong = [replace(one, decimals=one.decimals + 2) for one in (ETH, USDC)]
    client = await WalletClient.start(someone.place, program=CHEAP)
    try:
        assert client.accounts.unlocked == ()
        told = await client.balances(someone.address, CHAIN, [*wrong, NO_TOKEN])
        smart = await client.smart_account(someone.address, CHAIN, wrong)
    finally:
        await client.close()
    coins = someone.world.chain(CHAIN).accounts.get_balance(bytes.fromhex(someone.address[2:]))
    assert 9 * 10**18 < coins <= 10 * 10**18
    assert [(one.asset.symbol, one.units, one.asset.decimals) for one in told.balances] == [
        ("ETH", coins, 18),
        ("USDC", DOLLARS, 6),
        # An address without code answers nothing, which is not "no tokens".
        ("NONE", None, 18),
    ]
    # Nothing is nothing by any decimals, and no question is asked for it.
    assert [(one.units, one.asset.decimals) for one in smart.balances] == [(0, 20), (0, 8)]


ENDS = int(datetime.now(UTC).timestamp()) + 3_000
ALLOWED = {
    "a venue": Allowance(USDC, ROUTER["fa"], 100 * 10**6, False, "fa"),
    # Approved by a configuration that is gone since: only the events of the chain remember it.
    "a stranger": Allowance(USDC, MULTICALL3, erc20.UNLIMITED, True, None),
    # A permit that somebody handed in, until it ends.
    "through Permit2": Allowance(
        USDC, ROUTER["fa"], 7 * 10**6, False, "fa", True, datetime.fromtimestamp(ENDS, UTC)
    ),
}


@pytest.mark.parametrize("who", ALLOWED)
async def test_an_allowance_is_seen_and_revoked(someone: Trader, who: str) -> None:
    one, token = ALLOWED[who], USDC.contract
    if one.permit2:
        to, data = PERMIT2, permit2.APPROVE.call(token, one.spender, one.units, ENDS)
    else:
        to, data = token, erc20.APPROVE.call(one.spender, one.units)
    approve = TransactionPayload(Purpose.APPROVE, to, "0x" + data.hex(), 0)
    promise = someone.promise(f"allow {who}", unlimited=one.unlimited, venue=one.venue)
    configured = replace(someone, place=replace(someone.place, spenders=(MULTICALL3,)))
    async with configured.agent() as agent:
        await executed(someone, agent, approve, promise)
    async with someone.agent() as agent:
        # Where no contract stands nobody can take anything, which leaves no doubt.
        told = await agent.allowances(someone.address, CHAIN, [USDC, NO_TOKEN])
        assert (told.allowances, told.complete) == ((one,), True)
        other = await agent.allowances(someone.address, CHAIN, [NO_TOKEN])
        assert (other.allowances, other.complete) == ((), True)
        call = await agent.revocation(token, one.spender, permit2=one.permit2)
        end = TransactionPayload(Purpose.REVOKE, call.to, call.data, 0)
        promise = someone.promise(f"revoke {who}", venue=None, sell_units=0)
        await executed(someone, agent, end, promise)
        assert (await agent.allowances(someone.address, CHAIN, [USDC])).allowances == ()
        with pytest.raises(Refused) as refused:
            await agent.revocation(token, one.spender[:-1])
        assert refused.value.code is RefusalCode.BAD_REQUEST


async def test_only_accounts_of_the_wallet_are_looked_at(someone: Trader) -> None:
    async with someone.agent() as agent:
        solana = await agent.create(Kind.SOLANA, "", PASSPHRASE)
        with pytest.raises(Refused) as refused:
            await agent.balances(ROUTER["fa"], CHAIN, [ETH])
        assert refused.value.code is RefusalCode.NO_ACCOUNT
        with pytest.raises(Refused) as other:
            await agent.balances(solana.address, CHAIN, [ETH])
        assert other.value.code is RefusalCode.OTHER_CHAIN
