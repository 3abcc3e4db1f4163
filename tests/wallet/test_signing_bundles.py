"""UserOperations through a real agent, gate and chain: what a group's deposits are paid with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from eth_account import Account as EthAccount
from eth_account.messages import encode_defunct
from msgspec.structs import replace

from sandbox.evm.bundling import Bundling, deposit_address, over
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.smart_account import (
    account_address,
    decode_batch,
    encode_batch,
)
from swapdesk.chain.user_operation import operation_json, read_operation
from swapdesk.service.bundling import BuiltOperation, OperationPayment
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import OperationPayload, TransactionPayload
from swapdesk.wallet.promise import BundlePromise, DepositPromise, Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.review import Match, Severity
from wallet.chains import Chains
from wallet.signing import CHAIN, ETH, USDC, Trader

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNITS = (5_000_000, 7_000_000, 9_000_000)
MALLORY = deposit_address(999)
GROUP = "kXb7PqLmN4sTvWzYcDfGhJ"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(world: Chains) -> AsyncIterator[Bundling]:
    made = over(world)
    yield made
    await made.client.close()


def payments(token: str | None = USDC.contract, first: int = 0) -> list[OperationPayment]:
    return [OperationPayment(token, deposit_address(first + i), u) for i, u in enumerate(UNITS)]


async def built(
    here: Bundling, someone: Trader, group: str = GROUP, **asked: Any
) -> BuiltOperation:
    made = await here.bundler.build(CHAIN, group, someone.address, payments(**asked))
    (one,) = made.operations
    return one


def promised(
    someone: Trader, intent: str, group: str = GROUP, *, first: int = 0, **changed: Any
) -> Promise:
    """What the trader confirmed of a group, as the service's own answers repeat it."""
    expires = datetime.now(UTC) + timedelta(minutes=20)
    deposits = tuple(
        DepositPromise(f"order-{i}", deposit_address(first + i), None, units, expires)
        for i, units in enumerate(UNITS)
    )
    return someone.promise(
        intent,
        **{
            "sell": USDC,
            "sell_units": sum(UNITS),
            "venue": None,
            "quote_id": None,
            "gas_units": 10**16,
            "bundle": BundlePromise(group, 0, deposits),
            **changed,
        },
    )


def payload_of(one: BuiltOperation, **changed: Any) -> OperationPayload:
    made = OperationPayload(
        Purpose.BUNDLE,
        operation_json(one.operation, with_signature=False),
        one.entry_point,
        one.version.value,
        one.chain_id,
    )
    return replace(made, **changed)


def changed_operation(one: BuiltOperation, **changed: Any) -> OperationPayload:
    operation = replace(one.operation, **changed)
    return payload_of(one, operation=operation_json(operation, with_signature=False))


async def test_a_bundle_is_signed_and_pays_the_group(
    here: Bundling, someone: Trader, agent: WalletClient
) -> None:
    one = await built(here, someone)
    review = await agent.review(payload_of(one), promised(someone, "group"))
    assert not review.refused, review.findings
    assert review.phrase is None
    assert review.digest == "0x" + one.hash.hex()
    assert review.agreed is True
    assert {line.match for line in review.lines} == {Match.EQUAL}
    assert [line.field for line in review.lines if line.field.startswith("Paid to")] == [
        "Paid to 1",
        "Paid to 2",
        "Paid to 3",
    ]
    signed = await agent.sign(review)
    # The same signature again: an answer may have been lost.
    again = await agent.sign(await agent.review(payload_of(one), promised(someone, "group")))
    assert again == signed
    message = encode_defunct(one.hash)
    assert EthAccount.recover_message(message, signature=signed.signature) == someone.address
    account = one.operation.sender
    await here.fund(account, wei=one.operation.required_prefund, dollars=sum(UNITS))
    operation = one.operation.signed(bytes.fromhex(signed.signature[2:]))
    await here.bundler.submit(CHAIN, operation)
    assert (await here.landed(one.hash)).success


async def refusals(agent: WalletClient, payload: OperationPayload, promise: Promise) -> set[str]:
    """The rules that refuse, and that nothing was signed."""
    review = await agent.review(payload, promise)
    assert review.refused
    with pytest.raises(Refused) as refused:
        await agent.sign(review)
    # What cannot even be read has no digest that could be asked for.
    assert refused.value.code is (Code.GATE if review.digest else Code.BAD_REQUEST)
    return {one.code for one in review.findings if one.severity is Severity.REFUSE}


async def test_anything_but_the_groups_payments_is_never_signed(
    here: Bundling, someone: Trader, agent: WalletClient
) -> None:
    one = await built(here, someone, "tampered", first=100)
    calls = list(decode_batch(one.operation.call_data))
    calls[1] = replace(calls[1], data=TRANSFER.call(MALLORY, UNITS[1]))
    unreadable = payload_of(one)
    unreadable = replace(unreadable, operation={**unreadable.operation, "paymaster": MALLORY})
    promise = promised(someone, "tampered", "tampered", first=100)
    for payload, code in (
        (changed_operation(one, call_data=encode_batch(calls)), "BUNDLE_RECIPIENT_DIFFERS"),
        (unreadable, "OPERATION_PAYMASTER"),
    ):
        assert code in await refusals(agent, payload, promise)


async def test_a_group_is_signed_for_again_only_where_one_of_both_can_land(
    here: Bundling, someone: Trader, agent: WalletClient
) -> None:
    one = await built(here, someone, "again", first=200)
    promise = promised(someone, "again", "again", first=200)
    dearer = changed_operation(one, max_fee_per_gas=2 * one.operation.max_fee_per_gas)
    first = await agent.sign(await agent.review(payload_of(one), promise))
    # Built again: the same nonce, so that the chain takes one of the two.
    second = await agent.sign(await agent.review(dearer, promise))
    assert first != second
    operation = one.operation.signed(bytes.fromhex(first.signature[2:]))
    await here.fund(operation.sender, wei=operation.required_prefund, dollars=sum(UNITS))
    await here.bundler.submit(CHAIN, operation)
    assert (await here.landed(one.hash)).success
    # Paid: with the next nonce it would be paid twice.
    later = await built(here, someone, "again", first=200)
    assert later.operation.nonce == one.operation.nonce + 1
    assert "BUNDLE_PAID_ALREADY" in await refusals(agent, payload_of(later), promise)
    # And the old one, though signed before, is not signed any more.
    assert "OPERATION_NONCE" in await refusals(agent, dearer, promise)


async def test_bundles_of_coins_are_signed_too(
    here: Bundling, someone: Trader, agent: WalletClient
) -> None:
    one = await built(here, someone, "coins", token=None, first=300)
    promise = promised(someone, "coins", "coins", first=300, sell=ETH)
    review = await agent.review(payload_of(one), promise)
    assert not review.refused, review.findings
    assert review.digest == "0x" + one.hash.hex()
    await agent.sign(review)
    read = read_operation(payload_of(one).operation, signed=False)
    assert [call.value for call in decode_batch(read.call_data)] == list(UNITS)
    assert one.entry_point == ENTRY_POINT


async def test_the_own_smart_account_is_funded_and_no_other(
    here: Bundling, someone: Trader, agent: WalletClient
) -> None:
    account = account_address(someone.address)
    coins = TransactionPayload(Purpose.FUND, account, "0x", 10**15)
    dollars = TransactionPayload(
        Purpose.FUND, USDC.contract, "0x" + TRANSFER.call(account, 10**6).hex(), 0
    )
    before = await here.coins(account)
    for name, payload, sell, units in (
        ("coins", coins, ETH, 10**15),
        ("dollars", dollars, USDC, 10**6),
    ):
        promise = someone.promise(f"fund {name}", sell=sell, sell_units=units, venue=None)
        review = await agent.review(payload, promise)
        assert not review.refused, review.findings
        assert review.phrase is None
        signed = await agent.sign(review)
        await agent.broadcast(signed.hash)
        await here.world.node.confirmed(CHAIN, bytes.fromhex(signed.hash[2:]))
        # The same funding again is the one that was signed.
        with pytest.raises(Refused):
            await agent.sign(await agent.review(payload, promise))
    assert await here.coins(account) == before + 10**15
    stranger = replace(coins, to=account_address(MALLORY))
    promise = someone.promise("fund a stranger", sell=ETH, sell_units=10**15, venue=None)
    review = await agent.review(stranger, promise)
    assert "FUNDING_PAYEE_DIFFERS" in {one.code for one in review.findings}
    with pytest.raises(Refused):
        await agent.sign(review)
