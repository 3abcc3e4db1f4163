"""UserOperations through a real agent, gate and chain: what a group's deposits are paid with, and
every way in which a service could ask for something else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from eth_account import Account as EthAccount
from eth_account.messages import encode_defunct
from msgspec.structs import replace

from sandbox.evm.bundling import Bundling, deposit_address, over
from swapdesk.chain.calldata.erc20 import APPROVE, TRANSFER
from swapdesk.chain.deployments import ENTRY_POINT, ENTRY_POINT_08
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    InnerCall,
    account_address,
    decode_batch,
    encode_batch,
)
from swapdesk.chain.user_operation import UserOperation, operation_json, read_operation
from swapdesk.service.bundling import BuiltOperation, OperationPayment
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.payload import OperationPayload, TransactionPayload
from swapdesk.wallet.promise import BundlePromise, DepositPromise, Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.review import Match, Severity
from swapdesk.wallet.transactions import Signature, SignedTransaction
from wallet.chains import Chains, served
from wallet.signing import CHAIN, CHAIN_ID, ETH, USDC, Trader, trader

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNITS = (5_000_000, 7_000_000, 9_000_000)
MALLORY = deposit_address(999)
GROUP = "kXb7PqLmN4sTvWzYcDfGhJ"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Chains]:
    async with served(tmp_path_factory.mktemp("chains")) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def someone(world: Chains, tmp_path_factory: pytest.TempPathFactory) -> Trader:
    return await trader(world, tmp_path_factory.mktemp("wallet") / "keys")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(world: Chains) -> AsyncIterator[Bundling]:
    made = over(world)
    yield made
    await made.client.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(someone: Trader) -> AsyncIterator[WalletClient]:
    """The real process, one for all that is asked of it here."""
    async with someone.agent() as made:
        yield made


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


def changed_calls(
    one: BuiltOperation, change: Callable[[list[InnerCall]], Sequence[InnerCall]]
) -> OperationPayload:
    calls = change(list(decode_batch(one.operation.call_data)))
    return changed_operation(one, call_data=encode_batch(calls))


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
    assert isinstance(signed, Signature)
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


def recipient(calls: list[InnerCall]) -> list[InnerCall]:
    data = TRANSFER.call(MALLORY, UNITS[1])
    return [calls[0], replace(calls[1], data=data), calls[2]]


def more(calls: list[InnerCall]) -> list[InnerCall]:
    data = TRANSFER.call(deposit_address(101), UNITS[1] + 1)
    return [calls[0], replace(calls[1], data=data), calls[2]]


def extra(calls: list[InnerCall]) -> list[InnerCall]:
    return [*calls, InnerCall(calls[0].to, 0, TRANSFER.call(MALLORY, 1))]


def missing(calls: list[InnerCall]) -> list[InnerCall]:
    return calls[:-1]


def doubled(calls: list[InnerCall]) -> list[InnerCall]:
    return [*calls, calls[0]]


def exchanged(calls: list[InnerCall]) -> list[InnerCall]:
    return [calls[1], calls[0], calls[2]]


def coins_beside(calls: list[InnerCall]) -> list[InnerCall]:
    return [replace(calls[0], value=1), *calls[1:]]


def coins_instead(calls: list[InnerCall]) -> list[InnerCall]:
    return [InnerCall(deposit_address(100), UNITS[0]), *calls[1:]]


def allowed(calls: list[InnerCall]) -> list[InnerCall]:
    return [*calls, InnerCall(calls[0].to, 0, APPROVE.call(MALLORY, 1))]


def other_token(calls: list[InnerCall]) -> list[InnerCall]:
    return [replace(calls[0], to="0x4200000000000000000000000000000000000006"), *calls[1:]]


CALLS = {
    "recipient": (recipient, "BUNDLE_RECIPIENT_DIFFERS"),
    "amount": (more, "BUNDLE_AMOUNT_DIFFERS"),
    "extra call": (extra, "BUNDLE_CALLS_DIFFER"),
    "a call left out": (missing, "BUNDLE_CALLS_DIFFER"),
    "a payment twice": (doubled, "BUNDLE_CALLS_DIFFER"),
    "payments exchanged": (exchanged, "BUNDLE_RECIPIENT_DIFFERS"),
    "coins beside a transfer": (coins_beside, "OPERATION_CALLS"),
    "coins instead of tokens": (coins_instead, "BUNDLE_TOKEN_DIFFERS"),
    "an approval": (allowed, "OPERATION_CALLS"),
    "another token": (other_token, "BUNDLE_TOKEN_DIFFERS"),
}
STRANGER = account_address(MALLORY)
FIELDS: dict[str, tuple[Callable[[UserOperation], dict[str, Any]], str]] = {
    "nonce": (lambda one: {"nonce": one.nonce + 1}, "OPERATION_NONCE"),
    "nonce of another key": (lambda one: {"nonce": 0}, "OPERATION_NONCE"),
    "sender": (lambda one: {"sender": STRANGER}, "SENDER_DIFFERS"),
    "sender without an owner": (lambda one: {"sender": MALLORY}, "SENDER_DIFFERS"),
    "made by somebody else": (
        lambda one: {"factory": MALLORY, "factory_data": CREATE_ACCOUNT.call(MALLORY, 0)},
        "FACTORY_DIFFERS",
    ),
    "made for somebody else": (
        lambda one: {
            "factory": one.factory or MALLORY,
            "factory_data": CREATE_ACCOUNT.call(MALLORY, 0),
        },
        "FACTORY_DIFFERS",
    ),
    "made with another call": (
        lambda one: {"factory": one.factory or MALLORY, "factory_data": b"\1\2\3\4"},
        "OPERATION_FACTORY",
    ),
    "fee": (lambda one: {"max_fee_per_gas": 10**13}, "BUNDLE_GAS_ABOVE"),
    "gas": (lambda one: {"call_gas_limit": 10**12}, "BUNDLE_GAS_ABOVE"),
    "another call altogether": (lambda one: {"call_data": b"\1\2\3\4"}, "OPERATION_CALLS"),
}


async def refusals(agent: WalletClient, payload: OperationPayload, promise: Promise) -> set[str]:
    """The rules that refuse, and that nothing was signed."""
    review = await agent.review(payload, promise)
    assert review.refused
    with pytest.raises(Refused) as refused:
        await agent.sign(review)
    # What cannot even be read has no digest that could be asked for.
    assert refused.value.code is (Code.GATE if review.digest else Code.BAD_REQUEST)
    return {one.code for one in review.findings if one.severity is Severity.REFUSE}


@pytest.fixture
def intent(request: pytest.FixtureRequest) -> str:
    return f"tampered {request.node.name}"


@pytest.mark.parametrize("name", CALLS)
async def test_other_payments_are_never_signed(
    here: Bundling, someone: Trader, agent: WalletClient, intent: str, name: str
) -> None:
    change, code = CALLS[name]
    one = await built(here, someone, "tampered", first=100)
    payload = changed_calls(one, change)
    promise = promised(someone, intent, "tampered", first=100)
    assert code in await refusals(agent, payload, promise)


@pytest.mark.parametrize("name", FIELDS)
async def test_other_operations_are_never_signed(
    here: Bundling, someone: Trader, agent: WalletClient, intent: str, name: str
) -> None:
    change, code = FIELDS[name]
    one = await built(here, someone, "tampered", first=100)
    payload = changed_operation(one, **change(one.operation))
    promise = promised(someone, intent, "tampered", first=100)
    assert code in await refusals(agent, payload, promise)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"entry_point": MALLORY}, "ENTRY_POINT_UNKNOWN"),
        ({"entry_point": ENTRY_POINT_08}, "ENTRY_POINT_UNKNOWN"),
        ({"version": "0.8"}, "OPERATION_CALLS"),
        ({"version": "0.6"}, "OPERATION_VERSION"),
        ({"chain_id": 8453}, "CHAIN_ID_DIFFERS"),
        ({"chain_id": CHAIN_ID + 1}, "CHAIN_ID_DIFFERS"),
        ({"chain_id": 0}, "CHAIN_ID_MISSING"),
        ({"purpose": Purpose.DEPOSIT}, "PURPOSE_DIFFERS"),
        ({"purpose": Purpose.SWAP}, "PURPOSE_DIFFERS"),
    ],
    ids=lambda one: str(one),
)
async def test_an_operation_for_another_place_is_never_signed(
    here: Bundling,
    someone: Trader,
    agent: WalletClient,
    intent: str,
    changed: dict[str, Any],
    code: str,
) -> None:
    one = await built(here, someone, "tampered", first=100)
    promise = promised(someone, intent, "tampered", first=100)
    assert code in await refusals(agent, payload_of(one, **changed), promise)


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("paymaster", MALLORY, "OPERATION_PAYMASTER"),
        ("signature", "0x01", "OPERATION_UNREADABLE"),
        ("initCode", "0x", "OPERATION_UNREADABLE"),
        ("nonce", "5", "OPERATION_UNREADABLE"),
        ("sender", "0x12", "OPERATION_UNREADABLE"),
    ],
)
async def test_a_field_that_says_more_is_never_signed(
    here: Bundling,
    someone: Trader,
    agent: WalletClient,
    intent: str,
    field: str,
    value: str,
    code: str,
) -> None:
    one = await built(here, someone, "tampered", first=100)
    payload = payload_of(one)
    payload = replace(payload, operation={**payload.operation, field: value})
    promise = promised(someone, intent, "tampered", first=100)
    assert code in await refusals(agent, payload, promise)


def deposits_changed(promise: Promise, **changed: Any) -> Promise:
    assert promise.bundle is not None
    first, *others = promise.bundle.deposits
    deposits = (replace(first, **changed), *others)
    return replace(promise, bundle=replace(promise.bundle, deposits=deposits))


async def test_what_was_confirmed_bounds_it(
    here: Bundling, someone: Trader, agent: WalletClient
) -> None:
    one = await built(here, someone, "tampered", first=100)
    payload, promise = payload_of(one), promised(someone, "bounds", "tampered", first=100)
    assert promise.bundle is not None
    late = deposits_changed(promise, expires=datetime.now(UTC) + timedelta(seconds=20))
    for changed, code in (
        (replace(promise, bundle=None), "BUNDLE_MISSING"),
        (replace(promise, bundle=replace(promise.bundle, deposits=())), "BUNDLE_MISSING"),
        (replace(promise, sell_units=sum(UNITS) // 2), "BUNDLE_ABOVE"),
        (replace(promise, sell=ETH), "BUNDLE_TOKEN_DIFFERS"),
        (replace(promise, gas_units=1), "BUNDLE_GAS_ABOVE"),
        (replace(promise, bundle=replace(promise.bundle, multi_id="x")), "OPERATION_NONCE"),
        (replace(promise, bundle=replace(promise.bundle, part=1)), "OPERATION_NONCE"),
        (late, "BUNDLE_ORDER_EXPIRED"),
        (deposits_changed(promise, tag="42"), "BUNDLE_TAG_NEEDED"),
        (deposits_changed(promise, address=one.operation.sender), "BUNDLE_RECIPIENT_DIFFERS"),
    ):
        assert code in await refusals(agent, payload, changed)


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
    assert isinstance(first, Signature)
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
    assert USDC.contract is not None
    coins = TransactionPayload(Purpose.FUND, account, "0x", 10**15)
    dollars = TransactionPayload(
        Purpose.FUND, USDC.contract, "0x" + TRANSFER.call(account, 10**6).hex(), 0
    )
    stranger = replace(coins, to=STRANGER)
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
        assert isinstance(signed, SignedTransaction)
        await agent.broadcast(signed.hash)
        await here.world.node.confirmed(CHAIN, bytes.fromhex(signed.hash[2:]))
        # The same funding again is the one that was signed.
        with pytest.raises(Refused):
            await agent.sign(await agent.review(payload, promise))
    assert await here.coins(account) == before + 10**15
    promise = someone.promise("fund a stranger", sell=ETH, sell_units=10**15, venue=None)
    review = await agent.review(stranger, promise)
    assert "FUNDING_PAYEE_DIFFERS" in {one.code for one in review.findings}
    more = await agent.review(replace(coins, value=10**15 + 1), promise)
    assert "FUNDING_ABOVE" in {one.code for one in more.findings}
