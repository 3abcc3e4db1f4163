"""From a payload to a signature, through a real agent, gate and chain."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from eth_account import Account as EthAccount
from eth_account.messages import encode_typed_data
from msgspec.structs import replace

from swapdesk.chain.calldata import venues
from swapdesk.wallet.accounts import ChainLink, Kind
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import AgentGone, Refused
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Asset, Purpose
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.review import Severity
from swapdesk.wallet.transactions import Signature, TransactionState
from wallet.agents import PASSPHRASE
from wallet.chains import Chains
from wallet.dying_agent import dying_at
from wallet.signing import CHAIN, CHAIN_ID, DEPOSIT, ETH, ROUTER, USDC, WETH, Trader

State = TransactionState
ARBITRUM_ID = 1_337_042_161
pytestmark = pytest.mark.asyncio(loop_scope="module")


def codes(error: Refused) -> set[str]:
    return {one.code for one in error.findings if one.severity is Severity.REFUSE}


async def test_a_permit_is_signed_as_it_was_reviewed(someone: Trader) -> None:
    payload = someone.permit()
    async with someone.agent() as agent:
        review = await agent.review(payload, someone.promise("permit"))
        assert not review.refused, review.findings
        assert review.phrase is None
        signed = await agent.sign(review)
        # The same signature again for the same step: an answer may have been lost.
        again = await agent.sign(await agent.review(payload, someone.promise("permit")))
        assert again == signed
    plain = {**payload.document, "message": dict(payload.document["message"])}
    plain["domain"] = {**plain["domain"], "chainId": CHAIN_ID}
    for name in ("nonce", "deadline", "value"):
        plain["message"][name] = int(plain["message"][name])
    message = encode_typed_data(full_message=plain)
    recovered = EthAccount.recover_message(message, signature=signed.signature)
    assert recovered == someone.address


async def test_what_the_gate_refuses_is_not_signed(someone: Trader) -> None:
    payload = someone.permit(spender=DEPOSIT)
    async with someone.agent() as agent:
        review = await agent.review(payload, someone.promise("attacked"))
        assert review.refused
        with pytest.raises(Refused) as refused:
            await agent.sign(review)
        assert refused.value.code is Code.GATE
        assert codes(refused.value) == {
            one.code for one in review.findings if one.severity is Severity.REFUSE
        }


async def test_a_document_that_other_wallets_sign_differently_is_refused(someone: Trader) -> None:
    """The order of the domain's fields is part of what is signed; some wallets ignore it."""
    payload = someone.permit()
    types = dict(payload.document["types"])
    types["EIP712Domain"] = list(reversed(types["EIP712Domain"]))
    twisted = replace(payload, document={**payload.document, "types": types})
    async with someone.agent() as agent:
        review = await agent.review(twisted, someone.promise("twisted"))
        assert "DIGEST_DISAGREES" in {one.code for one in review.findings}
        with pytest.raises(Refused):
            await agent.sign(review)


async def test_what_asks_for_a_phrase_is_signed_by_it_alone(someone: Trader) -> None:
    """Behind another name the list has the contract of the dollar."""
    named = someone.promise("named", sell=replace(USDC, symbol="PEPE"))
    async with someone.agent() as agent:
        review = await agent.review(someone.permit(), named)
        assert not review.refused, review.findings
        for phrase in (None, "", f"{review.phrase} "):
            with pytest.raises(Refused) as refused:
                await agent.sign(review, phrase)
            assert refused.value.code is Code.NOT_CONFIRMED
        assert isinstance(await agent.sign(review, review.phrase), Signature)


async def test_a_review_is_for_one_digest_once_and_for_unlocked_keys(someone: Trader) -> None:
    async with someone.agent() as agent:
        payload = someone.permit()
        review = await agent.review(payload, someone.promise("once"))
        with pytest.raises(Refused) as refused:
            await agent.sign(replace(review, digest="0x" + "00" * 32))
        assert refused.value.code is Code.STALE_REVIEW
        await agent.sign(review)
        with pytest.raises(Refused) as refused:
            await agent.sign(review)
        assert refused.value.code is Code.UNKNOWN_REVIEW
        await agent.lock()
        # Looking needs no key; signing does.
        review = await agent.review(payload, someone.promise("once"))
        assert not review.refused, review.findings
        with pytest.raises(Refused) as refused:
            await agent.sign(review)
        assert refused.value.code is Code.LOCKED
        await agent.lock()
        await agent.unlock(PASSPHRASE)
        with pytest.raises(Refused) as refused:
            await agent.sign(review)
        assert refused.value.code is Code.UNKNOWN_REVIEW


async def test_a_payment_that_was_signed_is_sent_or_given_up_first(someone: Trader) -> None:
    async with someone.agent() as agent:
        first = await someone.signed(agent, someone.payment(), someone.deposit("first"))
        review = await agent.review(someone.payment(), someone.deposit("second"))
        with pytest.raises(Refused) as refused:
            await agent.sign(review)
        assert refused.value.code is Code.UNRESOLVED
        given_up = await agent.abandon(first.hash)
        assert given_up.state is State.ABANDONED
        with pytest.raises(Refused):
            await agent.abandon(first.hash)
        # Its nonce is free, and the same intent may pay after all.
        again = await someone.signed(agent, someone.payment(), someone.deposit("first"))
        assert again.nonce == first.nonce
        await agent.abandon(again.hash)


async def test_two_reviews_at_once_give_one_signature(someone: Trader) -> None:
    promise = someone.promise("at once")
    async with someone.agent() as agent:
        one, two = [
            await agent.review(someone.transfer_by_permit2(nonce), promise) for nonce in (1, 2)
        ]
        assert not one.refused
        assert not two.refused
        told = await asyncio.gather(agent.sign(one), agent.sign(two), return_exceptions=True)
        (refused,) = [each for each in told if isinstance(each, Refused)]
        assert "ALLOWANCE_SUM" in codes(refused)


@pytest.mark.parametrize("moment", ["_insert_given", "RecordsFile.COMMIT"])
async def test_what_was_counted_survives_a_kill(someone: Trader, moment: str) -> None:
    """Whether it was written down decides, and a signature leaves after that alone."""
    promise = someone.promise(f"killed at {moment}")
    first, second = someone.transfer_by_permit2(1), someone.transfer_by_permit2(2)
    dying = await WalletClient.start(someone.place, program=dying_at(moment))
    try:
        await dying.unlock(PASSPHRASE)
        with pytest.raises(AgentGone):
            await dying.sign(await dying.review(first, promise))
    finally:
        await dying.close()
    async with someone.agent() as agent:
        review = await agent.review(second, promise)
        counted = moment == "RecordsFile.COMMIT"
        assert ("ALLOWANCE_SUM" in {one.code for one in review.findings}) is counted
        # The same document may have been lost on its way.
        assert isinstance(await agent.sign(await agent.review(first, promise)), Signature)
        review = await agent.review(second, promise)
        assert "ALLOWANCE_SUM" in {one.code for one in review.findings}


async def test_another_chain_than_the_wallet_has_known_is_refused(
    someone: Trader, world: Chains
) -> None:
    async with someone.agent() as agent:
        payload = someone.permit()
        await agent.sign(await agent.review(payload, someone.promise("known")))
    [link] = someone.place.chains
    elsewhere = replace(
        someone, place=replace(someone.place, chains=(replace(link, rpc=world.url("arbitrum")),))
    )
    async with elsewhere.agent() as agent:
        review = await agent.review(payload, someone.promise("known"))
        assert {"NODE_CHAIN_DIFFERS", "GENESIS_DIFFERS"} <= {one.code for one in review.findings}
        with pytest.raises(Refused):
            await agent.sign(review)


async def test_a_node_that_is_gone_gets_nothing_signed(someone: Trader) -> None:
    [link] = someone.place.chains
    silent = replace(
        someone,
        place=replace(someone.place, chains=(replace(link, rpc="http://127.0.0.1:9/"),)),
    )
    async with silent.agent() as agent:
        review = await agent.review(someone.payment(), someone.deposit("silent"))
        assert "CHAIN_UNREAD" in {one.code for one in review.findings}
        with pytest.raises(Refused) as refused:
            await agent.sign(review)
        assert refused.value.code is Code.GATE
        with pytest.raises(Refused) as refused:
            await agent.review(someone.payment(), someone.deposit("x", chain="solana"))
        assert refused.value.code is Code.OTHER_CHAIN
        with pytest.raises(Refused) as refused:
            await agent.balances(someone.address, CHAIN, [ETH])
        assert refused.value.code is Code.CHAIN_UNREACHABLE


async def test_a_review_ends_with_its_quote(someone: Trader) -> None:
    async with someone.agent() as agent:
        promise = someone.promise("late", valid_until=datetime.now(UTC) + timedelta(minutes=5))
        review = await agent.review(someone.permit(), promise)
        assert not review.refused, review.findings
        await agent.set_clock(301.0)
        with pytest.raises(Refused) as refused:
            await agent.sign(review)
        assert refused.value.code is Code.STALE_REVIEW


async def test_what_arrives_on_another_chain_is_counted_there(
    someone: Trader, world: Chains
) -> None:
    elsewhere = ChainLink("arbitrum", Kind.EVM, ARBITRUM_ID, world.url("arbitrum"), 1)
    there = Asset("WETH", 18, "0x82aF49447D8a07e3bd95BD0d56f35241523fBab1")
    chains = (*someone.place.chains, elsewhere)
    bridging = replace(someone, place=replace(someone.place, chains=chains))
    portal = ROUTER["me"]
    ends = int(datetime.now(UTC).timestamp()) + 540
    data = venues.SEND.call(
        USDC.contract, 100 * 10**6, ARBITRUM_ID, there.contract, 1, someone.address, ends
    )
    payload = TransactionPayload(Purpose.SWAP, portal, "0x" + data.hex(), 10**14)
    promise = someone.promise(
        "portal",
        venue="me",
        buy=there,
        chain_out="arbitrum",
        chain_out_id=ARBITRUM_ID,
        fee_units=10**14,
    )
    async with bridging.agent() as agent:
        for changed, odd in (
            ({}, False),
            ({"buy": replace(there, decimals=16)}, True),
            ({"buy": replace(there, contract=WETH.contract)}, True),
            ({"chain_out": "optimism"}, True),
            ({"chain_out_id": CHAIN_ID}, True),
        ):
            review = await agent.review(payload, replace(promise, **changed))
            assert ("TOKEN_DECIMALS" in {one.code for one in review.findings}) is odd, changed
