"""UserOperations through a real agent, gate and chain: what a group's deposits are paid with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from sandbox.evm.bundling import Bundling, deposit_address, over
from swapdesk.chain.user_operation import operation_json
from swapdesk.service.bundling import BuiltOperation, OperationPayment
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import OperationPayload
from swapdesk.wallet.promise import BundlePromise, DepositPromise, Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.review import Severity
from wallet.chains import Chains
from wallet.signing import CHAIN, USDC, Trader

pytestmark = pytest.mark.asyncio(loop_scope="module")

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
    world: Chains, someone: Trader, agent: WalletClient
) -> None:
    here = over(world)
    one = await built(here, someone, "again", 200)
    promise = promised(someone, "again", 200)
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
        assert rule in {one.code for one in review.findings if one.severity is Severity.REFUSE}
        with pytest.raises(Refused) as refused:
            await agent.sign(review)
        assert refused.value.code is Code.GATE
    await here.client.close()
