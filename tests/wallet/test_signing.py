"""From a payload to a signature, and what becomes of it, through a real agent, gate and chain:
documents, payments, operations of a group and the ends of allowances. Nodes that lie, forget or are
behind have nothing paid twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from eth_account import Account as EthAccount
from eth_account.messages import encode_typed_data
from msgspec.structs import replace

from sandbox.evm.bundling import Bundling, deposit_address, over
from sandbox.evm.evm_world import World
from swapdesk.acts import State
from swapdesk.agent.process.payload_assessment import Looking
from swapdesk.agent.transactions.delivery import EvmDelivery
from swapdesk.agent.transactions.file import RecordsFile
from swapdesk.agent.transactions.records import Records
from swapdesk.chain.calldata import erc20, permit2, venues
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.deployments import MULTICALL3, PERMIT2, SANDBOX_VENUES
from swapdesk.chain.rpc.evm import EvmClient, TransactionReceipt
from swapdesk.chain.smart_account import operation_json
from swapdesk.service.bundling import BuiltOperation, OperationPayment
from swapdesk.wallet.accounts import (
    Account,
    ChainLink,
    KeyOrigin,
    Kind,
    WalletPlace,
    export_phrase,
)
from swapdesk.wallet.answers import Allowance, Review, Signature
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    Asset,
    BundlePromise,
    DepositPromise,
    OperationPayload,
    Promise,
    Purpose,
    TransactionPayload,
)
from swapdesk.wallet.protocol import AgentGone, MessageError, Refused, from_json, to_json
from wallet.agents import ALLOWING, CHEAP, PASSPHRASE, dying_at
from wallet.refusals import refused
from wallet.signing import CHAIN, CHAIN_ID, DEPOSIT, DOLLARS, ETH, ROUTER, USDC, WETH, Trader

ARBITRUM_ID = 1_337_042_161
pytestmark = pytest.mark.asyncio(loop_scope="module")


def codes(told: Review | Refused) -> set[str]:
    return {one.code for one in told.findings}


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


async def test_a_document_that_other_wallets_sign_differently_is_refused(someone: Trader) -> None:
    """The order of the domain's fields is part of what is signed; some wallets ignore it."""
    payload = someone.permit()
    types = dict(payload.document["types"])
    types["EIP712Domain"] = list(reversed(types["EIP712Domain"]))
    twisted = replace(payload, document={**payload.document, "types": types})
    async with someone.agent() as agent:
        review = await agent.review(twisted, someone.promise("twisted"))
        assert "DIGEST_DISAGREES" in codes(review)
        with pytest.raises(Refused):
            await agent.sign(review)


async def test_what_asks_for_a_phrase_is_signed_by_it_alone(someone: Trader) -> None:
    """Behind another name the list has the contract of the dollar."""
    named = someone.promise("named", sell=replace(USDC, symbol="PEPE"))
    async with someone.agent() as agent:
        review = await agent.review(someone.permit(), named)
        assert not review.refused, review.findings
        for phrase in (None, "", f"{review.phrase} "):
            with refused("not_confirmed"):
                await agent.sign(review, phrase)
        assert isinstance(await agent.sign(review, review.phrase), Signature)


async def test_a_review_is_for_one_digest_once_and_for_unlocked_keys(someone: Trader) -> None:
    async with someone.agent() as agent:
        payload = someone.permit()
        review = await agent.review(payload, someone.promise("once"))
        with refused("stale_review"):
            await agent.sign(replace(review, digest="0x" + "00" * 32))
        await agent.sign(review)
        with refused("unknown_review"):
            await agent.sign(review)
        await agent.lock()
        # Looking needs no key; signing does.
        review = await agent.review(payload, someone.promise("once"))
        assert not review.refused, review.findings
        with refused("locked"):
            await agent.sign(review)
        await agent.lock()
        await agent.unlock(PASSPHRASE)
        with refused("unknown_review"):
            await agent.sign(review)


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
        assert ("ALLOWANCE_SUM" in codes(review)) is counted
        # The same document may have been lost on its way.
        assert isinstance(await agent.sign(await agent.review(first, promise)), Signature)
        review = await agent.review(second, promise)
        assert "ALLOWANCE_SUM" in codes(review)


async def test_a_node_that_is_gone_gets_nothing_signed(someone: Trader) -> None:
    [link] = someone.place.chains
    silent = replace(
        someone,
        place=replace(someone.place, chains=(replace(link, rpc="http://127.0.0.1:9/"),)),
    )
    async with silent.agent() as agent:
        review = await agent.review(someone.payment(), someone.deposit("silent"))
        assert "CHAIN_UNREAD" in codes(review)
        with refused("gate"):
            await agent.sign(review)
        with refused("other_chain"):
            await agent.review(someone.payment(), someone.deposit("x", chain="solana"))
        with refused("chain_unreachable"):
            await agent.balances(someone.address, CHAIN, [ETH])


async def test_a_review_ends_with_its_quote(someone: Trader) -> None:
    async with someone.agent() as agent:
        promise = someone.promise("late", valid_until=datetime.now(UTC) + timedelta(minutes=5))
        review = await agent.review(someone.permit(), promise)
        assert not review.refused, review.findings
        await agent.set_clock(301.0)
        with refused("stale_review"):
            await agent.sign(review)


async def test_what_arrives_on_another_chain_is_counted_there(
    someone: Trader, world: World
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
            assert ("TOKEN_DECIMALS" in codes(review)) is odd, changed


UNITS = (5_000_000, 7_000_000, 9_000_000)


async def built(here: Bundling, someone: Trader, group: str, first: int) -> BuiltOperation:
    payments = [
        OperationPayment(USDC.contract, deposit_address(first + i), units)
        for i, units in enumerate(UNITS)
    ]
    made = await here.bundler.build(CHAIN, group, someone.address, payments)
    (one,) = made.operations
    return one


def promised(someone: Trader, group: str, first: int) -> Promise:
    """What the trader confirmed of a group, as the service's own answers repeat it."""
    expires = datetime.now(UTC) + timedelta(minutes=20)
    deposits = tuple(
        DepositPromise(f"order-{i}", deposit_address(first + i), None, units, expires)
        for i, units in enumerate(UNITS)
    )
    return someone.promise(
        group,
        sell=USDC,
        sell_units=sum(UNITS),
        venue=None,
        quote_id=None,
        gas_units=10**16,
        bundle=BundlePromise(group, 0, deposits),
    )


def payload_of(one: BuiltOperation, **changed: Any) -> OperationPayload:
    operation = replace(one.operation, **changed)
    return OperationPayload(
        Purpose.BUNDLE,
        operation_json(operation, with_signature=False),
        one.entry_point,
        one.version.value,
        one.chain_id,
    )


async def test_a_group_is_signed_for_again_only_where_one_of_both_can_land(
    someone: Trader,
) -> None:
    here = over(someone.world)
    one = await built(here, someone, "again", 200)
    promise = promised(someone, "again", 200)
    async with someone.agent() as agent:
        review = await agent.review(payload_of(one), promise)
        assert (review.findings, review.phrase, review.agreed) == ((), None, True)
        assert review.digest == "0x" + one.hash.hex()
        first = await agent.sign(review)
        # The same signature again: an answer may have been lost.
        assert await agent.sign(await agent.review(payload_of(one), promise)) == first
        # Built again: the same nonce, so that the chain takes one of the two.
        dearer = payload_of(one, max_fee_per_gas=2 * one.operation.max_fee_per_gas)
        assert await agent.sign(await agent.review(dearer, promise)) != first
        operation = one.operation.signed(bytes.fromhex(first.signature[2:]))
        await here.fund(operation.sender, wei=operation.required_prefund, dollars=sum(UNITS))
        await here.bundler.submit(CHAIN, operation)
        assert (await here.landed(one.hash)).success
        # Paid: with the next nonce it would be paid twice, and the old one is not signed any more.
        later = await built(here, someone, "again", 200)
        assert later.operation.nonce == one.operation.nonce + 1
        for payload, rule in (
            (payload_of(later), "BUNDLE_PAID_ALREADY"),
            (dearer, "OPERATION_NONCE"),
        ):
            review = await agent.review(payload, promise)
            assert rule in codes(review)
            with refused("gate"):
                await agent.sign(review)
    await here.client.close()


def tokens(units: int) -> TransactionPayload:
    data = "0x" + TRANSFER.call(DEPOSIT, units).hex()
    return TransactionPayload(Purpose.DEPOSIT, USDC.contract, data, 0)


@pytest.mark.parametrize("coins", [True, False])
async def test_a_forged_failure_ends_nothing(someone: Trader, coins: bool) -> None:
    intent = f"forged {coins}"
    promise = someone.deposit(intent) if coins else someone.deposit(intent, 10**6, sell=USDC)
    payload = someone.payment() if coins else tokens(10**6)
    async with someone.agent() as agent:
        one = await someone.signed(agent, payload, promise)
        await agent.broadcast(one.hash)
        await someone.world.node.confirmed(CHAIN, bytes.fromhex(one.hash[2:]))
        someone.world.faults.set("forged_receipt", "chain", CHAIN, times=1)
        told = await agent.resolve(one.hash)
        assert told.word == "sent"
        assert "the node tells a failure" in told.problem
        with pytest.raises(Refused):
            await someone.signed(agent, payload, promise)
        assert (await someone.settled(agent, one)).problem is None


async def test_a_receipt_of_what_is_not_mined_is_not_believed(someone: Trader) -> None:
    async with someone.agent() as agent:
        one = await someone.signed(agent, someone.payment(), someone.deposit("early"))
        someone.world.faults.set("drop_transaction", "chain", CHAIN, times=1)
        assert (await agent.broadcast(one.hash)).word == "sent"
        with pytest.raises(Refused):
            await agent.abandon(one.hash)
        # The node has forgotten it, so it gets the same bytes again.
        assert (await agent.resolve(one.hash)).word in ("sent", "mined")
        await someone.settled(agent, one)


class _Late(EvmClient):
    """A node whose answer about a receipt is older than what it says next: between the two the
    transaction is executed, with as many blocks behind it as count."""

    executed: Callable[[], Awaitable[None]] | None = None

    async def receipt(self, transaction_hash: str) -> TransactionReceipt | None:
        found = await super().receipt(transaction_hash)
        if self.executed is not None:
            executed, self.executed = self.executed, None
            await executed()
        return found


async def test_what_is_executed_while_the_node_is_asked_is_not_lost(someone: Trader) -> None:
    chain = someone.world.chain(CHAIN)
    async with someone.agent() as agent:
        one = await someone.signed(agent, someone.payment(), someone.deposit("overlooked"))
    records = Records(RecordsFile(Path(someone.place.directory), writable=True))
    try:
        records.move(one.hash, State.SENT, among=(State.PREPARED,))

        async def executed() -> None:
            chain.submit(records.raw(one.hash))
            await someone.world.node.confirmed(CHAIN, bytes.fromhex(one.hash[2:]))
            mined = await client.receipt(one.hash)
            while await client.height() < mined.block + 2:
                pass

        async with _Late(someone.world.url(CHAIN)) as client:
            client.executed = executed
            sent = records.find(one.hash)
            told = await EvmDelivery(client, records, 2).resolve(sent)
        assert told.word == "succeeded", told
    finally:
        records.close()


async def test_a_nonce_that_was_used_elsewhere_is_noticed(someone: Trader) -> None:
    """The key is also in another wallet: what was signed here can never be executed."""
    async with someone.agent() as agent:
        one = await someone.signed(agent, someone.payment(), someone.deposit("overtaken"))
        key = await agent.export(someone.address, export_phrase(someone.address), PASSPHRASE)
        elsewhere = EthAccount.from_key(key.reveal().decode()).sign_transaction(
            {
                "type": 2,
                "chainId": CHAIN_ID,
                "nonce": one.nonce,
                "to": someone.address,
                "value": 0,
                "gas": 21_000,
                "maxFeePerGas": 10**10,
                "maxPriorityFeePerGas": 10**6,
            }
        )
        someone.world.chain(CHAIN).submit(bytes(elsewhere.raw_transaction))
        await someone.world.node.confirmed(CHAIN, bytes(elsewhere.hash))
        with refused("chain_refused"):
            await agent.broadcast(one.hash)
        # It may still be executed until the other one can no longer be unwound.
        while (told := await agent.resolve(one.hash)).word != "lost":
            assert told.word == "sending"
        # Nobody knows here what the other one paid, so the same intent pays no more.
        with pytest.raises(Refused):
            await someone.signed(agent, someone.payment(), someone.deposit("overtaken"))


NO_TOKEN = Asset("NONE", 18, "0x00000000000000000000000000000000000000aa")


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
    eth, usdc, none = told.balances
    assert (eth.units, eth.asset.decimals) == (coins, 18)
    assert DOLLARS // 2 < usdc.units <= DOLLARS
    assert usdc.asset.decimals == 6
    # An address without code answers nothing, which is not "no tokens".
    assert none.units is None
    # Nothing is nothing by any decimals, and no question is asked for it.
    assert [(one.units, one.asset.decimals) for one in smart.balances] == [(0, 20), (0, 8)]


ENDS = int(datetime.now(UTC).timestamp()) + 3_000
ALLOWED = {
    "a venue": Allowance(USDC, ROUTER["fa"], 100 * 10**6, False, "fa"),
    # Approved elsewhere with the same key: only the events of the chain remember it.
    "a stranger": Allowance(USDC, MULTICALL3, erc20.UNLIMITED, True, None),
    # A permit that somebody handed in, until it ends.
    "through Permit2": Allowance(
        USDC, ROUTER["fa"], 7 * 10**6, False, "fa", True, datetime.fromtimestamp(ENDS, UTC)
    ),
}


@pytest.mark.parametrize("named", [{"spenders": [MULTICALL3]}, {"venues": []}, {"blind": True}])
async def test_nothing_that_a_desk_says_loosens_the_gate(
    someone: Trader, named: dict[str, Any]
) -> None:
    """A place that names a spender or blind signing opens no wallet, and none is made of it."""
    told = {**to_json(someone.place), **named}
    with pytest.raises(MessageError):
        from_json(WalletPlace, told)
    looking = object.__new__(Looking)
    looking._place = someone.place
    looking._records = SimpleNamespace(genesis=lambda _: None)
    owner = Account(
        someone.address, Kind.EVM, "", "sandbox", KeyOrigin.CREATED, None, datetime.now(UTC)
    )
    policy = looking._policy(owner, someone.place.chains[0])
    assert policy.venues == SANDBOX_VENUES


@pytest.mark.parametrize("who", ALLOWED)
async def test_an_allowance_is_seen_and_revoked(someone: Trader, who: str) -> None:
    one, token = ALLOWED[who], USDC.contract
    if one.permit2:
        to, data = PERMIT2, permit2.APPROVE.call(token, one.spender, one.units, ENDS)
    else:
        to, data = token, erc20.APPROVE.call(one.spender, one.units)
    approve = TransactionPayload(Purpose.APPROVE, to, "0x" + data.hex(), 0)
    promise = someone.promise(f"allow {who}", unlimited=one.unlimited, venue=one.venue or "fa")
    agent = await WalletClient.start(someone.place, program=ALLOWING)
    await agent.unlock(PASSPHRASE)
    await executed(someone, agent, approve, promise)
    await agent.close()
    async with someone.agent() as agent:
        # Where no contract stands nobody can take anything, which leaves no doubt.
        told = await agent.allowances(someone.address, CHAIN, [USDC, NO_TOKEN])
        assert (told.allowances, told.complete) == ((one,), True)
        other = await agent.allowances(someone.address, CHAIN, [NO_TOKEN])
        assert (other.allowances, other.complete) == ((), True)
        end = await agent.revocation(token, one.spender, permit2=one.permit2)
        promise = someone.promise(f"revoke {who}", venue=None, sell_units=0)
        await executed(someone, agent, end, promise)
        assert (await agent.allowances(someone.address, CHAIN, [USDC])).allowances == ()
        with refused("bad_request"):
            await agent.revocation(token, one.spender[:-1])


async def test_an_allowance_of_permit2_that_has_ended_is_not_told(someone: Trader) -> None:
    """The contract keeps it, and nobody can take anything by it any more."""
    chain, ends = someone.world.chain(CHAIN), int(datetime.now(UTC).timestamp()) - 1
    async with someone.agent() as agent:
        key = await agent.export(someone.address, export_phrase(someone.address), PASSPHRASE)
        signed = EthAccount.from_key(key.reveal().decode()).sign_transaction(
            {
                "type": 2,
                "chainId": CHAIN_ID,
                "nonce": chain.accounts.get_nonce(bytes.fromhex(someone.address[2:])),
                "to": PERMIT2,
                "data": permit2.APPROVE.call(USDC.contract, ROUTER["fa"], 7 * 10**6, ends),
                "value": 0,
                "gas": 100_000,
                "maxFeePerGas": 10**10,
                "maxPriorityFeePerGas": 10**6,
            }
        )
        chain.submit(bytes(signed.raw_transaction))
        await someone.world.node.confirmed(CHAIN, bytes(signed.hash))
        told = await agent.allowances(someone.address, CHAIN, [USDC])
    assert (told.allowances, told.complete) == ((), True)


async def test_only_accounts_of_the_wallet_are_looked_at(someone: Trader) -> None:
    async with someone.agent() as agent:
        solana = await agent.create(Kind.SOLANA, "", PASSPHRASE)
        with refused("no_account"):
            await agent.balances(ROUTER["fa"], CHAIN, [ETH])
        with refused("other_chain"):
            await agent.balances(solana.address, CHAIN, [ETH])
