"""The bundles of groups over HTTP: built, signed, submitted exactly once, followed to their end."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from hypothesis import given
from hypothesis import strategies as st

from patience import PATIENCE
from rows import each_row
from service.groups import opened, row, set_up
from service.http_calls import declined, small_service
from service.orders_fixtures import venues_at
from service.plain_bundler import CHAIN_ID, PlainBundler
from service.venue import PlainVenue
from service.world import AS_SECOND, BTC, ETH, TOKENS, UNKNOWN, USDC
from swapdesk.chain.calldata import erc20
from swapdesk.chain.calldata.erc20 import TRANSFER
from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.smart_account import (
    MOST_CALLS,
    account_address,
    decode_batch,
    encode_batch,
    nonce_key,
    read_operation,
    user_operation_hash,
)
from swapdesk.clock import ManualClock
from swapdesk.service.app import Onchain
from swapdesk.service.bundling import BundleRefused, OperationPayment, parts_of
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.multi.bundles import BundleWatch, Intervention, nobody_intervenes
from swapdesk.service.store.store import Store
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.multi import MultiTransactions
from swapdesk.wire.orders import LegStatus

OWNER: LocalAccount = Account.from_key("0x" + "11" * 32)
STRANGER: LocalAccount = Account.from_key("0x" + "22" * 32)
BUNDLED = [
    token.model_copy(update={"has_bundler": token.symbol in ("ETH", "USDC")}) for token in TOKENS
]


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


@pytest.fixture
def bundler() -> PlainBundler:
    return PlainBundler(funded={account_address(OWNER.address)})


@pytest.fixture
def interventions() -> dict[str, Intervention]:
    return {}


@pytest.fixture
def service(
    clock: ManualClock,
    store: Store,
    venue_list: list[PlainVenue],
    bundler: PlainBundler,
    interventions: dict[str, Intervention],
) -> ServiceParts:
    return small_service(
        clock,
        store,
        venues=venue_list,
        tokens=BUNDLED,
        onchain=Onchain(bundler=bundler),
        intervene=interventions.get,
    )


async def build(
    api: httpx2.AsyncClient, multi_id: str, owner: LocalAccount = OWNER, **more: Any
) -> dict[str, Any]:
    answer = (
        await api.post(
            f"/exchanges/multi/{multi_id}/tx/build", json={"sender": owner.address, **more}
        )
    ).raise_for_status()
    decode(MultiTransactions, answer.content, side="client")
    return answer.json()


def signed(built: dict[str, Any], owner: LocalAccount = OWNER) -> list[str]:
    return [
        "0x"
        + owner.sign_message(encode_defunct(hexstr=each["txData"]["userOpHash"]))
        .signature.hex()
        .removeprefix("0x")
        for each in built["transactions"]
    ]


async def submit(
    api: httpx2.AsyncClient, multi_id: str, signatures: list[str], **more: Any
) -> httpx2.Response:
    path = f"/exchanges/multi/{multi_id}/tx"
    return await api.post(path, json={"signatures": signatures}, **more)


async def status(api: httpx2.AsyncClient, multi_id: str) -> dict[str, Any]:
    return (await api.get(f"/exchanges/multi/{multi_id}")).json()


@pytest.mark.proves("input build_multi_transactions sender")
async def test_a_bundle_from_the_build_to_its_confirmation(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    usdc = {**row(2000), "from": USDC.id}
    multi_id, ids = await set_up(api, service, clock, row(0.5), usdc, row(0.75))
    built = await build(api, multi_id)
    assert (built["multiId"], built["chain"]) == (multi_id, "evm")
    coins, tokens = built["transactions"]
    assert coins["serviceIds"] == [ids[0], ids[2]]
    assert tokens["serviceIds"] == [ids[1]]
    orders = {each["serviceId"]: each for each in (await status(api, multi_id))["orders"]}
    for each in (coins, tokens):
        data = each["txData"]
        assert data["chainId"] == CHAIN_ID
        assert (data["entryPoint"], data["entryPointVersion"]) == (ENTRY_POINT, "0.7")
        operation = read_operation(data["userOperation"], signed=False)
        hashed = user_operation_hash(operation, data["entryPoint"], data["chainId"])
        assert data["userOpHash"] == "0x" + hashed.hex()
        assert operation.sender == account_address(OWNER.address)
        calls = decode_batch(operation.call_data)
        for call, service_id in zip(calls, each["serviceIds"], strict=True):
            address = orders[service_id]["depositAddress"]
            if each is coins:
                assert (call.to.lower(), call.value) == (
                    address,
                    round(orders[service_id]["inAmount"] * 10**18),
                )
            else:
                paid = erc20.TRANSFER.read(call.data)
                assert (paid["to"].lower(), paid["amount"]) == (address, 2000 * 10**6)
    assert coins["txData"]["to"] == account_address(OWNER.address)
    assert int(coins["txData"]["value"]) > 125 * 10**16
    assert tokens["txData"]["tokenAmount"] == str(2000 * 10**6)
    assert (built["depositNeeded"], built["saCurrentBalance"]) == ("0", "0")
    assert (await status(api, multi_id))["bundleStatus"] == "pending"
    answer = (await submit(api, multi_id, signed(built))).raise_for_status()
    assert answer.json() == {
        "userOpHashes": [each["txData"]["userOpHash"] for each in built["transactions"]]
    }
    now = await status(api, multi_id)
    assert (now["bundleStatus"], now["txHash"]) == ("submitted", None)
    assert await service.bundles.step() == 0
    now = await status(api, multi_id)
    assert now["bundleStatus"] == "confirmed"
    assert now["txHash"] in {each.transaction_hash for each in bundler.blocks.values()}
    assert "failureReason" not in now
    assert len(bundler.taken) == 2


@pytest.mark.proves("code NOT_FOUND", "code ALREADY_SUBMITTED")
async def test_only_one_of_many_submissions_counts(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    multi_id, _ = await set_up(api, service, clock, row())
    signatures = signed(await build(api, multi_id))
    answers = await asyncio.gather(*(submit(api, multi_id, signatures) for _ in range(20)))
    codes = sorted(answer.status_code for answer in answers)
    assert codes == [200] + [404] * 19
    late = {(each.json()["code"], each.json()["message"]) for each in answers if each.is_error}
    ((code, told),) = late
    assert code == "NOT_FOUND"
    assert "was submitted already" in told
    await service.bundles.step()
    await service.bundles.step()
    assert len(bundler.taken) == 1
    again = await submit(api, multi_id, signatures)
    assert (again.status_code, again.json()["code"], again.json()["message"]) == (404, code, told)
    await declined(
        api.post(f"/exchanges/multi/{multi_id}/tx/build", json={"sender": OWNER.address}),
        "ALREADY_SUBMITTED",
    )


async def test_nothing_awaits_its_signatures_before_a_build(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    multi_id, _ = await set_up(api, service, clock, row())
    await declined(submit(api, multi_id, ["0x" + "ab" * 65]), "NOT_FOUND")


@pytest.mark.proves("input submit_multi_transactions signatures")
async def test_signatures_that_are_not_the_owners(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    usdc = {**row(2000), "from": USDC.id}
    multi_id, _ = await set_up(api, service, clock, row(), usdc)
    built = await build(api, multi_id)
    first, second = signed(built)
    flipped = first[:-2] + ("1c" if first.endswith("1b") else "1b")
    high = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
    s = high - int(first[66:130], 16)
    malleable = first[:66] + f"{s:064x}" + flipped[-2:]
    wrong = {
        "signatures": [[first], [first, second, second], [second]],
        "signatures.0": [
            [second, first],
            [signed(built, STRANGER)[0], second],
            [flipped, second],
            [malleable, second],
            ["0x" + "00" * 65, second],
            [first[:-2], second],
        ],
        "signatures.1": [[first, "0x00"], [first, first]],
    }
    for field, lists in wrong.items():
        for signatures in lists:
            answer = await submit(api, multi_id, signatures)
            assert answer.status_code == 422, signatures
            told = answer.json()["fields"]
            assert list(told) == [field]
            sent = signatures if field == "signatures" else signatures[int(field[-1])]
            # Of a long list the elements that fit are repeated.
            assert told[field]["value"] in (sent, [*sent[:1], "…"])
    assert (await status(api, multi_id))["bundleStatus"] == "pending"
    await service.bundles.step()
    assert bundler.taken == []
    assert (await submit(api, multi_id, [first, second])).status_code == 200


async def test_a_build_replaces_the_one_before_and_keeps_its_nonces(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    multi_id, ids = await set_up(api, service, clock, row(0.5), row(0.6))
    first = await build(api, multi_id)
    second = await build(api, multi_id, serviceIds=[ids[1]])
    nonces = [
        each["transactions"][0]["txData"]["userOperation"]["nonce"] for each in (first, second)
    ]
    assert nonces[0] == nonces[1], "at most one of both can be executed"
    assert list((await submit(api, multi_id, signed(first))).json()["fields"]) == ["signatures.0"]
    assert (await submit(api, multi_id, signed(second))).status_code == 200
    await service.bundles.step()
    assert len(bundler.taken) == 1


@pytest.mark.proves("input build_multi_transactions serviceIds")
async def test_some_of_the_orders_and_later_the_others(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    multi_id, ids = await set_up(api, service, clock, row(0.5), row(0.6), row(0.7))
    built = await build(api, multi_id, houdiniIds=[ids[1]])
    assert [each["serviceIds"] for each in built["transactions"]] == [[ids[1]]]
    await submit(api, multi_id, signed(built))
    path = f"/exchanges/multi/{multi_id}/tx/build"
    await declined(
        api.post(path, json={"sender": OWNER.address, "serviceIds": ids[:2]}), "ALREADY_SUBMITTED"
    )
    rest = await build(api, multi_id)
    assert rest["transactions"][0]["serviceIds"] == [ids[0], ids[2]]
    assert (await status(api, multi_id))["bundleStatus"] == "pending", "the newest one"
    await service.bundles.step()
    rest = await build(api, multi_id)
    assert (await submit(api, multi_id, signed(rest))).status_code == 200
    await service.bundles.step()
    assert len(bundler.taken) == 2
    assert (await status(api, multi_id))["bundleStatus"] == "confirmed"


@pytest.mark.proves(
    "input build_multi_transactions sender", "input build_multi_transactions serviceIds"
)
async def test_orders_that_cannot_be_paid_by_a_bundle(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    clock: ManualClock,
    venue_list: list[PlainVenue],
) -> None:
    multi_id, ids = await set_up(api, service, clock, row(0.5), row(0.6))
    _, foreign = await set_up(api, service, clock, row(0.7))
    path = f"/exchanges/multi/{multi_id}/tx/build"

    async def refused(**body: Any) -> dict[str, Any]:
        answer = await api.post(path, json={"sender": OWNER.address, **body})
        assert answer.status_code == 422, answer.text
        return answer.json()["fields"]

    assert "no order of this group" in (await refused(serviceIds=foreign))["serviceIds"]["message"]
    for name in ("houdiniIds", "serviceIds"):
        assert (await refused(**{name: [UNKNOWN]}))["serviceIds"]["value"] == [UNKNOWN]
    for sender in (STRANGER.address[:-1] + "0", "0x" + "0" * 39, "nobody", "1" * 44):
        await declined(api.post(path, json={"sender": sender}), field="sender")
    venue_list[0].move(f"{ids[0]}:in", LegStatus.CONFIRMING)
    clock.advance(10)
    await opened(service, clock)
    assert "awaits no deposit" in (await refused(serviceIds=[ids[0]]))["serviceIds"]["message"]
    assert (await build(api, multi_id))["transactions"][0]["serviceIds"] == [ids[1]]
    clock.advance(timedelta(minutes=31).total_seconds())
    assert list(await refused(serviceIds=[ids[1]])) == ["serviceIds"]
    (unsent,) = (await refused()).values()
    assert unsent.keys() == {"message"}


async def test_expired_orders_are_not_submitted(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    multi_id, _ = await set_up(api, service, clock, row())
    signatures = signed(await build(api, multi_id))
    clock.advance(timedelta(minutes=31).total_seconds())
    await declined(submit(api, multi_id, signatures), "INVALID_SWAP")
    await service.bundles.step()
    assert bundler.taken == []


async def test_chains_without_bundles(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    bitcoin = {"from": BTC.id, "to": ETH.id, "amount": 0.5, "addressTo": OWNER.address}
    multi_id, _ = await set_up(api, service, clock, bitcoin)
    await declined(
        api.post(f"/exchanges/multi/{multi_id}/tx/build", json={"sender": OWNER.address}),
        field="multiId",
    )
    assert "bundleStatus" not in await status(api, multi_id)
    multi_id, _ = await set_up(api, service, clock, row())
    await declined(
        api.get(f"/exchanges/multi/{multi_id}/tx", params={"sender": OWNER.address}),
        field="multiId",
    )


async def test_an_account_that_is_funded_after_the_signatures(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    account = account_address(OWNER.address)
    bundler.funded.clear()
    multi_id, _ = await set_up(api, service, clock, row())
    built = await build(api, multi_id)
    assert built["depositNeeded"] == built["transactions"][0]["txData"]["value"] != "0"
    await submit(api, multi_id, signed(built))
    assert await service.bundles.step() == 1
    assert (await status(api, multi_id))["bundleStatus"] == "submitted"
    bundler.funded.add(account)
    assert await service.bundles.step() == 0
    assert (await status(api, multi_id))["bundleStatus"] == "confirmed"


async def test_an_account_that_is_never_funded(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    bundler.funded.clear()
    multi_id, _ = await set_up(api, service, clock, row())
    await submit(api, multi_id, signed(await build(api, multi_id)))
    clock.advance(timedelta(minutes=31).total_seconds())
    assert await service.bundles.step() == 0
    now = await status(api, multi_id)
    assert now["bundleStatus"] == "failed"
    assert "expired" in now["failureReason"]


async def test_a_bundle_that_reverts_inside_may_be_built_again(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    bundler.reverting = "ERC20: transfer amount exceeds balance"
    multi_id, ids = await set_up(api, service, clock, row())
    await submit(api, multi_id, signed(await build(api, multi_id)))
    await service.bundles.step()
    now = await status(api, multi_id)
    assert (now["bundleStatus"], now["txHash"]) == ("failed", None)
    assert "exceeds balance" in now["failureReason"]
    await declined(submit(api, multi_id, ["0x" + "ab" * 65]), "NOT_FOUND")
    bundler.reverting = None
    built = await build(api, multi_id)
    assert built["transactions"][0]["serviceIds"] == ids
    assert (await submit(api, multi_id, signed(built))).status_code == 200
    await service.bundles.step()
    assert (await status(api, multi_id))["bundleStatus"] == "confirmed"


async def test_what_was_paid_is_not_built_again(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    """Of two batches one is executed and the other is not."""
    usdc = {**row(2000), "from": USDC.id}
    multi_id, ids = await set_up(api, service, clock, row(), usdc)
    bundler.mining = False
    await submit(api, multi_id, signed(await build(api, multi_id)))
    assert await service.bundles.step() == 1
    coins, tokens = bundler.taken
    bundler.taken = [coins]
    bundler.mine()
    bundler.reverting = "no such tokens"
    bundler.taken.append(tokens)
    bundler.mine()
    assert await service.bundles.step() == 0
    assert (await status(api, multi_id))["bundleStatus"] == "failed"
    built = await build(api, multi_id)
    assert [each["serviceIds"] for each in built["transactions"]] == [[ids[1]]]


async def test_a_refusal_for_good_ends_the_bundle(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    bundler.refusing = BundleRefused(-32000, "the node is not available")
    multi_id, _ = await set_up(api, service, clock, row())
    await submit(api, multi_id, signed(await build(api, multi_id)))
    assert await service.bundles.step() == 1, "this says nothing of the operation"
    bundler.refusing = BundleRefused(-32500, "AA25 invalid account nonce")
    assert await service.bundles.step() == 0
    now = await status(api, multi_id)
    assert now["bundleStatus"] == "failed"
    assert "AA25" in now["failureReason"]


async def test_a_bundler_that_is_silent_or_whose_answer_is_lost(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    multi_id, _ = await set_up(api, service, clock, row())
    bundler.silent = True
    path = f"/exchanges/multi/{multi_id}/tx/build"
    await declined(api.post(path, json={"sender": OWNER.address}), "SERVICE_UNAVAILABLE")
    bundler.silent, bundler.deaf = False, True
    await submit(api, multi_id, signed(await build(api, multi_id)))
    bundler.silent = True
    assert await service.bundles.step() == 1
    bundler.silent = False
    assert await service.bundles.step() == 1, "it was taken, but nobody heard so"
    assert await service.bundles.step() == 0
    assert len(bundler.taken) == 1


async def test_what_a_crash_left_is_handed_in_from_the_row(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    clock: ManualClock,
    bundler: PlainBundler,
    store: Store,
) -> None:
    multi_id, _ = await set_up(api, service, clock, row())
    await submit(api, multi_id, signed(await build(api, multi_id)))
    # The service ends here, before the bundler heard of anything.
    again = BundleWatch(store, bundler, clock, nobody_intervenes)
    assert await again.step() == 0
    assert (await status(api, multi_id))["bundleStatus"] == "confirmed"
    assert len(bundler.taken) == 1


@pytest.mark.parametrize(
    ("intervention", "ends"), [("fail", "failed"), ("withdraw", "withdrawn"), ("hold", "submitted")]
)
async def test_what_an_operator_does_with_a_bundle(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    clock: ManualClock,
    bundler: PlainBundler,
    interventions: dict[str, Intervention],
    intervention: Intervention,
    ends: str,
) -> None:
    multi_id, _ = await set_up(api, service, clock, row())
    interventions[multi_id] = intervention
    await submit(api, multi_id, signed(await build(api, multi_id)))
    await service.bundles.step()
    now = await status(api, multi_id)
    assert now["bundleStatus"] == ends
    assert ("failureReason" in now) == (ends == "failed")
    assert bundler.taken == []
    interventions.clear()
    await service.bundles.step()
    assert len(bundler.taken) == (ends == "submitted")


async def test_the_watch_works_in_the_background_once_something_is_submitted(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    multi_id, _ = await set_up(api, service, clock, row())
    watching = asyncio.create_task(service.bundles.run())
    try:
        await submit(api, multi_id, signed(await build(api, multi_id)))
        async with asyncio.timeout(PATIENCE):
            told = await status(api, multi_id)
            while told["bundleStatus"] != "confirmed":
                told = await status(api, multi_id)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


@pytest.mark.proves(
    "input build_multi_transactions multiId", "input submit_multi_transactions multiId"
)
async def test_a_foreign_group_is_no_group(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, bundler: PlainBundler
) -> None:
    multi_id, ids = await set_up(api, service, clock, row())
    signatures = signed(await build(api, multi_id))
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/tx/build", {"json": {"sender": OWNER.address}}),
        ("POST", "/tx/build", {"json": {"sender": OWNER.address, "serviceIds": ids}}),
        ("POST", "/tx", {"json": {"signatures": signatures}}),
        ("POST", "/tx", {"json": {"signatures": ["0x" + "ab" * 65]}}),
        ("GET", "/tx", {"params": {"sender": OWNER.address}}),
        ("GET", "", {}),
    ]
    for method, path, more in calls:
        told = []
        for group in (multi_id, UNKNOWN):
            answer = await api.request(
                method, f"/exchanges/multi/{group}{path}", headers=AS_SECOND, **more
            )
            body = {k: v for k, v in answer.json().items() if k != "requestId"}
            told.append((answer.status_code, body))
        assert told[0] == told[1]
        assert told[0][0] == 404
    await service.bundles.step()
    assert bundler.taken == []
    assert (await submit(api, multi_id, signatures)).status_code == 200


# How payments become operations: every payment in exactly one, as few operations as fit


BOB = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
PAID_IN = (
    None,
    "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    "0x4200000000000000000000000000000000000006",
)

drawn = st.lists(
    st.builds(
        OperationPayment,
        token=st.sampled_from(PAID_IN),
        to=st.just(BOB),
        units=st.integers(1, 2**100),
    ),
    min_size=1,
    max_size=160,
)


@given(drawn)
def test_every_payment_is_made_once_and_in_order(asked):
    parts = parts_of(asked)
    assert sorted(place for part in parts for place in part.places) == list(range(len(asked)))
    for part in parts:
        assert list(part.places) == sorted(part.places)
        assert 1 <= len(part.calls) <= MOST_CALLS
        assert part.units == sum(asked[place].units for place in part.places)
        for place, call in zip(part.places, part.calls, strict=True):
            payment = asked[place]
            assert payment.token == part.token
            if payment.token is None:
                assert (call.to, call.value, call.data) == (BOB, payment.units, b"")
            else:
                assert (call.to, call.value) == (payment.token, 0)
                assert TRANSFER.read(call.data) == {"to": BOB, "amount": payment.units}
        encode_batch(part.calls)
    counts = {token: sum(one.token == token for one in asked) for token in PAID_IN}
    least = sum(-(-count // MOST_CALLS) for count in counts.values())
    assert len(parts) == least, "as few operations as fit"
    keys = [nonce_key("group", part.token, part.number) for part in parts]
    assert len(set(keys)) == len(keys)
    assert all(0 <= key < 1 << 192 for key in keys)


def test_a_token_is_one_token_however_it_is_written():
    token = PAID_IN[1]
    parts = parts_of([OperationPayment(token, BOB, 1), OperationPayment(token.lower(), BOB, 2)])
    assert [part.places for part in parts] == [(0, 1)]
    assert nonce_key("group", token, 0) == nonce_key("group", token.lower(), 0)
    assert nonce_key("group", token, 0) != nonce_key("grouq", token, 0)


@each_row(
    "asked",
    [
        [],
        [OperationPayment(None, BOB, 0)],
        [OperationPayment(None, BOB, 1), OperationPayment(None, BOB, -1)],
    ],
)
def test_nothing_is_not_paid(asked):
    with pytest.raises(ValueError, match=r"pay"):
        parts_of(asked)
