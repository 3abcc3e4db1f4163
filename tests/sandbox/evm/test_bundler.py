"""The bundler of an embedded chain: what it takes, what it refuses and under which code, and that
an operation is executed once whatever happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from eth_account.signers.local import LocalAccount
from msgspec.structs import replace

from patience import PATIENCE
from sandbox.evm.bundling import (
    CHAIN,
    DOLLAR,
    Bundling,
    bundling,
    deposit_address,
    owner,
    signed,
)
from swapdesk.chain.calldata.erc20 import BALANCE_OF
from swapdesk.chain.deployments import ENTRY_POINT, ENTRY_POINT_08
from swapdesk.chain.rpc.evm import Call, EvmRefused
from swapdesk.chain.smart_account import (
    USER_OPERATION_EVENT,
    InnerCall,
    UserOperation,
    encode_batch,
    operation_json,
    read_operation,
    user_operation_hash,
)
from swapdesk.sandbox.node.evm.bundler import TakenOperations
from swapdesk.service.bundling import Build, BundleRefused, OperationPayment
from wallet.signing import CHAIN_ID

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bundling]:
    async with bundling(tmp_path_factory.mktemp("bundler")) as made:
        yield made


def dollars(count: int, units: int = 7, first: int = 0) -> list[OperationPayment]:
    return [OperationPayment(DOLLAR, deposit_address(first + i), units) for i in range(count)]


def coins(count: int, wei: int = 5, first: int = 0) -> list[OperationPayment]:
    return [OperationPayment(None, deposit_address(first + i), wei) for i in range(count)]


async def held(here: Bundling, address: str) -> int:
    return int.from_bytes(await here.client.call(Call(DOLLAR, BALANCE_OF.call(address))), "big")


async def refused(here: Bundling, operation: UserOperation | dict[str, Any]) -> EvmRefused:
    document = operation if isinstance(operation, dict) else operation_json(operation)
    with pytest.raises(EvmRefused) as caught:
        await here.client.ask("eth_sendUserOperation", document, ENTRY_POINT)
    return caught.value


async def good(here: Bundling, number: int, multi_id: str = "group") -> UserOperation:
    """An operation that would be taken: signed, and its account funded."""
    by = owner(number)
    built = await here.funded(by, dollars(1, first=number), multi_id)
    (one,) = built.operations
    return signed(one.operation, one.hash, by)


def again(operation: UserOperation, number: int, **changed: Any) -> UserOperation:
    """Changed, and signed again."""
    other = replace(operation, **changed)
    told = user_operation_hash(other, ENTRY_POINT, CHAIN_ID)
    return signed(other, told, owner(number))


async def test_a_bundle_pays_everybody_and_is_told_whole(here: Bundling) -> None:
    assert await here.client.ask("eth_supportedEntryPoints") == [ENTRY_POINT]
    by, payments = owner(1), dollars(3, first=100)
    built = await here.funded(by, payments)
    (one,) = built.operations
    assert one.payments == (0, 1, 2)
    assert one.hash == user_operation_hash(one.operation, ENTRY_POINT, CHAIN_ID)
    operation = signed(one.operation, one.hash, by)
    hash_ = await here.bundler.submit(CHAIN, operation)
    assert hash_ == "0x" + one.hash.hex()
    landed = await here.landed(hash_)
    assert landed.success
    assert landed.confirmations >= 1
    async with asyncio.timeout(PATIENCE):
        while hash_ not in here.world.included:  # noqa: ASYNC110 - the bundler tells nobody else
            await asyncio.sleep(0)
    assert [await held(here, payment.to) for payment in payments] == [7, 7, 7]
    receipt = await here.client.ask("eth_getUserOperationReceipt", hash_)
    assert receipt["success"] is True
    assert receipt["sender"] == built.account
    assert int(receipt["nonce"], 16) == one.operation.nonce
    assert receipt["receipt"]["transactionHash"] == landed.transaction_hash
    # The logs are those of the operation: three transfers, and before them the account's making.
    transfers = [log for log in receipt["logs"] if log["address"].lower() == DOLLAR.lower()]
    assert len(transfers) == 3
    found = await here.client.ask("eth_getUserOperationByHash", hash_)
    assert read_operation(found["userOperation"]) == operation
    assert found["transactionHash"] == landed.transaction_hash
    # What was promised is what was taken: the limits held, and the bundler lost nothing.
    used = int(receipt["actualGasUsed"], 16)
    assert used < sum(
        (
            one.operation.call_gas_limit,
            one.operation.verification_gas_limit,
            one.operation.pre_verification_gas,
        )
    )
    price = int(receipt["receipt"]["effectiveGasPrice"], 16)
    assert int(receipt["actualGasCost"], 16) >= int(receipt["receipt"]["gasUsed"], 16) * price


async def test_coins_and_tokens_are_operations_of_their_own(here: Bundling) -> None:
    by = owner(3)
    payments = [*coins(2, 10**15, 300), *dollars(2, first=302)]
    built = await here.funded(by, payments)
    first, second = built.operations
    assert (first.payments, second.payments) == ((0, 1), (2, 3))
    assert first.operation.factory is not None
    assert second.operation.factory is None
    # The second cannot be executed before the first has made the account, and is taken with it.
    for one in built.operations:
        await here.bundler.submit(CHAIN, signed(one.operation, one.hash, by))
    assert [(await here.landed(one.hash)).success for one in built.operations] == [True, True]
    assert await here.coins(deposit_address(301)) == 10**15
    assert await held(here, deposit_address(303)) == 7


async def test_a_bundle_built_again_has_the_same_nonce(here: Bundling) -> None:
    by, payments = owner(4), dollars(2, first=400)
    built = await here.funded(by, payments)
    again_, other = await here.build(by, payments), await here.build(by, payments, "another group")
    nonces = [one.operations[0].operation.nonce for one in (built, again_, other)]
    assert nonces[0] == nonces[1] != nonces[2]
    (one,) = built.operations
    await here.bundler.submit(CHAIN, signed(one.operation, one.hash, by))
    await here.landed(one.hash)
    later = await here.build(by, payments)
    assert later.operations[0].operation.nonce == nonces[0] + 1
    assert later.operations[0].operation.factory is None


async def test_what_is_needed_is_told_and_is_enough(here: Bundling) -> None:
    by = owner(5)
    built = await here.build(by, coins(2, 10**15, 500))
    (one,) = built.operations
    assert built.account_balance == 0
    assert built.deposit_needed == 2 * 10**15 + one.operation.required_prefund
    assert (one.funding.to, one.funding.value) == (built.account, built.deposit_needed)
    await here.fund(built.account, wei=built.deposit_needed)
    same = await here.build(by, coins(2, 10**15, 500))
    assert same.account_balance == built.deposit_needed
    hash_ = await here.bundler.submit(CHAIN, signed(one.operation, one.hash, by))
    assert (await here.landed(hash_)).success


async def test_the_same_operation_is_executed_once_however_often_it_comes(here: Bundling) -> None:
    operation = await good(here, 6)
    hashes = await asyncio.gather(*(here.send(operation) for _ in range(16)))
    assert len(set(hashes)) == 1
    landed = await here.landed(hashes[0])
    # And once more after it is done.
    assert await here.send(operation) == hashes[0]
    logs = await here.client.logs(ENTRY_POINT, [USER_OPERATION_EVENT, hashes[0]])
    assert [log.transaction for log in logs] == [landed.transaction_hash]
    assert await held(here, deposit_address(6)) == 7


async def test_of_two_operations_with_one_nonce_one_is_executed(here: Bundling) -> None:
    operation = await good(here, 7)
    fee, tip = operation.max_fee_per_gas, operation.max_priority_fee_per_gas
    dearer = again(operation, 7, max_fee_per_gas=2 * fee, max_priority_fee_per_gas=2 * tip)
    answers = await asyncio.gather(here.send(operation), here.send(dearer), return_exceptions=True)
    hashes = [one for one in answers if isinstance(one, str)]
    assert hashes
    waits = [asyncio.ensure_future(here.landed(one)) for one in hashes]
    done, others = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for each in others:
        each.cancel()
    assert all(each.result().success for each in done)
    assert await held(here, deposit_address(7)) == 7


# What is refused


async def test_fields_are_read_strictly(here: Bundling) -> None:
    operation = await good(here, 10)
    written = operation_json(operation)
    for changed in (
        {"nonce": "7"},
        {"sender": "0x12"},
        {"callData": "0xzz"},
        {"paymasterAndData": "0x"},
        {"signature": None},
        {"preVerificationGas": "0x1"},
        {"maxFeePerGas": "0x1", "maxPriorityFeePerGas": "0x1"},
        {"maxPriorityFeePerGas": hex(operation.max_fee_per_gas + 1)},
        {"callGasLimit": hex(30_000_000)},
    ):
        assert (await refused(here, {**written, **changed})).code == -32602, changed
    for entry_point in (ENTRY_POINT_08, None, "0x"):
        with pytest.raises(EvmRefused) as caught:
            await here.client.ask("eth_sendUserOperation", written, entry_point)
        assert caught.value.code == -32602
    for params in ([], [written], [written, ENTRY_POINT, 1]):
        with pytest.raises(EvmRefused) as caught:
            await here.client.ask("eth_sendUserOperation", *params)
        assert caught.value.code == -32602


async def test_what_the_entry_point_refuses_is_told_under_the_fields_codes(here: Bundling) -> None:
    operation = await good(here, 11)
    cases = {
        "signed by another": (signed(operation, b"\1" * 32, owner(12)), -32507, "AA24"),
        "not funded": (again(operation, 11, call_gas_limit=9_000_000), -32500, "AA21"),
        "a nonce ahead": (again(operation, 11, nonce=operation.nonce + 1), -32500, "AA25"),
        "nobody's account": (again(operation, 11, factory=None, factory_data=b""), -32500, ""),
        "no factory": (again(operation, 11, factory=DOLLAR), -32500, "AA13"),
        "a signature cut": (operation.signed(operation.signature[:64]), -32500, "0xfce698f7"),
        "paid by others": ({**operation_json(operation), "paymaster": DOLLAR}, -32501, ""),
    }
    for name, (changed, code, words) in cases.items():
        found = await refused(here, changed)
        assert found.code == code, name
        assert words in str(found), name
    # Nothing of it stayed: the good one is taken.
    await here.landed(await here.send(operation))


async def test_calls_that_would_fail_are_refused_before_they_cost_gas(here: Bundling) -> None:
    by = owner(13)
    built = await here.build(by, dollars(2, first=1300))
    (one,) = built.operations
    await here.fund(built.account, wei=built.deposit_needed)
    operation = signed(one.operation, one.hash, by)
    assert (await refused(here, operation)).code == -32521
    with pytest.raises(BundleRefused) as caught:
        await here.bundler.submit(CHAIN, operation)
    assert caught.value.code == -32521
    # Once the tokens are there the same operation is taken.
    await here.fund(built.account, dollars=14)
    assert (await here.landed(await here.send(operation))).success


async def test_an_unknown_operation_is_unknown(here: Bundling) -> None:
    unknown = "0x" + "ab" * 32
    assert await here.client.ask("eth_getUserOperationByHash", unknown) is None
    assert await here.client.ask("eth_getUserOperationReceipt", unknown) is None
    assert await here.bundler.landed(CHAIN, unknown) is None
    for bad in ("0x12", None, 5):
        with pytest.raises(EvmRefused) as caught:
            await here.client.ask("eth_getUserOperationReceipt", bad)
        assert caught.value.code == -32602


# Gas


async def test_gas_is_estimated_without_fees_and_signature(here: Bundling) -> None:
    operation = await good(here, 14)
    asked = {
        name: value
        for name, value in operation_json(operation, with_signature=False).items()
        if "Gas" not in name
    }
    told = await here.client.ask("eth_estimateUserOperationGas", asked, ENTRY_POINT)
    limits = {name: int(value, 16) for name, value in told.items()}
    assert set(limits) == {"preVerificationGas", "verificationGasLimit", "callGasLimit"}
    exact = again(
        operation,
        14,
        call_gas_limit=limits["callGasLimit"],
        verification_gas_limit=limits["verificationGasLimit"],
        pre_verification_gas=limits["preVerificationGas"],
    )
    assert (await here.landed(await here.send(exact))).success


async def test_gas_of_calls_that_fail_is_not_estimated(here: Bundling) -> None:
    operation = await good(here, 15)
    calls = encode_batch([InnerCall(DOLLAR, 0, b"\1\2\3\4")])
    failing = operation_json(replace(operation, call_data=calls))
    with pytest.raises(EvmRefused) as caught:
        await here.client.ask("eth_estimateUserOperationGas", failing, ENTRY_POINT)
    assert caught.value.code == -32521
    broken = operation_json(replace(operation, factory=DOLLAR))
    with pytest.raises(EvmRefused) as caught:
        await here.client.ask("eth_estimateUserOperationGas", broken, ENTRY_POINT)
    assert caught.value.code == -32500


# Once, whatever happens


def signed_of(built: Build, by: LocalAccount) -> UserOperation:
    (one,) = built.operations
    return signed(one.operation, one.hash, by)


async def test_what_was_taken_is_executed_once_after_a_restart(tmp_path: Path) -> None:
    by = owner(20)
    async with bundling(tmp_path) as here:
        first = await here.funded(by, dollars(1, first=2000))
        executed = await here.landed(await here.send(signed_of(first, by)))
        second = await here.funded(by, dollars(1, first=2001))
    # Of the one the end was not written down, the other was not sent, when the node was killed.
    taken = TakenOperations(tmp_path, CHAIN)
    for built in (first, second):
        taken.take(built.operations[0].hash, signed_of(built, by))
    taken.close()
    async with bundling(tmp_path) as here:
        hashes = ["0x" + built.operations[0].hash.hex() for built in (first, second)]
        landed = [await here.landed(one) for one in hashes]
        assert landed[0].transaction_hash == executed.transaction_hash
        assert all(one.success for one in landed)
        assert await here.send(signed_of(second, by)) == hashes[1]
        logs = await here.client.logs(ENTRY_POINT, [USER_OPERATION_EVENT])
        assert len(logs) == 2
        assert [await held(here, deposit_address(at)) for at in (2000, 2001)] == [7, 7]
        async with asyncio.timeout(PATIENCE):
            while set(hashes) - set(here.world.included):  # noqa: ASYNC110 - it tells nobody else
                await asyncio.sleep(0)
    assert not TakenOperations(tmp_path, CHAIN).held


async def test_one_that_was_replaced_or_executed_is_not_taken_up_again(tmp_path: Path) -> None:
    operation = UserOperation(DOLLAR, 5, b"", 1, 1, 1, 1, 1)
    for hash_, replaced in ((b"\1" * 32, None), (b"\2" * 32, b"\1" * 32), (b"\3" * 32, None)):
        held = TakenOperations(tmp_path, CHAIN)
        held.take(hash_, operation, replaced)
        if hash_ == b"\3" * 32:
            held.end([hash_])
        held.close()
    assert list(TakenOperations(tmp_path, CHAIN).of_sender(DOLLAR)) == [b"\2" * 32]
