"""Swaps at the venues of the embedded chains: what the gate lets pass, their contracts take."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import pytest_asyncio
from msgspec.structs import replace

from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.calldata.method import method
from swapdesk.chain.deployments import PERMIT2, SANDBOX_VENUES
from swapdesk.chain.rpc.evm import Call, EvmClient
from swapdesk.wallet.accounts import ChainLink, Kind
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.payload import ChainStep, Payload, TransactionPayload, TypedDataPayload
from swapdesk.wallet.promise import Asset, Promise, Purpose
from swapdesk.wallet.review import Match, Review
from swapdesk.wallet.transactions import Signature
from wallet.chains import Chains
from wallet.signing import CHAIN, CHAIN_ID, ETH, USDC, WETH, Trader, trader

pytestmark = pytest.mark.asyncio(loop_scope="module")

THERE = Asset("WETH", 18, "0x82aF49447D8a07e3bd95BD0d56f35241523fBab1")
"""On the other chain."""
ROUTER, PERMIT_ROUTER, SETTLEMENT, PORTAL = (one.address for one in SANDBOX_VENUES)
UNITS = 100 * 10**6
OTHER_CHAIN_ID = 1_337_042_161
ORDER = (
    "owner:address sellToken:address buyToken:address receiver:address sellAmount:uint256 "
    "buyAmount:uint256 feeAmount:uint256 validTo:uint32 nonce:uint256 partiallyFillable:bool "
    "appData:bytes32"
)
DIGEST_OF = method(f"digestOf({venues.ORDER_TUPLE})", "order")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def someone(world: Chains, tmp_path_factory: pytest.TempPathFactory) -> Trader:
    made = await trader(world, tmp_path_factory.mktemp("wallet") / "keys", confirmations=1)
    other = ChainLink("arbitrum", Kind.EVM, OTHER_CHAIN_ID, world.url("arbitrum"), 1)
    made.place = replace(made.place, chains=(*made.place.chains, other))
    return made


def soon() -> int:
    return int((datetime.now(UTC) + timedelta(minutes=9)).timestamp())


def call(purpose: Purpose, to: str, data: bytes, value: int = 0) -> TransactionPayload:
    return TransactionPayload(purpose, to, "0x" + data.hex(), value)


async def looked_at(agent: WalletClient, payload: Payload, promise: Promise) -> Review:
    """The review of something honest: nothing differs and no phrase is asked for."""
    review = await agent.review(payload, promise)
    assert review.findings == ()
    assert review.phrase is None
    assert all(line.match is not Match.DIFFERS for line in review.lines)
    return review


async def executed(
    trader: Trader, agent: WalletClient, payload: TransactionPayload, promise: Promise
) -> Review:
    review = await looked_at(agent, payload, promise)
    signed = await agent.sign(review)
    await agent.broadcast(signed.hash)
    await trader.settled(agent, signed)
    return review


def moved(review: Review, holder: str) -> dict[str | None, int]:
    return {one.contract: one.units for one in review.simulation.changes if one.holder == holder}


async def test_an_approval_and_the_swaps_along_pools(someone: Trader, agent: WalletClient) -> None:
    approve = call(Purpose.APPROVE, USDC.contract or "", erc20.APPROVE.call(ROUTER, UNITS))
    promise = someone.promise("router", venue="ba", buy=WETH)
    await executed(someone, agent, approve, promise)
    path = (USDC.contract, WETH.contract)
    data = venues.SWAP_TOKENS.call(UNITS, 1, path, someone.address, soon())
    review = await looked_at(agent, call(Purpose.SWAP, ROUTER, data), promise)
    changes = moved(review, someone.address)
    assert changes[USDC.contract] == -UNITS
    assert changes[WETH.contract] > 10**15
    coins = someone.promise("router", venue="ba", buy=ETH)
    data = venues.SWAP_FOR_NATIVE.call(UNITS, 1, path, someone.address, soon())
    review = await executed(someone, agent, call(Purpose.SWAP, ROUTER, data), coins)
    assert moved(review, someone.address)[None] > 10**15


async def test_a_swap_of_coins(someone: Trader, agent: WalletClient) -> None:
    promise = someone.promise(
        "coins", venue="ba", sell=ETH, sell_units=10**15, buy=USDC, quoted_units=10**7
    )
    path = (WETH.contract, USDC.contract)
    data = venues.SWAP_NATIVE.call(1, path, someone.address, soon())
    review = await looked_at(agent, call(Purpose.SWAP, ROUTER, data, 10**15), promise)
    assert moved(review, someone.address)[None] == -(10**15)


async def test_a_permit_and_the_swap_that_uses_it(someone: Trader, agent: WalletClient) -> None:
    promise = someone.promise("permit", venue="fa", buy=WETH)
    permit = someone.permit()
    signed = await agent.sign(await looked_at(agent, permit, promise))
    r, s, v = (bytes.fromhex(signed.signature[2:])[i:j] for i, j in ((0, 32), (32, 64), (64, 65)))
    data = venues.SWAP_WITH_PERMIT.call(
        UNITS,
        1,
        (USDC.contract, WETH.contract),
        someone.address,
        soon(),
        int(permit.document["message"]["deadline"]),
        v[0],
        r,
        s,
    )
    swap = call(Purpose.SWAP, PERMIT_ROUTER, data)
    review = await executed(someone, agent, swap, promise)
    told = {(one.match, one.promised) for one in review.lines if "Permit signature" in one.field}
    assert told == {(Match.EQUAL, "the permit that you signed for this swap")}
    assert moved(review, someone.address)[USDC.contract] == -UNITS
    # The permit was used: nobody gets another signature for its nonce.
    again = await agent.review(permit, someone.promise("permit again", venue="fa", buy=WETH))
    assert "NONCE_DIFFERS" in {one.code for one in again.findings}


async def test_an_order_is_signed_as_the_settlement_reads_it(
    someone: Trader, agent: WalletClient
) -> None:
    order = {
        "owner": someone.address,
        "sellToken": USDC.contract,
        "buyToken": WETH.contract,
        "receiver": someone.address,
        "sellAmount": str(UNITS - 10**6),
        "buyAmount": "1",
        "feeAmount": str(10**6),
        "validTo": soon(),
        "nonce": "7",
        "partiallyFillable": False,
        "appData": "0x" + "c9" * 32,
    }
    document = {
        "types": {
            "Order": [
                {"name": name, "type": kind}
                for name, kind in (one.split(":") for one in ORDER.split())
            ]
        },
        "primaryType": "Order",
        "domain": {
            "name": "Isthmus Settlement",
            "version": "2",
            "chainId": CHAIN_ID,
            "verifyingContract": SETTLEMENT,
        },
        "message": order,
    }
    step = ChainStep("order", 1, 2, complete=True, chained=True)
    payload = TypedDataPayload(Purpose.ORDER, document, step)
    promise = someone.promise("order", venue="is", buy=WETH)
    review = await looked_at(agent, payload, promise)
    values = [
        int(value) if isinstance(value, str) and value.isdigit() else value
        for value in order.values()
    ]
    values[-1] = bytes.fromhex("c9" * 32)
    async with EvmClient(someone.world.url(CHAIN)) as client:
        digest = await client.call(Call(SETTLEMENT, DIGEST_OF.call(tuple(values))))
    assert review.digest == "0x" + digest.hex()
    assert isinstance(await agent.sign(review), Signature)


async def test_permit2_and_the_portal(someone: Trader, agent: WalletClient) -> None:
    promise = someone.promise("permit2", venue="is", buy=WETH)
    approve = call(Purpose.APPROVE, USDC.contract or "", erc20.APPROVE.call(PERMIT2, UNITS))
    await looked_at(agent, approve, promise)
    inside = permit2.APPROVE.call(USDC.contract, SETTLEMENT, UNITS, soon())
    await looked_at(agent, call(Purpose.APPROVE, PERMIT2, inside), promise)
    bridge = someone.promise(
        "portal", venue="me", buy=THERE, chain_out="arbitrum", chain_out_id=OTHER_CHAIN_ID
    )
    allow = call(Purpose.APPROVE, USDC.contract or "", erc20.APPROVE.call(PORTAL, UNITS))
    await executed(someone, agent, allow, bridge)
    data = venues.SEND.call(
        USDC.contract, UNITS, OTHER_CHAIN_ID, THERE.contract, 1, someone.address, soon()
    )
    refused = await agent.review(call(Purpose.SWAP, PORTAL, data, 10**14), bridge)
    assert {one.code for one in refused.findings} >= {"VALUE_ABOVE"}
    promised = someone.promise(
        "portal",
        venue="me",
        buy=THERE,
        chain_out="arbitrum",
        chain_out_id=OTHER_CHAIN_ID,
        fee_units=10**14,
    )
    review = await looked_at(agent, call(Purpose.SWAP, PORTAL, data, 10**14), promised)
    assert moved(review, someone.address) == {USDC.contract: -UNITS, None: -(10**14)}
    # What is bought is counted on its own chain, and that has to be the one of its name.
    for changed in (
        {"buy": replace(THERE, decimals=16)},
        {"buy": replace(THERE, contract=WETH.contract)},
        {"chain_out": "optimism"},
    ):
        review = await agent.review(
            call(Purpose.SWAP, PORTAL, data, 10**14), replace(promised, **changed)
        )
        assert "TOKEN_DECIMALS" in {one.code for one in review.findings}, changed
